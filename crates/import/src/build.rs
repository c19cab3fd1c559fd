//! Builds the common graph: every operation checks its operands and derives the shape of its result.

mod by_place;
mod composed;
mod dimensions;
mod einsum;
mod joined;
mod places;
mod put;
mod rows;
mod segments;
mod sizes;
mod sums;

pub(crate) use dimensions::Lookup;

use crate::error::Problem;
use crate::exact::digits;
use crate::graph::{Elem, Graph, Id, Node, Op, Origin, Weight, count, is_one, shown};
use crate::limits::{DIMENSIONS, NODES};
use crate::words::{DIV, MUL, POW};
use crate::write::converted;
use ember_model::Extent;
use ember_targets::tensor::{Data, Tensor};
use ember_values::operation::Comparison;
use ember_values::scalar::DType;
use sizes::one_size;
use std::collections::BTreeMap;

/// The graph that is being built.
#[derive(Default)]
pub(crate) struct Builder {
    pub(crate) graph: Graph,
    /// The operator whose nodes are being added.
    origin: Option<usize>,
    /// The nodes by what they compute, so that nothing is computed twice.
    known: BTreeMap<String, Id>,
    /// Whole numbers under other extents, by the value and the extents; `None` for those that are not computed so.
    reshaped: BTreeMap<(Id, String), Option<Id>>,
}

/// The result of an operation, or the reason why there is none.
pub(crate) type Built = Result<Id, Problem>;

/// Returns the problem of operands that do not fit.
pub(crate) fn misfit(text: impl Into<String>) -> Problem {
    Problem::Operands(text.into())
}

impl Builder {
    /// Goes on with a graph that has no values yet.
    pub(crate) fn on(graph: Graph) -> Builder {
        Builder { graph, ..Builder::default() }
    }

    /// Starts the graph of a framework that counts positions from the end itself.
    pub(crate) fn from_the_end() -> Builder {
        Builder::on(Graph { from_the_end: true, ..Graph::default() })
    }

    /// Goes on with nodes of an operator that the graph has already.
    pub(crate) fn continue_with(&mut self, origin: Option<usize>) {
        self.origin = origin;
    }

    /// Starts the nodes of an operator.
    pub(crate) fn begin(&mut self, origin: Origin) {
        self.graph.origins.push(origin);
        self.origin = Some(self.graph.origins.len() - 1);
    }

    /// Adds a node.
    pub(crate) fn add(
        &mut self,
        op: Op,
        operands: Vec<Id>,
        shape: Vec<Extent>,
        elem: Elem,
    ) -> Built {
        if shape.len() > DIMENSIONS {
            return Err(misfit(format!("a tensor has at most {DIMENSIONS} dimensions")));
        }
        let known = shape.iter().filter_map(Extent::constant);
        if known.clone().try_fold(1u64, |n, e| n.checked_mul(e)).is_none_or(|n| n >> 48 != 0) {
            return Err(Problem::Overflow(shown(&shape)));
        }
        if self.graph.nodes.len() >= NODES {
            return Err(misfit(format!("the program has more than {NODES} operations")));
        }
        let id = Id(self.graph.nodes.len());
        let known =
            *self.known.entry(format!("{op:?} {operands:?} {shape:?} {elem:?}")).or_insert(id);
        if known == id {
            self.graph.nodes.push(Node { op, operands, shape, elem, origin: self.origin });
        }
        Ok(known)
    }

    pub(crate) fn shape(&self, id: Id) -> Vec<Extent> {
        self.graph.shape(id).to_vec()
    }

    pub(crate) fn elem(&self, id: Id) -> Elem {
        self.graph.node(id).elem
    }

    /// Returns the number that a value is, for every element.
    pub(crate) fn number_of(&self, id: Id) -> Option<f64> {
        let mut node = self.graph.node(id);
        let mut conversions = Vec::new();
        loop {
            match node.op {
                Op::Number(x) => {
                    let steps = conversions.into_iter().rev();
                    return Some(steps.fold(x, |x, (from, to)| converted(x, from, to)));
                }
                Op::Expand | Op::Reshape | Op::Cast => {
                    let of = self.graph.node(*node.operands.first()?);
                    if let (Elem::Of(from), Elem::Of(to), Op::Cast) = (of.elem, node.elem, &node.op)
                    {
                        conversions.push((from, to));
                    }
                    node = of;
                }
                _ => return None,
            }
        }
    }

