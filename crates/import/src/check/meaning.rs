//! The meaning of the operators of imported graphs: what each of them computes, on whole tensors. It shares no code with
//! what writes them as operations of models.

use super::whole::{
    Whole, combined, concat, elements, folded, moved, of_two, repeated, rows, scattered, strides,
    turned, zero, zipped,
};
use crate::words::{ADD, DIV, MAX, MUL, SUB};
use ember_values::operation::{COMPARISONS, Comparison, FUNCTIONS, Function};
use ember_values::scalar::{BinaryOp, DType, Scalar};

/// The meaning of a term.
#[derive(Clone, Debug)]
pub(super) enum Meaning {
    Size(i64),
    Shape(Vec<u64>),
    Tensor(Whole),
    List(Vec<Whole>),
}

/// The ends of bags, which rise from 0.
fn bags(offsets: &Whole) -> Option<Vec<usize>> {
    let ends = offsets.positions(u64::MAX)?;
    (ends.first() == Some(&0) && ends.is_sorted()).then_some(ends)
}

fn owners(bags_wanted: i64, offsets: &Whole) -> Option<Whole> {
    let ends = bags(offsets)?;
    if ends.len() as i64 != bags_wanted + 1 {
        return None;
    }
    let lengths = ends.windows(2).map(|pair| pair[1] - pair[0]).enumerate();
    Some(Whole::integers(lengths.flat_map(|(bag, n)| std::iter::repeat_n(bag as i64, n))))
}

fn unique(x: &Whole) -> Option<(Vec<i64>, Vec<i64>)> {
    let (mut distinct, mut places) = (Vec::new(), Vec::new());
    for n in x.numbers()? {
        let at = distinct.iter().position(|own| *own == n).unwrap_or_else(|| {
            distinct.push(n);
            distinct.len() - 1
        });
        places.push(at as i64);
    }
    Some((distinct, places))
}

fn nonzero(x: &Whole) -> Whole {
    let steps = strides(&x.shape);
    let found = x.cells.iter().enumerate().filter(|(_, x)| x.as_f64() != 0.0);
    let index = |at: usize| {
        steps
            .iter()
            .zip(&x.shape)
            .map(move |(step, n)| Scalar::I64((at / step % *n as usize) as i64))
    };
    let cells: Vec<Scalar> = found.flat_map(|(at, _)| index(at).collect::<Vec<_>>()).collect();
    let rank = x.shape.len();
    Whole { shape: vec![(cells.len() / rank.max(1)) as u64, rank as u64], cells }
}

/// Rows of a table, of edges from some rows to others, combined; a row that no edge leads to is 0.
fn edges(
    x: &Whole,
    (from, to): (&Whole, &Whole),
    weights: Option<&Whole>,
    mode: &str,
    shape: &[u64],
) -> Option<Whole> {
    let found = rows(x, from)?;
    let weighted = match weights {
        Some(w) if w.shape[0] == found.shape[0] && w.shape[1..].iter().all(|n| *n == 1) => {
            let wide = Whole { shape: vec![w.shape[0], 1], cells: w.cells.clone() };
            zipped(&found, &repeated(&wide, &found.shape)?, |a, b| of_two(MUL, a, b))?
        }
        Some(_) => return None,
        None => found,
    };
    let counts = counts(*shape.first()?, to)?;
    let word = if mode == MAX { MAX } else { ADD };
    let start = Whole::full(shape.to_vec(), BinaryOp::parse(word)?.identity(DType::F32)?);
    let mut all = scattered(word, &start, to, &weighted)?;
    for (row, n) in counts.cells.iter().enumerate() {
        for x in all.row_mut(row) {
            *x = match mode {
                _ if n.as_f64() == 0.0 => zero(),
                "mean" => of_two(DIV, *x, *n)?,
                _ => *x,
            };
        }
    }
    Some(all)
}

/// How often each row is named.
fn counts(rows: u64, at: &Whole) -> Option<Whole> {
    let mut counts = vec![0.0f32; rows as usize];
    at.positions(rows)?.into_iter().for_each(|row| counts[row] += 1.0);
    Some(Whole::vector(counts.into_iter().map(Scalar::F32).collect()))
}

/// The softmax of numbers over those with the same position.
fn softmax(shape: &[u64], at: &Whole, x: &Whole) -> Option<Whole> {
    let least = Whole::full(shape.to_vec(), BinaryOp::parse(MAX)?.identity(DType::F32)?);
    let most = rows(&scattered(MAX, &least, at, x)?, at)?;
    let exp = zipped(x, &most, |x, most| ember_kernels::map(Function::Exp, of_two(SUB, x, most)?))?;
    let sums = scattered(ADD, &Whole::full(shape.to_vec(), zero()), at, &exp)?;
    zipped(&exp, &rows(&sums, at)?, |x, sum| of_two(DIV, x, sum))
}

