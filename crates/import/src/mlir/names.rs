//! Names of a function's arguments in programs: those that another program declares, or else those of the text.

use super::source::{Defined, Region};
use super::types::{Elem, Type};
use super::{Interface, KernelTensor, Purpose};
use ember_model::Extent;
use std::collections::BTreeSet;

/// The names that are taken, and those that arguments may take.
pub(super) struct Names<'i> {
    pub(super) interface: &'i Interface,
    taken: BTreeSet<String>,
    /// The number of arguments that are sizes so far.
    sizes: usize,
}

impl<'i> Names<'i> {
    pub(super) fn new(interface: &'i Interface) -> Names<'i> {
        Names { interface, taken: BTreeSet::new(), sizes: 0 }
    }

    /// Returns true if something has the name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.taken.contains(name)
    }

    /// Takes a name, and returns true if it was free.
    pub(super) fn take(&mut self, name: &str) -> bool {
        self.taken.insert(name.to_owned())
    }

    /// Returns a new name for a value.
    pub(super) fn named(&mut self, name: &str) -> String {
        let mut name = self.plain(name);
        while !self.take(&name) {
            name.push('_');
        }
        name
    }

    /// Returns the name of a value in programs.
    fn plain(&self, name: &str) -> String {
        let kept = |c: char| if c.is_ascii_alphanumeric() || "_.".contains(c) { c } else { '_' };
        let plain: String = name.trim_start_matches('%').chars().map(kept).collect();
        // A name starts with a letter, and is no number and no word of programs.
        let plain = match plain.starts_with(|c: char| c.is_ascii_alphabetic()) {
            true => plain,
            false => format!("v{plain}"),
        };
        let reserved = self.interface.reserved.contains(&plain)
            || matches!(plain.as_str(), "inf" | "nan" | "let");
        if reserved { format!("{plain}_") } else { plain }
    }

    /// Returns the name of the next argument that is a size.
    pub(super) fn size(&mut self, name: &str) -> String {
        let sizes = &self.interface.sizes;
        let known = sizes.get(self.sizes).cloned();
        self.sizes += 1;
        let own = self.plain(name);
        let own = if sizes.contains(&own) { Some(own) } else { known };
        own.unwrap_or_else(|| self.named(name))
    }

    /// Returns the known tensors that the arguments are, by name if all names are known, else in order; none for an
    /// argument that is no tensor or has no counterpart.
    pub(super) fn known(&self, region: &Region, values: &[Defined]) -> Vec<Option<KernelTensor>> {
        let tensors = &self.interface.tensors;
        let is_tensor = |of: &Option<Type>| match of {
            Some(Type::Memory(..)) => true,
            Some(Type::Scalar(elem)) => !matches!(elem, Elem::Index | Elem::Bit),
            _ => false,
        };
        let name = |at: usize| self.plain(values[region.arguments[at].0].name);
        let own: Vec<usize> =
            (0..region.arguments.len()).filter(|at| is_tensor(&region.arguments[*at].1)).collect();
        let named = tensors.iter().chain(&self.interface.own);
        let by_name = |at: &usize| named.clone().find(|tensor| tensor.name == name(*at));
        let all_known = own.iter().all(|at| by_name(at).is_some());
        let mut found = vec![None; region.arguments.len()];
        for (place, at) in own.iter().enumerate() {
            found[*at] = if all_known { by_name(at) } else { tensors.get(place) }.cloned();
        }
        found
    }

    /// Returns the declaration of an argument.
    pub(super) fn tensor(
        &mut self,
        name: &str,
        extents: &[Option<u64>],
        elem: Elem,
        purpose: Purpose,
        known: Option<KernelTensor>,
    ) -> KernelTensor {
        let fits = |known: &KernelTensor| {
            let agree = |(own, other): (&Option<u64>, &Extent)| {
                own.is_none_or(|n| *other == Extent::Const(n))
            };
            known.shape.len() == extents.len() && extents.iter().zip(&known.shape).all(agree)
        };
        let dtype = elem.dtype();
        if let Some(known) = known.filter(|known| known.dtype == dtype && fits(known)) {
            self.take(&known.name);
            return KernelTensor { purpose, ..known };
        }
        let name = self.named(name);
        let extent = |(at, n): (usize, &Option<u64>)| match n {
            Some(n) => Extent::Const(*n),
            None => Extent::Size { name: format!("{name}.{at}"), plus: 0 },
        };
        let shape = extents.iter().enumerate().map(extent).collect();
        KernelTensor { name, dtype, shape, purpose }
    }
}
