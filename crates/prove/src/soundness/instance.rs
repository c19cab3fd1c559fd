//! Instances of a rule: its left side with random terms for its variables.

use crate::random::{self, Aim, Anywhere, Build, Grammar, Grow, Said, Types, World, computed};
use egg::{ENodeOrVar, Id, Language, PatternAst, Var};
use ember_interpret::{Interpreter, Program, Store};
use ember_language::rules::{Arg, COMPUTE, Kind, Operators, Rule, Signature, Sort};
use ember_language::term::{Node, Terms};
use ember_values::primitive::form::{Form, Number};
use fastrand::Rng;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The left side of a rule with terms for its variables.
#[derive(Clone, Debug)]
pub(super) struct Instance {
    pub terms: Terms,
    pub world: World,
    /// The table of operators.
    pub operators: Arc<Operators>,
    /// The sort of both sides.
    pub sort: Sort,
    /// The kind of [`Instance::sort`].
    pub kind: Kind,
    pub lhs: Id,
    /// The terms of further patterns that the rule matches anywhere.
    pub others: Vec<Id>,
    /// The terms of the rule's variables.
    pub holes: BTreeMap<Var, Id>,
    /// The loop variables that have a value around the instance, each after the variables of its bounds.
    pub free: Vec<Id>,
    pub prepared: Prepared,
}

/// The terms of an instance, ready to run: an instance runs on many stores before it gets another term.
#[derive(Clone, Debug, Default)]
pub(super) struct Prepared(RefCell<Option<(usize, Arc<Program>)>>);

impl Prepared {
    /// Returns the program of all terms. Terms never change, but there may be more of them than before.
    fn program(&self, terms: &Terms, operators: &Operators) -> Arc<Program> {
        let len = terms.all().len();
        let mut known = self.0.borrow_mut();
        match &*known {
            Some((of, program)) if *of == len => program.clone(),
            _ => {
                let program = Arc::new(Program::new(terms.all(), operators));
                known.insert((len, program)).1.clone()
            }
        }
    }
}

impl Instance {
    /// Creates an interpreter for all terms of the instance on a store.
    pub fn interpreter(&self, store: &Store) -> Interpreter {
        Interpreter::of(self.prepared.program(&self.terms, &self.operators), store.clone())
    }

    /// Generates a random instance of a rule with terms of about `size` levels; `None` if the random choices do not fit
    /// together.
    pub fn random(
        rule: &Rule,
        grammar: &Grammar,
        rng: &mut Rng,
        size: u32,
        tame: bool,
        aim: Option<&Aim>,
    ) -> Option<Instance> {
        let any = [Kind::Value, Kind::Statement, Kind::Address];
        let sort = match rule.sort {
            Some(sort) => sort,
            None => grammar.sort(rng.choice(any)?, None)?,
        };
        let mut world = World::random(rng, !rule.fors.is_empty());
        // Offsets that may fall violate a condition of the rule, or show that it lacks one.
        let said = Said::of(rule);
        world.near(rng, &said.literals);
        world.rises = rule.guards.iter().any(|guard| guard.what.name == "rising");
        let (pattern, others, named) = left_side(rule);
        let ranks = ranks(rule);
        let aim = aim.map(|aim| aim.within(rule, rng));
        let mut instance = Instance::of(
            &pattern,
            &others,
            sort,
            &ranks,
            &made(rule, grammar),
            &said,
            &named,
            grammar,
            world,
            rng,
            size,
            tame,
            aim.as_ref(),
        )?;
        for (x, inner) in &rule.wheres {
            let id = instance.substitute(inner, &BTreeMap::new())?;
            instance.holes.insert(*x, id);
        }
        Some(instance)
    }