/// Scores of triples from the three rows of each.
fn scores(
    of: &[&Whole],
    score: impl Fn(Scalar, Scalar, Scalar) -> Option<Scalar>,
) -> Option<Whole> {
    let [e, r, h, k, t] = of else { return None };
    let found = [rows(e, h)?, rows(r, k)?, rows(e, t)?];
    if found.iter().any(|x| x.shape != found[0].shape) {
        return None;
    }
    let [h, r, t] = &found;
    let cells = (0..h.cells.len()).map(|i| score(h.cells[i], r.cells[i], t.cells[i]));
    folded(ADD, &Whole { shape: h.shape.clone(), cells: cells.collect::<Option<_>>()? })
}

/// Returns what an idiom computes, with the extents of what it stands for if its operands do not say them.
fn idiom(word: &str, of: &[&Whole], shape: Option<&[u64]>) -> Option<Whole> {
    match (word, of) {
        ("triangle", [x]) => {
            let [b, n, m] = x.shape[..] else { return None };
            let places: Vec<(usize, usize)> =
                (0..n as usize).flat_map(|i| (0..i).map(move |j| (i, j))).collect();
            let wanted = [b, places.len() as u64];
            (n == m).then_some(())?;
            moved(x, &wanted, |at| vec![at[0], places[at[1]].0, places[at[1]].1])
        }
        ("blocks", [x, i]) => {
            let ([_, r, d], [q, j]) = (&x.shape[..], &i.shape[..]) else { return None };
            let flat = Whole { shape: vec![q * j], cells: i.cells.clone() };
            Some(Whole { shape: vec![*q, j * r, *d], ..rows(x, &flat)? })
        }
        ("spmm", [x, from, to, w]) => edges(x, (from, to), Some(w), "sum", shape?),
        ("sum" | "mean" | MAX, [x, from, to]) => edges(x, (from, to), None, word, shape?),
        ("segments" | "segments_max", [x, offsets]) => {
            let n = offsets.shape.first()?.checked_sub(1)?;
            let to = owners(n as i64, offsets)?;
            let wanted = [n, *x.shape.get(1)?];
            match word {
                "segments" => scattered(ADD, &Whole::full(wanted.to_vec(), zero()), &to, x),
                _ => scattered(MAX, &Whole::full(wanted.to_vec(), Scalar::F32(f32::MIN)), &to, x),
            }
        }
        ("bag" | "bag_max", [x, from, offsets]) => {
            let word = if word == "bag" { "segments" } else { "segments_max" };
            idiom(word, &[&rows(x, from)?, offsets], shape)
        }
        ("csr", [x, from, offsets, w]) => {
            let n = offsets.shape.first()?.checked_sub(1)?;
            let to = owners(n as i64, offsets)?;
            edges(x, (from, &to), Some(w), "sum", &[n, *x.shape.get(1)?])
        }
        ("transe", of) => {
            let distance = |h, r, t| {
                let x = of_two(SUB, of_two(ADD, h, r)?, t)?;
                ember_kernels::map(Function::Abs, x)
            };
            let sums = scores(of, distance)?;
            let negative = |x: &Scalar| ember_kernels::map(Function::Neg, *x);
            let cells = sums.cells.iter().map(negative).collect::<Option<_>>()?;
            Some(Whole { cells, ..sums })
        }
        ("distmult", of) => scores(of, |h, r, t| of_two(MUL, of_two(MUL, h, r)?, t)),
        _ => None,
    }
}

