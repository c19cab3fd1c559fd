//! DLC programs end to end: their text, what the verifier proves, how SLC terms become them.

mod bag;
mod barriers;
mod counters;
mod decouple;
mod erases;
mod laws;
mod lift;
mod nests;
mod programs;
mod random;
mod runs;
mod text;
