//! Proofs of equality: how many of the pairs in `tests/cases/equiv/` are proved, in what time, and what
//! certificates cost, each beside its bound.

use ember_rewrite::certify::{Rules, check};
use ember_rewrite::diagnostic::Sources;
use ember_rewrite::equiv::{self, Found, Options, Search};
use ember_rewrite::{rules, sexp, target};
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Runs of each, of which the median counts.
const RUNS: usize = 5;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut sources = Sources::default();
    let paths = equiv::rule_paths(&[root.join("rules")]);
    let (book, _) = rules::load(&mut sources, &paths).expect("the rules are well-formed");
    let compiled = book.compile();
    let checked = Rules::read(&mut sources, &paths).expect("the checker reads them, too");
    let machine = target::load(&mut sources, "tmu-cpu").expect("it comes with the program");
    let options = Options::default();
    let search = Search {
        book: &book,
        compiled: &compiled,
        schedule: book.require_schedule("equiv").expect("it is there"),
        machine: &machine,
        exact: options.exact,
        limits: options.limits,
        certify: Some(&checked),
    };
    let mut files: Vec<PathBuf> = std::fs::read_dir(root.join("tests/cases/equiv"))
        .expect("the folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "pair"))
        .filter(|path| !path.file_name().is_some_and(|n| n.to_string_lossy().starts_with("wrong_")))
        .collect();
    files.sort();
    let (mut proved, mut prove, mut checking, mut recording) = (0, vec![], vec![], vec![]);
    let (mut proving_time, mut checking_time, mut recorded_time, mut plain_time) = (0., 0., 0., 0.);
    for file in &files {
        let one = std::slice::from_ref(file);
        let sides = equiv::read(&mut sources, &book, &machine, one, None).expect("two programs");
        let Some(terms) = equiv::terms(&sides, &book) else { continue };
        let Found::Equal(Ok(certificate)) = search.run(&sides, &terms) else {
            println!("{}: not proved", file.display());
            continue;
        };
        let proving = median(|| {
            black_box(search.run(&sides, &terms));
        });
        let holds = median(|| {
            let mut sources = Sources::default();
            let file = sources.add("<certificate>", certificate.text.as_str());
            let forms = sexp::read(&sources, file).expect("it is balanced");
            check(&checked, &forms[0]).expect("it holds");
        });
        let recorded = median(|| {
            black_box(search.equal(&sides, &terms, true));
        });
        let plain = median(|| {
            black_box(search.equal(&sides, &terms, false));
        });
        proved += 1;
        prove.push(proving);
        checking.push(holds / proving);
        recording.push(recorded / plain);
        proving_time += proving;
        checking_time += holds;
        recorded_time += recorded;
        plain_time += plain;
    }
    for figures in [&mut prove, &mut checking, &mut recording] {
        figures.sort_by(f64::total_cmp);
    }
    let middle = |figures: &[f64]| figures.get(figures.len() / 2).copied().unwrap_or(0.0);
    let worst = prove.last().copied().unwrap_or(0.0);
    println!(
        "pairs proved, with certificates that hold: {proved} of {} (at least 30)",
        files.len()
    );
    println!(
        "proving: median {:.1} ms (at most 100), worst {worst:.1} ms (at most 10 000)",
        middle(&prove)
    );
    println!(
        "checking over proving: median {:.3}, all together {:.3} (at most 0.2)",
        middle(&checking),
        checking_time / proving_time
    );
    println!(
        "saturation recorded over plain: median {:.2}, all together {:.2} (at most 2)",
        middle(&recording),
        recorded_time / plain_time
    );
}

/// The median time of a few runs, in milliseconds.
fn median(mut run: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[RUNS / 2]
}
