//! Compares the caches with a separate model: sets of lines in order of use, and nothing else, on random traces.

mod common;

use common::*;
use ember_sim::{Options, Stats, run};
use ember_targets::dlc::{Hint, Program, StreamKind};
use ember_targets::machine::{LowerCache, Machine};
use quickcheck::{Gen, QuickCheck};

/// The relative difference in lines between the simulator and the model.
const WITHIN: f64 = 0.01;

/// The lines of each set of a cache, the least recently used first.
struct Lru {
    sets: Vec<Vec<u64>>,
    ways: usize,
    /// The accesses, and those of them that found no line.
    accesses: u64,
    misses: u64,
}

impl Lru {
    /// A cache of so many bytes and ways.
    fn new((bytes, ways): (u64, u64)) -> Lru {
        let sets = vec![Vec::new(); (bytes / 64 / ways) as usize];
        Lru { sets, ways: ways as usize, accesses: 0, misses: 0 }
    }

    /// Accesses a line; returns true if the next level is asked for it.
    fn misses(&mut self, line: u64, allocate: bool) -> bool {
        let at = (line % self.sets.len() as u64) as usize;
        let set = &mut self.sets[at];
        let found = set.iter().position(|&other| other == line);
        self.accesses += 1;
        self.misses += u64::from(found.is_none());
        if let Some(found) = found {
            set.remove(found);
        }
        if found.is_some() || allocate {
            set.push(line);
        }
        if set.len() > self.ways {
            set.remove(0);
        }
        found.is_none()
    }
}

/// The levels that a trace goes through, the nearest first.
struct Levels(Vec<Lru>);

impl Levels {
    fn of(caches: &[(u64, u64)]) -> Levels {
        Levels(caches.iter().copied().map(Lru::new).collect())
    }

    fn load(&mut self, line: u64, allocate: bool) {
        self.0.iter_mut().all(|level| level.misses(line, allocate));
    }
}

fn shape(cache: &LowerCache) -> (u64, u64) {
    (cache.bytes, cache.ways)
}

/// The lines of a bag's tensors whose rows take one line: tensors begin at pages, with an empty page between them.
struct Layout {
    table: u64,
    indices: u64,
    offsets: u64,
    out: u64,
}

impl Layout {
    fn of(bag: &Bag) -> Layout {
        let mut page = 0;
        let mut next = |bytes: u64| {
            page += 1;
            let line = page * 4096 / 64;
            page += bytes.div_ceil(4096);
            line
        };
        let ints = |n: usize| n as u64 * 8;
        Layout {
            table: next(bag.rows * 64),
            indices: next(ints(bag.indices.len())),
            offsets: next(ints(bag.offsets.len())),
            out: next(bag.bags() * 64),
        }
    }
}

/// A random trace: a table whose rows take one line, four bags, and caches that hold parts of it. They have so many ways
/// that the sum stays in the L1, because the model knows no write-backs.
fn drawn(seed: u64) -> (Bag, Machine) {
    let mut random = Random(seed);
    let mut below = |n: u64| (random.unit() * n as f64) as u64;
    let (rows, zipf) = (100 + below(4000), below(2) == 0);
    let mut machine = machine();
    let mut size = |least: u64| ((least << below(3)) * 1024, 4 << below(2));
    (machine.l1.bytes, machine.l1.ways) = size(1);
    (machine.l2.bytes, machine.l2.ways) = size(4);
    (machine.llc.bytes, machine.llc.ways) = size(16);
    machine.llc.sharers = 1;
    // Neither walks nor the core's prefetcher add lines.
    machine.tlb.page_bytes = 1 << 30;
    machine.core.prefetch_streams = 0;
    (Bag::random(rows, 16, 4, 8000, zipf, seed), machine)
}

fn stats(program: &Program, machine: &Machine, bag: &Bag) -> Stats {
    run(program, machine, bag.bindings(), Options::default()).expect("the program runs").stats
}

/// Returns true if counts agree, and prints those that do not.
fn agree(counts: &[(&str, u64, u64)]) -> bool {
    let apart = |(_, ours, model): &&(&str, u64, u64)| {
        ours.abs_diff(*model) as f64 > WITHIN * (*model).max(100) as f64
    };
    let wrong: Vec<_> = counts.iter().filter(apart).collect();
    for (what, ours, model) in &wrong {
        println!("{what}: {ours} in the simulator, {model} in the model");
    }
    wrong.is_empty()
}

fn check(holds: fn(u64) -> bool) {
    QuickCheck::new().rng(Gen::from_size_and_seed(100, 1)).tests(20).quickcheck(holds);
}

#[test]
fn the_core_hits_and_misses_as_three_levels_of_sets_do() {
    check(|seed| {
        let (bag, machine) = drawn(seed);
        let at = Layout::of(&bag);
        let l1 = (machine.l1.bytes, machine.l1.ways);
        let mut levels = Levels::of(&[l1, shape(&machine.l2), shape(&machine.llc)]);
        for (b, ends) in bag.offsets.windows(2).enumerate() {
            levels.load(at.offsets, true);
            levels.load(at.offsets, true);
            for l in ends[0] as u64..ends[1] as u64 {
                levels.load(at.indices + l / 8, true);
                levels.load(at.table + bag.indices[l as usize] as u64, true);
                // The sum is read and written.
                levels.load(at.out + b as u64, true);
                levels.load(at.out + b as u64, true);
            }
        }
        let s = stats(&coupled(16), &machine, &bag);
        let [l1, l2, llc] = &levels.0[..] else { unreachable!("three levels") };
        agree(&[
            ("L1 accesses", s.l1_accesses, l1.accesses),
            ("L2 accesses", s.l2_accesses, l2.accesses),
            ("LLC accesses", s.llc_accesses, llc.accesses),
            ("LLC misses", s.llc_misses, llc.misses),
            ("lines read", s.dram_bytes.read / 64, llc.misses),
        ])
    });
}

#[test]
fn the_access_unit_hits_and_misses_as_the_levels_of_its_hint_do() {
    check(|seed| {
        [Hint::NonTemporal, Hint::Temporal, Hint::TemporalL2].iter().all(|hint| rows(seed, *hint))
    });
}

/// Compares a program whose access unit reads the rows with a hint.
fn rows(seed: u64, hint: Hint) -> bool {
    let (bag, machine) = drawn(seed);
    let at = Layout::of(&bag);
    let mut program = walked(16);
    for stream in &mut program.streams {
        if let StreamKind::Mem { addr, hint: own } = &mut stream.kind
            && addr.tensor == TABLE
        {
            *own = hint;
        }
    }
    let mut levels = match hint {
        Hint::TemporalL2 => Levels::of(&[shape(&machine.l2), shape(&machine.llc)]),
        _ => Levels::of(&[shape(&machine.llc)]),
    };
    let last = levels.0.len() - 1;
    let mut before = None;
    for (l, &row) in bag.indices.iter().enumerate() {
        // Indices are read once, line by line, and stay in no cache.
        if l % 8 == 0 {
            levels.0[last].misses(at.indices + l as u64 / 8, false);
        }
        // Neighbours in one line share a request.
        if before.replace(row) != Some(row) {
            levels.load(at.table + row as u64, hint != Hint::NonTemporal);
        }
    }
    let s = stats(&program, &machine, &bag);
    let llc = &levels.0[last];
    agree(&[
        ("LLC accesses", s.llc_accesses, llc.accesses),
        ("LLC misses", s.llc_misses, llc.misses),
        ("lines read", s.dram_bytes.read / 64, llc.misses),
    ])
}
