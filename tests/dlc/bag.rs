//! The embedding bag as terms of every level, and its declarations.

use ember_compile::decouple::{ModelContext, decouple};
use ember_compile::dlc_text::DlcText;
use ember_host::Disk;
use ember_language::diagnostic::{Diagnostic, Sources};
use ember_language::rules::{self, Operators};
use ember_language::term::Term;
use ember_targets::dlc::{Dim, Program, Purpose, SizeId, TensorDecl};
use ember_targets::print::print;
use ember_targets::verify::{Limits, Verified};
use ember_values::scalar::DType;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// Returns the operators of the dialects.
pub fn operators() -> &'static Operators {
    static TABLE: OnceLock<Arc<Operators>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules");
        let (book, _) = rules::load(&mut Sources::new(Disk), &[folder]).expect("well-formed");
        book.signature.table().clone()
    })
}

/// Returns the sizes and tensors of an embedding bag with a table of `f32`.
pub fn bag_context() -> ModelContext {
    let size = |k| Dim::Size(SizeId(k));
    let tensor = |name: &str, dtype, shape, writable| TensorDecl {
        name: name.into(),
        dtype,
        shape,
        purpose: Purpose::of(writable),
    };
    ModelContext {
        name: "bag".into(),
        sizes: ["rows", "dim", "bags", "lookups", "bags+1"].map(String::from).to_vec(),
        tensors: vec![
            tensor("table", DType::F32, vec![size(0), size(1)], false),
            tensor("indices", DType::I64, vec![size(3)], false),
            tensor("offsets", DType::I64, vec![size(4)], false),
            tensor("out", DType::F32, vec![size(2), size(1)], true),
        ],
    }
}

/// Parses a term whose loop variables and repeated parts are written `$NAME`; see [`ABBREVIATIONS`].
pub fn term(text: &str) -> Term {
    let mut text = text.to_owned();
    // Later abbreviations use earlier ones.
    for (name, meaning) in ABBREVIATIONS.iter().rev() {
        text = text.replace(name, meaning);
    }
    text.parse().unwrap_or_else(|e| panic!("{e}: {text}"))
}

/// Reads and verifies a program; returns the messages of its errors.
pub fn check(text: &str) -> Result<Program, Vec<String>> {
    let messages = |errors: Vec<Diagnostic>| errors.into_iter().map(|e| e.message).collect();
    let mut sources = Sources::new(Disk);
    let file = sources.add("<test>", text);
    let text = DlcText::read(&sources, file).map_err(messages)?;
    text.verify(&Limits::NONE).map(Verified::into_program).map_err(messages)
}

/// Decouples a term of the embedding bag and verifies the result.
pub fn verified(text: &str) -> Program {
    let program = decouple(operators(), &term(text), &bag_context()).expect("decouples");
    let printed = print(&program);
    match check(&printed) {
        Ok(read) => {
            assert_eq!(read, program, "reads back");
            read
        }
        Err(errors) => panic!("{errors:#?}\n{printed}"),
    }
}

/// The repeated parts of the terms below.
const ABBREVIATIONS: &[(&str, &str)] = &[
    ("$B", "(var (depth 0) 0 (size %bags) 1)"),
    ("$From", "(slc.mem_stream temporal (slc.at (slc.in %offsets) (slc.iv $B)))"),
    (
        "$To",
        "(slc.mem_stream temporal
           (slc.at (slc.in %offsets) (slc.alu_stream add (slc.iv $B) (slc.const 1))))",
    ),
    ("$CFrom", "(scf.load (at (in %offsets) (iv $B)))"),
    ("$CTo", "(scf.load (at (in %offsets) (scf.add (iv $B) 1)))"),
    ("$L", "(var (depth 1) $CFrom $CTo 1)"),
    ("$E", "(var (depth 2) 0 (size %dim) 1)"),
    ("$V", "(var (outer (var (depth 2) 0 (size %dim) 1) 16) 0 (size %dim) 16)"),
    ("$Row", "(slc.mem_stream temporal (slc.at (slc.in %indices) (slc.iv $L)))"),
    ("$X", "(slc.mem_stream temporal (slc.at (slc.at (slc.in %table) $Row) (slc.iv $E)))"),
    ("$Run", "(slc.lanes 16 (slc.const (size %dim)) (slc.iv $V))"),
    ("$W", "(slc.mem_stream temporal (slc.at (slc.at (slc.in %table) $Row) $Run))"),
    ("$D", "(slc.const (size %dim))"),
    ("$M", "(slc.const (size %bags))"),
];

