//! Points with what is left of each figure there, and the choice among them.

use super::plan::Plan;
use ember_tune::{Evaluation, Method, Point, propose};

/// A published speedup that is fitted.
#[derive(Clone, Debug)]
pub(super) struct Figure {
    /// The number of its family.
    pub family: usize,
    /// The path of its workload.
    pub model: String,
    /// The program.
    pub program: String,
    /// The published speedup over `emb-opt0`.
    pub published: f64,
}

/// A point that has been evaluated.
pub(super) struct Tried {
    pub point: Point,
    /// For each figure, the logarithm of ours over the published one; or the reason why a figure has no counterpart.
    pub residuals: Result<Vec<f64>, String>,
}

/// The figures that are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    /// All.
    All,
    /// The figures of one family.
    Family(usize),
    /// All but the figures of one family.
    Without(usize),
}

impl Of {
    fn has(self, figure: &Figure) -> bool {
        match self {
            Of::All => true,
            Of::Family(own) => figure.family == own,
            Of::Without(other) => figure.family != other,
        }
    }
}

/// Returns the figures of a fit.
pub(super) fn figures(plan: &Plan) -> Vec<Figure> {
    let models = plan
        .families
        .iter()
        .enumerate()
        .flat_map(|(family, own)| own.models.iter().map(move |model| (family, model)));
    let figures = models.flat_map(|(family, model)| {
        let published = plan.published.speedups_of(&super::plan::stem(model)).into_iter().flatten();
        published.map(move |(program, published)| Figure {
            family,
            model: model.clone(),
            program: program.clone(),
            published: *published,
        })
    });
    figures.collect()
}

/// Points with what is left of each figure.
pub(super) struct History<'a> {
    pub figures: &'a [Figure],
    pub tried: Vec<Tried>,
}

impl History<'_> {
    fn residuals(&self, at: usize, of: Of) -> Option<Vec<f64>> {
        let residuals = self.tried[at].residuals.as_ref().ok()?;
        let own = self.figures.iter().zip(residuals).filter(|(figure, _)| of.has(figure));
        let own: Vec<f64> = own.map(|(_, residual)| *residual).collect();
        (!own.is_empty()).then_some(own)
    }

    /// Returns the root mean square of a point's residuals, which is made small.
    pub fn rms(&self, at: usize, of: Of) -> Option<f64> {
        let own = self.residuals(at, of)?;
        Some((own.iter().map(|x| x * x).sum::<f64>() / own.len() as f64).sqrt())
    }

    /// Returns the mean factor between ours and the published figures.
    pub fn factor(&self, at: usize, of: Of) -> Option<f64> {
        let own = self.residuals(at, of)?;
        Some((own.iter().map(|x| x.abs()).sum::<f64>() / own.len() as f64).exp())
    }

    /// Returns the number of the point with the least residuals, the first of equal ones.
    pub fn best(&self, of: Of) -> Option<usize> {
        let known = (0..self.tried.len()).filter_map(|at| Some((at, self.rms(at, of)?)));
        known.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(at, _)| at)
    }

    /// Returns the next point to evaluate, in order to fit some figures; `None` if no new one is found.
    pub fn propose(&self, plan: &Plan, of: Of) -> Option<Point> {
        let known = self.tried.iter().enumerate();
        let history: Vec<Evaluation> = known
            .map(|(at, tried)| Evaluation { point: tried.point.clone(), value: self.rms(at, of) })
            .collect();
        propose(&plan.space, Method::Bayesian, plan.seed, &history)
    }

    /// Returns the points that are about as good as the best, the best first.
    pub fn as_good(&self, plan: &Plan) -> Vec<usize> {
        let least = self.best(Of::All).and_then(|best| self.rms(best, Of::All));
        let Some(least) = least else { return Vec::new() };
        let known = (0..self.tried.len()).filter_map(|at| Some((at, self.rms(at, Of::All)?)));
        let mut good: Vec<(usize, f64)> =
            known.filter(|(_, rms)| *rms <= least * plan.as_good).collect();
        good.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        good.into_iter().map(|(at, _)| at).collect()
    }

    /// Returns some of several points: the first, and then each time the one farthest from those before.
    pub fn spread(&self, plan: &Plan, among: &[usize], count: usize) -> Vec<usize> {
        let place = |at: usize| plan.space.coordinates(&self.tried[at].point);
        let apart = |a: usize, b: usize| -> f64 {
            place(a).iter().zip(place(b)).map(|(a, b)| (a - b) * (a - b)).sum()
        };
        let mut chosen: Vec<usize> = among.iter().copied().take(1).collect();
        while chosen.len() < count {
            let rest = among.iter().filter(|at| !chosen.contains(at));
            let nearest = |at: usize| {
                chosen.iter().map(|other| apart(at, *other)).fold(f64::INFINITY, f64::min)
            };
            // Of equally distant points the better one is taken, which comes first.
            let next = rest.rev().max_by(|a, b| nearest(**a).total_cmp(&nearest(**b)));
            match next {
                Some(next) => chosen.push(*next),
                None => break,
            }
        }
        chosen
    }
}
