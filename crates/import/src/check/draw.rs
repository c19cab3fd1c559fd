//! Instances of a side of a rule: shapes that fit together, and tensors of these shapes, full of edge cases.

mod operands;
mod types;

use super::meaning::{Meaning, apply};
use super::unknowns::Unknowns;
use super::whole::{Whole, elements};
use egg::{ENodeOrVar, Id, Language, Var};
use ember_language::rules::Rule;
use ember_language::term::{Head, Node};
use ember_values::scalar::Scalar;
use fastrand::Rng;
use std::collections::BTreeMap;

/// The meanings of the variables of a rule.
pub(super) type Bound = BTreeMap<Var, Meaning>;

/// The extents of a tensor and the kind of its elements: 0 for numbers with a fraction, 1 for whole ones.
#[derive(Clone, Debug)]
struct Type {
    kind: usize,
    dims: Vec<usize>,
}

/// The type of a node, as far as it is known before values are drawn.
#[derive(Clone, Debug)]
enum Form {
    Size(usize),
    Shape(Vec<usize>),
    Tensor(Type),
    List(usize, Type),
}

/// An instance that is being made.
struct Draw<'a> {
    rule: &'a Rule,
    rng: &'a mut Rng,
    unknowns: Unknowns,
    variables: BTreeMap<Var, Form>,
    forms: BTreeMap<usize, Form>,
    /// Nodes that are positions, each with how many rows there are.
    positions: Vec<(usize, usize)>,
}

/// Draws what the variables of a rule's left side stand for, and returns it with what the left side is; `None` if the
/// choices do not fit together, or the left side computes nothing of them. Tame numbers have no extremes.
pub(super) fn draw(rule: &Rule, rng: &mut Rng, tame: bool) -> Option<(Bound, Whole)> {
    let (unknowns, variables) = (Unknowns::default(), BTreeMap::new());
    let (forms, positions) = (BTreeMap::new(), Vec::new());
    let mut draw = Draw { rule, rng, unknowns, variables, forms, positions };
    let root = draw.nodes().len() - 1;
    draw.tensor(root, None)?;
    draw.numbers();
    draw.drawn()?;
    draw.evaluated(tame)
}

/// Returns what a side is, given what its variables stand for; `None` if it computes nothing.
pub(super) fn evaluate(
    nodes: &[ENodeOrVar<Node>],
    bound: &Bound,
    shape: &[u64],
) -> Option<Meaning> {
    let mut done: Vec<Meaning> = Vec::new();
    for (at, node) in nodes.iter().enumerate() {
        let root = at + 1 == nodes.len();
        let of = |id: &Id| &done[usize::from(*id)];
        done.push(match node {
            ENodeOrVar::Var(v) => bound.get(v)?.clone(),
            ENodeOrVar::ENode(node) => match node.head() {
                Head::Int(n) => Meaning::Size(n),
                Head::Real(_) => return None,
                Head::Op(name) => {
                    let operands: Vec<&Meaning> = node.children().iter().map(of).collect();
                    apply(name.as_str(), &operands, root.then_some(shape))?
                }
            },
        });
    }
    done.pop()
}

