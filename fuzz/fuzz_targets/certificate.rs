//! Any text as the reader `certificate` takes it.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| ember_rewrite_fuzz::certificate(text));
