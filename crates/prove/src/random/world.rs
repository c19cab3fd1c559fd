//! The world of an instance: tensors of every type, and the data in them.

use ember_interpret::{EDGES, Store};
use ember_targets::dlc::{Dim, Purpose, SizeId, TensorDecl};
use ember_targets::tensor::{Data, Hashed, Tensor};
use ember_values::scalar::{DType, EXTREMES, Scalar};
use fastrand::Rng;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::LazyLock;

/// The index of the extent of rows. All shapes consist of rows, columns and entries.
pub(crate) const ROWS: usize = 0;
/// The index of the extent of columns.
pub(crate) const COLUMNS: usize = 1;
/// The index of the extent of entries, which is one more than the rows.
pub(crate) const ENTRIES: usize = 2;
/// The index of the extent of gathered blocks: the rows of a block, once for each column.
const WIDE: usize = 3;
/// The index of the extent of the rows of all blocks.
const TALL: usize = 4;

/// The largest size of a program.
const LARGEST: u64 = 1 << 40;

/// The numbers of a rule that extents may be next to, so that a run over all elements takes few steps.
const AFFORDABLE: RangeInclusive<u64> = 5..=300;

/// The names of the extents that are symbolic.
static SIZES: LazyLock<[String; 5]> =
    LazyLock::new(|| ["rows", "columns", "entries", "wide", "tall"].map(String::from));

/// The name prefix of tensors that hold offsets.
pub(crate) const OFFSETS: &str = "offsets";
/// The name prefix of tensors that are written but never compared.
pub(crate) const SCRATCH: &str = "scratch";
/// The name prefix of the second scratch tensor of an operator, which is another one than its first.
pub(crate) const SPARE: &str = "scratch_spare";

/// A tensor of every world, which differ in extents alone.
struct Declared {
    dtype: DType,
    writable: bool,
    shape: Vec<Extent>,
}

/// An extent of a tensor.
#[derive(Clone, Copy)]
enum Extent {
    /// The extent of this index.
    Of(usize),
    /// The rows of a block.
    Block,
    /// The first or the second extent of an output of rank 2.
    Flat(usize),
    /// The rows of a matrix of an output of rank 3.
    Inner,
    /// The columns of a matrix of a tensor of rank 3.
    Last,
    One,
}

/// One input and one output of every type and of ranks 1, 2 and 3, outputs of rank 4, offsets and scratch tensors, by
/// name.
static DECLARED: LazyLock<BTreeMap<String, Declared>> = LazyLock::new(|| {
    let (rows, columns, entries) = (Extent::Of(ROWS), Extent::Of(COLUMNS), Extent::Of(ENTRIES));
    let mut declared = BTreeMap::new();
    for writable in [false, true] {
        for dtype in DType::ALL {
            let mut add =
                |name: String, shape| declared.insert(name, Declared { dtype, writable, shape });
            // The output of a gather from blocks has the rows of several blocks.
            let inner = if writable { Extent::Inner } else { Extent::Block };
            let last = Extent::Last;
            let matrix = if writable { [0, 1].map(Extent::Flat) } else { [rows, columns] };
            add(tensor_name(writable, dtype, 1), vec![entries]);
            add(tensor_name(writable, dtype, 2), matrix.to_vec());
            add(tensor_name(writable, dtype, 3), vec![rows, inner, last]);
            if writable {
                // What has all indices of a tensor of rank 3 may still have another.
                add(tensor_name(writable, dtype, 4), vec![columns, rows, inner, last]);
                add(scratch_name(dtype, 1), vec![entries]);
                add(format!("{SPARE}_{dtype}"), vec![entries]);
                add(scratch_name(dtype, 2), vec![rows, columns]);
                add(scratch_name(dtype, 3), vec![rows, Extent::Of(WIDE), last]);
                // A row of scratch memory; there is only one.
                for role in [SCRATCH, SPARE] {
                    add(scratch_rows(role, dtype), vec![Extent::One, entries]);
                }
            } else {
                add(format!("{OFFSETS}_{dtype}"), vec![entries]);
            }
        }
    }
    declared
});

/// The extents of all tensors, and the machine's vector width.
#[derive(Clone, Debug)]
pub(crate) struct World {
    /// The extents: a number, or `None` for a symbolic size.
    pub extents: [Option<u64>; 3],
    /// The number of rows of a block.
    block: u64,
    /// The indices whose extents outputs of rank 2 have.
    flat: [usize; 2],
    /// True if matrices of rank 3 have the columns of a row's blocks, and as many rows as a block, so that their product
    /// with gathered blocks has the same extents.
    deep: bool,
    /// The width of a vector register in bytes.
    pub simd_bytes: u64,
    /// True if offsets start at 0 and never fall, whatever the data.
    pub rises: bool,
    /// The values of symbolic extents that are drawn with the world.
    drawn: [Option<u64>; 3],
}

