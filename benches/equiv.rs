//! Measures proofs of equality: how many of the pairs in `tests/cases/equiv/` are proved, the time of a proof, and the
//! cost of certificates, each with its bound. `cargo bench --bench equiv -- --examples` instead reports which programs
//! of the examples are proved equal to their models, and takes minutes; `-- --growth` reports the time of a proof over the
//! number of statements, and `-- --each` also the time of each pair, so that two versions can be compared.

use ember_certify::{Rules, check};
use ember_compile::cost::Goal;
use ember_compile::machines;
use ember_compile::pipeline::{self, Options as Compiling};
use ember_host::Disk;
use ember_language::diagnostic::Sources;
use ember_language::{rules, sexp, text};
use ember_prove::equiv::{self, Found, Options, Search};
use ember_targets::print::print;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The number of runs of each measurement; the median counts.
const RUNS: usize = 5;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut sources = Sources::new(Disk);
    let paths = equiv::rule_paths(&Disk, &[root.join("rules")]);
    let (book, _) = rules::load(&mut sources, &paths).expect("the rules are well-formed");
    let compiled = ember_engine::compile(&book);
    let checked = Rules::read(&mut sources, &paths).expect("the checker reads them, too");
    let machine = machines::load(&mut sources, "tmu-cpu-plus").expect("it comes with the program");
    let options = Options::default();
    let schedules =
        ["equiv", "equiv-units"].map(|name| book.require_schedule(name).expect("it is there"));
    let search = |units: bool| Search {
        book: &book,
        compiled: &compiled,
        schedule: schedules[usize::from(units)],
        machine: &machine,
        exact: options.exact,
        limits: options.limits,
        certify: Some(&checked),
    };
    if std::env::args().any(|arg| arg == "--examples") {
        let prove = |files: &[PathBuf], units: bool| {
            let mut sources = Sources::new(Disk);
            let sides =
                equiv::read(&mut sources, &book, &machine, files, None).expect("two programs");
            let terms = equiv::terms(&sides, &book).map_err(|why| why.to_string())?;
            match search(units).run(&sides, &terms) {
                Found::Equal(certificate) => certificate.map(drop).map_err(|why| why.to_string()),
                Found::Open(reached) => Err(format!("{}, {} e-nodes", reached.stop, reached.nodes)),
            }
        };
        return examples(root, &prove);
    }
    let search = search(false);
    if std::env::args().any(|arg| arg == "--growth") {
        return growth(&|text: &str| {
            let mut sources = Sources::new(Disk);
            let files = [std::env::temp_dir().join("ember-growth.pair")];
            std::fs::write(&files[0], text).expect("a file");
            let sides = equiv::read(&mut sources, &book, &machine, &files, None);
            let sides = sides.expect("two programs");
            let terms = equiv::terms(&sides, &book).expect("terms of one level");
            let found = search.run(&sides, &terms);
            assert!(matches!(found, Found::Equal(Ok(_))), "they are equal");
        });
    }
    let mut files: Vec<PathBuf> = std::fs::read_dir(root.join("tests/cases/equiv"))
        .expect("the folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "pair"))
        .filter(|path| !path.file_name().is_some_and(|n| n.to_string_lossy().starts_with("wrong_")))
        .collect();
    files.sort();
    let each = std::env::args().any(|arg| arg == "--each");
    let (mut proved, mut prove, mut checking, mut recording) = (0, vec![], vec![], vec![]);
    let (mut proving_time, mut checking_time, mut recorded_time, mut plain_time) = (0., 0., 0., 0.);
    for file in &files {
        let (files, model, exact) = files_of(root, file);
        let search = Search { exact, ..search };
        let sides = equiv::read(&mut sources, &book, &machine, &files, model.as_deref());
        let sides = sides.expect("two programs");
        let Ok(terms) = equiv::terms(&sides, &book) else { continue };
        let Found::Equal(Ok(certificate)) = search.run(&sides, &terms) else {
            println!("{}: not proved", file.display());
            continue;
        };
        let proving = median(|| {
            black_box(search.run(&sides, &terms));
        });
        let holds = median(|| {
            let mut sources = Sources::new(Disk);
            let file = sources.add("<certificate>", certificate.text().as_str());
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
        if each {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            println!("{name}: {proving:.2} ms");
        }
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
        "proving: median {:.1} ms (at most 100), worst {worst:.1} ms (at most 10 000), all together {proving_time:.0} ms",
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

/// Prints the time of a proof for each of many statements, and how much it grows from few statements to many.
fn growth(prove: &dyn Fn(&str)) {
    let each = [20_usize, 200, 2000].map(|statements| {
        let text = strips(statements);
        let start = Instant::now();
        prove(&text);
        let each = start.elapsed().as_secs_f64() * 1e3 / statements as f64;
        println!("{statements} statements: {each:.2} ms each");
        each
    });
    println!("2000 statements over 20: {:.2} times for each (at most 2)", each[2] / each[0]);
}

/// Returns a chain of loops, of which each reads what the one before it wrote, and the same loops in strips.
fn strips(statements: usize) -> String {
    let mut text = "(input o0 f32 (n))\n".to_owned();
    text.extend((1..=statements).map(|k| format!("(output o{k} f32 (n))\n")));
    let body = |k: usize| format!("(scf.store (at o{} i) (scf.load (at o{k} i)))", k + 1);
    let plain = |k| format!("(scf.for i 0 n 1 {})", body(k));
    let strip = |k| {
        let end = "(scf.min (scf.add t 8) n)";
        format!("(scf.for t 0 n 8 (scf.for i t {end} 1 {}))", body(k))
    };
    let all = |one: &dyn Fn(usize) -> String| {
        let first = (0..statements - 1).map(|k| format!("(scf.seq {}\n", one(k)));
        first.collect::<String>() + &one(statements - 1) + &")".repeat(statements - 1)
    };
    format!("{text}{}\n{}\n", all(&plain), all(&strip))
}

/// Returns a pair's files, the model that declares their tensors, and the exactness, as given in the pair's first line.
fn files_of(root: &Path, pair: &Path) -> (Vec<PathBuf>, Option<PathBuf>, rules::Exactness) {
    let text = std::fs::read_to_string(pair).expect("a text");
    let first = text.lines().next().and_then(|line| line.strip_prefix("; equiv")).unwrap_or("");
    let words: Vec<&str> = first.split_whitespace().collect();
    let model = words.iter().skip_while(|word| **word != "--model").nth(1);
    let other = words.first().filter(|word| !word.starts_with("--"));
    let files = std::iter::once(pair.to_owned()).chain(other.map(|word| root.join(word)));
    let exact = match words.contains(&"reassoc") {
        true => rules::Exactness::Reassoc,
        false => rules::Exactness::Bitwise,
    };
    (files.collect(), model.map(|model| root.join(model)), exact)
}

/// A function that proves two files equal; the flag is true if one of them is a program of both units. An error states
/// why there is no proof.
type Prove<'a> = dyn Fn(&[PathBuf], bool) -> Result<(), String> + 'a;

/// Compares the programs of each schedule for each example with the example's model.
fn examples(root: &Path, prove: &Prove<'_>) {
    let folders = ["examples", "examples/bags"].map(|folder| root.join(folder));
    let mut models: Vec<PathBuf> = folders
        .iter()
        .flat_map(|folder| std::fs::read_dir(folder).expect("the folder"))
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "sexp"))
        .collect();
    models.sort();
    let (mut proved, mut all) = (0, 0);
    for model in models {
        for schedule in ["emb-opt0", "emb-opt1", "emb-opt2", "emb-opt3", "search"] {
            let options = Compiling {
                rules: vec![root.join("rules")],
                schedule: schedule.to_owned(),
                ..Compiling::default()
            };
            let mut sources = Sources::new(Disk);
            let inputs = pipeline::read(&mut sources, &model, &options).expect("a model");
            let chosen = pipeline::compile(&inputs, &options, Goal::Decoupled).expect("a program");
            let texts = [
                ("slcv", true, text::program(&chosen.term, &inputs.words())),
                ("dlc", false, print(chosen.program.program())),
            ];
            for (level, units, text) in texts {
                let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("example.{level}"));
                std::fs::write(&file, text).expect("a file");
                let start = Instant::now();
                let found = prove(&[model.clone(), file], units);
                let time = start.elapsed().as_secs_f64() * 1e3;
                all += 1;
                proved += usize::from(found.is_ok());
                let name = model.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                let answer = found.err().unwrap_or_else(|| "proved".to_owned());
                println!("{name} {schedule} {level}: {answer} ({time:.0} ms)");
            }
        }
    }
    println!("programs of the examples that are proved to be their models: {proved} of {all}");
}

/// Returns the median time of a few runs, in milliseconds.
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
