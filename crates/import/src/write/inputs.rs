//! The inputs of the model: arguments of the program and parts of them, tensors of the file, and constants.

use super::Writer;
use crate::error::Problem;
use crate::graph::{Id, is_one};
use crate::layout::{Base, Part, live};
use ember_model::{Extent, Whole};
use ember_targets::tensor::{Data, Tensor};
use ember_values::scalar::DType;
use std::sync::Arc;

/// The content of an input.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// Parts of an argument; with a last offset after it, if there is one.
    Argument {
        /// The argument.
        argument: usize,
        /// The parts, one taken of the other.
        parts: Vec<Part>,
        /// The end of the last bag, which the argument lacks.
        closed: Option<Extent>,
    },
    /// Values of edges, in the order of the rows that positions say.
    Sorted {
        /// The input that has the values.
        values: String,
        /// The input that says the row of each edge.
        positions: String,
    },
    /// Where bags start, and the end of the last one.
    Sums {
        /// The input that has the lengths.
        lengths: String,
    },
    /// Where the edges of each row start in that order.
    Starts {
        /// The input that says the row of each edge.
        positions: String,
    },
    /// Whole numbers that are computed of other inputs.
    Computed(Whole),
    /// Elements that are known at import.
    Known(Arc<Tensor>),
    /// One number everywhere.
    Fill(f64),
}

/// The use of an input, which says what its elements may be.
#[derive(Clone, Debug)]
pub(crate) enum Use {
    /// Numbers that are computed with.
    Values,
    /// Whole numbers that positions are computed of.
    Whole,
    /// Positions among so many rows.
    Positions(Vec<Extent>),
    /// The lengths of bags of so many lookups.
    Lengths(Extent),
    /// Offsets into so many lookups.
    Offsets(Extent),
}

/// An input of the model.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    pub(crate) name: String,
    pub(crate) dtype: DType,
    pub(crate) extents: Vec<Extent>,
    pub(crate) content: Content,
    pub(crate) used: Use,
}

/// The inputs so far.
#[derive(Default)]
pub(crate) struct Inputs(pub(crate) Vec<Input>);

impl Inputs {
    /// Returns the element type of an input.
    pub(super) fn dtype(&self, name: &str) -> Option<DType> {
        self.0.iter().find(|own| own.name == name).map(|own| own.dtype)
    }
}

impl Content {
    fn same(&self, other: &Content) -> bool {
        match (self, other) {
            (
                Content::Argument { argument, parts, closed },
                Content::Argument { argument: other, parts: own, closed: end },
            ) => (argument, parts, closed) == (other, own, end),
            (Content::Known(a), Content::Known(b)) => {
                Arc::ptr_eq(a, b)
                    || (a.dtype == b.dtype && a.len() == b.len() && a.len() <= SMALL && equal(a, b))
            }
            (
                Content::Sorted { values, positions },
                Content::Sorted { values: other, positions: own },
            ) => (values, positions) == (other, own),
            (Content::Sums { lengths }, Content::Sums { lengths: own }) => lengths == own,
            (Content::Starts { positions }, Content::Starts { positions: own }) => positions == own,
            (Content::Computed(a), Content::Computed(b)) => a == b,
            (Content::Fill(a), Content::Fill(b)) => a.to_bits() == b.to_bits(),
            _ => false,
        }
    }
}

/// Constants up to this many elements are compared by their elements.
const SMALL: u64 = 1 << 16;

fn equal(a: &Tensor, b: &Tensor) -> bool {
    match (&a.data, &b.data) {
        (Data::I64(a), Data::I64(b)) => a == b,
        (Data::I32(a), Data::I32(b)) => a == b,
        _ => false,
    }
}

impl Use {
    fn same(&self, other: &Use) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

impl Writer<'_> {
    /// Returns the input with this content and use, which is declared if there is none.
    pub(super) fn input(&mut self, wanted: &str, new: Input) -> String {
        let found = self.inputs.0.iter_mut().find(|own| {
            let alike = own.dtype == new.dtype && own.extents == new.extents;
            alike && own.used.same(&new.used) && own.content.same(&new.content)
        });
        if let Some(found) = found {
            if let (Use::Positions(own), Use::Positions(rows)) = (&mut found.used, new.used) {
                own.extend(rows);
            }
            return found.name.clone();
        }
        let name = self.unique(wanted);
        self.inputs.0.push(Input { name: name.clone(), ..new });
        name
    }