/// Returns the name of the tensor of a type and rank.
pub(crate) fn tensor_name(writable: bool, dtype: DType, rank: usize) -> String {
    match writable {
        true => format!("out{rank}_{dtype}"),
        false => format!("in{rank}_{dtype}"),
    }
}

/// Returns the name of the scratch tensor of a type and rank.
pub(crate) fn scratch_name(dtype: DType, rank: usize) -> String {
    match rank {
        1 => format!("{SCRATCH}_{dtype}"),
        rank => format!("{SCRATCH}{rank}_{dtype}"),
    }
}

/// Returns the name of the scratch tensor of a role and type whose rows have an index.
pub(crate) fn scratch_rows(role: &str, dtype: DType) -> String {
    format!("{role}_rows_{dtype}")
}

/// Returns true for the role of memory that nothing else looks at.
pub(crate) fn is_scratch(role: Option<&str>) -> bool {
    matches!(role, Some(SCRATCH | SPARE))
}

impl World {
    /// Generates a random world. In a `wide` one, the columns are usually a known power of two.
    pub fn random(rng: &mut Rng, wide: bool) -> World {
        if wide && rng.u8(0..4) > 0 {
            let extents = [None, rng.choice([8, 16]), None];
            return World::new(extents, 2, [ROWS, COLUMNS], 8 << rng.u32(0..2));
        }
        let columns = rng.choice([1, 2, 3, 4, 5, 7, 8, 9]).unwrap_or(1);
        let rows = rng.u64(1..=4);
        // Two loops over equal extents are easily taken for one.
        let alike = rng.u8(0..5) == 0;
        let columns = if alike { rows } else { columns };
        let known = |rng: &mut Rng| alike || rng.u8(0..3) > 0;
        let extents = [rows, columns, rows + 1].map(|n| known(rng).then_some(n));
        let block = match rng.u8(0..8) {
            0 => rng.u64(4..=9),
            1..=3 => rng.u64(1..=3),
            _ => columns.min(3),
        };
        let of_tensors = rng.u8(0..12);
        let flat = match of_tensors {
            0 => [ROWS, WIDE],
            1 => [TALL, COLUMNS],
            _ => [ROWS, COLUMNS],
        };
        let simd_bytes = if rng.bool() { 16 } else { 8 };
        World { deep: of_tensors == 2, ..World::new(extents, block, flat, simd_bytes) }
    }

    /// Creates a world with these extents. Outputs of rank 2 are `flat`: they may hold the rows of all blocks, one beside
    /// or one below the other.
    pub fn new(extents: [Option<u64>; 3], block: u64, flat: [usize; 2], simd_bytes: u64) -> World {
        World { extents, block, flat, deep: false, simd_bytes, rises: false, drawn: [None; 3] }
    }

    /// Occasionally gives rows or columns an extent next to one of the numbers that a rule mentions. All others are then
    /// small.
    pub fn near(&mut self, rng: &mut Rng, numbers: &[i64]) {
        let fits = |n: &i64| u64::try_from(*n).ok().filter(|n| AFFORDABLE.contains(n));
        let numbers: Vec<u64> = numbers.iter().filter_map(fits).collect();
        if numbers.is_empty() || rng.u8(0..8) > 0 {
            return;
        }
        let n = rng.choice(numbers).unwrap_or(1) + rng.choice([0, 1, 2, 2]).unwrap_or(1) - 1;
        let other = rng.u64(1..=3);
        let (rows, columns) = if rng.bool() { (n, other) } else { (other, n) };
        let extents = [rows, columns, rows + 1];
        for (k, extent) in extents.into_iter().enumerate() {
            match &mut self.extents[k] {
                Some(known) => *known = extent,
                None => self.drawn[k] = Some(extent),
            }
        }
        self.block = other;
    }

