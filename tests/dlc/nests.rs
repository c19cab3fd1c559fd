//! Tests random loop nests, lowered by hand in two ways: coupled, and decoupled with random placement of loops,
//! callbacks, counters and loads. The verifier accepts each decoupled nest, and both compute the same, bit for bit.

use crate::bag::{check, operators};
use ember_compile::coupled::coupled;
use ember_compile::decouple::{ModelContext, decouple};
use ember_language::term::Term;
use ember_sim::{Bindings, Options, run};
use ember_targets::dlc::{Dim, Program, Purpose, TensorDecl};
use ember_targets::machine::Machine;
use ember_targets::print::print;
use ember_targets::tensor::{Data, Tensor};
use ember_targets::verify::{Limits, verify};
use ember_values::scalar::DType;
use quickcheck::{Arbitrary, Gen};
use std::sync::Arc;

/// An enclosing loop of the current point.
#[derive(Clone)]
struct Frame {
    /// Its variable, as a term.
    var: String,
    /// The units that run it.
    by: By,
}

#[derive(Clone, Copy, PartialEq)]
enum By {
    Access,
    Both,
    Execute,
}

/// A statement or value at both levels.
struct Pair {
    scf: String,
    slc: String,
    /// True for a value built from streams and constants alone, which may be held in a register.
    still: bool,
}

impl Pair {
    /// Builds a statement, or a value that may differ from one use to the next.
    fn new(scf: String, slc: String) -> Pair {
        Pair { scf, slc, still: false }
    }
}

struct Maker {
    random: Gen,
    frames: Vec<Frame>,
}

impl Maker {
    fn below(&mut self, n: usize) -> usize {
        usize::arbitrary(&mut self.random) % n
    }

    fn chance(&mut self) -> bool {
        bool::arbitrary(&mut self.random)
    }

    /// Returns a bound or index as a value of `scf`, a stream (if the access unit can have it), and a value of the
    /// execute unit.
    fn index(&mut self) -> (String, Option<String>, String) {
        let at = self.below(self.frames.len() + 1);
        let (scf, stream, value) = match self.frames.get(at).cloned() {
            None => {
                let n = self.below(8);
                (n.to_string(), Some(format!("(slc.const {n})")), format!("(exe.const {n})"))
            }
            Some(Frame { var, by }) => {
                let stream = format!("(slc.iv {var})");
                let count = by == By::Execute || self.chance();
                let value = if count {
                    format!("(exe.counter {var})")
                } else {
                    format!("(slc.from_stream {stream})")
                };
                (format!("(iv {var})"), (by != By::Execute).then_some(stream), value)
            }
        };
        if self.below(4) > 0 {
            return (scf, stream, value);
        }
        // The index goes through the table of indices.
        let loaded = format!("(scf.load (at (in %indices) {scf}))");
        let stream =
            stream.map(|s| format!("(slc.mem_stream temporal (slc.at (slc.in %indices) {s}))"));
        let value = match &stream {
            Some(stream) if self.chance() => format!("(slc.from_stream {stream})"),
            _ => format!("(exe.load (exe.at (exe.in %indices) {value}))"),
        };
        (loaded, stream, value)
    }

    /// Returns a value to store.
    fn value(&mut self, depth: usize) -> Pair {
        match self.below(if depth == 0 { 2 } else { 5 }) {
            0 => {
                let n = self.below(5);
                let scf = format!("(const f32 {n}.5)");
                Pair { slc: format!("(exe.const {scf})"), scf, still: true }
            }
            1 => {
                let ((a, sa, va), (b, sb, vb)) = (self.index(), self.index());
                let scf = format!("(scf.load (at (at (in %table) {a}) {b}))");
                let (slc, still) = match (sa, sb) {
                    (Some(a), Some(b)) if self.chance() => {
                        let address = format!("(slc.at (slc.at (slc.in %table) {a}) {b})");
                        if address.contains("(slc.iv ") && self.chance() {
                            let own = format!("(exe.at (exe.at (exe.in %table) {va}) {vb})");
                            (format!("(exe.fetched {address} {own})"), true)
                        } else {
                            let stream = format!("(slc.mem_stream temporal {address})");
                            (format!("(slc.from_stream {stream})"), true)
                        }
                    }
                    _ => (format!("(exe.load (exe.at (exe.at (exe.in %table) {va}) {vb}))"), false),
                };
                Pair { scf, slc, still }
            }
            2 => {
                let ((a, _, va), (b, _, vb)) = (self.index(), self.index());
                Pair::new(
                    format!("(scf.load (at (at (out %out) {a}) {b}))"),
                    format!("(exe.load (exe.at (exe.at (exe.out %out) {va}) {vb}))"),
                )
            }
            3 => {
                let (a, b) = (self.value(depth - 1), self.value(depth - 1));
                let op = ["add", "mul", "max"][self.below(3)];
                let scf = format!("(scf.{op} {} {})", a.scf, b.scf);
                let slc = format!("(exe.{op} {} {})", a.slc, b.slc);
                let still = a.still && b.still;
                let slc = if still && self.chance() { format!("(exe.held {slc})") } else { slc };
                Pair { scf, slc, still }
            }
            _ => {
                let start = self.value(0);
                let (head, x) = self.looped(false, |m| m.value(depth - 1));
                let walks = if head.walked { "walk_reduce" } else { "reduce" };
                Pair::new(
                    format!("(scf.reduce add {} {} {})", head.scf, start.scf, x.scf),
                    format!("(exe.{walks} add {} {} {})", head.slc, start.slc, x.slc),
                )
            }
        }
    }

