//! Symbolic values: equal symbols are equal values, whichever unit computes them.

use crate::dlc::{Program, SizeId, StreamKind, TensorId, UnitId};
use ember_values::scalar::{BinaryOp, DType, Scalar};
use rustc_hash::FxHashMap;

/// A symbolic value: its position in [`Symbols`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Symbol(usize);

/// The definition of a symbolic value. Loads are of tensors that do not change between barriers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Meaning {
    Const(DType, u64),
    Size(SizeId),
    IndVar(UnitId),
    Load(TensorId, Vec<Symbol>),
    Cast(DType, Symbol),
    Binary(BinaryOp, Symbol, Symbol),
}

/// Interned symbolic values.
#[derive(Default)]
pub struct Symbols {
    known: FxHashMap<Meaning, Symbol>,
    constants: FxHashMap<Symbol, Scalar>,
    /// True for each symbol that loads from a tensor that the program may write.
    mutable: Vec<bool>,
}

impl Symbols {
    fn intern(&mut self, meaning: Meaning, mutable: bool) -> Symbol {
        let next = Symbol(self.mutable.len());
        let symbol = *self.known.entry(meaning).or_insert(next);
        if symbol == next {
            self.mutable.push(mutable);
        }
        symbol
    }

    /// Returns the symbol of a constant.
    pub fn constant(&mut self, value: Scalar) -> Symbol {
        let symbol = self.intern(Meaning::Const(value.dtype(), value.to_bits()), false);
        self.constants.insert(symbol, value);
        symbol
    }

    /// Returns the symbol of a symbolic size.
    pub fn size(&mut self, size: SizeId) -> Symbol {
        self.intern(Meaning::Size(size), false)
    }

    /// Returns the symbol of a unit's induction variable in its current iteration.
    pub fn ind_var(&mut self, unit: UnitId) -> Symbol {
        self.intern(Meaning::IndVar(unit), false)
    }

    /// Returns the symbol of one element of a tensor.
    pub fn load(&mut self, program: &Program, tensor: TensorId, index: Vec<Symbol>) -> Symbol {
        let mutable =
            program.tensors[tensor.index()].writable() || index.iter().any(|s| self.mutable[s.0]);
        self.intern(Meaning::Load(tensor, index), mutable)
    }

    /// Returns the symbol of a conversion; folded on constants.
    pub fn cast(&mut self, dtype: DType, x: Symbol) -> Symbol {
        if let Some(value) = self.constants.get(&x) {
            return self.constant(value.cast(dtype));
        }
        let mutable = self.mutable[x.0];
        self.intern(Meaning::Cast(dtype, x), mutable)
    }

    /// Returns the symbol of an arithmetic operation; folded on constants.
    pub fn binary(&mut self, op: BinaryOp, a: Symbol, b: Symbol) -> Symbol {
        if let (Some(a), Some(b)) = (self.constants.get(&a), self.constants.get(&b))
            && let Some(folded) = op.apply(*a, *b)
        {
            return self.constant(folded);
        }
        let mutable = self.mutable[a.0] || self.mutable[b.0];
        self.intern(Meaning::Binary(op, a, b), mutable)
    }

    /// Returns true if the value may change at a barrier.
    pub fn is_mutable(&self, symbol: Symbol) -> bool {
        self.mutable[symbol.0]
    }

    /// Returns the value of every stream of a program in the current iterations of its units; `None` for a run of
    /// lanes.
    pub fn streams(&mut self, program: &Program) -> Vec<Option<Symbol>> {
        let mut values: Vec<Option<Symbol>> = Vec::with_capacity(program.streams.len());
        for stream in &program.streams {
            let value = match &stream.kind {
                StreamKind::Const(value) => Some(self.constant(*value)),
                StreamKind::Size(size) => Some(self.size(*size)),
                StreamKind::IndVar(unit) => Some(self.ind_var(*unit)),
                StreamKind::Mem { addr, .. } if addr.lanes.is_none() => {
                    let index: Option<Vec<Symbol>> =
                        addr.index.iter().map(|i| values[i.index()]).collect();
                    index.map(|index| self.load(program, addr.tensor, index))
                }
                StreamKind::Mem { .. } | StreamKind::Broadcast(_) => None,
                StreamKind::IndexCast(from) => {
                    values[from.index()].map(|from| self.cast(DType::I64, from))
                }
                StreamKind::Alu { op, a, b } => match (values[a.index()], values[b.index()]) {
                    (Some(a), Some(b)) => Some(self.binary(*op, a, b)),
                    _ => None,
                },
            };
            values.push(value);
        }
        values
    }
}
