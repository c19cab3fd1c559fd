//! The compiler extended by files alone: a scalar operation by definition; an operation of models, which means what its
//! lowering rules say; a level between SCF and SLC with a loop and statements of its own; and a second access
//! operation. Programs go by way of all of them, since the files take the place of the project's rules for the split
//! between the units.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// A scalar operation and an operation of models.
const GATE: &str = r#"; A gate: values times the logistic function of others.
(define (my.logistic ?x) "1 / (1 + exp(0 - x))"
  (scf.div (scf.one ?x) (scf.add (scf.one ?x) (scf.exp (scf.sub (scf.identity add ?x) ?x)))))

(dialect my "gates"
  (op my.gate ((a Tensor) (b Tensor)) Tensor "a · logistic(b), element by element" :input :type a :reads))

(ruleset gate "gates as arithmetic" :phase lower :exact bitwise)

(rule my-gate-2 "One element of a gate."
  (emb.element (my.gate ?a ?b) ?i ?j)
  => (scf.mul (emb.element ?a ?i ?j) (my.logistic (emb.element ?b ?i ?j))))
(rule my-gate-extent "As many as those of the values." (emb.extent (my.gate ?a ?b) ?k) => (emb.extent ?a ?k))
"#;

/// A level between SCF and SLC, a second access operation, and the split between the units by way of both.
const WORK: &str = r#"; Work lists: statements that both units will share, before they are split.
(dialect work "work lists, a level between SCF and SLC"
  (sort Work "a statement of a work list" :kind statement)
  (op work (Stmt) Work "a statement, to be on a work list" :boundary :means same)
  (op work.each ((variable Var) (lo Value) (hi Value) (step Value) (body Work)) Work
    "a loop over work" :binds (0 4) :erases scf.for)
  (op work.put ((address Address) (value Value)) Work "writes an element" :erases scf.store)
  (op work.then ((first Work) (second Work)) Work "one after the other" :erases scf.seq)
  (op work.split (Work) Slc "work, to be split between the units" :boundary :means same))

(dialect past "a second way to memory"
  (op past.load (SAddress) Stream "loads through the access unit" :erases scf.load))

(ruleset decouple "the split between the units, by way of work lists" :phase decouple :exact bitwise)

(rule work-enter "What is split goes by way of a work list." (slc ?s) => (work.split (work ?s)))
(rule work-each "A loop over work."
  (work (scf.for ?i ?lo ?hi ?st ?s)) => (work.each ?i ?lo ?hi ?st (work ?s)))
(rule work-put "An element is written." (work (scf.store ?a ?x)) => (work.put ?a ?x))
(rule work-then "One after the other." (work (scf.seq ?s ?t)) => (work.then (work ?s) (work ?t)))
(rule split-each "A loop of both units."
  (work.split (work.each ?i ?lo ?hi ?st ?s)) => (slc.for ?i (str ?lo) (str ?hi) ?st (work.split ?s)))
(rule split-put "The execute unit writes."
  (work.split (work.put ?a ?x)) => (slc.callback (exe.store (ead ?a) (val ?x))))
(rule split-then "One after the other."
  (work.split (work.then ?s ?t)) => (slc.seq (work.split ?s) (work.split ?t)))

(rule past-load "The second way to memory."
  (str (scf.load ?a)) => (past.load (sad ?a)) :when (read-only ?a))

; The rest is as the project has it.
(derive exe)
(rule val-load-in "A load of read-only memory is made by the access unit and popped."
  (val (scf.load ?a)) => (slc.from_stream (str (scf.load ?a))) :when (read-only ?a))
(rule val-load-out "A load of memory that changes is the execute unit's own."
  (val (scf.load ?a)) => (exe.load (ead ?a)) :when (writable ?a))
(rule val-iv "A loop variable is popped." (val (iv ?i)) => (slc.from_stream (slc.iv ?i)))
(rule val-constant "A constant." (val ?x) => (exe.const ?x) :when (constant ?x))
(derive val)
(derive str)
(rule str-constant "A constant." (str ?x) => (slc.const ?x) :when (constant ?x))
(rule str-cast "Index conversion." (str (scf.cast i64 ?a)) => (slc.index_cast (str ?a)) :when (scalar ?a))
(derive sad)
(derive ead)

(schedule by-work "lowered, and split by way of work lists"
  (saturate gate (steps lowered))
  (saturate decouple))
"#;

/// A model of the new operation.
const MODEL: &str = r#"(model gated
  (input table f32 (rows 16)) (input gates f32 (rows 16)) (input indices i64 (lookups))
  (output out (my.gate (emb.gather table indices) (emb.gather gates indices)))
  (data (seed 1) (size rows 50) (size lookups 20)
    (table (uniform -1.0 1.0)) (gates (uniform -1.0 1.0)) (indices (uniform 0 50))))
