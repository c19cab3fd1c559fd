//! Tests of DLC programs end to end: their text, the verifier, and their derivation from SLC terms.

mod bag;
mod barriers;
mod counters;
mod decouple;
mod erases;
mod hand;
mod laws;
mod lift;
mod nests;
mod programs;
mod random;
mod runs;
#[path = "../samples/mod.rs"]
mod samples;
mod text;
mod whole;
