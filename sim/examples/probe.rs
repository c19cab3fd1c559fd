#[path = "../tests/common/mod.rs"]
mod common;
use common::*;
use ember_sim::{Options, run};
fn main() {
    let mut m = machine();
    for a in std::env::args().skip(1) {
        let (k, v) = a.split_once('=').unwrap();
        let v: u64 = v.parse().unwrap();
        match k {
            "chunk" => m.queue.chunk_bytes = v,
            "chunks" => m.queue.chunks = v,
            "st" => m.access.storage_bytes = v,
            "out" => m.access.outstanding = v,
            _ => {}
        }
    }
    let data = Bag::random(1_000_000, 64, 256, 80, false, 42);
    for p in [bag("opt0", Level::PerElement, 1)] {
        let s = run(&p, &m, data.bindings(), Options::default()).unwrap().stats;
        println!(
            "{} {} req {} llcmiss {} operands {}",
            p.name, s.cycles, s.requests, s.llc_misses, s.operands
        );
        for u in s.units {
            println!("  {u:?}");
        }
    }
}
