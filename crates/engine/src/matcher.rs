//! Compiled matching: a left side as a short program over registers that hold classes.
//!
//! The machine is the machine of egg's patterns, with three differences that saturation needs: a match is a plain row
//! of classes, subterms without variables are looked up once a search and not once a class, and the program knows the
//! greatest depth below the root that it inspects.

use crate::knowledge::EGraph;
use egg::{ENodeOrVar, Id, Language, PatternAst, Symbol, Var};
use ember_egraph::Analysis;
use ember_language::rebuild::try_rebuild;
use ember_language::term::{Head, Node};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::rc::Rc;

/// A compiled left side.
#[derive(Clone, Debug)]
pub struct Matcher {
    root: (Head, usize),
    program: Vec<Instruction>,
    /// Terms without variables, each the operand of a [`Instruction::Constant`].
    constants: Vec<Vec<Node>>,
    /// Operators without which the e-graph cannot contain a match.
    operators: Vec<(Head, usize)>,
    /// Lists of operands, each for an [`Instruction::Above`]: the place in the node, and the register that holds the class.
    operands: Vec<Vec<(usize, usize)>>,
    /// The register of each variable, in the order of binding.
    slots: Vec<usize>,
    reach: u16,
    /// True if the program also looks above the root, so that a change at any distance may make a match new.
    anywhere: bool,
}

#[derive(Clone, Copy, Debug)]
enum Instruction {
    /// For each node of this operator in the class: puts its children into registers from `out`.
    Bind { class: usize, head: Head, arity: usize, out: usize },
    /// Requires the class to be the class of a constant.
    Constant { class: usize, constant: usize },
    /// Requires two registers to hold the same class.
    Same { class: usize, other: usize },
    /// For each class with a node of this operator that has the operands of a list, whose index is `operands`: puts it into
    /// the register `out`. The class is the first of these operands.
    Above { class: usize, head: Head, arity: usize, operands: usize, out: usize },
}

impl Instruction {
    /// Returns the register of the class that the instruction inspects.
    fn class(self) -> usize {
        match self {
            Instruction::Bind { class, .. }
            | Instruction::Constant { class, .. }
            | Instruction::Same { class, .. }
            | Instruction::Above { class, .. } => class,
        }
    }
}

/// Compiles a left side and the further patterns of its variables.
pub struct Compiler {
    matcher: Matcher,
    registers: FxHashMap<Var, usize>,
    variables: Vec<Var>,
    /// For each register, the depth of its class below the root.
    depths: Vec<u16>,
}

impl Compiler {
    /// Compiles a left side. A left side that is a single variable, which no checked rule has, matches nothing.
    pub fn new(pattern: &PatternAst<Node>) -> Compiler {
        let root = match pattern.as_ref().last() {
            Some(ENodeOrVar::ENode(node)) => node.discriminant(),
            Some(ENodeOrVar::Var(_)) | None => (Head::Op(Symbol::from("?")), usize::MAX),
        };
        let matcher = Matcher {
            root,
            program: Vec::new(),
            constants: Vec::new(),
            operators: Vec::new(),
            operands: Vec::new(),
            slots: Vec::new(),
            reach: 0,
            anywhere: false,
        };
        let mut compiler = Compiler {
            matcher,
            registers: FxHashMap::default(),
            variables: Vec::new(),
            depths: vec![0],
        };
        compiler.add(0, pattern);
        compiler
    }

