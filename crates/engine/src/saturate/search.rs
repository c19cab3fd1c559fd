//! Which matches are tried in an iteration: those that are new, and those that wait. In a large e-graph
//! rules are matched on all cores; what is found, and in which order, does not depend on how many.

use super::StopReason;
use super::apply::{Row, Run};
use super::rows::RowSet;
use crate::knowledge::Knowledge;
use egg::Id;
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Matches of a rule, one row after the other.
pub(super) struct Matches {
    pub rule: usize,
    pub rows: Vec<Id>,
    /// What finding them took.
    pub time: Duration,
}

/// A part of a rule's search: the classes in which matches have their roots.
struct Part<'a> {
    rule: usize,
    classes: &'a [Id],
}

/// Classes that one core searches in one go, and matches after which it tells the others.
const CLASSES: usize = 4096;
const MATCHES: usize = 1024;

impl<A: Knowledge> Run<'_, A> {
    /// The matches to try in this iteration, rule by rule.
    pub fn search(&mut self) -> Result<Vec<Matches>, StopReason> {
        let reach = self.rules.iter().map(|rule| rule.reach()).max().unwrap_or(0);
        self.touched.update(self.egraph, reach);
        let (known, waiting): (Vec<RowSet>, Vec<Vec<Id>>) =
            (0..self.rules.len()).map(|rule| self.take_waiting(rule)).unzip();
        let mut parts = Vec::new();
        for (rule, compiled) in self.rules.iter().enumerate() {
            let classes = compiled.roots(self.egraph).chunks(CLASSES);
            parts.extend(classes.map(|classes| Part { rule, classes }));
        }
        let at_once = self.is_large() && rayon::current_num_threads() > 1;
        let found = if at_once { self.search_at_once(&parts, &known) } else { None };
        let (found, full) = match found {
            Some(found) => (found, None),
            None => self.search_in_order(&parts, &known),
        };
        let mut all = Vec::with_capacity(waiting.len() + found.len());
        let mut found = found.into_iter().peekable();
        for (rule, rows) in waiting.into_iter().enumerate() {
            all.push(Matches { rule, rows, time: Duration::ZERO });
            while let Some(matches) = found.next_if(|matches| matches.rule == rule) {
                self.reports[rule].matches += self.count(&matches);
                self.reports[rule].time.0 += matches.time;
                all.push(matches);
            }
        }
        match full {
            Some(rule) => Err(StopReason::MatchLimit { rule: self.rules[rule].name.as_str() }),
            None => Ok(all),
        }
    }

    fn count(&self, matches: &Matches) -> usize {
        matches.rows.len() / (1 + self.rules[matches.rule].matched)
    }

    /// The matches of a rule that wait, over the classes of today: as a set and as rows. A match may
    /// be found again while it waits, and two that wait may have become one.
    fn take_waiting(&mut self, rule: usize) -> (RowSet, Vec<Id>) {
        let width = 1 + self.rules[rule].matched;
        let mut known = RowSet::new(width - 1);
        let mut rows = Vec::new();
        let mut row: Row = Row::new();
        for waiting in self.waiting[rule].chunks_exact(width) {
            row.clear();
            row.extend(waiting.iter().map(|id| self.egraph.find(*id)));
            if !known.contains(&row[1..]) {
                known.insert(&row[1..]);
                rows.extend_from_slice(&row);
            }
        }
        self.waiting[rule].clear();
        (known, rows)
    }

    /// What is found on all cores; `None` where that is more than the limit allows.
    fn search_at_once(&self, parts: &[Part<'_>], known: &[RowSet]) -> Option<Vec<Matches>> {
        let limit = self.limits.matches();
        let total = AtomicUsize::new(0);
        let search = |part: &Part<'_>| {
            let mut count = 0;
            self.search_part(part, &known[part.rule], || {
                count += 1;
                count % MATCHES != 0 || total.fetch_add(MATCHES, Ordering::Relaxed) < limit
            })
        };
        let found: Vec<Matches> = parts.par_iter().map(search).collect();
        let total: usize = found.iter().map(|matches| self.count(matches)).sum();
        (total <= limit).then_some(found)
    }

    /// What is found part by part, and the rule that found more than the limit allows.
    fn search_in_order(
        &self,
        parts: &[Part<'_>],
        known: &[RowSet],
    ) -> (Vec<Matches>, Option<usize>) {
        let mut room = self.limits.matches();
        let mut found = Vec::with_capacity(parts.len());
        for part in parts {
            let mut full = false;
            found.push(self.search_part(part, &known[part.rule], || {
                full = room == 0;
                room = room.saturating_sub(1);
                !full
            }));
            if full {
                return (found, Some(part.rule));
            }
        }
        (found, None)
    }

    /// The matches of a part that are new and do not wait, as long as there is room for one more.
    fn search_part(
        &self,
        part: &Part<'_>,
        known: &RowSet,
        mut room: impl FnMut() -> bool,
    ) -> Matches {
        let start = Instant::now();
        let compiled = self.rules[part.rule];
        let (conditional, applied) = (compiled.conditional(), &self.applied[part.rule]);
        let mut rows = Vec::new();
        compiled.search(
            self.egraph,
            part.classes,
            |class| self.touched.level(class),
            |row| {
                if conditional && (known.contains(&row[1..]) || applied.contains(&row[1..])) {
                    return true;
                }
                rows.extend_from_slice(row);
                room()
            },
        );
        Matches { rule: part.rule, rows, time: start.elapsed() }
    }
}
