//! What is known of a term, derived anew from its operands: type, number, range, linear form over loop
//! variables and sizes, the variables that it depends on; and the places that it reads and writes.

use super::Checker;
use super::term::{T, deeper};
use ember_targets::scalar::{BinaryOp, DType, Scalar};
use std::collections::{BTreeMap, BTreeSet};

/// Coefficients of loop variables and sizes, by name, none of them 0; that of [`ONE`] is the constant.
pub(super) type Linear = BTreeMap<String, i64>;

pub(super) const ONE: &str = "1";

/// Where an index starts and how many lanes it has; `None` is any index.
pub(super) type Index = Option<(Linear, i64)>;

/// A variable, and what stands for it outside of what binds it: lanes from a linear form on.
pub(super) type Bound<'a> = (&'a str, Index);

/// A tensor as `in`, `out` or `freeze` gives it, its name, and the indices that are known so far.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place(pub String, pub String, pub Vec<Index>);

/// Places, each with `reads` or `writes`.
pub(super) type Touches = BTreeSet<(&'static str, Place)>;

/// What is known of a term. An address has the type of its tensor, and so has its name.
#[derive(Default)]
pub(super) struct Fact {
    pub dtype: Option<DType>,
    pub lanes: Option<i64>,
    pub number: Option<Scalar>,
    pub range: Option<(i64, i64)>,
    pub linear: Option<Linear>,
    pub free: BTreeSet<String>,
    /// The variables of its loops; nothing where one has other bounds than its variable or stands
    /// within another one over it, or where a tensor is not declared.
    pub loops: Option<BTreeSet<String>>,
}

impl Fact {
    pub fn integer(&self) -> Option<i64> {
        self.number.filter(|x| x.dtype() == DType::I64)?.as_i64()
    }
}

/// `a OP b`, where there is such a number.
pub(super) fn computed(op: &str, a: Option<i64>, b: Option<i64>) -> Option<i64> {
    let (a, b) = (a?, b?);
    match op {
        "add" => a.checked_add(b),
        "sub" => a.checked_sub(b),
        "mul" => a.checked_mul(b),
        "div" => a.checked_div(b),
        "min" => Some(a.min(b)),
        "max" => Some(a.max(b)),
        _ => None,
    }
}

/// The range of `a OP b`. Its ends are at those of the operands, since each operation is monotone in
/// each of them; a quotient is where the divisor does not change its sign.
fn range(op: &str, a: (i64, i64), b: (i64, i64)) -> Option<(i64, i64)> {
    let ends = [(a.0, b.0), (a.0, b.1), (a.1, b.0), (a.1, b.1)];
    let ends = ends.map(|(a, b)| computed(op, Some(a), Some(b)).filter(|_| op != "div" || b > 0));
    Some((ends.into_iter().min()??, ends.into_iter().max()??))
}

/// `a + k b`.
pub(super) fn plus(a: &Linear, k: i64, b: &Linear) -> Option<Linear> {
    let mut sum = a.clone();
    for (name, own) in b {
        let at = sum.entry(name.clone()).or_default();
        *at = at.checked_add(own.checked_mul(k)?)?;
    }
    sum.retain(|_, k| *k != 0);
    Some(sum)
}

/// The number that a linear form is.
pub(super) fn constant(form: &Linear) -> Option<i64> {
    form.keys().all(|name| name == ONE).then(|| coefficient(form, ONE))
}

pub(super) fn coefficient(form: &Linear, of: &str) -> i64 {
    form.get(of).copied().unwrap_or_default()
}

fn once(name: &str) -> Linear {
    Linear::from([(name.to_owned(), 1)])
}

/// An index outside of what binds a variable.
fn outside(index: Index, (x, to): &Bound<'_>) -> Index {
    let (start, own) = index?;
    let k = coefficient(&start, x);
    if k == 0 {
        return Some((start, own));
    }
    let (to, lanes) = to.as_ref()?;
    let start = plus(&plus(&start, k.checked_neg()?, &once(x))?, k, to)?;
    match (*lanes, k, own) {
        (1, _, own) => Some((start, own)),
        (lanes, 1, 1) => Some((start, lanes)),
        _ => None,
    }
}

impl Checker<'_> {
    /// Derives what is known of every term so far; operands stand before what they are operands of.
    pub(super) fn derive(&mut self) {
        for term in self.facts.len()..self.terms.len() {
            let (name, operands) = self.terms.node(term);
            let mut fact = self.fact(name, operands);
            if let Some(n) = fact.integer() {
                fact.range = Some((n, n));
                fact.linear = plus(&Linear::new(), n, &once(ONE));
            }
            fact.loops = self.loops(name, operands);
            if fact.number.is_none() {
                fact.free = self.free(name, operands);
            }
            self.facts.push(fact);
        }
    }

    fn fact(&self, name: &str, operands: &[T]) -> Fact {
        let of = |i: usize| operands.get(i).map(|t| &self.facts[*t]);
        let lanes = |i: usize| of(i).and_then(|fact| fact.lanes);
        let integer = |i: usize| of(i).and_then(Fact::integer);
        let literal = |i: usize| operands.get(i).map_or("", |t| self.terms.name(*t));
        let index = Fact { dtype: Some(DType::I64), lanes: Some(1), ..Fact::default() };
        let op = name.strip_prefix("scf.").unwrap_or_default();
        // Most have the type of an operand, and lanes.
        let (typed, lanes) = match name {
            "in" | "out" | "const" | "scf.one" | "emb.element" => (0, Some(1)),
            "freeze" | "scf.load" | "scf.exp" | "scf.sqrt" => (0, lanes(0)),
            "at" if lanes(0) == Some(1) => (0, lanes(1)),
            "at" => (0, lanes(0).filter(|_| lanes(1) == Some(1))),
            "scf.cast" | "scf.convert" => (0, lanes(1)),
            "scf.select" => (1, lanes(1)),
            "scf.broadcast" | "scf.lanes" => (operands.len().saturating_sub(1), integer(0)),
            "scf.identity" | "scf.fold" | "emb.edge" => (1, Some(1)),
            "rename" | "fix" => (2, lanes(2)),
            "vec" => (4, integer(2)),
            "scf.reduce" => (5, lanes(5)),
            "emb.bag" | "emb.kg" | "emb.dequantise" | "nn.scale" => (1, None),
            "emb.sddmm" => (2, None),
            "emb.spmm" => (3, None),
            "emb.mp" => (4, None),
            _ if name.starts_with("emb.") || name.starts_with("nn.") => (0, None),
            _ if BinaryOp::parse(op).is_some() => (0, lanes(0)),
            _ => (usize::MAX, None),
        };
        let dtype = of(typed).and_then(|fact| fact.dtype);
        let mut fact = Fact { dtype, lanes, ..Fact::default() };
        match (name, operands) {
            ("iv", &[x]) => {
                let range = self.bounds(x).and_then(|[lo, hi, _]| lo.range.zip(hi.range));
                let range = range.filter(|(lo, hi)| lo.1 < hi.0).map(|(lo, hi)| (lo.0, hi.1 - 1));
                let number = self.only(x).map(Scalar::I64);
                let linear = self.bounds(x).map(|_| once(self.terms.name(x)));
                return Fact { number, range, linear, ..index };
            }
            ("size" | "dim" | "emb.extent", _) => {
                let number = self.extent(name, operands).and_then(|n| n.parse().ok());
                let linear = literal(0).starts_with('%').then(|| once(literal(0)));
                let (number, range) = (number.map(Scalar::I64), Some((0, i64::MAX)));
                return Fact { number, range, linear, ..index };
            }
            (word, []) => match word.parse() {
                Ok(n) => return Fact { number: Some(Scalar::I64(n)), ..index },
                Err(_) => {
                    let tensor = self.tensors.get(word).map(|tensor| tensor.dtype);
                    fact.dtype = tensor.or(DType::parse(word));
                }
            },
            ("const", _) => {
                let real = dtype.zip(literal(1).parse().ok());
                fact.number = real.map(|(dtype, x)| Scalar::from_f64(dtype, x));
            }
            ("scf.one", _) => fact.number = dtype.map(|dtype| Scalar::from_f64(dtype, 1.0)),
            ("scf.identity", _) => {
                let op = BinaryOp::parse(literal(0)).zip(dtype);
                fact.number = op.and_then(|(op, dtype)| op.identity(dtype));
            }
            ("scf.cast" | "scf.convert", &[_, x]) => {
                let x = &self.facts[x];
                fact.number = dtype.zip(x.number).map(|(dtype, x)| x.cast(dtype));
                if (dtype, x.dtype) == (index.dtype, index.dtype) {
                    (fact.range, fact.linear) = (x.range, x.linear.clone());
                }
            }
            (_, &[a, b]) => {
                let Some(binary) = BinaryOp::parse(op) else { return fact };
                let (a, b) = (&self.facts[a], &self.facts[b]);
                fact.dtype = a.dtype.or(b.dtype).map(|dtype| binary.result(dtype));
                fact.number = a.number.zip(b.number).and_then(|(x, y)| binary.apply(x, y));
                fact.range = a.range.zip(b.range).and_then(|(a, b)| range(op, a, b));
                let forms = a.linear.as_ref().zip(b.linear.as_ref());
                fact.linear = forms.and_then(|(a, b)| match (op, constant(a), constant(b)) {
                    ("add", ..) => plus(a, 1, b),
                    ("sub", ..) => plus(a, -1, b),
                    ("mul", Some(k), _) => plus(&Linear::new(), k, b),
                    ("mul", _, Some(k)) => plus(&Linear::new(), k, a),
                    _ => None,
                });
            }
            _ => {}
        }
        fact
    }

    /// What is known of a variable's bounds, as they were declared.
    pub(super) fn bounds(&self, variable: T) -> Option<[&Fact; 3]> {
        let [_, bounds @ ..] = self.variables.get(&variable)?;
        Some(bounds.map(|bound| &self.facts[bound]))
    }

    /// The only value of a variable whose loop runs once.
    pub(super) fn only(&self, variable: T) -> Option<i64> {
        let [lo, hi, step] = self.bounds(variable)?.map(Fact::integer);
        lo.filter(|lo| Some(*lo) < hi && hi <= computed("add", Some(*lo), step))
    }

    /// The extent that `(dim ADDRESS K)` asks for, as it is declared.
    pub(super) fn extent(&self, name: &str, operands: &[T]) -> Option<&str> {
        let ("dim", &[address, k]) = (name, operands) else { return None };
        let Place(_, tensor, index) = self.place(address, &[])?;
        let k = index.len().checked_add(usize::try_from(self.facts[k].integer()?).ok()?)?;
        self.tensors.get(&tensor)?.shape.get(k)?.atom()
    }

    /// The variables that a term depends on.
    fn free(&self, name: &str, operands: &[T]) -> BTreeSet<String> {
        let mut free = BTreeSet::new();
        let binder = self.rules.binder(name, operands);
        for (at, operand) in operands.iter().enumerate() {
            let inside = binder.filter(|(variable, body)| at == *variable || at == *body);
            let bound = inside.map(|(variable, _)| self.terms.name(operands[variable]));
            let own = self.facts[*operand].free.iter();
            free.extend(own.filter(|v| bound != Some(v.as_str())).cloned());
        }
        free.extend(name.starts_with('@').then(|| name.to_owned()));
        free
    }

    fn loops(&self, name: &str, operands: &[T]) -> Option<BTreeSet<String>> {
        let mut loops = BTreeSet::new();
        for operand in operands {
            loops.extend(self.facts[*operand].loops.as_ref()?.iter().cloned());
        }
        if let ("in" | "out", [tensor]) = (name, operands) {
            self.tensors.get(self.terms.name(*tensor))?;
        }
        if let Some((variable, _)) = self.rules.binder(name, operands) {
            let [called, ..] = self.variables.get(&operands[variable])?;
            let bounded = match operands[variable..] {
                [x, lo, hi, st, ..] => self.spellings.get(&[*called, lo, hi, st]) == Some(&x),
                _ => false,
            };
            // Only loops of `scf` have their bounds behind their variables.
            let fits = bounded || !name.starts_with("scf.");
            let alone = loops.insert(self.terms.name(operands[variable]).to_owned());
            return Some(loops).filter(|_| fits && alone);
        }
        Some(loops)
    }

    /// The variable that an operator binds in an operand, and what it is seen from outside.
    fn binds(&self, name: &str, operands: &[T], at: usize) -> Option<Bound<'_>> {
        let (variable, _) = self.rules.binder(name, operands).filter(|(_, body)| at == *body)?;
        let outside = match (name, operands) {
            ("vec", &[v, _, n, ..]) => Some(once(self.terms.name(v))).zip(self.facts[n].integer()),
            ("rename", &[_, y, _]) => Some((once(self.terms.name(y)), 1)),
            ("fix", &[_, v, _]) => self.facts[v].linear.clone().zip(Some(1)),
            _ => None,
        };
        Some((self.terms.name(operands[variable]), outside))
    }

    /// The place of an address, seen from outside of operators that bind variables, the innermost last.
    pub(super) fn place(&self, address: T, around: &[Bound<'_>]) -> Option<Place> {
        let (name, operands) = self.terms.node(address);
        match (name, operands) {
            ("in" | "out", &[tensor]) => {
                Some(Place(name.to_owned(), self.terms.name(tensor).to_owned(), Vec::new()))
            }
            ("freeze", &[of]) => {
                let Place(_, tensor, index) = deeper(|| self.place(of, around))?;
                Some(Place(name.to_owned(), tensor, index))
            }
            ("at", &[of, index]) => {
                let (start, lanes) = match self.terms.node(index) {
                    ("scf.lanes", [n, _, start]) => (*start, self.facts[*n].integer()),
                    _ => (index, Some(1)),
                };
                let index = self.facts[start].linear.clone().zip(lanes.filter(|n| *n > 0));
                let mut place = deeper(|| self.place(of, around))?;
                place.2.push(around.iter().rev().fold(index, outside));
                Some(place)
            }
            ("vec" | "rename" | "fix", &[.., body]) => {
                let own = self.binds(name, operands, operands.len() - 1);
                let around: Vec<Bound<'_>> = around.iter().cloned().chain(own).collect();
                deeper(|| self.place(body, &around))
            }
            _ => None,
        }
    }

    /// What evaluating a term reads and writes; nothing where that is not known or too much.
    pub(super) fn touches(
        &self,
        term: T,
        around: &[Bound<'_>],
        visits: &mut usize,
    ) -> Option<Touches> {
        *visits = visits.checked_sub(1)?;
        let (name, operands) = self.terms.node(term);
        let tensor = name.starts_with("emb.") || name.starts_with("nn.");
        // Operands that are read and written as places; besides, operators do what their operands do.
        let (reads, writes) = match name {
            "scf.load" => (0..1, 0..0),
            "scf.store" | "emb.output" | "emb.output_slot" | "emb.output_columns" => (0..0, 0..1),
            "scf.accumulate" => (1..2, 1..2),
            "scf.matmul" | "scf.matmul_t" => (1..3, 0..1),
            "scf.barrier" | "slc.barrier" => return None,
            "emb.mp" => (0..5, 5..6),
            "at" | "dim" | "in" | "out" | "freeze" | "iv" | "size" | "const" => (0..0, 0..0),
            "vec" | "rename" | "fix" | "depth" | "outer" | "inner" => (0..0, 0..0),
            _ if tensor => (0..operands.len(), 0..0),
            _ if name.starts_with("scf.") || operands.is_empty() => (0..0, 0..0),
            _ => return None,
        };
        let mut all = Touches::new();
        for (touch, at) in reads.map(|at| ("reads", at)).chain(writes.map(|at| ("writes", at))) {
            match self.place(*operands.get(at)?, around) {
                Some(place) => all.extend([(touch, place)]),
                // What is computed as a whole has no place.
                None if tensor => {}
                None => return None,
            }
        }
        for (at, operand) in operands.iter().enumerate() {
            let own = self.binds(name, operands, at);
            let around: Vec<Bound<'_>> = around.iter().cloned().chain(own).collect();
            all.extend(deeper(|| self.touches(*operand, &around, visits))?);
        }
        // What an element is computed in is not looked at.
        all.retain(|(touch, _)| *touch == "reads" || !matches!(name, "emb.element" | "emb.extent"));
        Some(all)
    }

    /// Whether two terms are the same by numbers and declarations alone.
    pub(super) fn same(&self, old: T, new: T) -> bool {
        let (a, b) = (&self.facts[old], &self.facts[new]);
        match (self.terms.node(old), self.terms.node(new)) {
            _ if a.number.is_some() && a.number == b.number => a.lanes == b.lanes,
            (("dim", address), ("size", &[size])) => {
                let size = self.terms.name(size).strip_prefix('%');
                size.is_some() && self.extent("dim", address) == size
            }
            (("scf.convert", &[_, x]), ("scf.cast", &[dtype, y])) => {
                x == y && a.dtype.map(DType::name) == Some(self.terms.name(dtype))
            }
            (("scf.cast", &[_, x]), _) => x == new && a.dtype.is_some() && a.dtype == b.dtype,
            _ => false,
        }
    }
}