    /// Compiles a pattern that the class of a variable must contain as well. If the variable is not bound, its class is
    /// searched above the bound operands of the pattern.
    pub fn also(&mut self, variable: Var, pattern: &PatternAst<Node>) {
        if let Some(&register) = self.registers.get(&variable) {
            self.add(register, pattern);
            return;
        }
        let Some(ENodeOrVar::ENode(node)) = pattern.as_ref().last() else { return };
        let register = |id: &Id| match &pattern[*id] {
            ENodeOrVar::Var(v) => self.registers.get(v).copied(),
            ENodeOrVar::ENode(_) => None,
        };
        let places = node.children().iter().enumerate();
        let bound: Vec<(usize, usize)> =
            places.filter_map(|(place, id)| Some((place, register(id)?))).collect();
        let Some(&(_, class)) = bound.first() else { return };
        let (head, arity) = node.discriminant();
        let out = self.depths.len();
        self.depths.push(0);
        self.registers.insert(variable, out);
        self.variables.push(variable);
        self.matcher.slots.push(out);
        self.matcher.anywhere = true;
        let operands = self.matcher.operands.len();
        self.matcher.operands.push(bound);
        self.matcher.program.push(Instruction::Above { class, head, arity, operands, out });
        self.add(out, pattern);
    }

    /// Returns the program, and the variables in the order of their slots in a match.
    pub fn finish(self) -> (Matcher, Vec<Var>) {
        (self.matcher, self.variables)
    }

    fn add(&mut self, register: usize, pattern: &PatternAst<Node>) {
        let closed = closed(pattern);
        let mut open = vec![(register, pattern.len() - 1)];
        // Instructions that can fail at once come before instructions that try every node of a class.
        while let Some((class, at)) = take_cheapest(&mut open, pattern, &closed) {
            match &pattern[Id::from(at)] {
                ENodeOrVar::Var(v) => match self.registers.get(v) {
                    Some(&other) => {
                        self.look_at(class);
                        self.look_at(other);
                        self.matcher.program.push(Instruction::Same { class, other });
                    }
                    None => {
                        self.registers.insert(*v, class);
                        self.variables.push(*v);
                        self.matcher.slots.push(class);
                    }
                },
                ENodeOrVar::ENode(_) if closed[at] => {
                    self.look_at(class);
                    let constant = self.matcher.constants.len();
                    self.matcher.constants.push(constant_nodes(pattern, at));
                    self.matcher.program.push(Instruction::Constant { class, constant });
                }
                ENodeOrVar::ENode(node) => {
                    self.look_at(class);
                    let (head, arity) = node.discriminant();
                    self.matcher.operators.push((head, arity));
                    let out = self.depths.len();
                    let below = self.depths[class].saturating_add(1);
                    self.depths.extend(std::iter::repeat_n(below, arity));
                    self.matcher.program.push(Instruction::Bind { class, head, arity, out });
                    let children = node.children().iter().enumerate();
                    open.extend(children.map(|(k, child)| (out + k, usize::from(*child))));
                }
            }
        }
    }

    /// Records that matches depend on the content of a class.
    fn look_at(&mut self, register: usize) {
        self.matcher.reach = self.matcher.reach.max(self.depths[register]);
    }
}

/// Takes the pair whose pattern is cheapest to check: variables and constants before operators, otherwise the first
/// pair.
fn take_cheapest(
    open: &mut Vec<(usize, usize)>,
    pattern: &PatternAst<Node>,
    closed: &[bool],
) -> Option<(usize, usize)> {
    let is_cheap = |at: usize| closed[at] || matches!(pattern[Id::from(at)], ENodeOrVar::Var(_));
    let cheap = open.iter().position(|(_, at)| is_cheap(*at));
    (!open.is_empty()).then(|| open.remove(cheap.unwrap_or(0)))
}

/// Marks the nodes of a pattern that have no variable below them.
fn closed(pattern: &PatternAst<Node>) -> Vec<bool> {
    let mut closed: Vec<bool> = Vec::with_capacity(pattern.len());
    for node in pattern {
        closed.push(match node {
            ENodeOrVar::Var(_) => false,
            ENodeOrVar::ENode(node) => node.children().iter().all(|c| closed[usize::from(*c)]),
        });
    }
    closed
}

