//! Tests of the library from outside, in one program: cargo runs one program of tests after another, and one that has
//! little to do at the same time leaves a processor idle.

mod choices;
mod edges;
mod equiv;
mod examples;
mod extend;
mod finished;
mod forged;
mod grammar;
mod kernels;
mod language;
mod models;
mod programs;
mod project_rules;
mod readers;
#[path = "../samples/mod.rs"]
mod samples;
mod sampling;
mod saturation;
mod text;
mod traps;
mod tune;
