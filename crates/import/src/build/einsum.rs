//! Products in the notation of Einstein: tensors whose dimensions have letters.

use super::{Builder, Built, misfit};
use crate::error::Problem;
use crate::graph::Id;
use crate::words::MUL;
use ember_model::Extent;

/// A tensor with a letter for each of its dimensions.
struct Lettered {
    id: Id,
    letters: Vec<char>,
}

impl Lettered {
    fn place(&self, letter: char) -> Option<usize> {
        self.letters.iter().position(|own| *own == letter)
    }
}

impl Builder {
    /// A product as in `ab,bc->ac`: dimensions of one letter are one, and what the result lacks is summed. Tensors are
    /// multiplied from left to right.
    pub(crate) fn einsum(&mut self, equation: &str, parts: &[Id]) -> Built {
        let other = || misfit(format!("`{equation}` is no product of {} tensors", parts.len()));
        let equation: String = equation.chars().filter(|c| !c.is_whitespace()).collect();
        let (operands, wanted) = match equation.split_once("->") {
            Some((operands, wanted)) => (operands, wanted.chars().collect()),
            None => (equation.as_str(), once(&equation)),
        };
        let mut open: Vec<Lettered> = Vec::new();
        for (letters, id) in operands.split(',').zip(parts) {
            let letters: Vec<char> = letters.chars().collect();
            let twice = letters.iter().enumerate().any(|(at, c)| letters[..at].contains(c));
            if letters.len() != self.shape(*id).len() || twice {
                return Err(other());
            }
            open.push(Lettered { id: *id, letters });
        }
        let given: Vec<char> = open.iter().flat_map(|own| own.letters.clone()).collect();
        if operands.split(',').count() != parts.len() || wanted.iter().any(|c| !given.contains(c)) {
            return Err(other());
        }
        let mut rest = open.into_iter();
        let mut product = rest.next().ok_or_else(other)?;
        while let Some(next) = rest.next() {
            let later: Vec<char> = rest.as_slice().iter().flat_map(|x| x.letters.clone()).collect();
            let needed = |c: char| wanted.contains(&c) || later.contains(&c);
            product = self.multiplied(product, next, &needed)?;
        }
        let product = self.without(product, &|c| !wanted.contains(&c))?;
        let order: Option<Vec<usize>> = wanted.iter().map(|c| product.place(*c)).collect();
        self.permute(product.id, order.ok_or_else(other)?)
    }

    /// Sums dimensions.
    fn without(&mut self, x: Lettered, gone: &dyn Fn(char) -> bool) -> Result<Lettered, Problem> {
        let (axes, letters): (Vec<_>, Vec<_>) =
            x.letters.iter().copied().enumerate().partition(|(_, c)| gone(*c));
        let axes: Vec<i64> = axes.into_iter().map(|(at, _)| at as i64).collect();
        let letters = letters.into_iter().map(|(_, c)| c).collect();
        let id = if axes.is_empty() { x.id } else { self.fold("sum", x.id, &axes, false)? };
        Ok(Lettered { id, letters })
    }

    /// The product of two, summed over what nothing needs.
    fn multiplied(
        &mut self,
        a: Lettered,
        b: Lettered,
        needed: &dyn Fn(char) -> bool,
    ) -> Result<Lettered, Problem> {
        let a = {
            let own = &b.letters;
            self.without(a, &|c| !needed(c) && !own.contains(&c))?
        };
        let b = self.without(b, &|c| !needed(c) && !a.letters.contains(&c))?;
        let both = |keep: bool| -> Vec<char> {
            let shared = a.letters.iter().copied().filter(|c| b.letters.contains(c));
            shared.filter(|c| needed(*c) == keep).collect()
        };
        let (batch, over) = (both(true), both(false));
        let alone = |x: &Lettered, y: &Lettered| -> Vec<char> {
            x.letters.iter().copied().filter(|c| !y.letters.contains(c)).collect()
        };
        let (of_a, of_b) = (alone(&a, &b), alone(&b, &a));
        let letters: Vec<char> = [&batch[..], &of_a, &of_b].concat();
        if over.is_empty() {
            let (x, y) = (self.spread(&a, &letters)?, self.spread(&b, &letters)?);
            return Ok(Lettered { id: self.zip(MUL, x, y)?, letters });
        }
        let x = self.as_factor(&a, [&batch[..], &of_a, &over], over.len())?;
        let y = self.as_factor(&b, [&batch[..], &of_b, &over], over.len())?;
        let dims: Vec<i64> = (0..batch.len() as i64).collect();
        let last = |letters: &[char]| vec![(batch.len() + letters.len()) as i64];
        let id = self.dot(x, y, (&dims, &dims), (&last(&of_a), &last(&of_b)))?;
        Ok(Lettered { id, letters })
    }

    /// A tensor with its dimensions in an order, the last so many of them as one.
    fn as_factor(&mut self, x: &Lettered, order: [&[char]; 3], merged: usize) -> Built {
        let order: Option<Vec<usize>> = order.concat().into_iter().map(|c| x.place(c)).collect();
        let turned = self.permute(x.id, order.ok_or_else(|| misfit("letters without a place"))?)?;
        let mut shape = self.shape(turned);
        let inner = shape.split_off(shape.len() - merged);
        shape.push(self.flat(&inner)?);
        self.reshape(turned, shape)
    }

    /// A tensor with a dimension for each of these letters; those that it lacks have the extent 1.
    fn spread(&mut self, x: &Lettered, letters: &[char]) -> Built {
        let order: Vec<usize> = letters.iter().filter_map(|c| x.place(*c)).collect();
        let own = self.shape(x.id);
        let extent =
            |c: &char| x.place(*c).and_then(|at| own.get(at).cloned()).unwrap_or(Extent::Const(1));
        let shape = letters.iter().map(extent).collect();
        let turned = self.permute(x.id, order)?;
        self.reshape(turned, shape)
    }
}

/// Returns the letters that occur once, in their order: those of a result that is not written.
fn once(equation: &str) -> Vec<char> {
    let letters = || equation.chars().filter(|c| *c != ',');
    let mut once: Vec<char> =
        letters().filter(|c| letters().filter(|own| own == c).count() == 1).collect();
    once.sort_unstable();
    once
}