    /// A number without dimensions.
    pub(crate) fn number(&mut self, x: f64, elem: Elem) -> Built {
        self.add(Op::Number(x), Vec::new(), Vec::new(), elem)
    }

    /// A whole number without dimensions; beyond what numbers hold, a tensor of it.
    pub(crate) fn whole_number(&mut self, n: i64) -> Built {
        let elem = Elem::Of(DType::I64);
        if n.unsigned_abs() <= 1 << digits(DType::F64) {
            return self.number(n as f64, elem);
        }
        let data = Data::I64(vec![n].into());
        self.constant(Tensor { dtype: DType::I64, shape: Vec::new(), data }, elem)
    }

    /// A number for every element.
    pub(crate) fn full(&mut self, x: f64, shape: Vec<Extent>, elem: Elem) -> Built {
        let number = self.number(x, elem)?;
        self.expand(number, shape)
    }

    /// A tensor that the program holds without a name.
    pub(crate) fn constant(&mut self, tensor: Tensor, elem: Elem) -> Built {
        let name = format!("constant{}", self.graph.weights.len());
        self.weight(Weight { name, tensor }, elem)
    }

    /// A tensor of the file.
    pub(crate) fn weight(&mut self, weight: Weight, elem: Elem) -> Built {
        let shape = weight.tensor.shape.iter().copied().map(Extent::Const).collect();
        self.graph.weights.push(weight);
        self.add(Op::Weight(self.graph.weights.len() - 1), Vec::new(), shape, elem)
    }

    /// Conversion to an element type.
    pub(crate) fn cast(&mut self, x: Id, elem: Elem) -> Built {
        if self.elem(x) == elem {
            return Ok(x);
        }
        let shape = self.shape(x);
        match elem {
            Elem::Bool => {
                let zero = self.number(0.0, self.elem(x))?;
                self.compare("ne", x, zero)
            }
            Elem::Of(_) if self.elem(x) == Elem::Bool => {
                let (one, zero) = (self.number(1.0, elem)?, self.number(0.0, elem)?);
                self.choose(x, one, zero)
            }
            Elem::Of(_) => self.add(Op::Cast, vec![x], shape, elem),
        }
    }

    /// Returns the operand as numbers of a type that functions take: whole numbers become f32.
    fn floating(&mut self, x: Id) -> Built {
        match self.elem(x) {
            Elem::Of(DType::F32 | DType::F64) => Ok(x),
            _ => self.cast(x, Elem::Of(DType::F32)),
        }
    }

    /// A function of each element.
    pub(crate) fn map(&mut self, word: &str, x: Id) -> Built {
        let x = match word {
            "relu" | "neg" | "abs" | "identity" if self.elem(x) != Elem::Bool => x,
            _ => self.floating(x)?,
        };
        let (shape, elem) = (self.shape(x), self.elem(x));
        self.add(Op::Map(word.to_owned()), vec![x], shape, elem)
    }

    pub(crate) fn leaky(&mut self, x: Id, slope: f64) -> Built {
        let x = self.floating(x)?;
        let (shape, elem) = (self.shape(x), self.elem(x));
        self.add(Op::Leaky(slope), vec![x], shape, elem)
    }

    /// Gives operands one element type, that of the wider one; a number takes the type of a tensor, unless it is no
    /// whole number and the tensor has whole ones.
    fn alike(&mut self, a: Id, b: Id) -> Result<(Id, Id), Problem> {
        let number = |builder: &Builder, id: Id| match builder.graph.node(id).op {
            Op::Number(x) => Some(x),
            _ => None,
        };
        let (x, y) = (self.elem(a), self.elem(b));
        let to = match (number(self, a), number(self, b)) {
            (Some(_), Some(_)) | (None, None) => wider(x, y),
            (None, Some(n)) if x == Elem::Bool || (x.is_integer() && n.fract() != 0.0) => {
                wider(x, y)
            }
            (Some(n), None) if y == Elem::Bool || (y.is_integer() && n.fract() != 0.0) => {
                wider(x, y)
            }
            (None, Some(_)) => x,
            (Some(_), None) => y,
        };
        let mut cast = |id: Id| match number(self, id) {
            Some(x) => self.number(x, to),
            None => self.cast(id, to),
        };
        Ok((cast(a)?, cast(b)?))
    }