/// Returns the nodes of a pattern without variables, children before parents.
fn constant_nodes(pattern: &PatternAst<Node>, root: usize) -> Vec<Node> {
    let mut needed = vec![false; root + 1];
    needed[root] = true;
    for at in (0..=root).rev() {
        if needed[at] {
            pattern[Id::from(at)].children().iter().for_each(|c| needed[usize::from(*c)] = true);
        }
    }
    let mut new_ids: FxHashMap<Id, Id> = FxHashMap::default();
    let mut nodes = Vec::new();
    for at in (0..=root).filter(|at| needed[*at]) {
        if let ENodeOrVar::ENode(node) = &pattern[Id::from(at)] {
            new_ids.insert(Id::from(at), Id::from(nodes.len()));
            nodes.push(node.clone().map_children(|child| new_ids[&child]));
        }
    }
    nodes
}

impl Matcher {
    /// Returns the greatest depth below a match's root of a class that decides whether it matches.
    pub fn reach(&self) -> u16 {
        self.reach
    }

    /// Returns the classes in which a match may have its root.
    pub fn roots<'a, A: Analysis<Node>>(&self, egraph: &'a EGraph<A>) -> &'a [Id] {
        egraph.classes_for_op(&self.root).unwrap_or_default()
    }

    /// Calls `found` with every new match whose root is in `classes`, as the class of the root followed by the classes
    /// of the variables, until `found` returns false. `level` returns the distance of a class above the nearest class
    /// that changed since the last search; a match is new if one of the classes that it inspects changed. The e-graph
    /// must be clean.
    pub fn search<A: Analysis<Node>>(
        &self,
        egraph: &EGraph<A>,
        classes: &[Id],
        level: impl Fn(Id) -> u16,
        found: impl FnMut(&[Id]) -> bool,
    ) {
        if self.operators.iter().any(|op| egraph.classes_for_op(op).is_none()) {
            return;
        }
        let constants = self.constants.iter().map(|nodes| look_up(egraph, nodes));
        let Some(constants) = constants.collect::<Option<Vec<Id>>>() else { return };
        let mut run = Run {
            egraph,
            matcher: self,
            constants,
            registers: Vec::new(),
            row: Vec::with_capacity(1 + self.slots.len()),
            above: FxHashMap::default(),
            level,
            found,
        };
        for class in classes {
            if self.anywhere || (run.level)(*class) <= self.reach {
                run.registers.clear();
                run.registers.push(*class);
                if !run.step(0, false) {
                    return;
                }
            }
        }
    }
}

/// A compiled pattern that is searched in single classes.
#[derive(Clone, Debug)]
pub struct Query {
    /// `None` for a single variable, which every class contains.
    matcher: Option<Matcher>,
}

impl Query {
    /// Compiles a pattern.
    pub fn new(pattern: &PatternAst<Node>) -> Query {
        let is_variable = matches!(pattern.as_ref().last(), Some(ENodeOrVar::Var(_)));
        Query { matcher: (!is_variable).then(|| Compiler::new(pattern).finish().0) }
    }

    /// Returns true if the class contains an instance of the pattern. The e-graph must be clean.
    pub fn holds<A: Analysis<Node>>(&self, egraph: &EGraph<A>, class: Id) -> bool {
        let Some(matcher) = &self.matcher else { return true };
        let mut holds = false;
        matcher.search(
            egraph,
            &[egraph.find(class)],
            |_| 0,
            |_| {
                holds = true;
                false
            },
        );
        holds
    }

    /// Returns the classes that contain an instance of the pattern. The e-graph must be clean.
    pub fn classes<A: Analysis<Node>>(&self, egraph: &EGraph<A>) -> FxHashSet<Id> {
        match &self.matcher {
            Some(matcher) => {
                let roots = matcher.roots(egraph).iter().copied();
                roots.filter(|class| self.holds(egraph, *class)).collect()
            }
            None => egraph.classes().map(|class| class.id).collect(),
        }
    }
}