"#;

/// That model without the user's operation.
const PLAIN: &str = r#"(model gated
  (input table f32 (rows 16)) (input gates f32 (rows 16)) (input indices i64 (lookups))
  (output out (nn.mul (emb.gather table indices) (nn.sigmoid (emb.gather gates indices))))
  (data (seed 1) (size rows 50) (size lookups 20)
    (table (uniform -1.0 1.0)) (gates (uniform -1.0 1.0)) (indices (uniform 0 50))))
"#;

/// A folder with the project's rules and these, and the models.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("extend");
        for part in ["", "equiv"] {
            let to = folder.join("rules").join(part);
            fs::create_dir_all(&to).expect("a folder");
            for entry in fs::read_dir(rules.join(part)).expect("the rules").flatten() {
                let name = entry.file_name();
                if entry.path().extension().is_some_and(|end| end == "rules") {
                    fs::copy(entry.path(), to.join(name)).expect("copied");
                }
            }
        }
        let write = |name: &str, text: &str| fs::write(folder.join(name), text).expect("written");
        write("rules/decouple.rules", WORK);
        write("rules/gate.rules", GATE);
        write("gated.sexp", MODEL);
        write("plain.sexp", PLAIN);
        folder
    })
}

fn path(name: &str) -> String {
    folder().join(name).display().to_string()
}

/// Runs the command; its exit code and what it says.
fn run(words: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_ember-rewrite"))
        .args(words)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("it runs");
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&said).into_owned())
}

/// Runs the command, which must end well, and say what is expected.
fn says(words: &[&str], expected: &[&str]) -> String {
    let (code, said) = run(words);
    assert_eq!(code, Some(0), "{words:?}:\n{said}");
    for part in expected {
        assert!(said.contains(part), "`{part}` is missing in what {words:?} says:\n{said}");
    }
    said
}

#[test]
fn the_files_are_checked() {
    says(&["check", &path("rules")], &[]);
}

#[test]
fn a_model_compiles_and_validates_by_way_of_them() {
    let (rules, model) = (path("rules"), path("gated.sexp"));
    says(&[&model, "--rules", &rules, "--schedule", "by-work"], &["gated", "not compared"]);
    says(&[&model, "--rules", &rules, "--schedule", "by-work", "--emit", "slc"], &["past.load"]);
}

#[test]
fn the_rules_are_verified() {
    let said =
        says(&["verify", &path("rules"), "--filter", "^(work|split|past|my)-"], &["past-load"]);
    for rule in ["my-gate-2", "work-each", "work-put", "split-each", "split-put"] {
        assert!(said.contains(rule), "`{rule}` is missing:\n{said}");
    }
}

#[test]
fn a_false_rule_is_refuted() {
    let wrong = folder().join("wrong.rules");
    let text = WORK.replace("(work.put ?a ?x))", "(work.put ?a (scf.add ?x ?x)))");
    let (rules, _) = text.split_once("(schedule").expect("a schedule");
    fs::write(&wrong, rules).expect("written");
    let dialects = folder().join("rules");
    let mut paths: Vec<String> = fs::read_dir(dialects)
        .expect("the rules")
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("dialect-"))
        .map(|entry| entry.path().display().to_string())
        .collect();
    paths.push(wrong.display().to_string());
    let mut words = vec!["verify", "--filter", "^work-put$"];
    words.extend(paths.iter().map(String::as_str));
    let (code, said) = run(&words);
    assert_eq!(code, Some(1), "{said}");
}

#[test]
fn programs_are_proved_equal() {
    let (rules, model) = (path("rules"), path("gated.sexp"));
    let (plain, without) = (path("plain.sexp"), path("plain.scf"));
    let words = ["--rules", &rules, "--schedule", "by-work", "--emit", "scf", "-o", &without];
    says(&[&[plain.as_str()], &words[..]].concat(), &[]);
    says(&["equiv", &model, &without, "--model", &model, "--rules", &rules], &["equal"]);
    for level in ["scf", "slc"] {
        let program = path(&format!("gated.{level}"));
        says(
            &[&model, "--rules", &rules, "--schedule", "by-work", "--emit", level, "-o", &program],
            &[],
        );
        says(&["equiv", &model, &program, "--model", &model, "--rules", &rules], &["equal"]);
    }
}

#[test]
fn the_way_to_a_program_is_explained() {
    let (rules, model) = (path("rules"), path("gated.sexp"));
    let words = ["explain", &model, "--rules", &rules, "--schedule", "by-work", "--full"];
    says(&words, &["work-each", "work-put", "split-each", "split-put", "past-load"]);
}

#[test]
fn programs_of_them_are_mutated() {
    let rules = path("rules");
    says(&["self-test", "--rules", &rules, "--pairs", "60", "--programs", "4"], &[]);
}
