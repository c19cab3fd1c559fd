//! What a pattern asks of its variables: element type, lanes, rank, and where they may be used.
//!
//! Sorts alone leave most instances of a pattern without meaning (an i64 added to an f32, an
//! address with too few indices). This pass follows what each operator of the dialects asks of its
//! operands, so that instances are made that have one.

use super::world::{OFFSETS, SCRATCH};
use egg::{ENodeOrVar, Id, Language, PatternAst, Var};
use ember_language::rules::{Signature, Sort, SortTerm};
use ember_language::term::{Head, Node};
use ember_values::scalar::{BinaryOp, DType};
use std::collections::BTreeMap;

/// What is asked of a variable of a pattern.
#[derive(Clone, Debug)]
pub(super) struct Hole {
    /// Its sort.
    pub sort: Sort,
    /// The class of its element type.
    pub dtype: usize,
    /// The class of its number of lanes.
    pub lanes: usize,
    /// Of an address, how many indices are missing; of a tensor, how many it has.
    pub rank: usize,
    /// Whether it is a step: a literal number.
    pub step: bool,
    /// Whether it is a number of lanes: a literal number that decides its class of lanes.
    pub count: bool,
    /// Whether it is an address that is written.
    pub written: bool,
    /// Of an address of a tensor with a part of its own, the tensor's name without its type.
    pub role: Option<&'static str>,
    /// Whether only memory that is never written may be read.
    pub read_only: bool,
    /// The pattern variables that are bound around it wherever it stands, outermost first.
    pub binders: Vec<Var>,
}

/// Classes of things that must be the same, and what they are.
#[derive(Clone, Debug)]
pub(super) struct Classes<T> {
    parents: Vec<usize>,
    values: Vec<Option<T>>,
}

impl<T> Default for Classes<T> {
    fn default() -> Self {
        Classes { parents: Vec::new(), values: Vec::new() }
    }
}

impl<T: Copy + PartialEq> Classes<T> {
    fn fresh(&mut self) -> usize {
        self.parents.push(self.parents.len());
        self.values.push(None);
        self.parents.len() - 1
    }

    fn find(&self, mut class: usize) -> usize {
        while self.parents[class] != class {
            class = self.parents[class];
        }
        class
    }

    /// What a class is, where it is known.
    pub fn get(&self, class: usize) -> Option<T> {
        self.values[self.find(class)]
    }

    /// Says what a class is; `None` where it is something else.
    pub fn set(&mut self, class: usize, value: T) -> Option<()> {
        let class = self.find(class);
        (*self.values[class].get_or_insert(value) == value).then_some(())
    }

    fn union(&mut self, a: usize, b: usize) -> Option<()> {
        let (a, b) = (self.find(a), self.find(b));
        match (self.values[a], self.values[b]) {
            (Some(x), Some(y)) if x != y => return None,
            (None, y) => self.values[a] = y,
            _ => {}
        }
        self.parents[b] = a;
        Some(())
    }
}

/// What a pattern asks of all its variables.
#[derive(Clone, Debug, Default)]
pub(super) struct Types {
    /// The variables.
    pub holes: BTreeMap<Var, Hole>,
    /// Element types.
    pub dtypes: Classes<DType>,
    /// Numbers of lanes, 1 for a scalar.
    pub lanes: Classes<usize>,
    /// Classes of lanes that a variable decides.
    pub counts: Vec<usize>,
}

/// What is asked of a node.
#[derive(Clone, Debug)]
struct Want {
    sort: Sort,
    dtype: usize,
    lanes: usize,
    rank: usize,
    step: bool,
    count: bool,
    written: bool,
    role: Option<&'static str>,
    read_only: bool,
    binders: Vec<Var>,
}

/// The operand positions of a loop's variable, lo, hi and step, by the operator's name.
pub(super) fn loop_operands(name: &str) -> Option<[usize; 4]> {
    Some(match name {
        "scf.for" | "slc.for" | "exe.for" => [0, 1, 2, 3],
        "exe.walk" => [0, 1, 2, 5],
        "scf.reduce" | "exe.reduce" => [1, 2, 3, 4],
        "exe.walk_reduce" => [1, 2, 3, 6],
        _ => return None,
    })
}

/// Sorts, besides addresses, whose terms have an element type or name one.
const TYPED: [&str; 5] = ["Value", "Stream", "EValue", "Tensor", "DType"];

/// Whether terms of a sort stand for parts of tensors.
pub(super) fn is_address(sort: Sort) -> bool {
    matches!(sort.name(), "Address" | "SAddress" | "EAddress" | "Name")
}

