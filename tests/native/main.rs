//! Programs in C on the machine that runs the tests: the bits of every operation, every example, data that does not fit,
//! and compilers that are missing or fail.

mod command;
mod operations;
mod refused;
