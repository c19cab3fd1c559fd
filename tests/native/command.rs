//! The command on this machine, from outside.

use super::compiled::{examples, folder, smaller};
use itertools::iproduct;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Runs the command in the repository, with some variables of the environment.
fn ember(args: &[&str], environment: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ember-rewrite"));
    command.current_dir(env!("CARGO_MANIFEST_DIR")).args(args);
    command.envs(environment.iter().copied()).output().expect("the command runs")
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The most rows of a table. Tables of examples have up to 4,000,000, which take seconds to make.
const ROWS: u64 = 20_000;

/// Runs a model once on this machine, without measuring it and with smaller tables, and returns its rows.
fn rows_once(model: &Path, more: &[&str]) -> Vec<Value> {
    let text = fs::read_to_string(model).expect("a model");
    let name = model.file_name().and_then(|name| name.to_str()).expect("a name");
    let copy = folder(&["once", name, &more.concat()].join("-")).join(name);
    fs::write(&copy, smaller(&text, ROWS)).expect("is written");
    rows(copy.to_str().expect("a name"), &[&["--no-measure"], more].concat())
}

/// Returns the path of an example.
fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("examples/{name}.sexp"))
}

/// Runs a model on this machine, and returns its rows.
fn rows(model: &str, more: &[&str]) -> Vec<Value> {
    let args = [&[model, "--target", "cpu", "--json"], more].concat();
    let output = ember(&args, &[]);
    assert!(output.status.success(), "{model}: {}", errors(&output));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    report["programs"].as_array().expect("programs").clone()
}

#[test]
fn every_example_gives_the_bits_of_the_reference() {
    for model in examples() {
        for row in rows_once(&model, &[]) {
            assert_eq!(row["mismatch"], Value::Null, "{}: {row}", model.display());
        }
    }
}

#[test]
fn a_program_that_is_measured_runs_many_times() {
    for model in ["bag_mean", "gcn"] {
        for row in rows(&format!("examples/{model}.sexp"), &[]) {
            assert_eq!(row["mismatch"], Value::Null, "{model}: {row}");
            assert!(row["seconds"].as_f64().is_some_and(|seconds| seconds > 0.0), "{model}: {row}");
            assert!(row["runs"].as_u64().is_some_and(|runs| runs > 1), "{model}: {row}");
        }
    }
}

/// Some versions of gcc get the magnitude of a choice between loaded integers wrong if the loads depend on the condition.
#[test]
fn magnitudes_of_choices_are_right() {
    let model = folder("magnitudes").join("magnitudes.sexp");
    let text = "(model magnitudes
      (input a i32 (m 7)) (input b i32 (m 7)) (input c i32 (m 7)) (input d i32 (m 7))
      (output r (nn.abs (nn.where gt a b c d)))
      (data (seed 1) (size m 70)
        (a (uniform -9 9)) (b (uniform -9 9)) (c (uniform -9 9)) (d (uniform -9 9))))";
    fs::write(&model, text).expect("is written");
    for row in rows(model.to_str().expect("a name"), &["--no-measure"]) {
        assert_eq!(row["mismatch"], Value::Null, "{row}");
    }
}

/// A name of the model is none of C's headers, of C++, or of the functions that are written beside the program.
#[test]
fn names_that_c_has_taken_are_others() {
    let names = ["linux", "SIZE_MAX", "signbit", "memcpy", "expf", "f32x16", "max_f32", "class"];
    for name in names {
        let model = folder("names").join(format!("{name}.sexp"));
        let text = format!(
            "(model {name} (input {name} f32 (rows 16)) (output o (nn.max_number (nn.exp {name}) 2.0))
               (data (seed 1) (size rows 3) ({name} (uniform 0 1))))"
        );
        fs::write(&model, text).expect("is written");
        for row in rows(model.to_str().expect("a name"), &["--no-measure"]) {
            assert_eq!(row["mismatch"], Value::Null, "{name}: {row}");
        }
    }
}

#[test]
fn a_program_that_is_not_measured_runs_once() {
    let rows = rows_once(&example("bag_mean"), &[]);
    let [row] = rows.as_slice() else { panic!("one program: {rows:?}") };
    assert_eq!((row["name"].as_str(), row["runs"].as_u64()), (Some("native"), Some(1)));
    assert_eq!(row["mismatch"], Value::Null);
}

#[test]
fn threads_give_the_same_bits() {
    for model in ["bag_mean", "gcn", "kg_scorer", "fusedmm", "dlrm_rm1", "bigbird", "bag_max"] {
        let text =
            ember(&[&format!("examples/{model}.sexp"), "--emit", "c", "--threads", "3"], &[]);
        assert!(String::from_utf8_lossy(&text.stdout).contains("#pragma omp"), "{model}");
        for row in rows_once(&example(model), &["--threads", "3"]) {
            assert_eq!(row["mismatch"], Value::Null, "{model}: {row}");
        }
    }
}

#[test]
fn threads_share_the_blocks_of_attention() {
    let text = ember(&["examples/bigbird.sexp", "--emit", "c", "--threads", "3"], &[]);
    let text = String::from_utf8_lossy(&text.stdout);
    // Three products with rows of their own, three biases, and one loop over blocks of queries for all that is left.
    assert_eq!(text.matches("#pragma omp").count(), 7, "{text}");
    let last = text.rsplit("#pragma omp").next().unwrap_or_default();
    assert_eq!(last.matches("matmul_f32(").count(), 2, "{last}");
}