    /// One number for every element.
    pub(super) fn fill(&mut self, number: f64, extents: &[Extent], dtype: DType) -> String {
        let word = match number {
            0.0 => "zeros",
            1.0 => "ones",
            _ => "constant",
        };
        let content = Content::Fill(number);
        let (extents, used) = (extents.to_vec(), Use::Values);
        self.input(word, Input { name: String::new(), dtype, extents, content, used })
    }

    /// Elements that are known, computed with.
    pub(super) fn constant(
        &mut self,
        name: &str,
        tensor: &Arc<Tensor>,
        extents: &[Extent],
        dtype: DType,
    ) -> String {
        let content = Content::Known(tensor.clone());
        let (extents, used) = (extents.to_vec(), Use::Values);
        self.input(name, Input { name: String::new(), dtype, extents, content, used })
    }

    /// Elements of an argument, computed with. An argument is one input, whatever shapes it is used in.
    pub(super) fn values_of(
        &mut self,
        argument: usize,
        parts: &[Part],
        extents: &[Extent],
        dtype: DType,
    ) -> String {
        let content = Content::Argument { argument, parts: parts.to_vec(), closed: None };
        let known = self.inputs.0.iter().find(|own| {
            matches!(own.used, Use::Values) && own.dtype == dtype && own.content.same(&content)
        });
        if let Some(known) = known {
            let (name, own) = (known.name.clone(), known.extents.clone());
            return self.reshaped(name, &own, extents);
        }
        let wanted = self.graph.arguments[argument].name.clone();
        let (extents, used) = (extents.to_vec(), Use::Values);
        self.input(&wanted, Input { name: String::new(), dtype, extents, content, used })
    }

    /// Returns the input of positions among rows.
    pub(super) fn positions(&mut self, id: Id, rows: &Extent) -> Result<String, Problem> {
        let shape = self.shape(id);
        let used = Use::Positions(vec![rows.clone()]);
        let extents = vec![shape.first().cloned().unwrap_or(Extent::Const(1))];
        if let Some(tensor) = self.known_positions(id, rows.constant())? {
            // Positions of two dimensions are the same in every column.
            let tensor = self.first_column(tensor, &shape)?;
            let dtype = DType::I64;
            let content = Content::Known(tensor);
            let new = Input { name: String::new(), dtype, extents, content, used };
            return Ok(self.input("positions", new));
        }
        let laid = self.laid(id)?;
        if laid.live().iter().any(|axis| *axis != 0)
            || (laid.live().is_empty() && !is_one(&extents[0]))
        {
            let text = "each element has a position of its own, and rows are looked up whole";
            return Err(Problem::Operands(text.to_owned()));
        }
        if let Base::Sorted { of, by, rows: all } = &laid.base {
            return self.sorted_input((*of, *by, all), used);
        }
        if let Base::Whole(of) = laid.base {
            return self.computed_input(of, &extents, used);
        }
        let Base::View { argument, parts } = laid.base else {
            return Err(self.computed(id));
        };
        let content = Content::Argument { argument, parts, closed: None };
        let wanted = self.graph.arguments[argument].name.clone();
        let dtype = laid.dtype;
        Ok(self.input(&wanted, Input { name: String::new(), dtype, extents, content, used }))
    }

    /// Whole numbers that are known, used in some way.
    pub(super) fn known_input(
        &mut self,
        name: &str,
        tensor: Arc<Tensor>,
        extent: &Extent,
        used: Use,
    ) -> String {
        let (dtype, extents) = (DType::I64, vec![extent.clone()]);
        let content = Content::Known(tensor);
        self.input(name, Input { name: String::new(), dtype, extents, content, used })
    }

