//! Tests of the whole pipeline: the command's output, the results of its programs, and its guarantees.

mod add_rule;
mod anywhere;
mod asked;
mod bench;
mod calibrating;
mod command_line;
mod common;
mod cores;
mod families;
mod formatting;
mod fusion;
mod generators;
mod gpu;
mod json;
mod kernels;
mod lsp;
mod main_job;
mod models;
mod orders;
mod parts;
mod process;
mod random;
mod results;
mod rule_files;
#[path = "../samples/mod.rs"]
mod samples;
mod sanity;
mod schedules;
mod schema;
mod sorts;
mod sweeping;
mod trials;
mod tuning;
mod verifying;
