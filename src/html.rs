//! Pages for a browser: a result as one file of HTML that needs nothing else. The result is in the page as JSON, from
//! which the script of `html/page.html` draws every table and picture, so that a figure has one source.

use crate::bench::Row;
use crate::native::NativeReport;
use crate::report::Report;
use crate::sweep::Summary;
use crate::tune::Summary as Tuned;
use ember_targets::dlc::Program;
use ember_targets::print;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// The page, without its result.
const PAGE: &str = include_str!("html/page.html");

/// The place of the result in the page.
const RESULT: &str = "\"{{result}}\"";

/// The parts that a run's time is divided into, each drawn as one column.
const PARTS: usize = 160;

/// The result that a page shows.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Page<'a> {
    /// The main job.
    Report {
        /// Its report.
        report: &'a Report,
        /// The activity of the chosen program's units over time.
        activity: Vec<Activity>,
        /// The text of the chosen program by lines.
        lines: Vec<Line>,
        /// The chains of rules that lead to the chosen program, by group of statements.
        groups: Value,
    },
    /// The job for this machine.
    Native {
        /// Its report.
        report: &'a NativeReport,
        /// The chains of rules that lead to the fastest program, by group of statements.
        groups: Value,
    },
    /// All workloads.
    Bench {
        /// A row for each.
        workloads: &'a [Row],
    },
    /// A sweep.
    Sweep {
        /// Its result.
        sweep: &'a Summary,
    },
    /// A tuning.
    Tuning {
        /// Its result.
        tuning: &'a Tuned,
    },
    /// The rules that lead to a program.
    Explain {
        /// The model's path.
        model: String,
        /// The chains of rules, by group of statements.
        groups: Value,
    },
}

/// The activity of a unit over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Activity {
    /// The unit's name.
    pub unit: String,
    /// For each part of the run, the share of every activity in it.
    pub parts: Vec<BTreeMap<String, f64>>,
}

/// A line of a program's text.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// The line.
    pub text: String,
    /// The cycles of the statements of the execute half that start in it; `None` if none does.
    pub cycles: Option<u64>,
}

/// Returns the lines of a program's text, given the cycles of its statements.
pub fn lines(program: &Program, statements: &[u64]) -> Vec<Line> {
    let lines = print::lines(program).into_iter();
    lines
        .map(|(text, own)| {
            let cycles = statements.get(own).filter(|own| !own.is_empty());
            Line { text, cycles: cycles.map(|own| own.iter().sum()) }
        })
        .collect()
}

/// Returns the text of a page.
pub fn page(result: &Page<'_>) -> String {
    // The value is plain data with string keys. A `<` could end the script that the result stands in.
    let json = serde_json::to_string(result).unwrap_or_default().replace('<', "\\u003c");
    PAGE.replacen(RESULT, &json, 1)
}

/// Returns the activity of each unit in a Chrome trace of a run, in equal parts of the time.
pub fn activity(trace: &Value) -> Vec<Activity> {
    let events = trace["traceEvents"].as_array().map_or(&[][..], Vec::as_slice);
    let number = |event: &Value, key: &str| event[key].as_f64().unwrap_or(0.0);
    let spans = || events.iter().filter(|event| event["ph"] == "X");
    let end = spans().map(|event| number(event, "ts") + number(event, "dur")).fold(0.0, f64::max);
    let mut units: BTreeMap<u64, Activity> = BTreeMap::new();
    for event in events.iter().filter(|event| event["name"] == "thread_name") {
        let unit = event["args"]["name"].as_str().unwrap_or_default().to_owned();
        let parts = vec![BTreeMap::new(); PARTS];
        units.insert(event["tid"].as_u64().unwrap_or(0), Activity { unit, parts });
    }
    let part = end / PARTS as f64;
    for event in spans().filter(|_| part > 0.0) {
        let Some(unit) = units.get_mut(&event["tid"].as_u64().unwrap_or(0)) else { continue };
        let name = event["name"].as_str().unwrap_or_default();
        let (from, to) = (number(event, "ts"), number(event, "ts") + number(event, "dur"));
        let first = (from / part) as usize;
        for (at, shares) in unit.parts.iter_mut().enumerate().skip(first) {
            let (start, stop) = (at as f64 * part, (at + 1) as f64 * part);
            if start >= to {
                break;
            }
            *shares.entry(name.to_owned()).or_default() += (to.min(stop) - from.max(start)) / part;
        }
    }
    units.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn activity_is_divided_into_parts_of_the_run() {
        let trace = json!({"traceEvents": [
            {"ph": "M", "tid": 0, "name": "thread_name", "args": {"name": "execute"}},
            {"ph": "X", "tid": 0, "name": "busy", "ts": 0.0, "dur": 80.5},
            {"ph": "X", "tid": 0, "name": "memory", "ts": 80.5, "dur": 79.5},
        ]});
        let units = activity(&trace);
        assert_eq!((units.len(), units[0].unit.as_str()), (1, "execute"));
        let shares = |at: usize| (units[0].parts[at].get("busy"), units[0].parts[at].get("memory"));
        assert_eq!(shares(0), (Some(&1.0), None));
        assert_eq!(shares(80), (Some(&0.5), Some(&0.5)));
        assert_eq!(shares(159), (None, Some(&1.0)));
    }

    #[test]
    fn a_result_cannot_end_its_script() {
        let groups = json!("</script>");
        let text = page(&Page::Explain { model: "m".to_owned(), groups });
        assert!(text.contains("\\u003c/script>") && !text.contains(RESULT), "{text}");
    }
}
