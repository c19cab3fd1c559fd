//! Arrays that are given for the arguments of a model take the place of the data that the model itself describes.

use crate::model::{ArgumentStep, Extent, Held, Model, Parameter, Source, Values};
use ember_language::diagnostic::{Checked, Diagnostic};
use ember_language::suggest;
use ember_targets::tensor::{Data, Tensor};
use ember_values::scalar::{DType, Scalar};
use itertools::Itertools;
use std::collections::BTreeMap;

/// The most arguments whose order is looked for.
const MOST_PLACED: usize = 64;

/// An input's elements, before the shape is that of the model.
struct Taken {
    tensor: Tensor,
    closed: Option<Extent>,
    /// The size that the greatest element says.
    counts: Option<String>,
}

impl Model {
    /// Takes the arrays of the arguments. An array has the name of its argument or is called `input.N`, with N counted
    /// from 0 in the order of arguments. Other arrays are not used. If the model was imported, every argument that it
    /// reads must be there; else inputs without an array keep their data, and one array must be an input's.
    pub fn give(&mut self, mut arrays: BTreeMap<String, Tensor>) -> Checked<()> {
        let names: Vec<String> = arrays.keys().cloned().collect();
        let (mut errors, mut taken) = (Vec::new(), BTreeMap::new());
        let mut found = false;
        let arguments = self.arguments();
        let places = self.placed(&arguments, &arrays)?;
        for (Parameter { name, held }, n) in arguments.into_iter().zip(places) {
            let array = arrays.remove(&name).or_else(|| arrays.remove(&format!("input.{n}")));
            found |= array.is_some();
            let Some(array) = array else {
                if self.imported.is_some() && !held.is_empty() {
                    let message = format!("there is no array for the argument `{name}`");
                    let names = suggest::list(names.iter().map(String::as_str));
                    let help =
                        format!("it is called `{name}` or `input.{n}`; the file has {names}");
                    errors.push(Diagnostic::global(message).with_help(help));
                }
                continue;
            };
            for Held { input, steps, .. } in held {
                match follow(&array, &steps) {
                    Some(part) => {
                        taken.insert(input, part);
                    }
                    None => {
                        let shape = array.shape.iter().join(" ");
                        let message = format!("the array for `{name}` has the shape ({shape})");
                        let help = format!("`{input}` is a part that it does not have");
                        errors.push(Diagnostic::global(message).with_help(help));
                    }
                }
            }
        }
        if !found && errors.is_empty() {
            let names = suggest::list(names.iter().map(String::as_str));
            let message = format!("no array is an argument of `{}`", self.name);
            let help = format!("arguments are called `input.0` and so on; the file has {names}");
            errors.push(Diagnostic::global(message).with_help(help));
        }
        let mut sizes = BTreeMap::new();
        // Offsets need the number of lookups, so they come last.
        for closed in [false, true] {
            for (input, part) in &taken {
                if part.closed.is_some() == closed
                    && let Err(error) = self.take(input, part, &mut sizes)
                {
                    errors.push(error);
                }
            }
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// Returns the number of the array for each argument. If the program does not record the order of its arguments and
    /// the arrays do not fit in that of the model, it is the one order in which all fit.
    fn placed(
        &self,
        arguments: &[Parameter],
        arrays: &BTreeMap<String, Tensor>,
    ) -> Checked<Vec<usize>> {
        let own: Vec<usize> = (0..arguments.len()).collect();
        let ordered = self.imported.as_ref().is_none_or(|arguments| arguments.ordered);
        let named = arguments.iter().any(|argument| arrays.contains_key(&argument.name));
        if ordered || named || own.len() > MOST_PLACED {
            return Ok(own);
        }
        let fits = |argument: usize, n: usize| {
            let array = arrays.get(&format!("input.{n}"));
            array.is_some_and(|array| arguments[argument].held.iter().all(|h| self.fits(h, array)))
        };
        if own.iter().all(|n| fits(*n, *n)) {
            return Ok(own);
        }
        let Some(found) = matching(own.len(), &fits) else { return Ok(own) };
        let others = own.iter().map(|argument| {
            matching(own.len(), &|other, n| {
                fits(other, n) && (other != *argument || found[other] != n)
            })
        });
        if others.flatten().next().is_none() {
            return Ok(found);
        }
        let names = suggest::list(arguments.iter().map(|argument| argument.name.as_str()));
        let error = Diagnostic::global("the arrays fit the arguments in several orders");
        let help = format!("the program does not record the order; name the arrays {names}");
        Err(vec![error.with_help(help)])
    }

    /// Returns true if an array's elements and extents may be those of an input.
    fn fits(&self, held: &Held, array: &Tensor) -> bool {
        let Some(input) = self.inputs.iter().find(|input| input.tensor.name == held.input) else {
            return false;
        };
        let (declared, dtype) = (&input.tensor.shape, input.tensor.dtype);
        let Some(Taken { tensor, closed, .. }) = follow(array, &held.steps) else { return false };
        let elements = tensor.len() + u64::from(closed.is_some());
        let shape = if closed.is_some() { vec![elements] } else { tensor.shape.clone() };
        tensor.dtype.is_float() == dtype.is_float()
            && fitted(&shape, declared, elements, &BTreeMap::new()).is_some()
    }

    /// Makes an array the data of an input, under the shape that the model says.
    fn take(
        &mut self,
        name: &str,
        part: &Taken,
        sizes: &mut BTreeMap<String, u64>,
    ) -> Result<(), Diagnostic> {
        let Some(input) = self.inputs.iter().find(|input| input.tensor.name == name) else {
            return Ok(());
        };
        let (declared, dtype) = (&input.tensor.shape, input.tensor.dtype);
        let wrong = |what: String| Diagnostic::global(format!("the array for `{name}` {what}"));
        let Taken { tensor, closed, counts } = part;
        if tensor.dtype.is_float() && !dtype.is_float() {
            return Err(wrong(format!("has elements of type {}, not {dtype}", tensor.dtype)));
        }
        let mut elements: Vec<Scalar> =
            (0..tensor.len()).filter_map(|i| tensor.get(i)).map(|x| x.cast(dtype)).collect();
        let mut shape = tensor.shape.clone();
        if let Some(end) = closed {
            let end = end.value(sizes).and_then(|end| i64::try_from(end).ok());
            let end =
                end.ok_or_else(|| wrong("ends with a number that is not known".to_owned()))?;
            elements.push(Scalar::I64(end).cast(dtype));
            shape = vec![elements.len() as u64];
        }
        let misfit = || {
            let (own, wanted) = (shape.iter().join(" "), declared.iter().join(" "));
            wrong(format!("has the shape ({own}), which does not fit ({wanted})"))
        };
        let shape = fitted(&shape, declared, elements.len() as u64, sizes).ok_or_else(misfit)?;
        for (extent, n) in declared.iter().zip(&shape) {
            if let Extent::Size { name, plus } = extent {
                sizes.entry(name.clone()).or_insert(n.saturating_sub(*plus));
                self.data.sizes.remove(name);
            }
        }
        if let Some(size) = counts {
            let greatest = elements.iter().filter_map(|n| n.as_i64()).max();
            let count = greatest.map_or(0, |n| n.saturating_add(1).max(0).unsigned_abs());
            if let Some((value, _)) = self.data.sizes.get_mut(size) {
                *value = count;
            }
        }
        let shape = shape.into_iter().map(Some).collect();
        let values =
            Values { data: Data::held(dtype, elements.into_iter()), shape, spans: Vec::new() };
        let span = input.tensor.span;
        self.data.sources.insert(name.to_owned(), (Source::Values(values), span));
        Ok(())
    }

    /// Makes tensors the data of the inputs of the same names.
    pub fn hold(&mut self, tensors: &BTreeMap<String, Tensor>) {
        for input in &self.inputs {
            let Some(tensor) = tensors.get(&input.tensor.name) else { continue };
            let shape = tensor.shape.iter().copied().map(Some).collect();
            let values = Values { data: tensor.data.clone(), shape, spans: Vec::new() };
            let source = (Source::Values(values), input.tensor.span);
            self.data.sources.insert(input.tensor.name.clone(), source);
        }
    }
}

/// Returns for each argument the number of an array that fits it, all different; `None` if there is no such choice.
fn matching(count: usize, fits: &impl Fn(usize, usize) -> bool) -> Option<Vec<usize>> {
    let mut taken: Vec<Option<usize>> = vec![None; count];
    for argument in 0..count {
        if !place(argument, fits, &mut taken, &mut vec![false; count]) {
            return None;
        }
    }
    (0..count).map(|argument| taken.iter().position(|own| *own == Some(argument))).collect()
}

/// Gives an argument an array that fits it, its own first; an argument that had it takes another one.
fn place(
    argument: usize,
    fits: &impl Fn(usize, usize) -> bool,
    taken: &mut [Option<usize>],
    seen: &mut [bool],
) -> bool {
    let arrays = std::iter::once(argument).chain((0..taken.len()).filter(|n| *n != argument));
    for n in arrays.collect::<Vec<_>>() {
        if fits(argument, n) && !std::mem::replace(&mut seen[n], true) {
            let free = match taken[n] {
                Some(other) => place(other, fits, taken, seen),
                None => true,
            };
            if free {
                taken[n] = Some(argument);
                return true;
            }
        }
    }
    false
}

/// Returns the shape of so many elements under declared extents, where the array's own shape may be another one. At most
/// one extent may follow from the number of elements.
fn fitted(
    own: &[u64],
    declared: &[Extent],
    elements: u64,
    sizes: &BTreeMap<String, u64>,
) -> Option<Vec<u64>> {
    let agrees = |(n, extent): (&u64, &Extent)| extent.value(sizes).is_none_or(|known| known == *n);
    if own.len() == declared.len() && own.iter().zip(declared).all(agrees) {
        return Some(own.to_vec());
    }
    let known: Vec<Option<u64>> = declared.iter().map(|extent| extent.value(sizes)).collect();
    let product = known.iter().flatten().try_fold(1u64, |n, extent| n.checked_mul(*extent))?;
    let open = known.iter().filter(|n| n.is_none()).count();
    let rest = match open {
        0 => (product == elements).then_some(1)?,
        1 => elements.checked_div(product).filter(|rest| rest * product == elements)?,
        _ => return None,
    };
    Some(known.into_iter().map(|n| n.unwrap_or(rest)).collect())
}

/// Follows the steps from an argument to an input; `None` if the array has no such part.
fn follow(array: &Tensor, steps: &[ArgumentStep]) -> Option<Taken> {
    let mut tensor = array.clone();
    let (mut closed, mut counts) = (None, None);
    for step in steps {
        match step {
            ArgumentStep::Closed(end) => closed = Some(end.clone()),
            ArgumentStep::Counts(size) => counts = Some(size.clone()),
            ArgumentStep::Part { axis, first, count } => {
                let extent = *tensor.shape.get(*axis)?;
                first.checked_add(*count).filter(|end| *end <= extent)?;
                tensor = part(&tensor, *axis, *first, *count);
            }
        }
    }
    Some(Taken { tensor, closed, counts })
}

/// Takes so many elements of a dimension, from one on.
fn part(tensor: &Tensor, axis: usize, first: u64, count: u64) -> Tensor {
    let mut shape = tensor.shape.clone();
    let inner: u64 = shape[axis + 1..].iter().product();
    let outer: u64 = shape[..axis].iter().product();
    let own = std::mem::replace(&mut shape[axis], count);
    let rows = (0..outer).map(|row| (row * own + first) * inner);
    let places = rows.flat_map(|start| start..start + count * inner);
    let dtype: DType = tensor.dtype;
    let data = Data::held(dtype, places.filter_map(|at| tensor.get(at)));
    Tensor { dtype, shape, data }
}