    /// Generates a random instance of a pattern of this sort, with variables of these ranks. `others` are nodes of the
    /// pattern outside of its root that need an instance as well, `said` what conditions say of its variables, and
    /// `named` the nodes that conditions name.
    /// Once in a while, a term mentions one of the loop variables that are `made` of the instance.
    #[allow(clippy::too_many_arguments, reason = "each is asked for in one place")]
    pub fn of(
        pattern: &PatternAst<Node>,
        others: &[Id],
        sort: Sort,
        ranks: &BTreeMap<Var, usize>,
        made: &[PatternAst<Node>],
        said: &Said,
        named: &BTreeMap<Var, Id>,
        grammar: &Grammar,
        world: World,
        rng: &mut Rng,
        size: u32,
        tame: bool,
        aim: Option<&Aim>,
    ) -> Option<Instance> {
        let kind = grammar.signature.sort(sort.name())?.kind?;
        let rank = match (kind, rng.usize(0..3)) {
            (Kind::Tensor, n) => n + 1,
            (_, n) => n / 2,
        };
        let ranked = aim.is_some_and(Aim::is_of_rank);
        let opens: &[usize] = if ranked { &[2, 3, 4, 4] } else { &[2, 2, 3] };
        let open = rng.choice(opens).copied().unwrap_or(2);
        let mut types = Types::of(grammar.signature, pattern, others, sort, rank, ranks, open)?;
        // A few terms mention what they must not, since facts may show that they do not depend on it.
        for (v, hole) in &mut types.holes {
            if rng.u8(0..8) > 0 {
                hole.binders.retain(|binder| !said.hides(*binder, *v));
            }
        }
        // Half of the instances are aimed; what else a condition excludes is found by the others.
        let aim = aim.filter(|_| rng.bool());
        // What one statement leaves in memory matters only to what reads that.
        let is_left = |node: &ENodeOrVar<Node>| match node {
            ENodeOrVar::ENode(node) => {
                matches!(grammar.operators().form(node), Some(Form::Undone { .. }))
            }
            ENodeOrVar::Var(_) => false,
        };
        let left = pattern.as_ref().iter().any(is_left) && rng.u8(0..4) > 0;
        let of_memory = aim.is_some_and(Aim::is_of_memory);
        let meets = (said.meets || of_memory) && rng.u8(0..3) == 0;
        let corners = kind == Kind::Value && rng.u8(0..4) == 0;
        let alias = rng.u8(0..4) == 0 || left || meets || of_memory;
        let mut terms = Terms::default();
        let mut setting = Anywhere::new(&world, tame, alias);
        setting.repeats = aim.is_some_and(Aim::is_of_lanes);
        let mut grow = Grow { grammar, terms: &mut terms, setting, rng };
        let mut build = Build::new(pattern, types, &mut grow, size);
        build.twins = build.one_in(5) || aim.is_some_and(Aim::is_of_twins);
        build.aim = aim.cloned();
        (build.meets, build.corners) = (meets, corners);
        build.said.clone_from(said);
        build.named.clone_from(named);
        build.outer_loops();
        build.bind_early();
        let mut lhs = build.node(Id::from(pattern.len().checked_sub(1)?))?;
        if let Some(Aim::New(new)) = aim {
            lhs = build.mention(&new.variable, Some(new.within))?;
        } else if !made.is_empty() && build.one_in(4) {
            let one = build.choice(made)?;
            lhs = build.mention(one, None)?;
        }
        let others = others.iter().map(|other| build.node(*other)).collect::<Option<_>>()?;
        let (holes, free) = (build.holes, build.free.into_iter().collect());
        let operators = grammar.signature.table().clone();
        let prepared = Prepared::default();
        Some(Instance { terms, world, operators, sort, kind, lhs, others, holes, free, prepared })
    }

    /// Instantiates a side of the rule. `numbers` are the values of variables that range over a generator's. Returns
    /// `None` if a computed number does not exist.
    pub fn substitute(
        &mut self,
        side: &PatternAst<Node>,
        numbers: &BTreeMap<Var, i64>,
    ) -> Option<Id> {
        self.substituted(side, numbers).last().copied().flatten()
    }