    /// Returns the input of positions in two dimensions, among rows.
    pub(super) fn positions_of_rows(&mut self, id: Id, rows: &Extent) -> Result<String, Problem> {
        let (laid, extents) = (self.laid(id)?, self.shape(id));
        let used = Use::Positions(vec![rows.clone()]);
        let content = match laid.base {
            Base::View { argument, parts } => Content::Argument { argument, parts, closed: None },
            Base::Whole(of) if laid.in_order() && laid.live() == live(&extents) => {
                return self.computed_input(of, &extents, used);
            }
            Base::Constant { tensor, .. } => Content::Known(tensor),
            _ => return Err(self.computed(id)),
        };
        let wanted = match &content {
            Content::Argument { argument, .. } => self.graph.arguments[*argument].name.clone(),
            _ => "positions".to_owned(),
        };
        let dtype = laid.dtype;
        Ok(self.input(&wanted, Input { name: String::new(), dtype, extents, content, used }))
    }

    fn first_column(&self, tensor: Arc<Tensor>, shape: &[Extent]) -> Result<Arc<Tensor>, Problem> {
        if shape.len() < 2 {
            return Ok(tensor);
        }
        let width: u64 = tensor.shape[1..].iter().product();
        let at = |i: u64| tensor.get(i).and_then(|x| x.as_i64()).unwrap_or(0);
        let rows = tensor.shape[0];
        if (0..rows).any(|r| (0..width).any(|c| at(r * width + c) != at(r * width))) {
            let text = "each element has a position of its own, and rows are looked up whole";
            return Err(Problem::Operands(text.to_owned()));
        }
        let column = (0..rows).map(|r| at(r * width)).collect();
        let data = Data::I64(Arc::new(column));
        Ok(Arc::new(Tensor { dtype: DType::I64, shape: vec![rows], data }))
    }

    /// The problem of positions that are computed: names the operator that computes them.
    pub(super) fn computed(&self, id: Id) -> Problem {
        let origin = self.graph.node(id).origin.and_then(|at| self.graph.origins.get(at));
        let name = origin.map_or("a value", |origin| origin.result.as_str());
        Problem::Positions(format!("`{name}` is used as indices or offsets"))
    }

    /// Returns the input of offsets into so many lookups, with the end of the last bag.
    pub(super) fn offsets(
        &mut self,
        id: Id,
        lookups: &Extent,
        closed: bool,
    ) -> Result<String, Problem> {
        let shape = self.shape(id);
        let ends = shape.first().cloned().unwrap_or(Extent::Const(1));
        let ends = if closed { Some(ends) } else { ends.plus(1) };
        let ends = ends.ok_or_else(|| Problem::Overflow("offsets".to_owned()))?;
        let used = Use::Offsets(lookups.clone());
        if let Some(tensor) = self.known_positions(id, None)? {
            let mut values: Vec<i64> =
                (0..tensor.len()).filter_map(|i| tensor.get(i)?.as_i64()).collect();
            if !closed {
                let last = lookups.constant().and_then(|n| i64::try_from(n).ok());
                values.push(last.ok_or_else(|| {
                    Problem::Operands(
                        "known offsets into lookups that only the data counts".to_owned(),
                    )
                })?);
            }
            let shape = vec![values.len() as u64];
            let data = Data::I64(Arc::new(values));
            let content = Content::Known(Arc::new(Tensor { dtype: DType::I64, shape, data }));
            let (dtype, extents) = (DType::I64, vec![ends]);
            let new = Input { name: String::new(), dtype, extents, content, used };
            return Ok(self.input("offsets", new));
        }
        let laid = self.laid(id)?;
        if let (Base::Sums { lengths }, true) = (&laid.base, closed) {
            return self.sums_input(*lengths, &ends, lookups);
        }
        if let Base::Starts { by } = laid.base {
            return self.starts_input(by, &ends, lookups);
        }
        if let (Base::Whole(of), true) = (&laid.base, closed) {
            return self.computed_input(*of, &[ends], used);
        }
        let Base::View { argument, parts } = laid.base else { return Err(self.computed(id)) };
        let end = (!closed).then(|| lookups.clone());
        let content = Content::Argument { argument, parts, closed: end };
        let wanted = self.graph.arguments[argument].name.clone();
        let (dtype, extents) = (laid.dtype, vec![ends]);
        Ok(self.input(&wanted, Input { name: String::new(), dtype, extents, content, used }))
    }
}
