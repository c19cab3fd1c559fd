//! Verbs that run the command itself: its output, its errors on bad input, and the comparison of a model's programs.

use crate::{certificate, entries, extension, file_name};
use ember_host::Disk;
use ember_language::diagnostic::Sources;
use ember_language::fmt;
use ember_language::rules;
use ember_tools::render::render;
use itertools::Itertools;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The model for the programs and machines of `fail/`.
const MODEL: &str = "tests/models/bag.sexp";

/// Returns the standard error for bad input. The command must exit with 2 and print nothing else.
pub fn fail(path: &Path) -> Result<String, String> {
    let name = path.display().to_string();
    let words = match extension(path) {
        "rules" => return fail_rules(path),
        "args" => arguments(path)?,
        "sexp" => vec![name],
        "mlir" => vec![name, "--emit".to_owned(), "scf".to_owned()],
        "toml" => vec!["--target".to_owned(), name, MODEL.to_owned()],
        "edit" => vec!["--target".to_owned(), edited(path)?, MODEL.to_owned()],
        _ => vec!["run".to_owned(), name, MODEL.to_owned()],
    };
    let output = command(&words)?;
    let folder = format!("{}/", env!("CARGO_TARGET_TMPDIR"));
    let said = String::from_utf8_lossy(&output.stderr).replace(&folder, "");
    match output.status.code() {
        Some(2) if output.stdout.is_empty() => Ok(said),
        Some(2) => Err("something stands on standard output".to_owned()),
        code => Err(format!("exit code {code:?}, not 2\n{said}")),
    }
}

/// Writes the project's machine with one change per line: `[SECTION] KEY = …` replaces or adds a figure, `[SECTION]
/// -KEY` removes it. Returns the path of the written file.
fn edited(path: &Path) -> Result<String, String> {
    let mut lines: Vec<String> =
        ember_targets::machine::TMU_CPU.lines().map(str::to_owned).collect();
    for (section, change) in fs::read_to_string(path)
        .map_err(|e| e.to_string())?
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once("] "))
    {
        let start = lines.iter().position(|line| *line == format!("{section}]"));
        let start = start.ok_or_else(|| format!("no section {section}]"))? + 1;
        let length = lines[start..].iter().position(|line| line.starts_with('['));
        let end = length.map_or(lines.len(), |length| start + length);
        let key = change.trim_start_matches('-').split(' ').next().unwrap_or(change);
        let old = lines[start..end].iter().position(|line| line.starts_with(&format!("{key} =")));
        let new = (!change.starts_with('-')).then(|| change.to_owned());
        let at = start + old.unwrap_or(0);
        lines.splice(at..at + usize::from(old.is_some()), new);
    }
    let name = path.with_extension("toml").file_name().map(PathBuf::from).unwrap_or_default();
    let written = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&written, lines.join("\n") + "\n").map_err(|e| e.to_string())?;
    Ok(written.display().to_string())
}

/// Reads rules without the command, because warnings count here although they do not stop a run. The rules may mention
/// every operator of the project's dialects.
fn fail_rules(path: &Path) -> Result<String, String> {
    let mut paths = entries(Path::new("rules"));
    paths.retain(|path| file_name(path).starts_with("dialect-"));
    paths.push(path.to_owned());
    let mut sources = Sources::new(Disk);
    let found = rules::check(&mut sources, &paths).diagnostics;
    if found.is_empty() {
        Err("nothing was found".to_owned())
    } else {
        Ok(render(&sources, &found, false))
    }
}

/// Returns the formatted text, which a second formatting must not change.
pub fn format(path: &Path) -> Result<String, String> {
    let mut sources = Sources::new(Disk);
    let text = fs::read_to_string(path).map_err(|e| e.to_string())?;
    let mut format = |text: &str| {
        let file = sources.add(path, text);
        fmt::format(&sources, file).map_err(|errors| render(&sources, &errors, false))
    };
    let once = format(&text)?;
    if format(&once)? == once { Ok(once) } else { Err(format!("changes again:\n{once}")) }
}

/// Returns the command's output. The command must exit with 0 and print nothing on standard error.
pub fn print(path: &Path) -> Result<String, String> {
    let output = command(&arguments(path)?)?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.code() != Some(0) || !said.is_empty() {
        return Err(format!("exit code {:?}\n{said}", output.status.code()));
    }
    String::from_utf8(output.stdout).map_err(|e| e.to_string())
}

/// Returns the command's output on both streams, and its exit code.
pub fn answer(path: &Path) -> Result<String, String> {
    say(&arguments(path)?)
}

