//! The steps from a model and a seed to an instance: the given data is bound to sizes, sizes determine shapes, and
//! `fill` fills the shapes.

use super::origin::Built;
use super::{HELD_LIMIT, Instance, WORK_LIMIT, check, file};
use crate::model::{
    Computed, Declared, Extent, IndexUse, Input, Model, OffsetsUse, Source, TensorId,
};
use ember_language::diagnostic::{Checked, Diagnostic, Span};
use ember_targets::tensor::Tensor;
use ember_values::operation::Kernel;
use ember_values::scalar::DType;
use itertools::Itertools;
use std::collections::{BTreeMap, BTreeSet};

/// The maximum number of bytes that evaluation takes per element: a number with its error bound, and its sum.
const NUMBER_BYTES: u64 = 32;

/// The state of one instantiation. Inputs are identified by their positions in the model.
pub(super) struct Maker<'a> {
    pub(super) model: &'a Model,
    pub(super) seed: u64,
    pub(super) errors: Vec<Diagnostic>,
    /// The known sizes, and below them the spans that determined them.
    pub(super) sizes: BTreeMap<String, u64>,
    origins: BTreeMap<String, Span>,
    /// The bytes that may still be held.
    pub(super) left: u64,
    /// The inputs that were filled, or could not be.
    pub(super) filled: BTreeSet<usize>,
    /// The tensors that are complete.
    pub(super) made: BTreeMap<usize, Tensor>,
    /// The graphs and triples that are complete.
    pub(super) built: BTreeMap<&'a str, Built>,
}

/// Builds and checks the data of one run.
pub(super) fn instantiate(model: &Model, seed: u64) -> Checked<Instance> {
    let mut maker = Maker {
        model,
        seed,
        errors: Vec::new(),
        sizes: model.data.sizes.iter().map(|(name, (n, _))| (name.clone(), *n)).collect(),
        origins: model.data.sizes.iter().map(|(name, (_, at))| (name.clone(), *at)).collect(),
        left: HELD_LIMIT,
        filled: BTreeSet::new(),
        made: BTreeMap::new(),
        built: BTreeMap::new(),
    };
    maker.given();
    maker.stop()?;
    maker.offsets();
    maker.stop()?;
    maker.sizes_known();
    maker.stop()?;
    for at in 0..model.inputs.len() {
        if !maker.made.contains_key(&at) {
            maker.fill(at);
        }
    }
    maker.stop()?;
    maker.check();
    maker.computed();
    maker.stop()?;
    maker.buffers();
    maker.stop()?;
    Ok(maker.finish())
}

impl<'a> Maker<'a> {
    /// Returns the errors so far, if there are any.
    fn stop(&mut self) -> Checked<()> {
        self.errors.sort_by_key(|error| error.at.as_ref().map(|(span, _)| *span));
        if self.errors.is_empty() { Ok(()) } else { Err(std::mem::take(&mut self.errors)) }
    }