/// The coupled form, with sums in a register.
pub const SCF: &str = "
(scf.for $B 0 (size %bags) 1
  (scf.for $E 0 (size %dim) 1
    (scf.store (at (at (out %out) (iv $B)) (iv $E))
      (scf.reduce add $L $CFrom $CTo 1 (const f32 0.0)
        (scf.load (at (at (in %table) (scf.load (at (in %indices) (iv $L)))) (iv $E)))))))";

/// A token for every element; every index is marshalled.
pub const OPT0: &str = "
(slc.for $B (slc.const 0) $M 1
  (slc.seq
    (slc.for $E (slc.const 0) $D 1
      (slc.callback (exe.store
        (exe.at (exe.at (exe.out %out) (slc.from_stream (slc.iv $B))) (slc.from_stream (slc.iv $E)))
        (exe.const (const f32 0.0)))))
    (slc.for $L $From $To 1
      (slc.for $E (slc.const 0) $D 1
        (slc.callback (exe.accumulate add
          (exe.at (exe.at (exe.out %out) (slc.from_stream (slc.iv $B)))
            (slc.from_stream (slc.iv $E)))
          (slc.from_stream $X)))))))";

/// A token for every row; the row is walked, the bag is marshalled.
pub const OPT2: &str = "
(slc.for $B (slc.const 0) $M 1
  (slc.seq
    (slc.callback (exe.for $V (exe.const 0) (exe.const (size %dim)) 16
      (exe.store
        (exe.at (exe.at (exe.out %out) (slc.from_stream (slc.iv $B)))
          (exe.lanes 16 (exe.const (size %dim)) (exe.counter $V)))
        (exe.broadcast 16 (exe.const (const f32 0.0))))))
    (slc.for $L $From $To 1
      (slc.callback (exe.walk $V (slc.const 0) $D (exe.const 0) (exe.const (size %dim)) 16
        (exe.accumulate add
          (exe.at (exe.at (exe.out %out) (slc.from_stream (slc.iv $B)))
            (exe.lanes 16 (exe.const (size %dim)) (slc.from_stream (slc.iv $V))))
          (slc.from_stream $W)))))))";

/// A token for every row, with counters instead of marshalled indices.
pub const OPT3: &str = "
(slc.for $B (slc.const 0) $M 1
  (slc.seq
    (slc.callback (exe.for $V (exe.const 0) (exe.const (size %dim)) 16
      (exe.store
        (exe.at (exe.at (exe.out %out) (exe.counter $B))
          (exe.lanes 16 (exe.const (size %dim)) (exe.counter $V)))
        (exe.broadcast 16 (exe.const (const f32 0.0))))))
    (slc.for $L $From $To 1
      (slc.callback (exe.walk $V (slc.const 0) $D (exe.const 0) (exe.const (size %dim)) 16
        (exe.accumulate add
          (exe.at (exe.at (exe.out %out) (exe.counter $B))
            (exe.lanes 16 (exe.const (size %dim)) (exe.counter $V)))
          (slc.from_stream $W)))))))";

/// One callback for the whole loop nest, with sums in registers.
pub const SEARCH: &str = "
(slc.callback
  (exe.walk $B (slc.const 0) $M (exe.const 0) (exe.const (size %bags)) 1
    (exe.walk $V (slc.const 0) $D (exe.const 0) (exe.const (size %dim)) 16
      (exe.store
        (exe.at (exe.at (exe.out %out) (exe.counter $B))
          (exe.lanes 16 (exe.const (size %dim)) (exe.counter $V)))
        (exe.walk_reduce add $L $From $To (slc.from_stream $From) (slc.from_stream $To) 1
          (exe.broadcast 16 (exe.const (const f32 0.0)))
          (slc.from_stream $W))))))";