impl Types {
    /// Follows a pattern whose root has the given sort, and an address at the root this many
    /// missing indices, and nodes of it that its root is not made of; `ranks` are those that a rule asks of
    /// its variables. `None` where the pattern asks for contradictory things.
    pub fn of(
        signature: &Signature,
        pattern: &PatternAst<Node>,
        others: &[Id],
        sort: Sort,
        rank: usize,
        ranks: &BTreeMap<Var, usize>,
    ) -> Option<Types> {
        let mut types = Types::default();
        let (dtype, lanes) = (types.dtypes.fresh(), types.lanes.fresh());
        let want = Want {
            sort,
            dtype,
            lanes,
            rank,
            step: false,
            count: false,
            written: false,
            role: None,
            read_only: false,
            binders: Vec::new(),
        };
        let mut visit = Visit { signature, pattern, ranks, types: &mut types };
        visit.node(Id::from(pattern.len().checked_sub(1)?), want.clone())?;
        for other in others {
            let ENodeOrVar::ENode(node) = &pattern[*other] else { continue };
            let sort = match signature.operator_of(node)?.result {
                SortTerm::Is(sort) => sort,
                SortTerm::Any(_) => want.sort,
            };
            let (dtype, lanes) = (visit.types.dtypes.fresh(), visit.types.lanes.fresh());
            visit.node(*other, Want { sort, dtype, lanes, rank: 0, ..want.clone() })?;
        }
        Some(types)
    }
}

impl Types {
    /// Whether a variable decides a class of lanes.
    pub fn counted(&self, class: usize) -> bool {
        self.counts.iter().any(|c| self.lanes.find(*c) == self.lanes.find(class))
    }
}

struct Visit<'a> {
    signature: &'a Signature,
    pattern: &'a PatternAst<Node>,
    ranks: &'a BTreeMap<Var, usize>,
    types: &'a mut Types,
}