fn say(words: &[String]) -> Result<String, String> {
    let output = command(words)?;
    let code = output.status.code().ok_or("ended by a signal")?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(text).map_err(|e| e.to_string())?;
    Ok(format!("{text}exit code {code}\n"))
}

/// Returns the output for two programs, and the exit code. The first line contains the options after `; equiv`. A proof
/// must have a certificate that holds.
pub fn equiv(path: &Path) -> Result<String, String> {
    let text = fs::read_to_string(path).map_err(|e| e.to_string())?;
    let options = text.lines().next().and_then(|line| line.strip_prefix("; equiv")).unwrap_or("");
    let name = path.with_extension("certificate").file_name().map(PathBuf::from);
    let written = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name.unwrap_or_default());
    let _ = fs::remove_file(&written);
    let mut words = vec!["equiv".to_owned(), path.display().to_string()];
    words.extend(options.split_whitespace().map(str::to_owned));
    words.extend(["--certificate".to_owned(), written.display().to_string()]);
    let said = say(&words)?;
    if said.ends_with("exit code 0\n") {
        let pairs = words.iter().tuple_windows().filter(|(option, _)| *option == "--rules");
        certificate::holds(&written, pairs.map(|(_, path)| path.as_str()).collect())?;
    }
    Ok(said)
}

/// Returns the output of a sweep, without the keys of points, and the exit code. The first line may contain options after `# sweep`.
pub fn sweep(path: &Path) -> Result<String, String> {
    let text = fs::read_to_string(path).map_err(|e| e.to_string())?;
    let options = text.lines().next().and_then(|line| line.strip_prefix("# sweep")).unwrap_or("");
    let mut words = vec!["sweep".to_owned(), path.display().to_string(), "--restart".to_owned()];
    let name = path.with_extension("sqlite");
    let name = name.file_name().map(PathBuf::from).unwrap_or_default();
    let folder = format!("{}/", env!("CARGO_TARGET_TMPDIR"));
    if !options.contains("-o ") {
        words.extend(["-o".to_owned(), format!("{folder}{}", name.display())]);
    }
    words.extend(options.split_whitespace().map(str::to_owned));
    let said = say(&words)?.replace(&folder, "");
    // Keys depend on every rule.
    let lines = said.lines().filter(|line| !line.trim_start().starts_with("\"key\": "));
    Ok(lines.map(|line| format!("{line}\n")).collect())
}

/// Returns the output of a fit, and the exit code.
pub fn calibrate(path: &Path) -> Result<String, String> {
    let name = path.with_extension("jsonl").file_name().map(PathBuf::from).unwrap_or_default();
    let folder = format!("{}/", env!("CARGO_TARGET_TMPDIR"));
    let output = format!("{folder}calibrate-{}", name.display());
    let fit = path.display().to_string();
    let words = ["calibrate", &fit, "--restart", "-o", &output].map(str::to_owned);
    Ok(say(&words)?.replace(&folder, ""))
}

/// Returns the output of a tuning, and the exit code. A `.json` file is a space; an `.args` file has one argument in each
/// line.
pub fn tune(path: &Path) -> Result<String, String> {
    let mut words = vec!["tune".to_owned()];
    if extension(path) == "json" {
        let one = ["--space", &path.display().to_string(), "--command", "echo 1", "--budget", "1"];
        words.extend(one.map(str::to_owned));
    } else {
        let text = fs::read_to_string(path).map_err(|e| e.to_string())?;
        words.extend(text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned));
    }
    let folder = format!("{}/", env!("CARGO_TARGET_TMPDIR"));
    if !words.iter().any(|word| word == "-o") {
        let name = path.with_extension("jsonl").file_name().map(PathBuf::from).unwrap_or_default();
        let file = format!("{folder}{}", name.display());
        words.extend(["-o".to_owned(), file, "--restart".to_owned()]);
    }
    Ok(say(&words)?.replace(&folder, ""))
}

/// Returns the programs of a model from the slowest to the fastest, each with its validity; last the schedules without a
/// program, each with the reason.
pub fn compare(path: &Path) -> Result<String, String> {
    let mut words = arguments(path)?;
    words.extend(["--no-ablation", "--json"].map(str::to_owned));
    let output = command(&words)?;
    let report: Value = serde_json::from_slice(&output.stdout).map_err(|e| e.to_string())?;
    let programs = report["programs"].as_array().ok_or("no programs")?;
    let mut rows: Vec<(u64, String)> = programs
        .iter()
        .map(|program| {
            let text = |key: &str| program[key].as_str().unwrap_or("-").to_owned();
            let valid = match (&program["valid"], &program["unjudged"]) {
                (Value::Bool(true), _) => "valid",
                (_, Value::Bool(true)) => "not judged",
                _ => "WRONG",
            };
            let row = match program["missing"].as_str() {
                Some(reason) => format!("{:<16} none: {reason}\n", text("name")),
                None => format!("{:<16} {valid} {}\n", text("name"), text("exactness")),
            };
            (program["cycles"].as_u64().unwrap_or(0), row)
        })
        .collect();
    rows.sort_by(|a, b| b.cmp(a));
    Ok(rows.into_iter().map(|(_, row)| row).collect())
}