    /// Returns the declarations of the tensors of these names.
    pub fn tensors(&self, names: &BTreeSet<String>) -> Vec<TensorDecl> {
        let known = |k: usize| match k {
            WIDE => self.extents[COLUMNS].map(|n| n * self.block),
            TALL => self.extents[ROWS].map(|n| n * self.block),
            k => self.extents[k],
        };
        let dim = |extent: &Extent| match self.index(*extent) {
            Ok(k) => known(k).map_or(Dim::Size(SizeId(k as u32)), Dim::Const),
            Err(n) => Dim::Const(n),
        };
        let declaration = |(name, declared): (&String, &Declared)| TensorDecl {
            name: name.clone(),
            dtype: declared.dtype,
            shape: declared.shape.iter().map(dim).collect(),
            purpose: Purpose::of(declared.writable),
        };
        names.iter().filter_map(|name| DECLARED.get_key_value(name)).map(declaration).collect()
    }

    /// Returns the names of the extents that are symbolic.
    pub fn sizes(&self) -> &'static [String] {
        &*SIZES
    }

    /// Returns the index that an extent belongs to, or the extent itself.
    fn index(&self, extent: Extent) -> Result<usize, u64> {
        match extent {
            Extent::Of(k) => Ok(k),
            Extent::Flat(k) => Ok(self.flat[k]),
            Extent::Inner if self.deep => Err(self.block),
            Extent::Inner => Ok(WIDE),
            Extent::Last => Ok(if self.deep { WIDE } else { COLUMNS }),
            Extent::Block => Err(self.block),
            Extent::One => Err(1),
        }
    }

    /// Returns the name of the tensor of which facts say that it rises, if there is one.
    pub fn rising(&self) -> Option<String> {
        self.rises.then(|| format!("{OFFSETS}_{}", DType::I64))
    }

    /// Returns true if what facts say of offsets is so in a store.
    pub fn admits(&self, store: &Store) -> bool {
        let tensor = self.rising().and_then(|name| store.tensors.get(&name));
        tensor.is_none_or(|tensor| {
            let offsets = (0..tensor.len()).map(|i| tensor.get(i).and_then(Scalar::as_i64));
            let offsets: Vec<Option<i64>> = offsets.collect();
            offsets.is_sorted() && offsets.first().is_none_or(|first| *first == Some(0))
        })
    }

    /// Returns the extents of a store: the known extents of the world, and `free` for the symbolic ones.
    pub fn concrete(&self, free: [u64; 3]) -> [u64; 3] {
        [0, 1, 2].map(|k| self.extents[k].or(self.drawn[k]).unwrap_or(free[k]))
    }

    /// Creates a store with zeros in the tensors of these names.
    pub fn zeros(&self, names: &BTreeSet<String>, extents: [u64; 3]) -> Store {
        let [rows, columns, entries] = extents;
        let extents = [rows, columns, entries, columns * self.block, rows * self.block];
        let mut store = self.with_sizes(extents);
        for name in names {
            let Some(declared) = DECLARED.get(name) else { continue };
            let extent = |extent: &Extent| self.index(*extent).map_or_else(|n| n, |k| extents[k]);
            let shape = declared.shape.iter().map(extent).collect();
            store.tensors.insert(name.clone(), Tensor::zeros(declared.dtype, shape));
        }
        store
    }

    /// A store with zeros in those tensors of these names that it lacks.
    pub fn completed(&self, store: &Store, names: &BTreeSet<String>) -> Store {
        let size = |k: usize| store.sizes.get(&self.sizes()[k]).copied().unwrap_or(0);
        let extents = [ROWS, COLUMNS, ENTRIES].map(|k| u64::try_from(size(k)).unwrap_or(0));
        let mut whole = self.zeros(names, extents);
        whole.tensors.extend(store.tensors.clone());
        whole
    }

    /// Creates a store in which symbolic extents may be as large as any size, or next to the numbers that a rule
    /// mentions. Its tensors are computed where they are read. Returns `None` if a tensor has more elements than can be
    /// counted.
    pub fn huge(&self, rng: &mut Rng, names: &BTreeSet<String>, numbers: &[i64]) -> Option<Store> {
        let fits = |n: &i64| u64::try_from(*n).ok().filter(|n| *n < LARGEST);
        let numbers: Vec<u64> = numbers.iter().filter_map(fits).collect();
        let free = [0; 3].map(|_| match rng.u8(0..6) {
            0..=1 => {
                let n = rng.choice(numbers.iter().copied()).unwrap_or(1);
                (n + rng.u64(0..3)).saturating_sub(1)
            }
            2 => LARGEST - rng.u64(0..2),
            3 => 1 << rng.u32(8..40),
            _ => rng.u64(1..4),
        });
        let [rows, columns, entries] = self.concrete(free);
        let wide = columns.checked_mul(self.block)?.min(LARGEST);
        let tall = rows.checked_mul(self.block)?.min(LARGEST);
        let extents = [rows, columns, entries, wide, tall];
        let mut store = self.with_sizes(extents);
        for name in names {
            let Some(declared) = DECLARED.get(name) else { continue };
            let extent = |extent: &Extent| self.index(*extent).map_or_else(|n| n, |k| extents[k]);
            let shape: Vec<u64> = declared.shape.iter().map(extent).collect();
            shape.iter().try_fold(1_u64, |all, n| all.checked_mul(*n))?;
            let (seed, hi) = (rng.u64(..), if declared.dtype.is_float() { 4.0 } else { 9.0 });
            let data = Data::Hashed(Hashed { seed, lo: 0.0, hi });
            store.tensors.insert(name.clone(), Tensor { dtype: declared.dtype, shape, data });
        }
        Some(store)
    }

    /// Creates a store with the values of sizes alone.
    fn with_sizes(&self, extents: [u64; 5]) -> Store {
        let mut store = Store::default();
        for (name, extent) in self.sizes().iter().zip(extents) {
            store.sizes.insert(name.clone(), extent as i64);
        }
        store
    }

    /// Creates a store with random contents for the tensors of these names. Integers are usually valid indices, in any
    /// order or sorted like offsets; other numbers include all edge cases, or only `tame` ones.
    pub fn store(&self, rng: &mut Rng, names: &BTreeSet<String>, tame: bool) -> Store {
        let least = u64::from(rng.u8(0..8) > 0);
        let most = if rng.u8(0..8) == 0 { 9 } else { 4 };
        let rows = rng.u64(least..=most);
        let mut extents = self.concrete([rows, rng.u64(least..=most + 2), rows + 1]);
        if self.extents[ENTRIES].is_none() && self.drawn[ENTRIES].is_none() {
            extents[ENTRIES] = extents[ROWS] + 1;
        }
        let mut store = self.zeros(names, extents);
        let least = extents[ROWS].min(extents[COLUMNS]).max(1) as i64;
        let bound = least + i64::from(rng.u8(0..4) == 0);
        let rising = self.rising();
        for (name, tensor) in &mut store.tensors {
            // Any integers may be offsets.
            let row = !tensor.dtype.is_float() && tensor.shape.len() == 1;
            let often = if name.starts_with(OFFSETS) { 7 } else { u8::from(row) };
            let offsets = often > 0 && rng.u8(0..8) < often;
            let bound = if offsets { extents[ENTRIES] as i64 + 1 } else { bound };
            let mut integers: Vec<i64> = (0..tensor.len())
                .map(|_| if rng.u8(0..40) == 0 { rng.i64(-1..=9) } else { rng.i64(0..bound) })
                .collect();
            let rises = rising.as_ref() == Some(name);
            if rises {
                let of_entries = |n: &mut i64| *n = (*n).clamp(0, extents[ENTRIES] as i64);
                integers.iter_mut().for_each(of_entries);
            }
            if offsets || rises || rng.bool() {
                integers.sort_unstable();
            }
            if !offsets && !rises && rng.u8(0..8) == 0 {
                integers.fill_with(|| extreme(rng, tensor.dtype).as_i64().unwrap_or(0));
            }
            match integers.as_mut_slice() {
                [first, .., last] if offsets || rises => {
                    (*first, *last) = (0, extents[ENTRIES] as i64);
                }
                [only] if rises => *only = 0,
                _ => {}
            }
            for (i, integer) in integers.into_iter().enumerate() {
                let value = match tensor.dtype {
                    DType::I64 | DType::I32 => Scalar::I64(integer).cast(tensor.dtype),
                    dtype if tame => Scalar::from_f64(dtype, f64::from(rng.u32(1..4096)) / 1024.0),
                    dtype => edge(rng, dtype),
                };
                tensor.set(i as u64, value);
            }
        }
        store
    }
}

/// Draws a number at which arithmetic changes its behaviour, most often an end of the type.
pub(crate) fn extreme(rng: &mut Rng, dtype: DType) -> Scalar {
    let last = rng.u64(1..=EXTREMES);
    dtype.extreme(rng.u64(0..last))
}

/// Draws a floating-point number that distinguishes operations, one at which results overflow, become denormal or are
/// rounded, or a plain one.
pub(crate) fn edge(rng: &mut Rng, dtype: DType) -> Scalar {
    match rng.usize(0..EDGES.len() + 8) {
        0..4 => extreme(rng, dtype),
        plain @ 4..8 => Scalar::from_f64(dtype, plain as f64 / 8.0),
        k => Scalar::from_f64(dtype, EDGES[k - 8]),
    }
}
