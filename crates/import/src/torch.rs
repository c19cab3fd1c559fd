//! Reads PyTorch programs (`.pt2`): a zip archive with the exported program as JSON, and raw weights.

mod aliases;
mod schema;
mod weights;

use crate::archive::Archive;
use crate::build::Builder;
use crate::error::{ImportError, Problem};
use crate::graph::{Argument, Elem, Graph, Id, Op, Origin, Weight};
use crate::limits::{CONFIG_BYTES, GRAPH_BYTES, OPERATORS, RESULTS};
use crate::table::{Call, Item, Table};
use aliases::Aliases;
use ember_model::Extent;
use ember_values::scalar::DType;
use schema::{Arg, Config, InputSpec, Node, OutputSpec, Program, SymInt, TensorMeta};
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};

/// The rows for the operators of PyTorch.
const TABLE: &str = include_str!("../../../rules/import/torch.rows");

/// The version of the archive's layout, and the major versions of the program's schema, that are known.
const ARCHIVE_VERSION: &str = "0";
const SCHEMA_VERSIONS: [u64; 1] = [8];

/// Reads a program. If operators may be missing, those without a counterpart are left out and returned: their results are
/// arguments of the graph, and what they take are its results, too.
pub(crate) fn read_without(
    bytes: &[u8],
    without: Option<Without>,
) -> Result<(Graph, Vec<ImportError>), ImportError> {
    let mut archive = Archive::open(bytes)?;
    if archive.has("serialized_exported_program.json") {
        let found = "of PyTorch 2.7 or before".to_owned();
        let (what, known) = ("the archive", "that of PyTorch 2.8 and later");
        return Err(Problem::Version { what, found, known }.into());
    }
    if archive.has("archive_version") {
        let version = archive.read("archive_version", 64)?;
        let version = String::from_utf8_lossy(&version).trim().to_owned();
        if version != ARCHIVE_VERSION {
            let (what, known) = ("the archive", ARCHIVE_VERSION);
            return Err(Problem::Version { what, found: version, known }.into());
        }
    }
    let models = archive.within("models/", ".json");
    let member = match &models[..] {
        [one] => one.clone(),
        [] => return Err(Problem::Member("models/model.json".to_owned()).into()),
        _ => {
            let text = format!("the archive holds several programs: {}", models.join(", "));
            return Err(Problem::Interface(text).into());
        }
    };
    let program: Program = json(&mut archive, &member, GRAPH_BYTES)?;
    let major = program.schema_version.major;
    if !SCHEMA_VERSIONS.contains(&major) {
        let found = format!("{major}.{}", program.schema_version.minor);
        return Err(Problem::Version { what: "the program", found, known: "8" }.into());
    }
    let mut reader = Reader::new(&program, without)?;
    reader.inputs(&mut archive, member.trim_start_matches("models/").trim_end_matches(".json"))?;
    reader.operators()?;
    reader.outputs()?;
    let missing = reader.without.take().map(|open| open.missing).unwrap_or_default();
    Ok((reader.builder.graph, missing))
}

/// Reads a program.
pub(crate) fn read(bytes: &[u8]) -> Result<Graph, ImportError> {
    Ok(read_without(bytes, None)?.0)
}

/// A program as far as it can be read if operators are missing.
#[derive(Default)]
pub(crate) struct Without {
    /// Operators that are left out, by their places.
    pub(crate) places: BTreeSet<usize>,
    /// The operators that have no counterpart.
    missing: Vec<ImportError>,
}

impl Without {
    /// Leaves operators out.
    pub(crate) fn of(places: BTreeSet<usize>) -> Without {
        Without { places, missing: Vec::new() }
    }
}

/// Reads a JSON text of the archive.
fn json<T: DeserializeOwned>(
    archive: &mut Archive,
    member: &str,
    limit: u64,
) -> Result<T, Problem> {
    let bytes = archive.read(member, limit)?;
    serde_json::from_slice(&bytes)
        .map_err(|reason| Problem::Json { member: member.to_owned(), reason })
}

/// Returns the element type of a code of the schema.
fn elem(code: u64, name: &str) -> Result<Elem, Problem> {
    const NAMES: [&str; 14] = [
        "unknown",
        "uint8",
        "int8",
        "int16",
        "int32",
        "int64",
        "float16",
        "float32",
        "float64",
        "complex32",
        "complex64",
        "complex128",
        "bool",
        "bfloat16",
    ];
    Ok(Elem::Of(match code {
        1 => DType::U8,
        2 => DType::I8,
        4 => DType::I32,
        5 => DType::I64,
        6 => DType::F16,
        7 => DType::F32,
        8 => DType::F64,
        12 => return Ok(Elem::Bool),
        13 => DType::BF16,
        _ => {
            let known = usize::try_from(code).ok().and_then(|code| NAMES.get(code));
            let dtype = known.map_or_else(|| format!("number {code}"), |name| (*name).to_owned());
            return Err(Problem::Elements { name: name.to_owned(), dtype });
        }
    }))
}

