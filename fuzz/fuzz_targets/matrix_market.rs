//! Any text as the reader `matrix_market` takes it.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| ember_rewrite_fuzz::matrix_market(text));
