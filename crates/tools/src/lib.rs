//! What people ask of the compiler beside programs: explanations, the language server, case files, rules
//! tested with random programs. Knows nothing of the command line.

pub mod cases;
pub mod cost_table;
pub mod emit;
pub mod explain;
pub mod history;
pub mod lsp;
pub mod progress;
pub mod render;
pub mod selftest;
mod show;
pub mod system;
pub mod tables;
pub mod trace;
pub mod tuning;
pub mod why_not;