/// Returns the model that `import` writes for `.args`, or its errors; for `.run` the outputs beside the framework's, which
/// must be within 1e-5, and whether all programs are valid.
pub fn import(path: &Path) -> Result<String, String> {
    let mut words = arguments(path)?;
    if extension(path) == "run" {
        words.extend(["--tolerance", "0,1e-5", "--no-ablation", "--json"].map(str::to_owned));
        let output = command(&words)?;
        let report: Value = serde_json::from_slice(&output.stdout).map_err(|e| e.to_string())?;
        let outputs = report["expected"].as_array().ok_or_else(|| report.to_string())?;
        let row = |output: &Value| {
            let within = if output["within"] == true { "within 1e-5" } else { "not as expected" };
            format!("{} {within}\n", output["output"].as_str().unwrap_or("-"))
        };
        let programs = report["programs"].as_array().ok_or("no programs")?;
        let mut ran = programs.iter().filter(|program| program["missing"].is_null());
        let valid = if ran.all(|program| program["valid"] == true) { "valid" } else { "WRONG" };
        return Ok(outputs.iter().map(row).collect::<String>() + valid + "\n");
    }
    let name = path.file_stem().unwrap_or_default();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("imported").join(name);
    words.insert(0, "import".to_owned());
    words.extend(["-o".to_owned(), folder.display().to_string()]);
    let output = command(&words)?;
    if output.status.code() != Some(0) {
        let code = output.status.code().ok_or("ended by a signal")?;
        return Ok(format!("{}exit code {code}\n", String::from_utf8_lossy(&output.stderr)));
    }
    let written = entries(&folder);
    let model = written.iter().find(|path| extension(path) == "sexp").ok_or("no model")?;
    fs::read_to_string(model).map_err(|e| e.to_string())
}

/// Returns the output of `saturate` for rules and terms, without times: the exit code, the errors, the report.
pub fn saturate(path: &Path) -> Result<String, String> {
    let mut words = arguments(path)?;
    words.insert(0, "saturate".to_owned());
    words.push("--json".to_owned());
    let output = command(&words)?;
    let said = String::from_utf8_lossy(&output.stderr);
    let mut report: Value = serde_json::from_slice(&output.stdout)
        .map_err(|e| format!("exit code {:?}: {e}\n{said}", output.status.code()))?;
    report.as_object_mut().and_then(|report| report.remove("time_ms")).ok_or("no times")?;
    let code = output.status.code().ok_or("no exit code")?;
    let report = serde_json::to_string_pretty(&report).map_err(|e| e.to_string())?;
    Ok(format!("exit code {code}\n{said}{report}\n"))
}

/// Returns what is extracted from a model, for `.args`; for an e-graph in JSON, the costs and bounds of every extractor, or
/// the errors.
pub fn extract(path: &Path) -> Result<String, String> {
    if extension(path) == "args" {
        return print(path);
    }
    let name = path.display().to_string();
    let output = command(&["extract".to_owned(), name.clone(), "--json".to_owned()])?;
    if output.status.code() == Some(2) {
        let said = command(&["extract".to_owned(), name])?;
        return String::from_utf8(said.stderr).map_err(|e| e.to_string());
    }
    let mut rows: Value = serde_json::from_slice(&output.stdout).map_err(|e| e.to_string())?;
    for row in rows.as_array_mut().ok_or("no rows")? {
        row.as_object_mut().and_then(|row| row.remove("time_ms")).ok_or("no time")?;
    }
    serde_json::to_string_pretty(&rows).map(|text| text + "\n").map_err(|e| e.to_string())
}

/// Returns the words of an `.args` file; a line that starts with `#` is a comment.
fn arguments(path: &Path) -> Result<Vec<String>, String> {
    let text = fs::read_to_string(path).map_err(|e| e.to_string())?;
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    Ok(lines.flat_map(str::split_whitespace).map(str::to_owned).collect())
}

fn command(words: &[String]) -> Result<Output, String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ember-rewrite"));
    command.args(words).env_remove("CLICOLOR_FORCE").output().map_err(|e| e.to_string())
}
