//! The trace of a search (`--trace`): the work of each rule, stage by stage.

use crate::tables::{grouped, table};
use ember_compile::groups::Searched;
use ember_compile::pipeline::Inputs;
use ember_engine::saturate::{RuleReport, Saturation};
use itertools::Itertools;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write;

/// The number of e-nodes from which on a rule that made more than half of them causes a warning.
const MANY: usize = 1_000;

/// The number of iterations in a row in which a rule must make more and more e-nodes to cause a warning.
const RISING: usize = 4;

/// The trace of the search of one group of statements.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct GroupTrace {
    /// The names of its statements.
    pub statements: Vec<String>,
    /// Its saturations, in order.
    pub stages: Vec<StageTrace>,
}

/// The trace of one saturation.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct StageTrace {
    /// Iterations begun.
    pub iterations: usize,
    /// The reason why it ended.
    pub stop_reason: String,
    /// E-nodes at its end.
    pub nodes: usize,
    /// E-classes at its end.
    pub classes: usize,
    /// The rules that matched, in the order in which they ran.
    pub rules: Vec<RuleTrace>,
    /// Warnings about the growth of rules.
    pub warnings: Vec<String>,
}

/// The trace of one rule.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct RuleTrace {
    /// Its counts.
    #[serde(flatten)]
    pub report: RuleReport,
    /// Time spent matching and applying it, in milliseconds.
    pub time_ms: f64,
}

impl StageTrace {
    /// Returns the trace of a saturation. Rules that never matched are left out.
    pub fn new(saturation: &Saturation) -> StageTrace {
        let rules = saturation.rules.iter().filter(|rule| rule.matches > 0);
        let rule = |report: &RuleReport| RuleTrace {
            report: report.clone(),
            time_ms: report.time.0.as_secs_f64() * 1e3,
        };
        StageTrace {
            iterations: saturation.iterations,
            stop_reason: saturation.stop.to_string(),
            nodes: saturation.nodes,
            classes: saturation.classes,
            rules: rules.map(rule).collect(),
            warnings: warnings(saturation),
        }
    }

    /// Prints the trace as a table, the rules that made the most e-nodes first, and the warnings below.
    pub fn print(&self) -> String {
        let header =
            ["rule", "matches", "refused", "applied", "unions", "e-nodes", "growth", "time_ms"];
        let mut table = table(&header);
        let most = |rule: &&RuleTrace| std::cmp::Reverse(rule.report.nodes);
        for rule in self.rules.iter().sorted_by_key(most) {
            let RuleReport { matches, refused, applications, unions, nodes, .. } = rule.report;
            table.add_row([
                rule.report.rule.to_owned(),
                grouped(matches as u64),
                grouped(refused as u64),
                grouped(applications as u64),
                grouped(unions as u64),
                grouped(nodes as u64),
                growth(&rule.report.growth),
                format!("{:.2}", rule.time_ms),
            ]);
        }
        let mut out = format!(
            "{} e-nodes, {} classes, {} iterations: {}\n{table}\n",
            grouped(self.nodes as u64),
            grouped(self.classes as u64),
            self.iterations,
            self.stop_reason
        );
        for warning in &self.warnings {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "warning: {warning}");
        }
        out
    }
}

/// Returns the e-nodes of the first iterations.
fn growth(growth: &[usize]) -> String {
    let shown = growth.iter().take(6).join(" ");
    if growth.len() > 6 { format!("{shown} …") } else { shown }
}

/// Returns warnings about the rules that blow up the e-graph.
fn warnings(saturation: &Saturation) -> Vec<String> {
    let all: usize = saturation.rules.iter().map(|rule| rule.nodes).sum();
    let mut found = Vec::new();
    for rule in &saturation.rules {
        if all >= MANY && 2 * rule.nodes > all {
            let share = 100.0 * rule.nodes as f64 / all as f64;
            found.push(format!(
                "`{}` made {share:.0} % of the {} e-nodes that rules made",
                rule.rule,
                grouped(all as u64)
            ));
        }
        let last = rule.growth.iter().rev().tuple_windows().take_while(|(a, b)| a > b).count();
        if last >= RISING {
            found.push(format!(
                "`{}` made more in each of the last {} iterations than in the one before",
                rule.rule,
                last + 1
            ));
        }
    }
    found
}

/// Returns the trace of a search.
pub fn of(inputs: &Inputs, searched: &Searched) -> Vec<GroupTrace> {
    let group = |(at, found): (&usize, &ember_compile::search::Found)| {
        let statements = searched.plan.groups[*at].statements.iter();
        GroupTrace {
            statements: statements.map(|at| inputs.model.statement_name(*at)).collect(),
            stages: found.saturations.iter().map(StageTrace::new).collect(),
        }
    };
    searched.found.iter().map(group).collect()
}

/// Prints the trace of a search.
pub fn print(groups: &[GroupTrace]) -> String {
    let mut out = String::new();
    for group in groups {
        for (at, stage) in group.stages.iter().enumerate() {
            let names = group.statements.join(", ");
            let _ = write!(out, "\nSaturation {} of {names}: {}", at + 1, stage.print());
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use ember_engine::saturate::StopReason;

    fn rule(rule: &'static str, growth: &[usize]) -> RuleReport {
        let nodes = growth.iter().sum();
        let time = ember_engine::saturate::Spent::default();
        let growth = growth.to_vec();
        RuleReport { rule, matches: 1, refused: 0, applications: 1, unions: 1, nodes, growth, time }
    }

    fn warned(rules: Vec<RuleReport>) -> Vec<String> {
        let stop = StopReason::IterationLimit;
        let saturation =
            Saturation { iterations: 6, stop, nodes: 0, classes: 0, rules, exact: None };
        StageTrace::new(&saturation).warnings
    }

    #[test]
    fn warns_of_the_rule_that_makes_most() {
        let found = warned(vec![rule("calm", &[400]), rule("wild", &[700, 200])]);
        assert_eq!(found, ["`wild` made 69 % of the 1 300 e-nodes that rules made"]);
        assert!(warned(vec![rule("small", &[9])]).is_empty());
    }

    #[test]
    fn warns_of_the_rule_that_grows_without_end() {
        let found =
            warned(vec![rule("steady", &[5, 5, 5, 5, 5, 5]), rule("grow", &[0, 1, 2, 4, 8, 16])]);
        assert_eq!(
            found,
            ["`grow` made more in each of the last 6 iterations than in the one before"]
        );
    }
}