impl Draw<'_> {
    /// Draws extents, those of the variables' tensors first.
    fn drawn(&mut self) -> Option<()> {
        let dims = |form: &Form| match form {
            Form::Size(_) | Form::Shape(_) => Vec::new(),
            Form::Tensor(own) | Form::List(_, own) => own.dims.clone(),
        };
        let first: Vec<usize> = self.variables.values().flat_map(dims).collect();
        self.unknowns.draw(self.rng, &first).then_some(())
    }

    /// Decides that tensors of which nothing is known hold numbers with a fraction.
    fn numbers(&mut self) {
        for form in self.variables.values().chain(self.forms.values()) {
            if let Form::Tensor(own) | Form::List(_, own) = form
                && self.unknowns.value(own.kind).is_none()
            {
                self.unknowns.set(own.kind, 0);
            }
        }
    }

    fn nodes(&self) -> &[ENodeOrVar<Node>] {
        self.rule.lhs.as_ref()
    }

    fn node(&self, at: usize) -> (Option<&'static str>, Vec<usize>) {
        match &self.nodes()[at] {
            ENodeOrVar::ENode(node) => {
                (node.name(), node.children().iter().map(|id| usize::from(*id)).collect())
            }
            ENodeOrVar::Var(_) => (None, Vec::new()),
        }
    }

    fn variable(&self, at: usize) -> Option<Var> {
        match &self.nodes()[at] {
            ENodeOrVar::Var(v) => Some(*v),
            ENodeOrVar::ENode(_) => None,
        }
    }

    /// Returns true for a number that a program writes, which takes any shape and type.
    fn is_number(&self, at: usize) -> bool {
        matches!(self.node(at).0, Some("number" | "tiny"))
    }

    /// Evaluates the left side, drawing the tensors of variables as soon as their extents are known.
    fn evaluated(mut self, tame: bool) -> Option<(Bound, Whole)> {
        let (mut bound, mut done) = (Bound::new(), BTreeMap::<usize, Meaning>::new());
        let bounds = self.bounds();
        let root = self.nodes().len() - 1;
        loop {
            let before = done.len();
            for (v, form) in self.variables.clone() {
                if !bound.contains_key(&v)
                    && let Some(meaning) = self.content(&form, bounds.get(&v), tame)
                {
                    bound.insert(v, meaning?);
                }
            }
            for at in 0..=root {
                if done.contains_key(&at) {
                    continue;
                }
                let found = match self.nodes()[at].clone() {
                    ENodeOrVar::Var(v) => bound.get(&v).cloned(),
                    ENodeOrVar::ENode(node) => {
                        let of = node.children().iter().map(|id| done.get(&usize::from(*id)));
                        match (of.collect::<Option<Vec<_>>>(), node.head()) {
                            (None, _) => None,
                            (_, Head::Int(n)) => Some(Meaning::Size(n)),
                            (Some(of), Head::Op(name)) => {
                                let shape = match self.forms.get(&at) {
                                    Some(Form::Tensor(own)) => self.unknowns.values(&own.dims),
                                    _ => None,
                                };
                                Some(apply(name.as_str(), &of, shape.as_deref())?)
                            }
                            _ => return None,
                        }
                    }
                };
                let Some(found) = found else { continue };
                if let (Meaning::Tensor(x), Some(Form::Tensor(own))) = (&found, self.forms.get(&at))
                {
                    let fits = self.is_number(at)
                        || own.dims.len() == x.shape.len()
                            && own
                                .dims
                                .clone()
                                .iter()
                                .zip(&x.shape)
                                .all(|(d, n)| self.unknowns.set(*d, *n));
                    fits.then_some(())?;
                    self.drawn()?;
                }
                done.insert(at, found);
            }
            if let Some(Meaning::Tensor(x)) = done.get(&root) {
                return Some((bound, x.clone()));
            }
            if done.len() == before {
                return None;
            }
        }
    }

    /// How many rows there are for the tensors that positions are made of.
    fn bounds(&self) -> BTreeMap<Var, usize> {
        let mut bounds = BTreeMap::new();
        for (at, rows) in &self.positions {
            let mut open = vec![*at];
            while let Some(at) = open.pop() {
                if let Some(v) = self.variable(at) {
                    bounds.entry(v).or_insert(*rows);
                }
                let (name, children) = self.node(at);
                // These are positions of their own, whatever their operands are.
                if !matches!(name, Some("owners" | "repeated" | "places" | "nonzero")) {
                    open.extend(children);
                }
            }
        }
        bounds
    }

    /// Draws what a variable stands for; `None` while its extents are not known, and inside if nothing fits.
    fn content(
        &mut self,
        form: &Form,
        rows: Option<&usize>,
        tame: bool,
    ) -> Option<Option<Meaning>> {
        let rows = match rows {
            Some(rows) => Some(self.unknowns.value(*rows)?),
            None => None,
        };
        Some(match form {
            Form::Size(n) => Some(Meaning::Size(self.unknowns.value(*n)? as i64)),
            Form::Shape(dims) => Some(Meaning::Shape(self.unknowns.values(dims)?)),
            Form::Tensor(own) => {
                let shape = self.unknowns.values(&own.dims)?;
                let whole = self.unknowns.value(own.kind) == Some(1);
                self.elements(shape, whole, rows, tame).map(Meaning::Tensor)
            }
            Form::List(count, part) => {
                let shape = self.unknowns.values(&part.dims)?;
                let whole = self.unknowns.value(part.kind) == Some(1);
                let parts = (0..*count).map(|_| self.elements(shape.clone(), whole, rows, tame));
                parts.collect::<Option<_>>().map(Meaning::List)
            }
        })
    }

    fn elements(
        &mut self,
        shape: Vec<u64>,
        whole: bool,
        rows: Option<u64>,
        tame: bool,
    ) -> Option<Whole> {
        let n = elements(&shape);
        if !whole {
            let extreme = !tame && self.rng.bool();
            let cells = (0..n).map(|_| Scalar::F32(number(self.rng, extreme))).collect();
            return Some(Whole { shape, cells });
        }
        let numbers: Vec<i64> = match rows {
            Some(0) if n > 0 => return None,
            Some(rows) => (0..n).map(|_| self.rng.i64(0..rows.max(1) as i64)).collect(),
            // Those that are no positions may be offsets, which rise from 0.
            None => {
                let mut sum = 0;
                let steps = (0..n).map(|i| if i == 0 { 0 } else { self.rng.i64(0..4) });
                steps
                    .map(|step| {
                        sum += step;
                        sum
                    })
                    .collect()
            }
        };
        Some(Whole { shape, cells: numbers.into_iter().map(Scalar::I64).collect() })
    }
}

/// A number: a small one, so that equal ones occur, or one at the ends.
fn number(rng: &mut Rng, extreme: bool) -> f32 {
    const EXTREMES: [f32; 10] = [
        0.0,
        -0.0,
        1e30,
        -1e30,
        f32::MAX,
        f32::MIN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        1e-40,
    ];
    match rng.u8(..4) {
        0 if extreme => EXTREMES[rng.usize(..EXTREMES.len())],
        1 => rng.i32(-3..4) as f32,
        _ => (rng.f32() - 0.5) * 8.0,
    }
}
