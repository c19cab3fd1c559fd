//! The data of arguments that no file gives: positions within what they index, and offsets that ascend.

use super::inputs::{Content, Input, Use};
use crate::graph::Graph;
use crate::words::DIV;
use ember_model::{Whole, WholeOp};
use itertools::Itertools;

/// The lookups of a run whose offsets are drawn by the model, at most.
const MOST_OFFSETS: u64 = 1 << 16;

/// The bits of the greatest number that is drawn for positions to be computed of.
const BITS: u32 = 29;

/// Returns segments of about equal lengths as the source of an argument's elements; `None` if they are too many.
pub(super) fn ascending(graph: &Graph, input: &Input, size: &str) -> Option<String> {
    let n = input.extents.first()?.value(&graph.sizes).filter(|n| *n <= MOST_OFFSETS)?;
    let segments = graph.sizes.get(size)?;
    Some(format!("(values {})", (0..n).map(|row| row * segments / n).join(" ")))
}

/// Returns the source of an argument's elements when no file gives them; `None` if that cannot be told.
pub(super) fn drawn(graph: &Graph, input: &Input, all: &[Input]) -> Option<String> {
    match &input.used {
        Use::Values if input.dtype.is_float() => Some("(uniform -1 1)".to_owned()),
        // Whole numbers that are computed with, too, are as those that are looked up.
        Use::Values => {
            let looked_up = |own: &&Input| matches!(own.used, Use::Whole | Use::Positions(_));
            let same = |own: &&Input| looked_up(own) && alike(own, input);
            drawn(graph, all.iter().find(same)?, all)
        }
        Use::Whole => {
            let (least, end) = within(graph, input, all)?;
            Some(format!("(uniform {least} {end})"))
        }
        Use::Positions(rows) => {
            let rows: Option<Vec<u64>> = rows.iter().map(|n| n.value(&graph.sizes)).collect();
            Some(format!("(uniform 0 {})", rows?.into_iter().min()?))
        }
        Use::Offsets(lookups) => {
            let bags = input.extents.first()?.value(&graph.sizes)?.checked_sub(1)?;
            let ends = even(lookups.value(&graph.sizes)?, bags)?;
            Some(format!("(values {})", ends.into_iter().join(" ")))
        }
        Use::Lengths(lookups) => {
            let bags = input.extents.first()?.value(&graph.sizes)?;
            let ends = even(lookups.value(&graph.sizes)?, bags)?;
            let lengths = ends.into_iter().tuple_windows().map(|(start, end)| end - start);
            Some(format!("(values {})", lengths.collect::<Vec<_>>().into_iter().join(" ")))
        }
    }
}

/// Returns true for inputs that are the same part of an argument.
fn alike(a: &Input, b: &Input) -> bool {
    match (&a.content, &b.content) {
        (
            Content::Argument { argument, parts, .. },
            Content::Argument { argument: other, parts: own, .. },
        ) => (argument, parts) == (other, own),
        _ => false,
    }
}

/// Returns where so many bags of about equal lengths start, and the end of the last one; `None` if they are too many.
fn even(lookups: u64, bags: u64) -> Option<Vec<u128>> {
    let end = |bag: u64| u128::from(bag) * u128::from(lookups) / u128::from(bags.max(1));
    (bags <= MOST_OFFSETS).then(|| (0..=bags).map(end).collect())
}