#[test]
fn a_page_shows_the_times_and_the_rules() {
    let page = folder("page").join("page.html");
    let path = page.to_str().expect("a name");
    for row in rows("examples/bag_max.sexp", &["--html", path]) {
        assert_eq!(row["mismatch"], Value::Null, "{row}");
    }
    let text = fs::read_to_string(&page).expect("a page");
    for part in [r#""kind":"native""#, "bag_max_unchecked", r#""rule":"bag"#] {
        assert!(text.contains(part), "no {part}");
    }
}

#[test]
fn sums_in_another_order_stay_within_their_bound() {
    for (model, exact) in
        iproduct!(["fusedmm", "kg_scorer", "dlrm_rm1", "bigbird"], ["reassoc", "approx"])
    {
        for row in rows_once(&example(model), &["--exact", exact]) {
            assert_eq!(row["mismatch"], Value::Null, "{model}, {exact}: {row}");
        }
    }
}

#[test]
fn a_library_is_called_from_c() {
    let folder = folder("library");
    let library = folder.join("libbag.so");
    let built = ember(
        &["build", "examples/embedding_bag.sexp", "-o", library.to_str().expect("a name")],
        &[],
    );
    assert!(built.status.success(), "{}", errors(&built));
    let main = folder.join("main.c");
    fs::write(&main, include_str!("call.c")).expect("is written");
    let program = folder.join("main");
    let compiled = Command::new("cc")
        .args([&main, &library])
        .arg("-o")
        .arg(&program)
        .arg(format!("-Wl,-rpath,{}", folder.display()))
        .output()
        .expect("cc");
    assert!(compiled.status.success(), "{}", errors(&compiled));
    let ran = Command::new(program).output().expect("runs");
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "0: 3 5 0\n1\n2\n");
}

#[test]
fn no_compiler() {
    let output = ember(&["examples/gather.sexp", "--target", "cpu"], &[("CC", "no-such-compiler")]);
    assert_eq!(output.status.code(), Some(2));
    let text = errors(&output);
    assert!(text.contains("no C compiler was found; tried no-such-compiler"), "{text}");
    assert!(text.contains("install gcc"), "{text}");
}

/// Writes a compiler that is a script for a shell.
fn compiler(folder: &Path, script: &str) -> PathBuf {
    let compiler = folder.join("cc");
    fs::write(&compiler, format!("#!/bin/sh\n{script}\n")).expect("is written");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&compiler, mode).expect("a program");
    compiler
}

#[test]
fn a_compiler_that_hangs() {
    for script in
        ["[ \"$1\" = --version ] && echo slow 1 && exit; exec sleep 100", "exec sleep 100"]
    {
        let (folder, cache) = (folder("hangs"), super::compiled::folder("hangs-cache"));
        let compiler = compiler(&folder, script);
        let environment = [
            ("CC", compiler.to_str().expect("a name")),
            ("EMBER_REWRITE_CACHE", cache.to_str().expect("a name")),
            ("EMBER_REWRITE_COMPILER_SECONDS", "1"),
        ];
        let output = ember(&["examples/gather.sexp", "--target", "cpu"], &environment);
        assert_eq!(output.status.code(), Some(2));
        assert!(errors(&output).contains("did not end within 1 seconds"), "{}", errors(&output));
        assert_eq!(fs::read_dir(&cache).expect("the folder").count(), 0, "nothing is left");
    }
}

#[test]
fn a_compiler_that_fails() {
    let (folder, cache) = (folder("fails"), super::compiled::folder("fails-cache"));
    let compiler = compiler(
        &folder,
        "[ \"$1\" = --version ] && echo broken 1 && exit\necho out of order >&2\nexit 1",
    );
    let environment = [
        ("CC", compiler.to_str().expect("a name")),
        ("EMBER_REWRITE_CACHE", cache.to_str().expect("a name")),
    ];
    let output = ember(&["examples/gather.sexp", "--target", "cpu"], &environment);
    assert_eq!(output.status.code(), Some(2));
    assert!(errors(&output).contains("refuses the program: out of order"), "{}", errors(&output));
    let left = fs::read_dir(&cache).expect("the folder").count();
    assert_eq!(left, 0, "nothing is left of what failed");
}

#[test]
fn a_folder_that_cannot_be_written() {
    let output = ember(
        &["examples/gather.sexp", "--target", "cpu"],
        &[("EMBER_REWRITE_CACHE", "/proc/nowhere")],
    );
    assert!(output.status.success(), "{}", errors(&output));
}

#[test]
fn several_processes_fill_one_folder() {
    let cache = folder("shared-cache");
    let start = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ember-rewrite"));
        command.current_dir(env!("CARGO_MANIFEST_DIR"));
        command.args(["examples/bag_max.sexp", "--target", "cpu", "--json", "-o", "/dev/null"]);
        command.env("EMBER_REWRITE_CACHE", &cache).spawn().expect("starts")
    };
    let processes: Vec<_> = (0..4).map(|_| start()).collect();
    for mut process in processes {
        assert!(process.wait().expect("ends").success());
    }
    let names =
        fs::read_dir(&cache).expect("the folder").map(|entry| entry.expect("a file").path());
    assert!(names.into_iter().all(|path| path.extension().is_some_and(|ending| ending == "so")));
}
