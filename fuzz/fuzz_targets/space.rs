//! Fuzzes the reader `space` with arbitrary text.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| ember_rewrite_fuzz::space(text));
