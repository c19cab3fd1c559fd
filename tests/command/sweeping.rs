//! Tests of the file of a sweep: it is the same whatever happens while the sweep runs, and no other one is written over.

use crate::common::{ember, folder, root, word};
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A sweep of 96 points.
const SWEEP: &str = "models = [\"gather.sexp\"]
schedules = [\"emb-opt1\", \"search\"]
seeds = [1, 2, 3]
[parameters]
access.lanes = [2, 4, 8, 16]
access.outstanding = [16, 128]
dram.sharers = [1, 8]
";

const POINTS: i64 = 96;

/// A sweep of a few points.
const SMALL: &str = "models = [\"gather.sexp\"]\nseeds = [1, 2]\n";

/// Makes a folder with a model and a sweep of it, and returns the sweep.
fn sweep(name: &str, text: &str) -> PathBuf {
    let folder = folder(name);
    fs::copy(root().join("tests/models/gather.sexp"), folder.join("gather.sexp")).expect("a copy");
    let sweep = folder.join("sweep.toml");
    fs::write(&sweep, text).expect("is written");
    sweep
}

fn start(sweep: &Path, threads: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_ember-rewrite"))
        .args(["sweep", &word(sweep)])
        .env("RAYON_NUM_THREADS", threads)
        .stdout(Stdio::null())
        .spawn()
        .expect("the command starts")
}

/// Returns the number of points in a file.
fn points(path: &Path) -> i64 {
    let file = Connection::open(path).expect("a database");
    file.query_row("SELECT count(*) FROM points", [], |row| row.get(0)).expect("a number")
}

/// Returns the bytes of an unfinished sweep: its database and the log of transactions.
fn length(part: &Path) -> u64 {
    let length = |path: &Path| fs::metadata(path).map_or(0, |meta| meta.len());
    length(part) + length(&part.with_extension("part-wal"))
}

#[test]
fn a_sweep_that_is_killed_again_and_again_gives_the_file_of_an_undisturbed_one() {
    let undisturbed = sweep("sweep-undisturbed", SWEEP);
    assert!(start(&undisturbed, "1").wait().expect("it ends").success());
    let killed = sweep("sweep-killed", SWEEP);
    let (file, part) = (killed.with_extension("sqlite"), killed.with_extension("sqlite.part"));
    let mut before = 0;
    for growth in [1, 60_000, 90_000] {
        let from = length(&part);
        let mut child = start(&killed, "2");
        let begin = Instant::now();
        while length(&part) < from + growth && begin.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(1));
        }
        child.kill().expect("is killed");
        child.wait().expect("it ends");
        assert!(!file.exists(), "it ended before it was killed");
        // The first kill may have come before there was a table.
        let database = Connection::open(&part).expect("a database");
        if database.table_exists(None, "points").expect("an answer") {
            let now = points(&part);
            assert!(before <= now && now < POINTS, "{before} and then {now} points");
            before = now;
        }
    }
    assert!(before > 0, "no point was stored before it was killed");
    assert!(start(&killed, "2").wait().expect("it ends").success());
    assert!(!part.exists() && points(&file) == POINTS);
    let expected = fs::read(undisturbed.with_extension("sqlite")).expect("a file");
    assert!(fs::read(&file).expect("a file") == expected, "the files differ");
}

#[test]
fn a_finished_sweep_is_not_run_again() {
    let sweep = sweep("sweep-finished", SMALL);
    let first = ember(&["sweep", &word(&sweep)]);
    let file = fs::read(sweep.with_extension("sqlite")).expect("a file");
    let again = ember(&["sweep", &word(&sweep)]);
    assert_eq!((first.code, &first.out), (Some(0), &again.out));
    assert!(fs::read(sweep.with_extension("sqlite")).expect("a file") == file);
    // A comment decides nothing.
    fs::write(&sweep, format!("# A comment.\n{SMALL}")).expect("is written");
    assert_eq!(ember(&["sweep", &word(&sweep)]).code, Some(0));
}

/// Checks that a sweep is refused for a reason, and not if it begins anew.
fn refused(sweep: &Path, reason: &str) {
    let ran = ember(&["sweep", &word(sweep)]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{ran:#?}");
    assert!(ran.err.contains(reason) && ran.err.contains("--restart"), "{}", ran.err);
    let ran = ember(&["sweep", &word(sweep), "--restart"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
}

#[test]
fn results_of_another_sweep_or_version_are_not_continued() {
    let sweep = sweep("sweep-other", SMALL);
    let file = sweep.with_extension("sqlite");
    assert_eq!(ember(&["sweep", &word(&sweep)]).code, Some(0));
    fs::write(&sweep, SMALL.replace("[1, 2]", "[1]")).expect("is written");
    refused(&sweep, "holds results of another sweep, or of other inputs");
    let model = sweep.with_file_name("gather.sexp");
    let text = fs::read_to_string(&model).expect("a model");
    fs::write(&model, text + "\n").expect("is written");
    refused(&sweep, "holds results of another sweep, or of other inputs");
    let change = |statement: &str| {
        Connection::open(&file).expect("a database").execute_batch(statement).expect("is done");
    };
    change("UPDATE sweep SET value = '0' WHERE name = 'version'");
    refused(&sweep, "holds results of another version of ember-rewrite");
    change("PRAGMA user_version = 99");
    refused(&sweep, "holds results of another version of ember-rewrite");
    change("DROP TABLE sweep");
    refused(&sweep, "no such table");
}

#[test]
fn the_key_of_a_point_depends_on_nothing_but_the_point() {
    let keys = |models: &str| {
        let sweep =
            sweep("sweep-keys", &format!("models = [{models}]\nschedules = [\"emb-opt1\"]\n"));
        let bag = root().join("tests/models/bag.sexp");
        fs::copy(bag, sweep.with_file_name("bag.sexp")).expect("a copy");
        let ran = ember(&["sweep", &word(&sweep), "--json"]).json();
        let points = ran["points"].as_array().expect("points").iter();
        let keys = points.map(|point| (point["model"].to_string(), point["key"].to_string()));
        keys.collect::<BTreeMap<_, _>>()
    };
    let both = keys("\"bag.sexp\", \"gather.sexp\"");
    assert_eq!(both, keys("\"gather.sexp\", \"bag.sexp\""));
    assert_eq!(both.get("\"bag.sexp\""), keys("\"bag.sexp\"").get("\"bag.sexp\""));
}

#[test]
fn a_sweep_that_runs_elsewhere_is_left_alone() {
    let sweep = sweep("sweep-in-use", SMALL);
    let part = Connection::open(sweep.with_extension("sqlite.part")).expect("a database");
    part.execute_batch("BEGIN EXCLUSIVE; CREATE TABLE t (x)").expect("is done");
    for words in [vec![], vec!["--restart"]] {
        let ran = ember(&[vec!["sweep", &word(&sweep)], words].concat());
        assert_eq!(ran.code, Some(2));
        assert!(ran.err.contains("sweep.sqlite.part: is in use"), "{}", ran.err);
    }
    // What is no part of a sweep is not written over.
    part.execute_batch("COMMIT").expect("is done");
    let ran = ember(&["sweep", &word(&sweep), "--restart"]);
    assert!(ran.err.contains("is no file of a sweep's results"), "{}", ran.err);
}
