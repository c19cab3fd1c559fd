//! Fuzzes the reader `matrix_market` with arbitrary text.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| ember_rewrite_fuzz::matrix_market(text));