/// The state of reading a program.
struct Reader<'a> {
    program: &'a Program,
    table: Table,
    builder: Builder,
    /// The most that extents take off each size.
    less: BTreeMap<String, i64>,
    /// The meaning of each name.
    values: BTreeMap<&'a str, Item>,
    /// The operators that are left out, if operators may be missing.
    without: Option<Without>,
}

impl<'a> Reader<'a> {
    fn new(program: &'a Program, without: Option<Without>) -> Result<Reader<'a>, Problem> {
        let nodes = program.graph_module.graph.nodes.len();
        if nodes > OPERATORS {
            let (length, limit) = (nodes as u64, OPERATORS as u64);
            let what = "the list of operators".to_owned();
            return Err(Problem::TooLarge { what, length, limit });
        }
        let table = Table::read(TABLE)?;
        let mut less: BTreeMap<String, i64> = BTreeMap::new();
        let all = program.graph_module.graph.tensor_values.values().flat_map(|meta| &meta.sizes);
        for extent in all {
            if let SymInt::Expr { text, .. } = extent
                && let Some((size, plus)) = schema::size(text)
                && plus < 0
            {
                let most = less.entry(size).or_default();
                *most = (*most).max(plus.saturating_neg());
            }
        }
        let (builder, values) = (Builder::default(), BTreeMap::new());
        Ok(Reader { program, table, builder, less, values, without })
    }

    /// Returns an extent, and notes the value that its size had in the export.
    fn extent(&mut self, name: &str, n: &SymInt) -> Result<Extent, Problem> {
        let (text, hint) = match n {
            SymInt::Int(n) => {
                let n = u64::try_from(*n).ok();
                let unknown = || Problem::Overflow(format!("{n:?}"));
                return n.map(Extent::Const).ok_or_else(unknown);
            }
            SymInt::Expr { text, hint } => (text, hint),
        };
        let unknown = || Problem::Extent { name: name.to_owned(), extent: text.clone() };
        let (size, plus) = schema::size(text).ok_or_else(unknown)?;
        // A size of which something is taken counts from the least extent.
        let less = self.less.get(&size).copied().unwrap_or(0);
        let size = if less > 0 { format!("{size}_less_{less}") } else { size };
        let plus = u64::try_from(plus.saturating_add(less)).map_err(|_| unknown())?;
        if let Some(n) = hint.and_then(|hint| u64::try_from(hint).ok()?.checked_sub(plus)) {
            self.builder.graph.sizes.entry(size.clone()).or_insert(n);
        }
        Ok(Extent::Size { name: size, plus })
    }

    fn shape(&mut self, name: &str, meta: &TensorMeta) -> Result<Vec<Extent>, Problem> {
        meta.sizes.iter().map(|n| self.extent(name, n)).collect()
    }

    /// Returns the recorded shape and type of a value.
    fn recorded(&mut self, name: &str) -> Result<Option<(Vec<Extent>, Elem)>, Problem> {
        let Some(meta) = self.program.graph_module.graph.tensor_values.get(name) else {
            return Ok(None);
        };
        Ok(Some((self.shape(name, meta)?, elem(meta.dtype, name)?)))
    }

    /// Declares the arguments, and reads the weights.
    fn inputs(&mut self, archive: &mut Archive, model: &str) -> Result<(), Problem> {
        let of = |kind: &str| format!("data/{kind}/{model}_{kind}_config.json");
        let config = |archive: &mut Archive, name: &str| match archive.has(name) {
            true => json::<Config>(archive, name, CONFIG_BYTES),
            false => Ok(Config::default()),
        };
        let held = weights::Held {
            weights: config(archive, &of("weights"))?,
            constants: config(archive, &of("constants"))?,
        };
        let mut stored = weights::Stored::default();
        for spec in &self.program.graph_module.signature.input_specs {
            let (name, weight) = match spec {
                InputSpec::User(Arg::Tensor(name)) => (name, None),
                InputSpec::User(Arg::None) => continue,
                InputSpec::User(_) => {
                    let text = "an argument is no tensor; export with it as a constant";
                    return Err(Problem::Interface(text.to_owned()));
                }
                InputSpec::Weight { name, weight } => (name, Some(weight)),
                InputSpec::Constant => continue,
                InputSpec::Other(kind) => {
                    return Err(Problem::Interface(format!("an argument of the kind `{kind}`")));
                }
            };
            let recorded = self.recorded(name)?;
            let (shape, elem) = recorded.ok_or_else(|| Problem::Order(name.clone()))?;
            let op = match weight {
                None => {
                    let argument = Argument { name: name.clone(), elem, shape: shape.clone() };
                    self.builder.graph.arguments.push(argument);
                    Op::Argument(self.builder.graph.arguments.len() - 1)
                }
                // A weight that no operator uses may be of any kind.
                Some(_) if !self.is_used(name) => continue,
                Some(weight) => {
                    let tensor = held.read(archive, weight, &mut stored)?;
                    let name = weight.clone();
                    let held = tensor.shape.iter().map(|n| Extent::Const(*n));
                    if !held.eq(shape.iter().cloned()) {
                        let reason = "has another shape than the program says".to_owned();
                        return Err(Problem::Weight { name, reason });
                    }
                    self.builder.graph.weights.push(Weight { name, tensor });
                    Op::Weight(self.builder.graph.weights.len() - 1)
                }
            };
            let id = self.builder.add(op, Vec::new(), shape, elem)?;
            self.values.insert(name, Item::Tensor(id));
        }
        Ok(())
    }

    /// Returns true if an operator or the result uses a value.
    fn is_used(&self, name: &str) -> bool {
        let graph = &self.program.graph_module.graph;
        let mut given = graph.nodes.iter().flat_map(|node| node.inputs.iter().map(|i| &i.arg));
        given.any(|arg| arg.names().any(|own| own == name))
            || graph.outputs.iter().any(|arg| arg.names().any(|own| own == name))
    }

    /// Imports the operators in order.
    fn operators(&mut self) -> Result<(), ImportError> {
        let program = self.program;
        let nodes = &program.graph_module.graph.nodes;
        let mut aliases = Aliases::new(&program.graph_module.graph);
        for (done, node) in nodes.iter().enumerate() {
            let origin = origin(node);
            self.builder.begin(origin.clone());
            let left_out = self.without.as_ref().is_some_and(|open| open.places.contains(&done));
            let (name, changes) = self.operator_of(node);
            let result = match left_out {
                true => Err(Problem::Operator { operator: name.clone(), near: None }),
                false => aliases
                    .note(done, node, self.table.is_view(&name), changes)
                    .and_then(|()| self.operator(node, &name)),
            };
            let Err(problem) = result else { continue };
            let done = Some((done, nodes.len()));
            let error = ImportError { problem, origin: Some(Box::new(origin)), done };
            let Some(open) = &mut self.without else { return Err(error) };
            if !left_out {
                open.missing.push(error);
            }
            self.leave_out(node)?;
        }
        Ok(())
    }

    /// Leaves an operator out: its results are arguments, and what it takes are results.
    fn leave_out(&mut self, node: &'a Node) -> Result<(), Problem> {
        for name in node.inputs.iter().flat_map(|input| input.arg.names()) {
            if let Some(Item::Tensor(id)) = self.values.get(name) {
                self.builder.graph.outputs.push((name.to_owned(), *id));
            }
        }
        for name in node.outputs.iter().flat_map(Arg::names) {
            // A result of another kind is missing wherever it is used.
            let Ok(Some((shape, elem))) = self.recorded(name) else { continue };
            let argument = Argument { name: name.to_owned(), elem, shape: shape.clone() };
            self.builder.graph.arguments.push(argument);
            let op = Op::Argument(self.builder.graph.arguments.len() - 1);
            let id = self.builder.add(op, Vec::new(), shape, elem)?;
            self.values.insert(name, Item::Tensor(id));
        }
        Ok(())
    }

    /// Returns the operator of a node by the name that its rows have, and whether it changes its operand in place.
    fn operator_of(&self, node: &Node) -> (String, bool) {
        let name = node.target.strip_prefix("torch.ops.").unwrap_or(&node.target);
        let mut parts = name.split('.');
        let operator = match (parts.next(), parts.next()) {
            (Some(space), Some(own)) => format!("{space}.{own}"),
            _ => name.to_owned(),
        };
        match operator.strip_suffix('_') {
            Some(plain) if !self.table.has(&operator) && !plain.ends_with('_') => {
                (plain.to_owned(), true)
            }
            _ => (operator, false),
        }
    }

    fn operator(&mut self, node: &'a Node, operator: &str) -> Result<(), Problem> {
        // Sizes stand in the recorded shapes, and assertions about them compute nothing.
        let of_sizes = ["aten.sym_", "aten._assert", "aten.sym_constrain"];
        let name = node.target.strip_prefix("torch.ops.").unwrap_or(&node.target);
        let tensors = node.outputs.iter().any(Arg::has_tensor);
        if !tensors
            && (of_sizes.iter().any(|own| name.starts_with(own)) || !name.starts_with("aten."))
        {
            return Ok(());
        }
        let mut given = BTreeMap::new();
        for input in &node.inputs {
            let item = self.item(&input.arg)?;
            given.insert(input.name.clone(), item);
        }
        let outputs: Vec<&'a str> = node.outputs.iter().flat_map(Arg::names).collect();
        if outputs.len() > RESULTS {
            return Err(Problem::Operands(format!("{} results", outputs.len())));
        }
        let first = match outputs.first() {
            Some(first) => self.recorded(first)?,
            None => None,
        };
        let (shape, elem) = first.clone().unzip();
        let call = Call { operator, given, shape, elem };
        let done = self.table.apply(&mut self.builder, &call)?;
        let items = match done {
            Item::List(items) => items,
            Item::Tensor(id) => vec![Item::Tensor(self.as_recorded(id, first)?)],
            item => vec![item],
        };
        self.values.extend(outputs.into_iter().zip(items));
        Ok(())
    }

    /// Checks a result against what the export recorded, and converts it to the recorded type.
    fn as_recorded(
        &mut self,
        id: Id,
        recorded: Option<(Vec<Extent>, Elem)>,
    ) -> Result<Id, Problem> {
        let Some((shape, elem)) = recorded else { return Ok(id) };
        let own = self.builder.graph.shape(id);
        if own != shape {
            let (own, shape) = (crate::graph::shown(own), crate::graph::shown(&shape));
            let text = format!("the result has the shape ({own}), the export says ({shape})");
            return Err(Problem::Operands(text));
        }
        self.builder.cast(id, elem)
    }

    fn item(&mut self, arg: &Arg) -> Result<Item, Problem> {
        Ok(match arg {
            Arg::None => Item::None,
            Arg::Tensor(name) => {
                let found = self.values.get(name.as_str()).cloned();
                found.ok_or_else(|| Problem::Order(name.clone()))?
            }
            Arg::Int(n) => Item::Int(*n),
            Arg::Number(x) => Item::Number(*x),
            Arg::Bool(b) => Item::Bool(*b),
            Arg::Word(word) => Item::Word(word.clone()),
            Arg::Type(code) => Item::Type(elem(*code, "the argument `dtype`")?),
            // A computed size; results are as large as the export says.
            Arg::Size => Item::Word("size".to_owned()),
            Arg::List(items) => {
                let items: Result<_, _> = items.iter().map(|item| self.item(item)).collect();
                Item::List(items?)
            }
            Arg::Other(kind) => Item::Word(kind.clone()),
        })
    }

    /// Notes the results.
    fn outputs(&mut self) -> Result<(), Problem> {
        let graph = &self.program.graph_module.graph;
        let specs = &self.program.graph_module.signature.output_specs;
        for (spec, arg) in specs.iter().zip(&graph.outputs) {
            match spec {
                OutputSpec::User => {}
                OutputSpec::Other(kind) => {
                    let text = format!("the program has a result of the kind `{kind}`");
                    return Err(Problem::Interface(text));
                }
            }
            let item = match self.item(arg) {
                Err(_) if self.without.is_some() => continue,
                item => item?,
            };
            match (arg, item) {
                (Arg::Tensor(name), Item::Tensor(id)) => {
                    self.builder.graph.outputs.push((name.clone(), id));
                }
                (_, Item::None) => {}
                _ => return Err(Problem::Interface("a result is no tensor".to_owned())),
            }
        }
        match self.builder.graph.outputs.is_empty() {
            true => Err(Problem::Interface("the program has no result".to_owned())),
            false => Ok(()),
        }
    }
}

/// Returns where a node comes from: the innermost line of the module, which the export records first.
fn origin(node: &Node) -> Origin {
    let trace = node.metadata.get("stack_trace").map(String::as_str).unwrap_or_default();
    let mut lines = trace.lines().map(str::trim);
    let place = lines.find(|line| line.starts_with("File "));
    let code = lines.next().filter(|code| !code.starts_with("File "));
    let line = place.map(|place| match code {
        Some(code) => format!("{place}: {code}"),
        None => place.to_owned(),
    });
    let name = node.target.strip_prefix("torch.ops.").unwrap_or(&node.target).to_owned();
    Origin { name, result: node.name.clone().unwrap_or_default(), line }
}
