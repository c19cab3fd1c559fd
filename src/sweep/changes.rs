//! Changes of one number of a machine at a time: each number of a list, multiplied by each factor.

use super::description::Around;
use super::files::fits;
use super::parameters::{self, DERIVED};
use ember_compile::machines;
use ember_language::diagnostic::{Checked, Diagnostic, FileId, Sources, Span};
use ember_targets::machine::{self, Figure, Kind, Machine};
use schemars::JsonSchema;
use serde::Serialize;
use toml::Spanned;

/// The most whole numbers that are tried near a product, until one goes together with the others.
const NEAR: i64 = 64;

/// A number of a machine that is multiplied, while all others stay.
#[derive(Clone, Debug)]
pub(super) struct Change {
    /// Its section and key.
    pub parameter: String,
    /// The factor.
    pub factor: f64,
    /// True if no program may become slower.
    pub better: bool,
    /// By target, the number before and after; `None` if the target has no other number near the product.
    pub numbers: Vec<Option<Numbers>>,
}

/// A number before and after a change.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Numbers {
    pub before: f64,
    pub after: f64,
    /// The number after the change as in TOML.
    pub written: String,
}

/// The change of the machine of a point.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "MachineChange")]
pub struct Changed {
    /// The section and key of the number.
    pub parameter: String,
    /// The factor that was wanted.
    pub factor: f64,
    /// The number in the description.
    pub before: f64,
    /// The number of the point: the nearest to the product that goes together with the others.
    pub after: f64,
}

impl Change {
    /// Returns the name on the axis of changes.
    pub fn name(&self) -> String {
        format!("{} x {}", self.parameter, self.factor)
    }

    /// Returns the change on a target, if there is one.
    pub fn on(&self, target: usize) -> Option<Changed> {
        let Numbers { before, after, .. } = *self.numbers.get(target)?.as_ref()?;
        let (parameter, factor) = (self.parameter.clone(), self.factor);
        Some(Changed { parameter, factor, before, after })
    }
}

/// Returns the changes of a sweep: every number that a pattern fits, in the order of descriptions, by every factor. A
/// change that no target can make is left out.
pub(super) fn read(
    sources: &mut Sources,
    file: FileId,
    targets: &[Spanned<String>],
    around: &[Around],
) -> Checked<Vec<Change>> {
    let mut errors = Vec::new();
    let mut wrong = |message: String, span, label: &str, help: &str| {
        errors.push(Diagnostic::error(message, Span::new(file, span), label).with_help(help));
    };
    let mut machines = Vec::new();
    for target in targets {
        machines.push(machines::load(sources, target.get_ref())?);
    }
    let mut changes: Vec<Change> = Vec::new();
    for Around { parameters, factors, better } in around {
        for factor in factors {
            let number = *factor.get_ref();
            if !(1e-6..=1e6).contains(&number) || (number - 1.0).abs() < f64::EPSILON {
                let message = format!("a number times {number} is no change of it");
                let help = "write positive factors other than 1, such as 0.5 and 1.5";
                wrong(message, factor.span(), "this factor", help);
            }
        }
        for pattern in parameters {
            let figures = machines.first().map_or(&[][..], |machine| &machine.figures);
            let named: Vec<(&Figure, Kind)> = figures
                .iter()
                .filter(|figure| fits(pattern.get_ref(), &full(figure)))
                .filter_map(|figure| Some((figure, machine::kind(&figure.section, &figure.key)?)))
                .filter(|(_, kind)| *kind != Kind::Flag)
                .collect();
            if named.is_empty() {
                let message = format!("no number of a machine is named `{}`", pattern.get_ref());
                let help =
                    "write `SECTION.KEY`, such as `access.lanes`; `*` stands for any characters";
                wrong(message, pattern.span(), "this pattern", help);
            }
            for (figure, kind) in named {
                for factor in factors.iter().map(|factor| *factor.get_ref()) {
                    let parameter = full(figure);
                    let same = |own: &Change| own.parameter == parameter && own.factor == factor;
                    if changes.iter().any(same) {
                        continue;
                    }
                    let mut numbers = Vec::new();
                    for (target, machine) in targets.iter().zip(&machines) {
                        let before = number_of(machine, figure);
                        let target = target.get_ref();
                        numbers.push(changed(sources, target, &parameter, kind, before, factor));
                    }
                    if numbers.iter().any(Option::is_some) {
                        changes.push(Change { parameter, factor, better: *better, numbers });
                    }
                }
            }
        }
    }
    if errors.is_empty() { Ok(changes) } else { Err(errors) }
}

fn full(figure: &Figure) -> String {
    format!("{}.{}", figure.section, figure.key)
}

fn number_of(machine: &Machine, named: &Figure) -> f64 {
    let same = |own: &&Figure| own.section == named.section && own.key == named.key;
    machine.figures.iter().find(same).map_or(0.0, |own| own.value)
}

/// Returns the number nearest to a product, on the same side of the number as it, that makes a machine.
fn changed(
    sources: &mut Sources,
    target: &str,
    name: &str,
    kind: Kind,
    before: f64,
    factor: f64,
) -> Option<Numbers> {
    let product = before * factor;
    let candidates: Vec<f64> = match kind {
        Kind::Real => vec![product],
        Kind::Power if factor < 1.0 => vec![product.log2().round().exp2(), before / 2.0],
        Kind::Power => vec![product.log2().round().exp2(), before * 2.0],
        Kind::Count | Kind::Flag => {
            let near = |step: i64| [product.round() + step as f64, product.round() - step as f64];
            (0..NEAR).flat_map(near).collect()
        }
    };
    let side = |after: &f64| if factor < 1.0 { *after < before } else { *after > before };
    candidates.into_iter().filter(side).find_map(|after| {
        let written = match kind {
            Kind::Real => toml::Value::from(after),
            _ => toml::Value::from(after as i64),
        };
        let written = written.to_string();
        parameters::add(sources, target, &[(name.to_owned(), written.clone())]);
        machines::load(sources, DERIVED).ok()?;
        Some(Numbers { before, after, written })
    })
}