    /// Returns a loop: its head, and its body.
    fn looped(&mut self, access: bool, body: impl FnOnce(&mut Self) -> Pair) -> (Head, Pair) {
        let steps = ["1", "2", "3"];
        let step = steps[self.below(3)];
        // The bounds are constants, or the offsets of an outer loop's index.
        let (lo, hi) = if self.below(3) == 0 {
            let (at, stream, value) = self.index();
            let bound = |k: usize| {
                let scf = format!("(scf.load (at (in %offsets) (scf.add {at} {k})))");
                let stream = stream.as_ref().map(|s| {
                    let at = format!("(slc.alu_stream add {s} (slc.const {k}))");
                    format!("(slc.mem_stream temporal (slc.at (slc.in %offsets) {at}))")
                });
                let at = format!("(exe.add {value} (exe.const {k}))");
                (scf, stream, format!("(exe.load (exe.at (exe.in %offsets) {at}))"))
            };
            (bound(0), bound(1))
        } else {
            let bound = |n: usize| {
                (n.to_string(), Some(format!("(slc.const {n})")), format!("(exe.const {n})"))
            };
            let lo = self.below(5);
            (bound(lo), bound(3 + self.below(6)))
        };
        let var = format!("(var (depth {}) {} {} {step})", self.frames.len(), lo.0, hi.0);
        let alone = self.frames.iter().any(|f| f.by == By::Execute);
        let scf = format!("{var} {} {} {step}", lo.0, hi.0);
        let (by, slc) = match (lo.1, hi.1) {
            (Some(lo), Some(hi)) if access => (By::Access, format!("{var} {lo} {hi} {step}")),
            (Some(lo_stream), Some(hi_stream)) if !alone && self.chance() => {
                // The execute unit pops the bounds or computes them itself.
                let mut value = |stream: &str, value: String| {
                    if bool::arbitrary(&mut self.random) {
                        format!("(slc.from_stream {stream})")
                    } else {
                        value
                    }
                };
                let (lo, hi) = (value(&lo_stream, lo.2), value(&hi_stream, hi.2));
                (By::Both, format!("{var} {lo_stream} {hi_stream} {lo} {hi} {step}"))
            }
            _ => (By::Execute, format!("{var} {} {} {step}", lo.2, hi.2)),
        };
        self.frames.push(Frame { var, by });
        let body = body(self);
        self.frames.pop();
        (Head { scf, slc, walked: by == By::Both }, body)
    }

    /// Returns a statement of the execute unit.
    fn exec(&mut self, depth: usize) -> Pair {
        match self.below(if depth == 0 { 2 } else { 4 }) {
            0 | 1 => {
                let ((a, _, va), (b, _, vb)) = (self.index(), self.index());
                let value = self.value(2);
                let op = ["store", "accumulate add"][self.below(2)];
                Pair::new(
                    format!("(scf.{op} (at (at (out %out) {a}) {b}) {})", value.scf),
                    format!("(exe.{op} (exe.at (exe.at (exe.out %out) {va}) {vb}) {})", value.slc),
                )
            }
            2 => {
                let (a, b) = (self.exec(depth - 1), self.exec(depth - 1));
                Pair::new(
                    format!("(scf.seq {} {})", a.scf, b.scf),
                    format!("(exe.seq {} {})", a.slc, b.slc),
                )
            }
            _ => {
                let (head, body) = self.looped(false, |m| m.exec(depth - 1));
                let by = if head.walked { "walk" } else { "for" };
                Pair::new(
                    format!("(scf.for {} {})", head.scf, body.scf),
                    format!("(exe.{by} {} {})", head.slc, body.slc),
                )
            }
        }
    }

