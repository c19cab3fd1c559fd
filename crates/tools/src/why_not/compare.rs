//! Compares two programs.

use super::forced::Priced;
use crate::tables::grouped;
use ember_compile::cost::Rates;
use ember_compile::ranking::Measure;
use ember_compile::search::Candidate;

/// The cost of a program, as far as it is known.
pub(super) struct Told<'a> {
    pub estimate: f64,
    pub measure: Option<&'a Measure>,
}

impl<'a> Told<'a> {
    pub fn of(candidate: &Candidate, measure: Option<&'a Measure>) -> Told<'a> {
        Told { estimate: candidate.estimate, measure }
    }

    pub fn text(&self) -> String {
        match self.measure {
            Some(measure) => format!(
                "{} cycles simulated{} (estimate {}), {:.3} µJ",
                grouped(measure.cycles),
                if measure.sampled { " on samples" } else { "" },
                whole(self.estimate),
                measure.energy_j * 1e6
            ),
            None => format!("{} cycles by the cost model", whole(self.estimate)),
        }
    }

    /// Returns cycles if both programs were run, else estimates.
    pub fn cycles(&self, other: &Told<'_>) -> (f64, f64) {
        match (self.measure, other.measure) {
            (Some(a), Some(b)) => (a.cycles as f64, b.cycles as f64),
            _ => (self.estimate, other.estimate),
        }
    }

    pub fn better(&self, other: &Told<'_>) -> bool {
        let (own, other) = self.cycles(other);
        own < other * 0.999
    }

    /// Describes the speed of this program relative to another.
    pub fn own_speed(&self, other: &Told<'_>) -> String {
        let (own, other) = self.cycles(other);
        match own / other.max(1.0) {
            r if r > 1.001 => format!("{:.1} % slower", (r - 1.0) * 100.0),
            r if r < 0.999 => format!("{:.1} % faster", (1.0 / r - 1.0) * 100.0),
            _ => "as fast".to_owned(),
        }
    }
}

pub(super) fn whole(x: f64) -> String {
    crate::explain::cycles(x)
}

/// Describes the resources in which two programs differ, and the resource that limits each.
pub(super) fn resources(rates: &Rates, with: &Priced, chosen: &Candidate) -> String {
    let (a, b) = (rates.resources(&with.cost), rates.resources(&chosen.cost));
    let slowest = |r: &[(&'static str, f64)]| {
        r.iter().max_by(|x, y| x.1.total_cmp(&y.1)).map_or("", |slowest| slowest.0)
    };
    let differs = |(x, y): &(&(&str, f64), &(&str, f64))| (x.1 - y.1).abs() > 0.001 * x.1.max(y.1);
    let rows = a.iter().zip(&b).filter(differs);
    let rows = rows.map(|(x, y)| format!("{} {} instead of {}", x.0, whole(x.1), whole(y.1)));
    let mut rows: Vec<String> = rows.collect();
    if rows.is_empty() {
        rows.push("busy for the same times".to_owned());
    }
    format!("{}; the slowest with it: {}, without: {}", rows.join(", "), slowest(&a), slowest(&b))
}
