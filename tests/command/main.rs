//! The whole pipeline: what the command prints, what its programs do, and what may be relied on.

mod add_rule;
mod anywhere;
mod asked;
mod bench;
mod command_line;
mod common;
mod families;
mod formatting;
mod generators;
mod json;
mod lsp;
mod main_job;
mod models;
mod random;
mod readme;
mod rule_files;
mod schedules;
mod sorts;
mod verifying;
