//! Arrays for the arguments of a kernel, by name or in order, and the sizes that their shapes say.

use ember_language::diagnostic::{Checked, Diagnostic};
use ember_language::suggest;
use ember_model::Extent;
use ember_prove::equiv::{Before, Declarations, Declared, Given, Purpose};
use ember_targets::tensor::{Data, Tensor};
use ember_values::scalar::DType;
use itertools::Itertools;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The start of the names of arrays that stand for the order of arguments.
const IN_ORDER: &str = "input.";

/// Returns the data that arrays are for a kernel: sizes, inputs, and memory that is written, which holds zeros unless it is
/// given, too. Arrays have the names of arguments, or are called `input.0` and so on in the order of all arguments, or of
/// those that the kernel does not write.
///
/// # Errors
///
/// Fails if an array is no argument's or does not fit it, or an argument or size is missing.
pub(super) fn given(
    declarations: &Declarations,
    arrays: BTreeMap<String, Tensor>,
) -> Checked<(Given, BTreeMap<String, Tensor>)> {
    let mut arrays = named(declarations, arrays)?;
    let mut sizes = BTreeMap::new();
    for name in &declarations.own_sizes {
        let Some(array) = arrays.remove(name) else { continue };
        let number = array.get(0).filter(|_| array.len() == 1).and_then(|number| number.as_i64());
        let number = number.and_then(|number| u64::try_from(number).ok());
        let number = number.ok_or_else(|| {
            fail(format!("`{name}` is a size, and its array is no whole number from 0 on"))
        })?;
        sizes.insert(name.clone(), number);
    }
    let mut held = BTreeMap::new();
    for declared in &declarations.tensors {
        let Some(array) = arrays.remove(&declared.name) else { continue };
        let array = widened(array, declared.dtype);
        fits(declared, &array, &mut sizes)?;
        held.insert(declared.name.clone(), array);
    }
    let missing = |declared: &&Declared| {
        declared.purpose == Purpose::Input && !held.contains_key(&declared.name)
    };
    if let Some(missing) = declarations.tensors.iter().find(missing) {
        let error = Diagnostic::global(format!("there is no array for `{}`", missing.form()));
        return Err(vec![error.with_help("every argument that the kernel reads needs an array")]);
    }
    if let Some(size) = declarations.sizes().into_iter().find(|size| !sizes.contains_key(size)) {
        let error = Diagnostic::global(format!("the size `{size}` is not known"));
        let help = format!("give an array for `{size}`, or for a memory with this extent");
        return Err(vec![error.with_help(help)]);
    }
    let (inputs, before) = held.into_iter().partition(|(name, _)| {
        declarations.tensor(name).is_some_and(|own| own.purpose == Purpose::Input)
    });
    Ok((Given { sizes, inputs }, before))
}

/// Returns arrays under the names of arguments.
fn named(
    declarations: &Declarations,
    arrays: BTreeMap<String, Tensor>,
) -> Checked<BTreeMap<String, Tensor>> {
    let place = |name: &str| name.strip_prefix(IN_ORDER).and_then(|n| n.parse::<usize>().ok());
    let written =
        |name: &&String| declarations.tensor(name).is_some_and(|own| own.purpose != Purpose::Input);
    let all: Vec<&String> = declarations.arguments.iter().collect();
    let read: Vec<&String> = all.iter().copied().filter(|name| !written(name)).collect();
    let known = |name: &String| all.contains(&name) || declarations.own_sizes.contains(name);
    let count = arrays.keys().filter(|name| !known(name) && place(name).is_some()).count();
    let order = if count == all.len() { &all } else { &read };
    if count > 0 && count != order.len() {
        let message = format!(
            "{count} arrays in order for a kernel of {} arguments, of which it reads {}",
            all.len(),
            suggest::list(read.iter().map(|name| name.as_str())),
        );
        let help = "give all arguments or those that are read, in order, or arrays by name";
        return Err(vec![Diagnostic::global(message).with_help(help)]);
    }
    let mut found = BTreeMap::new();
    for (name, array) in arrays {
        let own = if known(&name) {
            Some(&name)
        } else {
            place(&name).and_then(|n| order.get(n).copied())
        };
        let Some(own) = own else {
            let error = Diagnostic::global(format!("the kernel has no argument `{name}`"));
            let known = all.iter().copied().chain(&declarations.own_sizes).unique();
            let list = suggest::list(known.map(String::as_str));
            return Err(vec![error.with_help(format!("the arguments are {list}"))]);
        };
        if found.insert(own.clone(), array).is_some() {
            return Err(fail(format!("there are two arrays for `{own}`")));
        }
    }
    Ok(found)
}

/// Returns integers as those of 64 bits that indices are.
fn widened(array: Tensor, wanted: DType) -> Tensor {
    if wanted != DType::I64 || array.dtype.is_float() || array.dtype == wanted {
        return array;
    }
    let elements = (0..array.len()).filter_map(|at| array.get(at)?.as_i64());
    let data = Data::I64(Arc::new(elements.collect()));
    Tensor { dtype: wanted, shape: array.shape, data }
}

/// Checks that an array has the type and extents of an argument, and notes the sizes that it says.
fn fits(declared: &Declared, array: &Tensor, sizes: &mut BTreeMap<String, u64>) -> Checked<()> {
    let shape = || format!("{} ({})", array.dtype, array.shape.iter().join(" "));
    let unfit = |sizes: &BTreeMap<String, u64>| {
        let known = declared.shape.iter().map(|extent| match extent.value(sizes) {
            Some(n) if !matches!(extent, Extent::Const(_)) => format!("{extent}, here {n}"),
            _ => extent.to_string(),
        });
        let message = format!("the array for `{}` is {}", declared.name, shape());
        let error = Diagnostic::global(message);
        let help =
            format!("{} is needed, with the extents ({})", declared.dtype, known.format("; "));
        vec![error.with_help(help)]
    };
    if array.dtype != declared.dtype || array.shape.len() != declared.shape.len() {
        return Err(unfit(sizes));
    }
    for (extent, own) in declared.shape.iter().zip(&array.shape) {
        let agrees = match extent {
            Extent::Const(n) => n == own,
            Extent::Size { name, plus } => match own.checked_sub(*plus) {
                Some(n) => *sizes.entry(name.clone()).or_insert(n) == n,
                None => false,
            },
        };
        if !agrees {
            return Err(unfit(sizes));
        }
    }
    Ok(())
}

/// Returns the store that a kernel starts with.
pub(super) fn store(
    declarations: &Declarations,
    given: &Given,
    before: BTreeMap<String, Tensor>,
) -> ember_interpret::Store {
    let mut store = given.store(declarations, Before::Zeros);
    store.tensors.extend(before);
    store
}

fn fail(message: String) -> Vec<Diagnostic> {
    vec![Diagnostic::global(message)]
}
