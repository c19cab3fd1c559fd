//! Programs in C on the machine that runs the tests: the bits of every operation, every example, threads, data that does
//! not fit, sanitizers, loops that become one, products, and compilers that are missing, fail or hang.

mod command;
mod compiled;
mod looked_up;
mod operations;
mod past;
mod refused;
mod sanitized;
mod whole;