    /// Instantiates every node of a side of the rule.
    fn substituted(
        &mut self,
        side: &PatternAst<Node>,
        numbers: &BTreeMap<Var, i64>,
    ) -> Vec<Option<Id>> {
        let mut built: Vec<Option<Id>> = Vec::with_capacity(side.len());
        for node in side {
            let id = match node {
                ENodeOrVar::Var(v) => match numbers.get(v) {
                    Some(n) => Some(self.terms.int(*n)),
                    None => self.holes.get(v).copied(),
                },
                ENodeOrVar::ENode(node) => self.node(node, &built),
            };
            built.push(id);
        }
        built
    }

    /// The loops of a side of the rule, each with its bounds and step and those that its variable carries.
    pub fn loops(
        &mut self,
        side: &PatternAst<Node>,
        numbers: &BTreeMap<Var, i64>,
    ) -> Vec<([Id; 3], [Id; 3])> {
        let built = self.substituted(side, numbers);
        let loops = side.into_iter().zip(built).filter_map(|(node, id)| match node {
            ENodeOrVar::ENode(_) => self.operators.looped(&self.terms[id?]),
            ENodeOrVar::Var(_) => None,
        });
        let both = loops.filter_map(|own| {
            let [_, lo, hi, step] = self.operators.variable(&self.terms[own.variable])?;
            let (own_lo, own_hi) = own.access.unwrap_or((own.lo, own.hi));
            let own = [own_lo, own_hi, own.step].map(|id| self.unwrapped(id));
            Some((own, [lo, hi, step].map(|id| self.unwrapped(id))))
        });
        both.collect()
    }

    /// Returns the term below the operators that only change the sort.
    fn unwrapped(&self, mut id: Id) -> Id {
        while self.operators.is_transparent(&self.terms[id]) {
            let Some(inner) = self.terms[id].children().first() else { break };
            id = *inner;
        }
        id
    }

    fn node(&mut self, node: &Node, built: &[Option<Id>]) -> Option<Id> {
        let children: Vec<Id> =
            node.children().iter().map(|c| built[usize::from(*c)]).collect::<Option<_>>()?;
        if let (Some(COMPUTE), [op, a, b]) = (node.name(), children.as_slice()) {
            let n = computed(&self.terms, [*op, *a, *b])?;
            return Some(self.terms.int(n));
        }
        Some(self.terms.add(Node::new(node.head(), &children)))
    }

    /// Returns true if the left side depends on the extent of a tensor.
    pub fn measures(&self) -> bool {
        let measures = |id: &Id| {
            let form = self.operators.form(&self.terms[*id]);
            matches!(form, Some(Form::Extent { .. } | Form::Number { value: Number::Size(_), .. }))
        };
        self.parts(&[self.lhs]).iter().any(measures)
    }

    /// Returns true if a term may read elements of tensors, computes whole ones, or depends on what a statement leaves.
    pub fn reads(&self, term: Id) -> bool {
        let reads = |id: &Id| {
            let Some(info) = self.operators.of(&self.terms[*id]) else { return false };
            let touches = info.touches.as_ref().is_some_and(|touches| !touches.reads.is_empty());
            touches || matches!(info.kind, Some(Kind::Tensor | Kind::Statement))
        };
        self.parts(&[term]).iter().any(reads)
    }

    /// Returns the names of the tensors in the terms.
    pub fn tensors(&self) -> BTreeSet<String> {
        let names = self.terms.all().into_iter().filter_map(|node| node.name()?.strip_prefix('%'));
        names.map(String::from).collect()
    }

    /// Iterates over all loop variables, each after the variables of its bounds.
    pub fn variables(&self) -> impl Iterator<Item = Id> {
        let nodes = self.terms.all().as_ref().iter().enumerate();
        let variable = |node: &Node| self.operators.is_variable(node);
        nodes.filter(move |(_, node)| variable(node)).map(|(i, _)| Id::from(i))
    }

    /// Returns true if a term contains a part.
    pub fn mentions(&self, term: Id, part: Id) -> bool {
        self.parts(&[term]).contains(&part)
    }