/// Returns what an operator computes of operands that are all tensors; `None` if there is nothing that it computes.
fn tensors(name: &str, of: &[&Whole], shape: Option<&[u64]>) -> Option<Whole> {
    let (family, word) = name.split_once('.').unwrap_or((name, ""));
    Some(match (family, of) {
        ("idiom", of) => idiom(word, of, shape)?,
        ("map", [x]) => {
            let at = FUNCTIONS.names.iter().position(|own| *own == word)?;
            let function = *Function::ALL.get(at)?;
            let mapped = x.cells.iter().map(|x| ember_kernels::map(function, *x));
            Whole { cells: mapped.collect::<Option<_>>()?, shape: x.shape.clone() }
        }
        ("zip", [a, b]) => {
            let op = BinaryOp::parse(word)?;
            zipped(a, b, |a, b| combined(op, a, b))?
        }
        ("compare", [a, b]) => {
            let at = COMPARISONS.names.iter().position(|own| *own == word)?;
            let comparison = *Comparison::ALL.get(at)?;
            zipped(a, b, |a, b| {
                let (a, b) = (a.cast(DType::F64), b.cast(DType::F64));
                Some(Scalar::I64(i64::from(comparison.scalars(a, b)?)))
            })?
        }
        ("fold", [x]) => folded(if word == "sum" { ADD } else { word }, x)?,
        ("scatter", [x, at, rows]) => scattered(word, x, at, rows)?,
        ("choose", [c, x, y]) => {
            let chosen = zipped(x, y, |x, _| Some(x))?;
            let other = zipped(y, x, |y, _| Some(y))?;
            if c.shape != chosen.shape || other.shape != chosen.shape {
                return None;
            }
            let pairs = chosen.cells.iter().zip(&other.cells).zip(&c.cells);
            let cells = pairs.map(|((x, y), c)| if c.as_f64() != 0.0 { *x } else { *y }).collect();
            Whole { cells, shape: chosen.shape }
        }
        ("known" | "integers", [x]) => x.numbers().map(|_| (*x).clone())?,
        ("turn", [x]) => turned(x)?,
        ("rest", [x]) => Whole::vector(x.cells.split_first()?.1.to_vec()),
        ("front", [x]) => Whole::vector(x.cells.split_last()?.1.to_vec()),
        ("unique", [x]) => Whole::integers(unique(x)?.0),
        ("places", [x]) => Whole::integers(unique(x)?.1),
        ("nonzero", [x]) => nonzero(x),
        ("range", [x]) => Whole::integers(0..x.cells.first()?.as_i64().filter(|n| *n >= 0)?),
        ("repeated", [x, n]) => {
            let times = n.positions(u64::MAX).filter(|_| n.shape == x.shape)?;
            let copies = x.cells.iter().zip(times).flat_map(|(x, n)| std::iter::repeat_n(*x, n));
            Whole::vector(copies.collect())
        }
        _ => return None,
    })
}

/// Returns what an operator computes; `None` if there is nothing that it computes. The extents are those that the
/// result has where operands do not say them.
pub(super) fn apply(name: &str, of: &[&Meaning], shape: Option<&[u64]>) -> Option<Meaning> {
    use Meaning::{List, Shape, Size, Tensor};
    let number = |n: f32| Whole { shape: Vec::new(), cells: vec![Scalar::F32(n)] };
    let full = |shape: &[u64], x: f32| Whole::full(shape.to_vec(), Scalar::F32(x));
    Some(Tensor(match (name, of) {
        ("shape", sizes) => {
            let size = |of: &&Meaning| match of {
                Size(n) => u64::try_from(*n).ok(),
                _ => None,
            };
            return sizes.iter().map(size).collect::<Option<_>>().map(Shape);
        }
        ("end", []) => return Some(List(Vec::new())),
        ("then", [Tensor(first), List(rest)]) => {
            return Some(List(std::iter::once(first).chain(rest).cloned().collect()));
        }
        ("zeros", [Shape(shape)]) => full(shape, 0.0),
        ("ones", [Shape(shape)]) => full(shape, 1.0),
        ("lowest", [Shape(shape)]) => full(shape, f32::MIN),
        ("least", [Shape(shape)]) => full(shape, f32::NEG_INFINITY),
        ("low", [Shape(shape), Size(n)]) => full(shape, -1e30 * (1 + n) as f32),
        ("tiny", []) => number(1e-16),
        ("number", [Size(n)]) => number(*n as f32),
        ("iota", [Size(n)]) => Whole::integers(0..*n),
        ("below", [Size(n)]) => {
            Whole::integers((0..*n).flat_map(|i| (0..i).map(move |j| i * n + j)))
        }
        ("view", [Shape(to), Shape(from), Tensor(x)]) => {
            let fits = x.shape == *from && elements(to) == elements(from);
            fits.then(|| Whole { shape: to.clone(), cells: x.cells.clone() })?
        }
        ("concat", [Size(axis), Shape(part), List(parts)]) => {
            concat(usize::try_from(*axis).ok()?, part, parts)?
        }
        ("repeat", [Shape(to), Tensor(x)]) => repeated(x, to)?,
        ("owners", [Size(n), Tensor(offsets)]) => owners(*n, offsets)?,
        ("count", [Size(n), Tensor(at)]) => counts(u64::try_from(*n).ok()?, at)?,
        ("rows", [Shape(own), Tensor(x), Tensor(at)]) => {
            (x.shape == *own).then(|| rows(x, at)).flatten()?
        }
        ("idiom.segment_softmax", [Shape(rows), Tensor(to), Tensor(x)]) => softmax(rows, to, x)?,
        ("idiom.stack", [List(parts)]) => {
            let part = &parts.first()?.shape;
            let [b, d] = part[..] else { return None };
            Whole { shape: vec![b, parts.len() as u64, d], ..concat(1, part, parts)? }
        }
        (name, of) => {
            let tensor = |of: &&Meaning| match of {
                Tensor(x) => Some(x.clone()),
                _ => None,
            };
            let of: Vec<Whole> = of.iter().map(tensor).collect::<Option<_>>()?;
            tensors(name, &of.iter().collect::<Vec<_>>(), shape)?
        }
    }))
}
