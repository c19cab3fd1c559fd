//! Any text as the reader `model` takes it.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| ember_rewrite_fuzz::model(text));