    pub(super) fn input(&self, at: usize) -> &'a Input {
        &self.model.inputs[at]
    }

    pub(super) fn source(&self, at: usize) -> Option<&'a (Source, Span)> {
        self.model.data.sources.get(&self.input(at).tensor.name)
    }

    /// Takes data from files and written values, and binds the sizes in their shapes.
    fn given(&mut self) {
        for at in 0..self.model.inputs.len() {
            let input = self.input(at);
            let Some((source, span)) = self.source(at) else {
                let message = format!("no data for input `{}`", input.tensor.name);
                let error =
                    Diagnostic::error(message, input.tensor.span, "its elements are not known");
                let help = match self.model.imported {
                    Some(_) => "give the program's arguments with `--inputs FILE`".to_owned(),
                    None => format!("add `({} SOURCE)` to the data form", input.tensor.name),
                };
                self.errors.push(error.with_help(help));
                continue;
            };
            match source {
                Source::Values(values) => {
                    self.bind(input, &values.shape, *span);
                    // Extents inside an empty dimension may follow from other data, so the shape has to wait.
                    if let Some(shape) = values.shape.iter().copied().collect() {
                        let data = values.data.clone();
                        self.made.insert(at, Tensor { dtype: input.tensor.dtype, shape, data });
                    }
                }
                Source::File { path, tensor } => {
                    let name = tensor.as_deref().unwrap_or(&input.tensor.name);
                    let full = self.model.data.directory.join(path);
                    match file::read(
                        self.model.data.files.as_ref(),
                        &full,
                        name,
                        input.tensor.dtype,
                    ) {
                        Ok(tensor) => self.take_file(at, tensor, *span),
                        Err(reason) => {
                            let message = format!("{}: {reason}", full.display());
                            let error = Diagnostic::error(message, *span, "not usable");
                            self.errors.push(Diagnostic { help: reason.help(), ..error });
                        }
                    }
                }
                Source::Part { of, part } => self.take_part(at, of, *part, *span),
                Source::Blocks(pattern) if input.tensor.shape.len() == 2 => {
                    self.bind(input, &[None, pattern.width()], *span);
                }
                _ => {}
            }
        }
        self.bind_pointed();
    }

    fn take_file(&mut self, at: usize, tensor: Tensor, span: Span) {
        let input = self.input(at);
        if tensor.dtype != input.tensor.dtype || tensor.shape.len() != input.tensor.shape.len() {
            let message = format!("the file does not hold `{}`", input.tensor.name);
            let label = format!(
                "{} of rank {} in the file, {} of rank {} in the model",
                tensor.dtype,
                tensor.shape.len(),
                input.tensor.dtype,
                input.tensor.shape.len()
            );
            let sizes = (0..tensor.shape.len()).map(|at| match input.tensor.shape.get(at) {
                Some(size) => size.to_string(),
                None => format!("n{at}"),
            });
            let (name, held) = (&input.tensor.name, tensor.dtype);
            let help = format!("write (input {name} {held} ({}))", sizes.format(" "));
            let error = Diagnostic::error(message, span, label).with_help(help);
            self.errors.push(error.with_related(input.tensor.span, "declared here"));
            return;
        }
        let shape: Vec<_> = tensor.shape.iter().copied().map(Some).collect();
        self.bind(input, &shape, span);
        self.hold(&input.tensor, tensor.len(), tensor.dtype.bytes_of(1), span);
        self.made.insert(at, tensor);
    }

    /// Unifies the extents of an input's shape with the extents of its data.
    pub(super) fn bind(&mut self, input: &Input, shape: &[Option<u64>], span: Span) {
        let extents = input.tensor.shape.iter().zip(&input.extent_spans);
        for ((extent, declared), n) in extents.zip(shape) {
            let Some(n) = *n else { continue };
            let clash = match extent {
                Extent::Const(wanted) => (n != *wanted).then_some((*wanted, *declared)),
                Extent::Size { name, plus } => match (self.sizes.get(name), n.checked_sub(*plus)) {
                    (Some(known), rest) if rest != Some(*known) => {
                        let origin = self.origins.get(name).copied();
                        Some((known.saturating_add(*plus), origin.unwrap_or(*declared)))
                    }
                    (None, None) => Some((*plus, *declared)),
                    (Some(_), _) => None,
                    (None, Some(rest)) => {
                        self.sizes.insert(name.clone(), rest);
                        self.origins.insert(name.clone(), span);
                        None
                    }
                },
            };
            if let Some((wanted, origin)) = clash {
                let message = format!("`{}` does not have its shape", input.tensor.name);
                let (label, related) = match extent {
                    Extent::Const(_) => ("the model says".to_owned(), "declared here".to_owned()),
                    _ => (format!("`{extent}` is"), format!("`{extent}` follows from this")),
                };
                let label = format!("its data has an extent of {n} where {label} {wanted}");
                let error = Diagnostic::error(message, span, label);
                self.errors.push(error.with_related(origin, related));
            }
        }
    }

    /// Builds the offsets and derives the number of lookups from the end of the last bag.
    fn offsets(&mut self) {
        let mut broken = BTreeSet::new();
        for OffsetsUse { offsets, indices } in self.model.offsets_uses() {
            let at = offsets.0;
            if !self.made.contains_key(&at) {
                // Only the extent of the offsets is needed here; the extent of the lookups follows from them.
                if self.input(at).tensor.shape[0].value(&self.sizes).is_none() {
                    continue;
                }
                self.fill(at);
            }
            let (Some(tensor), Some(source)) = (self.made.get(&at), self.source(at)) else {
                continue;
            };
            match check::offsets(self.input(at), source, tensor) {
                Ok(end) if !self.made.contains_key(&indices.0) => {
                    self.bind_lookups(indices, end, source.1);
                }
                Err(error) if broken.insert(at) => self.errors.push(error),
                _ => {}
            }
        }
    }

    fn bind_lookups(&mut self, indices: TensorId, end: u64, span: Span) {
        let indices = self.model.tensor(indices);
        let Extent::Size { name, plus } = &indices.shape[0] else { return };
        let Some(rest) = end.checked_sub(*plus) else { return };
        self.give(name, rest, span);
    }

    /// Sets a size if it is not yet known.
    pub(super) fn give(&mut self, name: &str, n: u64, span: Span) {
        if !self.sizes.contains_key(name) {
            self.sizes.insert(name.to_owned(), n);
            self.origins.insert(name.to_owned(), span);
        }
    }

    /// Reports each size that no data determines.
    fn sizes_known(&mut self) {
        let mut unknown: BTreeMap<&str, Span> = BTreeMap::new();
        for input in &self.model.inputs {
            for (extent, span) in input.tensor.shape.iter().zip(&input.extent_spans) {
                if let Extent::Size { name, .. } = extent
                    && !self.sizes.contains_key(name)
                {
                    unknown.entry(name).or_insert(*span);
                }
            }
        }
        // The number of lookups follows from the offsets once the offsets can be built.
        let waiting: BTreeSet<&str> = (self.model.offsets_uses().iter())
            .filter(|u| !self.made.contains_key(&u.offsets.0))
            .filter_map(|u| match &self.model.tensor(u.indices).shape[0] {
                Extent::Size { name, .. } => Some(name.as_str()),
                Extent::Const(_) => None,
            })
            .collect();
        if unknown.keys().any(|name| !waiting.contains(name)) {
            unknown.retain(|name, _| !waiting.contains(name));
        }
        for (name, span) in unknown {
            let error = Diagnostic::error(
                format!("the size `{name}` is not known"),
                span,
                "neither given nor implied by the data",
            );
            let help = format!("add `(size {name} NUMBER)` to the data form");
            self.errors.push(error.with_help(help));
        }
    }

    /// Returns the concrete shape of a tensor. Its elements must be addressable in bytes.
    pub(super) fn shape(
        &mut self,
        extents: &[Extent],
        dtype: DType,
        span: Span,
    ) -> Option<Vec<u64>> {
        let shape: Vec<u64> =
            extents.iter().map(|e| e.value(&self.sizes)).collect::<Option<_>>().unwrap_or_default();
        let elements = shape.iter().try_fold(1u64, |n, extent| n.checked_mul(*extent));
        let bytes = elements.map(|n| dtype.bytes_of(n));
        if shape.len() != extents.len() || bytes.is_none_or(|n| i64::try_from(n).is_err()) {
            let text = extents.iter().map(Extent::to_string).collect::<Vec<_>>().join(" ");
            let error = Diagnostic::error("a tensor too large to address", span, "this one");
            let help = format!("its shape ({text}) must have fewer than 2^63 bytes");
            self.errors.push(error.with_help(help));
            return None;
        }
        Some(shape)
    }

    /// Reserves bytes that will be held; reports an error beyond the limit.
    pub(super) fn hold(
        &mut self,
        tensor: &Declared,
        elements: u64,
        bytes: u64,
        span: Span,
    ) -> bool {
        let fits = elements.checked_mul(bytes).and_then(|n| self.left.checked_sub(n));
        match fits {
            Some(left) => self.left = left,
            None => self.errors.push(too_large(&tensor.name, elements, span)),
        }
        fits.is_some()
    }

    /// Checks positions against the tensors that they index.
    fn check(&mut self) {
        let mut results = Vec::new();
        for IndexUse { indices, rows, table, .. } in self.model.index_uses() {
            if let (Some(source), Some(tensor), Some(rows)) =
                (self.source(indices.0), self.made.get(&indices.0), rows.value(&self.sizes))
            {
                let table = check::table(self.model, table);
                let input = self.input(indices.0);
                results.push(check::indices(input, source, tensor, &table, rows));
            }
        }
        for OffsetsUse { offsets, indices } in self.model.offsets_uses() {
            let lookups = self.model.tensor(indices).shape[0].value(&self.sizes);
            let (Some(source), Some(tensor), Some(lookups)) =
                (self.source(offsets.0), self.made.get(&offsets.0), lookups)
            else {
                continue;
            };
            let input = self.input(offsets.0);
            let end = check::offsets(input, source, tensor);
            results.push(end.and_then(|n| check::end(input, source, tensor, n, lookups)));
        }
        let mut work = 0u64;
        for expr in self.model.expressions() {
            work = work.saturating_add(self.model.work(expr, &self.sizes));
            if work > WORK_LIMIT {
                let message = format!("{work} elements to be read, more than {WORK_LIMIT}");
                results.push(Err(Diagnostic::error(message, expr.span, "too much work")));
                break;
            }
        }
        self.errors.extend(results.into_iter().filter_map(Result::err));
    }

    /// Checks the memory that evaluation holds in addition to tensors: a row of any tensor, and all of a second matrix.
    fn buffers(&mut self) {
        for tensor in self.model.tensors() {
            let row = tensor.shape.last().and_then(|extent| extent.value(&self.sizes));
            let row = row.unwrap_or(0);
            if row.saturating_mul(NUMBER_BYTES) > HELD_LIMIT {
                self.errors.push(too_large(&format!("a row of {}", tensor.name), row, tensor.span));
            }
        }
        for expr in self.model.expressions() {
            let second =
                expr.applied().filter(|call| matches!(call.kernel(), Kernel::Product { .. }));
            if let Some(b) = second.and_then(|call| call.stored("b")) {
                let tensor = self.model.tensor(b);
                let extents = tensor.shape.iter().map(|e| e.value(&self.sizes).unwrap_or(0));
                let len = extents.fold(1, u64::saturating_mul);
                if len.saturating_mul(NUMBER_BYTES) > HELD_LIMIT {
                    self.errors.push(too_large(&tensor.name, len, expr.span));
                }
            }
        }
    }

    /// Adds the computed tensors, filled with zeros.
    fn computed(&mut self) {
        for (i, Computed { tensor, .. }) in self.model.computed.iter().enumerate() {
            let Some(shape) = self.shape(&tensor.shape, tensor.dtype, tensor.span) else { return };
            let len = shape.iter().product::<u64>();
            if !self.hold(tensor, len, tensor.dtype.bytes_of(1), tensor.span) {
                return;
            }
            let zeros = Tensor::zeros(tensor.dtype, shape);
            self.made.insert(self.model.inputs.len() + i, zeros);
        }
    }

    fn finish(self) -> Instance {
        let mut sizes = self.sizes;
        for extent in self.model.tensors().flat_map(|tensor| &tensor.shape) {
            if let (Extent::Size { .. }, Some(n)) = (extent, extent.value(&sizes)) {
                sizes.insert(extent.to_string(), n);
            }
        }
        let named = |(at, tensor)| (self.model.tensor(TensorId(at)).name.clone(), tensor);
        let tensors = self.made.into_iter().map(named).collect();
        Instance { tensors, sizes, seed: self.seed }
    }
}

/// Returns the error for data that would hold too much memory.
fn too_large(what: &str, elements: u64, span: Span) -> Diagnostic {
    let message = format!("`{what}` would hold {elements} elements");
    Diagnostic::error(message, span, "too much to hold in memory")
        .with_help(format!("all held data of a model stays within {} GiB", HELD_LIMIT >> 30))
}
