//! Finds the matches of one iteration: the new ones and the waiting ones. In a large e-graph all cores search; the
//! matches and their order do not depend on the number of cores.

use super::StopReason;
use super::apply::{Row, Run};
use super::rows::RowSet;
use crate::knowledge::Knowledge;
use egg::Id;
use ember_host::{clock, threads};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Matches of a rule, one row after the other.
pub(super) struct Matches {
    pub rule: usize,
    pub rows: Vec<Id>,
    /// The time spent finding them.
    pub time: Duration,
}

/// A part of a rule's search: the classes in which matches have their roots.
struct Part<'a> {
    rule: usize,
    classes: &'a [Id],
}

/// The number of classes that one core searches at a time, and the number of matches after which it updates the shared
/// count.
const CLASSES: usize = 4096;
const MATCHES: usize = 1024;

impl<A: Knowledge> Run<'_, A> {
    /// Returns the matches to try in this iteration, rule by rule.
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
        let at_once = self.is_large() && threads::several();
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

    /// Takes the waiting matches of a rule, with canonical classes, as a set and as rows. The set is needed because a
    /// match may be found again while it waits, and because two waiting matches may have become one.
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

    /// Searches the parts on all cores; `None` if the matches exceed the limit.
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
        let found = threads::map(parts, search);
        let total: usize = found.iter().map(|matches| self.count(matches)).sum();
        (total <= limit).then_some(found)
    }

    /// Searches part by part. Returns the matches, and the rule whose matches exceeded the limit, if there is one.
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

    /// Finds the matches of a part that are new and do not wait, while `room` returns true.
    fn search_part(
        &self,
        part: &Part<'_>,
        known: &RowSet,
        mut room: impl FnMut() -> bool,
    ) -> Matches {
        let start = clock::start();
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