    /// An operation on the elements of two tensors.
    pub(crate) fn zip(&mut self, word: &str, a: Id, b: Id) -> Built {
        // Nothing changes when 1 is a factor, which is the default of factors.
        match (word, self.number_of(a), self.number_of(b)) {
            (MUL, Some(1.0), _) if self.graph.shape(a).is_empty() => return Ok(b),
            (MUL | DIV, _, Some(1.0)) if self.graph.shape(b).is_empty() => return Ok(a),
            _ => {}
        }
        let (mut a, mut b) = self.alike(a, b)?;
        let whole = self.elem(a).is_integer() || self.elem(a) == Elem::Bool;
        if whole && matches!(word, DIV | POW) {
            (a, b) = (self.cast(a, Elem::Of(DType::F32))?, self.cast(b, Elem::Of(DType::F32))?);
        }
        let shape = broadcast(&self.shape(a), &self.shape(b))?;
        let elem = self.elem(a);
        self.add(Op::Zip(word.to_owned()), vec![a, b], shape, elem)
    }

    /// An operation on whole numbers, such as a quotient that is one.
    pub(crate) fn whole(&mut self, word: &str, a: Id, b: Id) -> Built {
        let (a, b) = self.alike(a, b)?;
        let elem = self.elem(a);
        if !elem.is_integer() {
            return Err(misfit(
                "quotients that are rounded, and remainders, of numbers that are not whole",
            ));
        }
        let shape = broadcast(&self.shape(a), &self.shape(b))?;
        self.add(Op::Zip(word.to_owned()), vec![a, b], shape, elem)
    }

    pub(crate) fn compare(&mut self, word: &str, a: Id, b: Id) -> Built {
        let (a, b) = self.alike(a, b)?;
        let shape = broadcast(&self.shape(a), &self.shape(b))?;
        let comparison = Comparison::ALL.iter().find(|own| own.word() == word);
        let whole = |id: Id| {
            let number = self.number_of(id).filter(|x| x.fract() == 0.0);
            number.filter(|_| self.elem(id).is_integer() || self.elem(id) == Elem::Bool)
        };
        if let (Some(x), Some(y), Some(comparison)) = (whole(a), whole(b), comparison) {
            return self.full(f64::from(u8::from(comparison.holds(&x, &y))), shape, Elem::Bool);
        }
        self.add(Op::Compare(word.to_owned()), vec![a, b], shape, Elem::Bool)
    }

    pub(crate) fn choose(&mut self, condition: Id, x: Id, y: Id) -> Built {
        let condition = self.cast(condition, Elem::Bool)?;
        let (x, y) = self.alike(x, y)?;
        let shape = broadcast(&self.shape(x), &self.shape(y))?;
        let shape = broadcast(&self.shape(condition), &shape)?;
        if let Some(holds) = self.number_of(condition) {
            return self.expand(if holds != 0.0 { x } else { y }, shape);
        }
        let elem = self.elem(x);
        self.add(Op::Choose, vec![condition, x, y], shape, elem)
    }