impl Visit<'_> {
    fn node(&mut self, id: Id, want: Want) -> Option<()> {
        match &self.pattern[id] {
            ENodeOrVar::Var(v) => self.hole(*v, want),
            ENodeOrVar::ENode(node) => match node.head() {
                Head::Int(n) => {
                    self.types.dtypes.set(want.dtype, DType::I64)?;
                    let lanes = if want.count { usize::try_from(n).ok()? } else { 1 };
                    self.types.lanes.set(want.lanes, lanes)
                }
                Head::Real(_) => Some(()),
                Head::Op(_) => self.operator(node.clone(), want),
            },
        }
    }

    fn hole(&mut self, v: Var, want: Want) -> Option<()> {
        if let Some(known) = self.types.holes.get_mut(&v) {
            if known.sort != want.sort || known.rank != want.rank {
                return None;
            }
            known.step |= want.step;
            known.count |= want.count;
            known.written |= want.written;
            known.role = known.role.or(want.role);
            known.read_only |= want.read_only;
            known.binders.retain(|b| want.binders.contains(b));
            let (dtype, lanes) = (known.dtype, known.lanes);
            self.types.dtypes.union(dtype, want.dtype)?;
            return self.types.lanes.union(lanes, want.lanes);
        }
        if want.count {
            self.types.counts.push(want.lanes);
        }
        let Want { sort, dtype, lanes, rank, step, count, written, role, read_only, binders } =
            want;
        let hole =
            Hole { sort, dtype, lanes, rank, step, count, written, role, read_only, binders };
        self.types.holes.insert(v, hole);
        Some(())
    }

    fn operator(&mut self, node: Node, want: Want) -> Option<()> {
        let name = node.name()?;
        let signature = self.signature;
        let operator = signature.operator_of(&node)?;
        let children = node.children().to_vec();
        // What each operand is asked: by default, what the node itself is.
        let mut wants: Vec<Want> = operator
            .args
            .iter()
            .map(|sort| {
                let sort = match sort {
                    SortTerm::Is(sort) => *sort,
                    SortTerm::Any(_) => want.sort,
                };
                let address = is_address(sort);
                let rank = if address || sort.name() == "Tensor" { want.rank } else { 0 };
                let written = want.written && address;
                let typed = address || TYPED.contains(&sort.name());
                let (dtype, lanes) = match typed {
                    true => (want.dtype, want.lanes),
                    false => (self.types.dtypes.fresh(), self.types.lanes.fresh()),
                };
                let want = want.clone();
                let role = want.role.filter(|_| address);
                Want { sort, dtype, lanes, rank, step: false, count: false, written, role, ..want }
            })
            .collect();
        if let Some((variable, body)) = operator.binds
            && let ENodeOrVar::Var(v) = &self.pattern[children[variable]]
        {
            wants[body].binders.push(*v);
        }
        self.constrain(name, &children, &want, &mut wants)?;
        children.into_iter().zip(wants).try_for_each(|(child, want)| self.node(child, want))
    }

    /// A scalar i64.
    fn index(&mut self, want: &mut Want) {
        want.dtype = self.types.dtypes.fresh();
        want.lanes = self.types.lanes.fresh();
        // A fresh class has no other value.
        let _ = self.types.dtypes.set(want.dtype, DType::I64);
        let _ = self.types.lanes.set(want.lanes, 1);
    }

    /// A number of lanes that is the given class.
    fn count(&mut self, want: &mut Want, lanes: usize) {
        self.index(want);
        want.lanes = lanes;
        want.count = true;
    }

    fn other_dtype(&mut self, want: &mut Want) {
        want.dtype = self.types.dtypes.fresh();
    }

    fn scalar(&mut self, want: &mut Want) {
        want.lanes = self.types.lanes.fresh();
        let _ = self.types.lanes.set(want.lanes, 1);
    }

    /// What an operator asks of its operands, where that is not what is asked of itself.
    fn constrain(
        &mut self,
        name: &str,
        children: &[Id],
        want: &Want,
        wants: &mut [Want],
    ) -> Option<()> {
        if let Some([_, lo, hi, step]) = loop_operands(name) {
            wants[lo..=step.max(hi)].iter_mut().for_each(|w| self.index(w));
            wants[step].step = true;
            return Some(());
        }
        if name.starts_with("emb.") || name.starts_with("nn.") {
            return self.tensors(name, children, want, wants);
        }
        let plain = name.strip_prefix("scf.").or_else(|| name.strip_prefix("exe.")).unwrap_or(name);
        match plain {
            "lt" => {
                self.types.dtypes.set(want.dtype, DType::I64)?;
                let dtype = self.types.dtypes.fresh();
                wants.iter_mut().for_each(|w| w.dtype = dtype);
            }
            "select" => {
                let lanes = wants[0].lanes;
                self.index(&mut wants[0]);
                wants[0].lanes = lanes;
            }
            // The class of the type that is named is that of the result.
            "cast" => self.other_dtype(&mut wants[1]),
            "slc.index_cast" => {
                self.types.dtypes.set(want.dtype, DType::I64)?;
                self.types.lanes.set(want.lanes, 1)?;
                self.other_dtype(&mut wants[0]);
            }
            "convert" => self.other_dtype(&mut wants[1]),
            "slc.alu_stream" => self.types.lanes.set(want.lanes, 1)?,
            "iv" | "counter" | "slc.iv" | "size" | "dim" => {
                self.types.dtypes.set(want.dtype, DType::I64)?;
                self.types.lanes.set(want.lanes, 1)?;
                self.other_dtype(&mut wants[0]);
                wants[0].rank = if plain == "dim" { 2 } else { 0 };
            }
            "var" => {
                wants[1..].iter_mut().for_each(|w| self.index(w));
                wants[3].step = true;
            }
            "const" | "identity" => self.types.lanes.set(want.lanes, 1)?,
            "in" | "slc.in" | "out" | "slc.out" => wants[0].written = plain.ends_with("out"),
            "load" => wants[0].rank = 0,
            "fetched" => {
                (wants[0].rank, wants[1].rank) = (0, 0);
                wants[0].read_only = true;
            }
            "slc.mem_stream" => (wants[1].rank, wants[1].read_only) = (0, true),
            "at" | "slc.at" => {
                wants[0].rank = want.rank + 1;
                self.scalar(&mut wants[0]);
                self.index(&mut wants[1]);
                wants[1].lanes = want.lanes;
            }
            "store" | "slc.store_stream" => self.access(&mut wants[0..2]),
            "accumulate" => self.access(&mut wants[1..3]),
            "broadcast" | "slc.broadcast" => {
                self.count(&mut wants[0], want.lanes);
                self.scalar(&mut wants[1]);
            }
            "lanes" | "slc.lanes" => {
                self.types.dtypes.set(want.dtype, DType::I64)?;
                self.count(&mut wants[0], want.lanes);
                self.index(&mut wants[1]);
                self.index(&mut wants[2]);
            }
            "vec" => {
                self.count(&mut wants[2], want.lanes);
                self.index(&mut wants[3]);
                self.scalar(&mut wants[4]);
            }
            "fold" => {
                self.types.lanes.set(want.lanes, 1)?;
                wants[1].lanes = self.types.lanes.fresh();
                let lanes = wants[1].lanes;
                self.types.counts.push(lanes);
            }
            "matmul" | "matmul_t" => {
                let dtype = self.types.dtypes.fresh();
                for w in wants.iter_mut() {
                    (w.dtype, w.rank) = (dtype, 2);
                    self.scalar(w);
                }
                wants[0].written = true;
            }
            "seq" | "slc.seq" | "skip" | "slc.skip" | "slc.barrier" | "rename" | "after" => {}
            "forget" => wants[0].written = true,
            "fix" => self.index(&mut wants[1]),
            _ if BinaryOp::parse(plain).is_some() && children.len() == 2 => {}
            _ => {
                // A name that says which type the class has.
                if let (Some(dtype), []) = (DType::parse(name), children) {
                    self.types.dtypes.set(want.dtype, dtype)?;
                }
            }
        }
        Some(())
    }

    /// What operators on whole tensors ask of their operands.
    fn tensors(
        &mut self,
        name: &str,
        children: &[Id],
        want: &Want,
        wants: &mut [Want],
    ) -> Option<()> {
        wants.iter_mut().for_each(|w| self.scalar(w));
        // Positions of indices, of offsets, and the ranks of operands that are tensors or parts of them.
        let (indices, offsets, ranks): (&[usize], Option<usize>, &[usize]) = match name {
            "emb.bag" => (&[2], Some(3), &[0, 2, 1, 1, 1]),
            "emb.gather" => (&[1], None, &[2, 1]),
            "emb.spmm" => (&[1], Some(0), &[1, 1, 1, 2]),
            "emb.sddmm" => (&[1], Some(0), &[1, 1, 2, 2]),
            "emb.mp" => (&[2], Some(1), &[0, 1, 1, 2, 2, 1]),
            "emb.kg" => (&[3, 4, 5], None, &[0, 2, 2, 1, 1, 1]),
            "emb.block_gather" => (&[1], None, &[3, 1]),
            "emb.dequantise" => (&[], None, &[2, 2]),
            "nn.triangle" => (&[], None, &[3]),
            _ => (&[], None, &[]),
        };
        wants.iter_mut().zip(ranks).for_each(|(w, rank)| w.rank = *rank);
        for at in indices.iter().copied().chain(offsets) {
            self.index(&mut wants[at]);
        }
        if let Some(at) = offsets {
            wants[at].role = Some(OFFSETS);
        }
        match name {
            "emb.element" => {
                self.types.lanes.set(want.lanes, 1)?;
                wants[0].rank = wants.len() - 1;
                wants[1..].iter_mut().for_each(|w| self.index(w));
            }
            "emb.extent" => {
                self.types.dtypes.set(want.dtype, DType::I64)?;
                self.types.lanes.set(want.lanes, 1)?;
                self.other_dtype(&mut wants[0]);
                wants[0].rank = self.rank(children[0]);
                self.index(&mut wants[1]);
            }
            "emb.edge" => self.types.lanes.set(want.lanes, 1)?,
            "emb.output" | "emb.output_slot" | "emb.output_columns" => {
                let last = wants.len() - 1;
                self.other_dtype(&mut wants[0]);
                wants[last].dtype = wants[0].dtype;
                wants[last].rank = self.rank(children[last]);
                wants[0].written = true;
                wants[0].rank = match name {
                    "emb.output" => self.asked(children[0]).unwrap_or(wants[last].rank),
                    "emb.output_slot" => 3,
                    _ => 2,
                };
                if last == 1 {
                    wants[1].rank = wants[0].rank;
                } else {
                    self.index(&mut wants[1]);
                }
            }
            "emb.mp" => (wants[5].role, wants[5].written) = (Some(SCRATCH), true),
            "emb.block_gather" => wants[1].rank = self.asked(children[1]).unwrap_or(1),
            "emb.dequantise" => self.other_dtype(&mut wants[0]),
            "nn.cast" => self.other_dtype(&mut wants[1]),
            "nn.scale" => wants[0].rank = 0,
            "nn.bias" => wants[1].rank = 1,
            "nn.row_max" | "nn.row_sum" => wants[0].rank = want.rank + 1,
            "nn.sub_rows" | "nn.div_rows" => wants[1].rank = want.rank.checked_sub(1)?,
            _ => {}
        }
        Some(())
    }

    /// The rank that a rule asks of a variable.
    fn asked(&self, id: Id) -> Option<usize> {
        match &self.pattern[id] {
            ENodeOrVar::Var(v) => self.ranks.get(v).copied(),
            ENodeOrVar::ENode(_) => None,
        }
    }

    /// The rank of a tensor in a place where any rank may stand.
    fn rank(&self, id: Id) -> usize {
        match &self.pattern[id] {
            ENodeOrVar::Var(_) => 2,
            ENodeOrVar::ENode(node) => match node.name().unwrap_or_default() {
                "emb.sddmm" | "emb.kg" | "nn.row_max" | "nn.row_sum" => 1,
                "emb.block_gather" => 3,
                _ => 2,
            },
        }
    }

    /// An address that is written and the value that goes there.
    fn access(&mut self, wants: &mut [Want]) {
        let (dtype, lanes) = (self.types.dtypes.fresh(), self.types.lanes.fresh());
        for want in wants.iter_mut() {
            (want.dtype, want.lanes, want.rank) = (dtype, lanes, 0);
        }
        wants[0].written = true;
    }
}
