//! The elements of a shape from its source: on demand for tables and weights, held for positions.

use super::instantiate::Maker;
use super::random::tensor_seed;
use super::{check, generate, held};
use crate::model::{Input, Source};
use ember_language::diagnostic::{Diagnostic, Span};
use ember_targets::tensor::{Data, Hashed, Tensor};
use ember_values::scalar::{DType, Scalar};
use std::sync::Arc;

impl Maker<'_> {
    /// Fills a tensor from its source.
    pub(super) fn fill(&mut self, at: usize) {
        let (input, Some((source, span))) = (self.input(at), self.source(at)) else { return };
        if !self.filled.insert(at) {
            return;
        }
        let Some(shape) = self.shape(&input.tensor.shape, input.tensor.dtype, input.tensor.span)
        else {
            return;
        };
        let len = shape.iter().product::<u64>();
        let seed = tensor_seed(self.seed, &input.tensor.name);
        let data = match source {
            Source::Values(values) => Some(values.data.clone()),
            Source::Constant(x) => self.constant(input, *x, len, *span),
            Source::Uniform { lo, hi } if !input.role.is_index() => {
                Some(Data::Hashed(Hashed { seed, lo: *lo, hi: *hi }))
            }
            Source::Ragged { .. } | Source::Fixed { .. } => {
                if !self.hold(&input.tensor, len, input.tensor.dtype.bytes_of(1), *span) {
                    return;
                }
                let most = self.left / 4;
                let made = match source {
                    Source::Fixed { lookups } => generate::fixed(len - 1, *lookups, most),
                    Source::Ragged { mean, empty } => {
                        generate::ragged(len - 1, *mean, *empty, most, seed)
                    }
                    _ => None,
                };
                if made.is_none() {
                    let error = Diagnostic::error(
                        format!("more than {most} lookups"),
                        *span,
                        "too many to hold in memory",
                    );
                    self.errors.push(error);
                }
                made.and_then(|offsets| self.integers(input, offsets, *span))
            }
            Source::Computed(whole) => self.compute(input, whole, len, *span),
            Source::RunningSum { lengths } => self.running_sum(input, lengths, len, *span),
            Source::RowOffsets { positions } => self.prepare(input, (None, positions), len, *span),
            Source::InRows { values, positions } => {
                self.prepare(input, (Some(values), positions), len, *span)
            }
            _ => self.rows(input, source, len, seed, *span),
        };
        if let Some(data) = data {
            self.made.insert(at, Tensor { dtype: input.tensor.dtype, shape, data });
        }
    }

    /// Returns data with the same element everywhere, computed on demand if that reproduces the element exactly.
    fn constant(&mut self, input: &Input, x: Scalar, len: u64, span: Span) -> Option<Data> {
        let value = x.as_f64();
        let hashed = Hashed { seed: 0, lo: value, hi: value };
        if !input.role.is_index() && hashed.at(input.tensor.dtype, 0) == x {
            return Some(Data::Hashed(hashed));
        }
        let fits = self.hold(&input.tensor, len, input.tensor.dtype.bytes_of(1), span);
        fits.then(|| held(input.tensor.dtype, std::iter::repeat_n(x, len as usize)))
    }

    /// Draws rows of a table for lookups.
    fn rows(
        &mut self,
        input: &Input,
        source: &Source,
        len: u64,
        seed: u64,
        span: Span,
    ) -> Option<Data> {
        let uniform = matches!(source, Source::Uniform { .. });
        // Indices that are used for several tables must be rows of the smallest one.
        let uses = self
            .model
            .index_uses()
            .into_iter()
            .filter(|u| std::ptr::eq(self.input(u.indices.0), input));
        let smallest = uses.filter_map(|u| Some((u.rows.value(&self.sizes)?, u.table)));
        let Some((rows, table)) = smallest.min_by_key(|(rows, _)| *rows) else {
            let message = format!("rows cannot be drawn for `{}`", input.tensor.name);
            let error = Diagnostic::error(message, span, "it has positions in no tensor");
            self.errors.push(error.with_help("write (uniform LOW HIGH) or (values NUMBER …)"));
            return None;
        };
        if rows == 0 && len > 0 && !uniform {
            let named = check::table(self.model, table);
            let message = format!("{len} lookups into {named}, which has no rows");
            let error = Diagnostic::error(message, span, "there is no row to look up");
            let declared = table.map(|table| self.model.tensor(table).span);
            self.errors.push(match declared {
                Some(declared) => error.with_related(declared, "declared here"),
                None => error,
            });
            return None;
        }
        if rows > generate::ZIPF_ROWS && !uniform {
            let message = format!("rows cannot be drawn from {rows}");
            let label = format!("at most {} rows", generate::ZIPF_ROWS);
            self.errors.push(Diagnostic::error(message, span, label));
            return None;
        }
        if let Source::Blocks(pattern) = source
            && let Some(width) = pattern.width().filter(|width| *width > rows && len > 0)
        {
            let message = format!("rows of {width} blocks out of {rows}");
            self.errors.push(Diagnostic::error(message, span, "the blocks of a row all differ"));
            return None;
        }
        // The draw produces 64-bit numbers before they are converted to their type.
        let bytes = (8 + input.tensor.dtype.bytes_of(1)) + generate::scratch(source);
        if !self.hold(&input.tensor, len, bytes, span) {
            return None;
        }
        let drawn = generate::rows(source, rows.max(1), len as usize, seed)?;
        self.integers(input, drawn, span)
    }

    /// Returns held integers of an input's type; reports an error if one does not fit.
    pub(super) fn integers(&mut self, input: &Input, values: Vec<i64>, span: Span) -> Option<Data> {
        if input.tensor.dtype == DType::I64 {
            return Some(Data::I64(Arc::new(values)));
        }
        let narrow: Result<Vec<i32>, _> = values.into_iter().map(i32::try_from).collect();
        if narrow.is_err() {
            let message = format!("`{}` needs i64", input.tensor.name);
            let label = "some of its elements do not fit i32";
            let error = Diagnostic::error(message, span, label);
            self.errors.push(error.with_related(input.tensor.span, "declared as i32"));
        }
        narrow.ok().map(|v| Data::I32(Arc::new(v)))
    }
}