/// Returns the least element of an input and the number below which all are, so that all positions computed of it are
/// rows; `None` if that cannot be told.
fn within(graph: &Graph, input: &Input, all: &[Input]) -> Option<(i128, i128)> {
    let computed = all.iter().filter_map(|own| match (&own.content, &own.used) {
        (Content::Computed(whole), Use::Positions(rows)) => Some((whole, rows)),
        _ => None,
    });
    let uses: Vec<(&Whole, i128)> = computed
        .filter(|(whole, _)| whole.inputs().contains(&input.name.as_str()))
        .map(|(whole, rows)| {
            let rows = rows.iter().map(|n| n.value(&graph.sizes)).collect::<Option<Vec<u64>>>();
            rows.and_then(|rows| rows.into_iter().min()).map(|rows| (whole, i128::from(rows)))
        })
        .collect::<Option<_>>()?;
    let fits = |least: i128, end: i128| {
        let element = |name: &str| match all.iter().find(|own| own.name == name)?.content {
            Content::Known(ref tensor) => (0..tensor.len())
                .filter_map(|at| tensor.get(at)?.as_i64())
                .minmax()
                .into_option()
                .map(|(least, most)| (i128::from(least), i128::from(most))),
            Content::Fill(number) => Some((number as i128, number as i128)),
            _ => Some((least, end - 1)),
        };
        let elements = |name: &str| {
            let extents = &all.iter().find(|own| own.name == name)?.extents;
            let extents = extents.iter().map(|n| n.value(&graph.sizes));
            extents.collect::<Option<Vec<u64>>>().map(|n| n.into_iter().map(i128::from).product())
        };
        let inside = |(whole, rows): &(&Whole, i128)| {
            range(whole, &element, &elements)
                .is_some_and(|(least, most)| 0 <= least && most < *rows)
        };
        uses.iter().all(inside)
    };
    // What is subtracted from all elements is no more than the least of them.
    let numbers = uses.iter().flat_map(|(whole, _)| whole.parts()).filter_map(|own| match own {
        Whole::Number(n) => Some(i128::from(*n)),
        _ => None,
    });
    let starts = std::iter::once(0).chain(numbers.filter(|n| *n > 0).sorted().dedup());
    // One number alone would say nothing, unless there is only one row.
    let fewest = u32::from(uses.iter().all(|(_, rows)| *rows > 1));
    let ends = (fewest..=BITS).rev().map(|bits| 1 << bits);
    starts
        .cartesian_product(ends)
        .map(|(least, length)| (least, least + length))
        .find(|(least, end)| fits(*least, *end))
}

/// Returns the least and the greatest number that an expression may have; `None` if that is not known. `element` gives
/// those of an input, and `elements` their number.
pub(super) fn range(
    whole: &Whole,
    element: &impl Fn(&str) -> Option<(i128, i128)>,
    elements: &impl Fn(&str) -> Option<i128>,
) -> Option<(i128, i128)> {
    let (op, operands) = match whole {
        Whole::Number(n) => return Some((i128::from(*n), i128::from(*n))),
        Whole::Input(name) => return element(name),
        Whole::Element(name, place) => {
            let (least, most) = range(place, element, elements)?;
            return element(name)
                .filter(|_| 0 <= least && elements(name).is_some_and(|n| most < n));
        }
        Whole::Apply(op, operands) => (op, operands),
    };
    let of = |own| range(own, element, elements);
    let operands = operands.iter().map(of).collect::<Option<Vec<(i128, i128)>>>()?;
    match (*op, &operands[..]) {
        // What is monotone in each operand is least and greatest at the ends of their ranges.
        (WholeOp::Scalar(op), [a, b]) if op.name() != DIV || b.0 > 0 => {
            let exact =
                |a: i128, b: i128| op.checked(i64::try_from(a).ok()?, i64::try_from(b).ok()?);
            let ends = [(a.0, b.0), (a.0, b.1), (a.1, b.0), (a.1, b.1)];
            let ends = ends.map(|(a, b)| exact(a, b).map(i128::from));
            ends.into_iter().collect::<Option<Vec<i128>>>()?.into_iter().minmax().into_option()
        }
        (WholeOp::QuotientDown, [a, b]) if a.0 >= 0 && b.0 > 0 => Some((a.0 / b.1, a.1 / b.0)),
        // All quotients are one.
        (WholeOp::Rest | WholeOp::RestDown, [a, (n, m)])
            if a.0 >= 0 && *n > 0 && n == m && a.0 / n == a.1 / n =>
        {
            Some((a.0 % n, a.1 % n))
        }
        (WholeOp::Rest | WholeOp::RestDown, [a, b]) if a.0 >= 0 && b.0 > 0 => {
            Some((0, a.1.min(b.1 - 1)))
        }
        (WholeOp::Rest, [_, b]) if b.0 > 0 => Some((1 - b.1, b.1 - 1)),
        (WholeOp::RestDown, [_, b]) if b.0 > 0 => Some((0, b.1 - 1)),
        // A condition that always or never holds chooses one side.
        (WholeOp::Choice, [(0, 0), _, b]) => Some(*b),
        (WholeOp::Choice, [(1.., _) | (_, ..=-1), a, _]) => Some(*a),
        (WholeOp::Choice, [_, a, b]) => Some((a.0.min(b.0), a.1.max(b.1))),
        _ => None,
    }
}