    /// Returns a statement of both units.
    fn slc(&mut self, depth: usize) -> Pair {
        match self.below(if depth == 0 { 1 } else { 4 }) {
            0 => {
                let body = self.exec(2);
                Pair::new(body.scf, format!("(slc.callback {})", body.slc))
            }
            1 => {
                let (a, b) = (self.slc(depth - 1), self.slc(depth - 1));
                Pair::new(
                    format!("(scf.seq {} {})", a.scf, b.scf),
                    format!("(slc.seq {} {})", a.slc, b.slc),
                )
            }
            _ => {
                let (head, body) = self.looped(true, |m| m.slc(depth - 1));
                Pair::new(
                    format!("(scf.for {} {})", head.scf, body.scf),
                    format!("(slc.for {} {})", head.slc, body.slc),
                )
            }
        }
    }
}

/// The part of a loop before its body.
struct Head {
    scf: String,
    slc: String,
    walked: bool,
}

/// Returns a table of 8 x 8, an output of that size, 8 indices below 8, and 9 offsets up to 8.
fn tensors() -> Vec<(&'static str, Tensor)> {
    let held = |dtype, shape: &[u64], data| Tensor { dtype, shape: shape.to_vec(), data };
    let table = (0..64).map(|k| (k as f32 * 0.37).sin()).collect();
    vec![
        ("table", held(DType::F32, &[8, 8], Data::F32(Arc::new(table)))),
        ("indices", held(DType::I64, &[8], Data::I64(Arc::new(vec![3, 0, 7, 7, 1, 5, 2, 0])))),
        ("offsets", held(DType::I64, &[9], Data::I64(Arc::new(vec![0, 0, 2, 2, 2, 3, 6, 8, 8])))),
        ("out", Tensor::zeros(DType::F32, vec![8, 8])),
    ]
}

fn output(program: &Program, machine: &Machine) -> Tensor {
    let tensors = tensors().into_iter().map(|(_, tensor)| tensor).collect();
    let bindings = Bindings { tensors, sizes: Vec::new() };
    let outcome = run(program, machine, bindings, Options::default());
    let mut outcome = outcome.unwrap_or_else(|e| panic!("{e:?}\n{}", print(program)));
    outcome.tensors.pop().expect("an output")
}

#[test]
fn decoupling_keeps_the_meaning_of_random_loop_nests() {
    let machine = Machine::plus().expect("the machine");
    let declare = |(name, tensor): (&str, Tensor)| TensorDecl {
        name: name.into(),
        dtype: tensor.dtype,
        shape: tensor.shape.iter().map(|n| Dim::Const(*n)).collect(),
        purpose: Purpose::of(name == "out"),
    };
    let tensors = tensors().into_iter().map(declare).collect();
    let context = ModelContext { name: "nest".into(), sizes: Vec::new(), tensors };
    let mut ran = 0;
    for seed in 0..1_500 {
        let mut maker = Maker { random: Gen::from_size_and_seed(10, seed), frames: Vec::new() };
        let pair = maker.slc(3);
        let read = |text: &str| text.parse::<Term>().unwrap_or_else(|e| panic!("{e}: {text}"));
        let decoupled = decouple(operators(), &read(&pair.slc), &context)
            .unwrap_or_else(|e| panic!("{seed}: {e}\n{}", pair.slc));
        let printed = print(&decoupled);
        let verified = check(&printed).unwrap_or_else(|e| panic!("{seed}: {e:#?}\n{printed}"));
        assert_eq!(verified, decoupled, "{seed}");
        let coupled = coupled(operators(), &read(&pair.scf), &context).expect("lowers");
        let coupled = check(&print(&coupled)).unwrap_or_else(|e| panic!("{seed}: {e:#?}"));
        // The machine has four layers; deeper nests are checked but not run.
        let layers = Limits::of(&machine).layers;
        let fits = verify(decoupled, &Limits { layers, ..Limits::NONE });
        let Ok(decoupled) = fits else { continue };
        let (got, expected) = (output(&decoupled, &machine), output(&coupled, &machine));
        for position in 0..64 {
            assert_eq!(
                got.get(position),
                expected.get(position),
                "{seed}: {position}\n{printed}\n{}",
                print(&coupled)
            );
        }
        ran += 1;
    }
    assert!(ran > 1_000, "{ran} of 1500 nests fit the machine");
}
