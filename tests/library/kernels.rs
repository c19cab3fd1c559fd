//! Tests of `equiv` on textbook kernels: a bounded form of `cargo bench --bench kernels`.

#[path = "../kernels/variants.rs"]
mod variants;

use ember_certify::Rules;
use ember_compile::machines;
use ember_host::Disk;
use ember_language::diagnostic::Sources;
use ember_language::rules;
use ember_prove::equiv::{self, Options, Verdict};
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use variants::Kernel;

/// The variants that are compared; the others take longer.
const NAMES: [&str; 5] = [
    "tile 8",
    "unroll 2",
    "tile 8 without a clamp",
    "unroll 2 without the remainder",
    "unroll 2 with one index",
];

#[test]
fn tiled_and_unrolled_kernels_are_equal_and_wrong_ones_are_not() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut sources = Sources::new(Disk);
    let paths = equiv::rule_paths(&Disk, &[root.join("rules")]);
    let (book, _) = rules::load(&mut sources, &paths).expect("the rules are well-formed");
    let compiled = ember_engine::compile(&book);
    let checked = Rules::read(&mut sources, &paths).expect("the checker reads them, too");
    let machine = machines::load(&mut sources, "tmu-cpu-plus").expect("it comes with the program");
    let kernels = Kernel::all(&root.join("tests/kernels"));
    assert!(kernels.len() >= 20);
    kernels.par_iter().for_each(|kernel| {
        for variant in kernel.variants().iter().filter(|v| NAMES.contains(&v.name.as_str())) {
            let title = format!("{}, {}", kernel.name, variant.name);
            let file = PathBuf::from(format!("{title}.pair"));
            let mut sources = Sources::new(Disk);
            sources.add(&file, variant.text.as_str());
            let sides = equiv::read(&mut sources, &book, &machine, &[file], None);
            let sides = sides.unwrap_or_else(|errors| panic!("{title}: {errors:?}"));
            let options = Options::default();
            let answer = equiv::compare(&sides, &book, &compiled, &checked, &machine, &options);
            match (answer.expect("an answer").verdict, variant.equal) {
                (Verdict::Equal(Ok(_)), true) | (Verdict::Different(_), false) => {}
                (verdict, _) => panic!("{title}: {verdict:?}"),
            }
        }
    });
}
