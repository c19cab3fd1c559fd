//! The result of a fit in readable form.

use super::summary::{Measured, Summary};
use ember_tools::tables::{narrow, wrapped};
use std::fmt::Write;

impl Summary {
    /// Returns the result in readable form.
    pub fn text(&self) -> String {
        let mut out = self.parameters_table();
        out += &self.fits_table();
        out += &self.compared;
        out += &self.readings_table();
        out += &self.headline_table();
        out
    }

    fn parameters_table(&self) -> String {
        let mut table = narrow(&["parameter", "range", "now", "best fit", "about as good"]);
        for own in &self.parameters {
            table.add_row([
                own.name.clone(),
                between(own.range),
                own.now.map_or_else(|| "outside".to_owned(), number),
                number(own.fitted),
                between(own.as_good),
            ]);
        }
        let mut out = format!("Parameters of {}\n{table}\n", self.target);
        for own in &self.parameters {
            let _ = writeln!(out, "{}", wrapped(&format!("{}: {}", own.name, own.source)));
        }
        out
    }

    fn fits_table(&self) -> String {
        let good = self.evaluations.iter().filter(|own| own.as_good).count();
        let text = format!(
            "The mean factor between {} of our speedups and the published ones, at {} points; {good} are about as good \
             as the best",
            self.figures,
            self.evaluations.len()
        );
        let mut out = format!("\n{}\n", wrapped(&text));
        let mut table = narrow(&["fitted to", "evaluation", "of these figures", "of the others"]);
        let factor = |x: Option<f64>| x.map_or_else(|| "-".to_owned(), |x| format!("{x:.3}"));
        let first = self
            .evaluations
            .first()
            .filter(|_| self.parameters.iter().all(|own| own.now.is_some()));
        if let Some(now) = first {
            table.add_row([
                "nothing: as it is".into(),
                "1".into(),
                String::new(),
                factor(now.mean_factor),
            ]);
        }
        let best = self.evaluations.get(self.best - 1);
        let best = factor(best.and_then(|own| own.mean_factor));
        table.add_row(["all".to_owned(), self.best.to_string(), best, String::new()]);
        for own in &self.without {
            table.add_row([
                format!("all but {}", own.family),
                own.evaluation.to_string(),
                factor(Some(own.mean_factor_of_fitted)),
                factor(Some(own.mean_factor_of_family)),
            ]);
        }
        let _ = writeln!(out, "{table}");
        for own in self.evaluations.iter().filter(|own| own.reason.is_some()) {
            let reason = own.reason.as_deref().unwrap_or_default();
            let text = format!("Evaluation {} has no figures: {reason}", own.evaluation);
            let _ = writeln!(out, "{}", wrapped(&text));
        }
        out
    }

    fn readings_table(&self) -> String {
        if self.readings.is_empty() {
            return String::new();
        }
        let mut table = narrow(&["published figures of", "read as", "mean factor"]);
        for own in &self.readings {
            let factor = own.mean_factor.map_or_else(|| "-".to_owned(), |x| format!("{x:.3}"));
            table.add_row([own.figures.clone(), own.workload.clone(), factor]);
        }
        format!("\nOther readings, at the best fit\n{table}\n")
    }

    fn headline_table(&self) -> String {
        if self.headline.is_empty() {
            return String::new();
        }
        let mut table =
            narrow(&["`search`, on", "fit", "of paper", "of expert", "least of expert"]);
        let mut row = |target: &str, fit: String, own: &Measured| {
            let percent =
                |x: Option<f64>| x.map_or_else(|| "-".to_owned(), |x| format!("{x:.1} %"));
            let least = own.least_of_expert.as_ref();
            let least =
                least.map_or_else(|| "-".to_owned(), |(name, x)| format!("{x:.1} % {name}"));
            let own = [percent(own.percent_of_paper), percent(own.percent_of_expert), least];
            table.add_row([target.to_owned(), fit].into_iter().chain(own));
        };
        for own in &self.headline {
            row(&own.target, "as it is".to_owned(), &own.now);
            own.fits.iter().for_each(|fit| row("", fit.evaluation.to_string(), &fit.measured));
        }
        let mut out = format!("\nThe headline, at fits that are about as good\n{table}\n");
        for own in &self.headline {
            if let Some([least, most]) = own.percent_of_paper {
                let text = format!(
                    "On {}, `search` is at {least:.1} to {most:.1} % of `paper` at these fits.",
                    own.target
                );
                let _ = writeln!(out, "{}", wrapped(&text));
            }
        }
        out
    }
}

fn number(x: f64) -> String {
    if x.fract() == 0.0 { format!("{x}") } else { format!("{x:.3}") }
}

fn between([low, high]: [f64; 2]) -> String {
    if low == high { number(low) } else { format!("{} to {}", number(low), number(high)) }
}
