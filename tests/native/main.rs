//! Programs in C on the machine that runs the tests: the bits of every operation, every example, threads, data that does
//! not fit, sanitizers, and compilers that are missing or fail.

mod command;
mod compiled;
mod operations;
mod refused;
mod sanitized;