    /// Returns all parts of some terms.
    fn parts(&self, terms: &[Id]) -> BTreeSet<Id> {
        let mut seen: BTreeSet<Id> = BTreeSet::new();
        let mut open = terms.to_vec();
        while let Some(id) = open.pop() {
            if seen.insert(id) {
                open.extend(self.terms[id].children());
            }
        }
        seen
    }

    /// Returns the free variables that the terms mention.
    pub fn mentioned(&self, terms: [Id; 2]) -> Vec<Id> {
        let seen = self.parts(&terms);
        self.free.iter().copied().filter(|v| seen.contains(v)).collect()
    }
}

/// The loop variables that a rule makes, as its right side has them.
fn made(rule: &Rule, grammar: &Grammar) -> Vec<PatternAst<Node>> {
    let nodes: &[ENodeOrVar<Node>] = rule.rhs.as_ref();
    let is_made = |node: &ENodeOrVar<Node>| match node {
        ENodeOrVar::ENode(node) => grammar.operators().is_variable(node),
        ENodeOrVar::Var(_) => false,
    };
    let made = (0..nodes.len()).filter(|at| is_made(&nodes[*at]));
    made.map(|at| PatternAst::from(nodes[..=at].to_vec())).collect()
}

/// Returns the conditions on memory that a rule might have forgotten.
pub(super) fn unsaid(rule: &Rule, signature: &Signature) -> Vec<Aim> {
    let (pattern, others, _) = left_side(rule);
    let ranks = ranks(rule);
    let of = |rank| Types::of(signature, &pattern, &others, rule.sort?, rank, &ranks, 2);
    (0..=3).find_map(of).map(|types| random::unsaid(rule, &types)).unwrap_or_default()
}

/// Returns the ranks that a rule's conditions require of its variables.
pub(crate) fn ranks(rule: &Rule) -> BTreeMap<Var, usize> {
    let guards = rule.guards.iter().filter(|guard| guard.what.name == "rank");
    guards
        .filter_map(|guard| match guard.args.as_slice() {
            [Arg::Var(v), Arg::Int(n)] => Some((*v, usize::try_from(*n).ok()?)),
            _ => None,
        })
        .collect()
}

/// Returns the left side of a rule with the patterns of its `:where` clauses substituted for their variables, and the
/// roots of patterns that match anywhere; and the node of each of these variables.
pub(crate) fn left_side(rule: &Rule) -> (PatternAst<Node>, Vec<Id>, BTreeMap<Var, Id>) {
    let mut pattern = PatternAst::default();
    let mut copied: BTreeMap<Var, Id> = BTreeMap::new();
    let sides = rule.wheres.iter().map(|(x, p)| (Some(*x), p)).chain([(None, &rule.lhs)]);
    for (x, side) in sides {
        let mut ids: Vec<Id> = Vec::with_capacity(side.len());
        for node in side {
            let id = match node {
                ENodeOrVar::Var(v) if copied.contains_key(v) => copied[v],
                ENodeOrVar::Var(_) => pattern.add(node.clone()),
                ENodeOrVar::ENode(_) => {
                    pattern.add(node.clone().map_children(|c| ids[usize::from(c)]))
                }
            };
            ids.push(id);
        }
        if let (Some(x), Some(last)) = (x, ids.last()) {
            copied.insert(x, *last);
        }
    }
    let mut bound: BTreeSet<Var> = variables(&rule.lhs);
    let mut others = Vec::new();
    for (x, side) in &rule.wheres {
        if bound.insert(*x) {
            others.extend(copied.get(x));
        }
        bound.extend(variables(side));
    }
    (pattern, others, copied)
}

fn variables(pattern: &PatternAst<Node>) -> BTreeSet<Var> {
    let variable = |node: &ENodeOrVar<Node>| match node {
        ENodeOrVar::Var(v) => Some(*v),
        ENodeOrVar::ENode(_) => None,
    };
    pattern.as_ref().iter().filter_map(variable).collect()
}