/// Returns the class of a term without variables.
fn look_up<A: Analysis<Node>>(egraph: &EGraph<A>, nodes: &[Node]) -> Option<Id> {
    try_rebuild(nodes, |_, node| egraph.lookup(node))
}

/// Operands of a node by their places.
type Operands = SmallVec<[(usize, Id); 4]>;

struct Run<'a, A: Analysis<Node>, L, F> {
    egraph: &'a EGraph<A>,
    matcher: &'a Matcher,
    constants: Vec<Id>,
    registers: Vec<Id>,
    row: Vec<Id>,
    /// The parent classes that an instruction needs, in order, by the instruction and the operands.
    above: FxHashMap<(usize, Operands), Rc<[Id]>>,
    level: L,
    found: F,
}

impl<A: Analysis<Node>, L: Fn(Id) -> u16, F: FnMut(&[Id]) -> bool> Run<'_, A, L, F> {
    /// Runs the program from an instruction; `new` is true if a class inspected so far changed. Returns false if the
    /// search must stop.
    fn step(&mut self, mut at: usize, mut new: bool) -> bool {
        while let Some(&instruction) = self.matcher.program.get(at) {
            at += 1;
            let class = self.registers[instruction.class()];
            new = new || (self.level)(class) == 0;
            match instruction {
                Instruction::Same { other, .. } => {
                    if class != self.registers[other] {
                        return true;
                    }
                }
                Instruction::Constant { constant, .. } => {
                    if class != self.constants[constant] {
                        return true;
                    }
                }
                Instruction::Above { head, arity, operands, out, .. } => {
                    for parent in self.parents(at, (head, arity), operands).iter() {
                        self.registers.truncate(out);
                        self.registers.push(*parent);
                        if !self.step(at, new) {
                            return false;
                        }
                    }
                    return true;
                }
                Instruction::Bind { head, arity, out, .. } => {
                    let nodes = &self.egraph[class].nodes;
                    // Nodes are sorted by head first. For a few nodes, comparing all is faster than a binary search.
                    let nodes = match nodes.len() {
                        0..16 => nodes.as_slice(),
                        _ => &nodes[nodes.partition_point(|node| node.head() < head)..],
                    };
                    for node in nodes {
                        if node.head() > head {
                            break;
                        }
                        if node.head() == head && node.children().len() == arity {
                            self.registers.truncate(out);
                            self.registers.extend_from_slice(node.children());
                            if !self.step(at, new) {
                                return false;
                            }
                        }
                    }
                    return true;
                }
            }
        }
        if !new {
            return true;
        }
        self.row.clear();
        self.row.push(self.registers[0]);
        self.row.extend(self.matcher.slots.iter().map(|slot| self.registers[*slot]));
        (self.found)(&self.row)
    }

    /// Returns the classes, in order, with a node of an operator that has the operands that an instruction knows.
    fn parents(&mut self, at: usize, operator: (Head, usize), operands: usize) -> Rc<[Id]> {
        let egraph = self.egraph;
        let operands = self.matcher.operands[operands].iter();
        let operands: Operands =
            operands.map(|(place, register)| (*place, self.registers[*register])).collect();
        let parents = self.above.entry((at, operands)).or_insert_with_key(|(_, operands)| {
            let fits = |id: &Id| {
                let node = &egraph.nodes()[usize::from(*id)];
                let has =
                    |(place, class): &(usize, Id)| egraph.find(node.children()[*place]) == *class;
                node.discriminant() == operator && operands.iter().all(has)
            };
            // The class of a common term, for example 0, has many parents.
            let classes = operands.iter().map(|(_, class)| &egraph[*class]);
            let rarest = classes.min_by_key(|class| class.parents().len());
            let parents = rarest.into_iter().flat_map(|class| class.parents()).filter(fits);
            let mut parents: Vec<Id> = parents.map(|id| egraph.find(id)).collect();
            parents.sort_unstable();
            parents.dedup();
            parents.into()
        });
        Rc::clone(parents)
    }
}