    /// The product of two matrices, of batches of them, or with vectors, as in `matmul`.
    pub(crate) fn product(&mut self, a: Id, b: Id) -> Built {
        let (mut a, mut b) = self.alike(a, b)?;
        let vectors = (self.shape(a).len() == 1, self.shape(b).len() == 1);
        if vectors.0 {
            a = self.unsqueeze(a, 0)?;
        }
        if vectors.1 {
            b = self.unsqueeze(b, 1)?;
        }
        let (x, y) = (self.shape(a), self.shape(b));
        let ([batch_a @ .., m, k], [batch_b @ .., inner, n]) = (&x[..], &y[..]) else {
            return Err(misfit("a product of matrices needs two dimensions"));
        };
        one_size(k, inner)?;
        if k != inner {
            let message = format!("a product of ({}) and ({}) does not fit", shown(&x), shown(&y));
            return Err(misfit(message));
        }
        let batch = broadcast(batch_a, batch_b)?;
        let shape: Vec<Extent> = batch.iter().chain([m, n]).cloned().collect();
        let live = |batch: &[Extent]| batch.iter().filter(|e| !is_one(e)).count();
        let elem = self.elem(a);
        let mut product = match live(&batch) {
            0 | 1 => self.add(Op::Product, vec![a, b], shape, elem)?,
            // Several batch dimensions are one, or rows of the first factor where the second has none.
            _ if live(batch_b) == 0 => {
                let rows = self.flat(&x[..x.len() - 1])?;
                let a = self.reshape(a, vec![rows.clone(), k.clone()])?;
                let b = self.reshape(b, vec![k.clone(), n.clone()])?;
                let product = self.add(Op::Product, vec![a, b], vec![rows, n.clone()], elem)?;
                self.reshape(product, shape)?
            }
            _ => {
                let all = self.flat(&batch)?;
                let whole = |batch: &[Extent], last: [&Extent; 2]| -> Vec<Extent> {
                    batch.iter().chain(last).cloned().collect()
                };
                let a = self.expand(a, whole(&batch, [m, k]))?;
                let b = self.expand(b, whole(&batch, [k, n]))?;
                let a = self.reshape(a, whole(std::slice::from_ref(&all), [m, k]))?;
                let b = self.reshape(b, whole(std::slice::from_ref(&all), [k, n]))?;
                let product = self.add(Op::Product, vec![a, b], whole(&[all], [m, n]), elem)?;
                self.reshape(product, shape)?
            }
        };
        let rank = self.shape(product).len();
        if vectors.1 {
            product = self.squeeze(product, rank - 1)?;
        }
        if vectors.0 {
            let axis = self.shape(product).len() - 1 - usize::from(!vectors.1);
            product = self.squeeze(product, axis)?;
        }
        Ok(product)
    }

    /// Returns the number of elements as an extent.
    fn flat(&self, shape: &[Extent]) -> Result<Extent, Problem> {
        let live: Vec<&Extent> = shape.iter().filter(|extent| !is_one(extent)).collect();
        match (live.as_slice(), count(shape)) {
            (_, Some(n)) => Ok(Extent::Const(n)),
            ([one], None) => Ok((*one).clone()),
            _ => Err(misfit(format!("({}) elements are counted only with the data", shown(shape)))),
        }
    }
}

/// Returns the type that holds the numbers of both.
fn wider(a: Elem, b: Elem) -> Elem {
    let rank = |elem: Elem| match elem {
        Elem::Bool => 0,
        Elem::Of(DType::U4) => 1,
        Elem::Of(DType::U8) => 2,
        Elem::Of(DType::I8) => 3,
        Elem::Of(DType::I32) => 4,
        Elem::Of(DType::I64) => 5,
        Elem::Of(DType::F16) => 6,
        Elem::Of(DType::BF16) => 7,
        Elem::Of(DType::F32) => 8,
        Elem::Of(DType::F64) => 9,
    };
    if rank(a) >= rank(b) { a } else { b }
}

/// Returns the shape of two tensors, of which dimensions of extent 1 are repeated.
pub(crate) fn broadcast(a: &[Extent], b: &[Extent]) -> Result<Vec<Extent>, Problem> {
    let rank = a.len().max(b.len());
    let at =
        |shape: &[Extent], i: usize| (i + shape.len()).checked_sub(rank).map(|i| shape[i].clone());
    let extent = |i| match (at(a, i), at(b, i)) {
        (Some(x), Some(y)) if x == y || is_one(&y) => Ok(x),
        (Some(x), Some(y)) if is_one(&x) => Ok(y),
        (Some(x), None) | (None, Some(x)) => Ok(x),
        (Some(x), Some(y)) => {
            one_size(&x, &y)?;
            Err(misfit(format!("shapes ({}) and ({}) do not fit", shown(a), shown(b))))
        }
        (None, None) => Ok(Extent::Const(1)),
    };
    (0..rank).map(extent).collect()
}
