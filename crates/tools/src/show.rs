//! Shows classes of an e-graph as text: their smallest terms, positions and facts; and shows patterns.

use egg::{AstSize, ENodeOrVar, Id, Language, PatternAst};
use ember_analysis::effects::{Effects, Place};
use ember_analysis::facts::{EGraph, Interval};
use ember_egraph::Extractor;
use ember_language::term::{Node, Term};
use ember_language::text::{Names, Words, name, written};
use itertools::Itertools;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};

/// The limit on the characters of a shown term.
pub(crate) const WIDTH: usize = 92;

/// The limit on the operators of a class, and on the levels of a position, that are shown.
const FEW: usize = 6;

/// The text forms for one e-graph.
pub(crate) struct Show<'a> {
    pub egraph: &'a EGraph,
    root: Id,
    smallest: Extractor<'a, AstSize, Node, ember_analysis::facts::Facts>,
    /// For each class below the program: the parent node on the shortest path, its class, and the argument position.
    above: BTreeMap<Id, (Id, Node, usize)>,
    words: &'a Words<'a>,
    /// The names of loop variables, which are the same in all texts.
    names: RefCell<Names>,
}

impl<'a> Show<'a> {
    pub fn new(egraph: &'a EGraph, root: Id, words: &'a Words<'a>) -> Show<'a> {
        let root = egraph.find(root);
        let mut above = BTreeMap::new();
        let mut todo = VecDeque::from([root]);
        while let Some(class) = todo.pop_front() {
            for node in &egraph[class].nodes {
                for (at, child) in node.children().iter().enumerate() {
                    let child = egraph.find(*child);
                    if child != root && !above.contains_key(&child) {
                        above.insert(child, (class, node.clone(), at));
                        todo.push_back(child);
                    }
                }
            }
        }
        let smallest = Extractor::new(egraph, AstSize);
        Show { egraph, root, smallest, above, words, names: RefCell::default() }
    }

    /// Returns a term on one line.
    pub fn line(&self, term: &Term, most: usize) -> String {
        written(term, self.words, &mut self.names.borrow_mut()).line(most)
    }

    /// Returns the smallest term of a class.
    pub fn smallest(&self, class: Id) -> Term {
        // If all remaining nodes of a class contain the class itself, the term of its id still exists.
        let found = self.smallest.find_best(class);
        found.map_or_else(|| self.egraph.id_to_expr(class), |(_, term)| term)
    }

    /// Returns the number of words of the smallest term.
    pub fn size(&self, class: Id) -> usize {
        self.smallest.find_best_cost(class).unwrap_or(usize::MAX)
    }

    /// Returns the smallest term of a class on one line.
    pub fn term(&self, class: Id) -> String {
        self.line(&self.smallest(class), WIDTH)
    }

    /// Returns a node over the smallest terms of its operands, on one line.
    pub fn node(&self, node: &Node) -> String {
        let mut terms = ember_prove::chains::Terms::default();
        let node = node.clone().map_children(|child| terms.put(&self.smallest(child)));
        terms.add(node);
        self.line(&terms.finish(), WIDTH)
    }

    /// Returns the number of nodes above a class on the shortest path from the program; `None` if there is no path.
    pub fn depth(&self, class: Id) -> Option<usize> {
        let mut at = self.egraph.find(class);
        let mut depth = 0;
        while let Some((up, ..)) = self.above.get(&at) {
            (at, depth) = (*up, depth + 1);
        }
        (at == self.root).then_some(depth)
    }

    /// Returns the position of a class: the operators on the shortest path from the program.
    pub fn place(&self, class: Id) -> String {
        let mut words = Vec::new();
        let mut at = self.egraph.find(class);
        while let Some((up, node, argument)) = self.above.get(&at) {
            words.push(format!("{node}[{argument}]"));
            at = *up;
        }
        words.reverse();
        let cut = words.len().saturating_sub(FEW);
        match (words.is_empty(), cut) {
            (true, _) => "the root".to_owned(),
            (false, 0) => words.join(" > "),
            (false, _) => format!("… > {}", words[cut..].join(" > ")),
        }
    }

    /// Returns the operators of a class.
    pub fn operators(&self, class: Id) -> String {
        few(self.egraph[class].nodes.iter())
    }

    /// Returns the operators of which a class is an operand.
    pub fn operators_over(&self, class: Id) -> String {
        let parents = self.egraph[class].parents().map(|parent| self.egraph.find(parent));
        let nodes = parents.sorted().dedup().flat_map(|parent| &self.egraph[parent].nodes);
        few(nodes.filter(|node| {
            node.children().iter().any(|child| self.egraph.find(*child) == self.egraph.find(class))
        }))
    }

    /// Returns the known facts of a class and the missing ones, in words.
    pub fn facts(&self, class: Id) -> String {
        let (mut known, unknown) = self.words(class);
        known.extend(unknown.iter().map(|word| (*word).to_owned()));
        known.join("; ")
    }

    /// Returns the known facts of a class, in words.
    pub fn known(&self, class: Id) -> String {
        self.words(class).0.join("; ")
    }

    /// Returns the known facts of a class, and the facts that are missing or go without saying.
    fn words(&self, class: Id) -> (Vec<String>, Vec<&'static str>) {
        let fact = &self.egraph[class].data;
        let (mut known, mut unknown) = (Vec::new(), Vec::new());
        if let Some((lo, hi, step)) = fact.variable {
            let [lo, hi, step] = [lo, hi, step].map(|id| self.line(&self.smallest(id), 40));
            known.push(format!("a loop variable, from {lo} to {hi} by {step}"));
            return (known, unknown);
        }
        // Statements and addresses have neither a type nor a value.
        let writes = fact.effects.as_ref().is_some_and(|effects| !effects.writes.is_empty());
        let valued = fact.address.is_none() && !writes;
        match (fact.dtype, fact.lanes) {
            (Some(dtype), Some(1)) => known.push(dtype.to_string()),
            (Some(dtype), Some(n)) => known.push(format!("{n} lanes of {dtype}")),
            (Some(dtype), None) => {
                known.push(dtype.to_string());
                unknown.push("lanes not known");
            }
            (None, _) if valued => unknown.push("element type not known"),
            (None, _) => {}
        }
        let end = |n: i64| match n {
            i64::MAX => "no end".to_owned(),
            i64::MIN => "no start".to_owned(),
            n => n.to_string(),
        };
        match &fact.constant {
            Some(constant) => known.push(format!("the constant {constant}")),
            None if fact.range != Interval::ALL => {
                known.push(format!("from {} to {}", end(fact.range.min), end(fact.range.max)));
            }
            None if valued => unknown.push("value not known"),
            None => {}
        }
        if let Some(address) = &fact.address {
            let kind = match (address.frozen, address.writable) {
                (true, _) => "frozen",
                (false, true) => "writable",
                (false, false) => "read-only",
            };
            known.push(format!("a {kind} address, {}", self.memory(&address.place())));
        }
        if !fact.free.is_empty() {
            let variables = fact.free.iter().map(|key| self.variable(*key));
            known.push(format!("depends on {}", variables.take(3).join(", ")));
        } else if fact.constant.is_none() {
            unknown.push("depends on no loop variable");
        }
        match &fact.effects {
            Some(effects) => known.extend(self.effects(effects)),
            None if fact.address.is_none() => unknown.push("effects not known"),
            None => {}
        }
        if fact.has_loop {
            known.push("every known form has a loop".to_owned());
        }
        (known, unknown)
    }

    /// Returns the name of a loop variable, without its bounds.
    fn variable(&self, key: Id) -> String {
        let variable = self.smallest(self.egraph.find(key));
        match name(&variable, self.words, &mut self.names.borrow_mut()) {
            Some(name) => format!("loop {name}"),
            None => {
                format!("loop {}", written(&variable, self.words, &mut Names::default()).line(40))
            }
        }
    }

    fn effects(&self, effects: &Effects) -> Vec<String> {
        let list = |what: &str, places: &std::collections::BTreeSet<Place>| {
            let places = places.iter().take(3).map(|place| self.memory(place)).join(", ");
            (!places.is_empty()).then(|| format!("{what} {places}"))
        };
        [list("reads", &effects.reads), list("writes", &effects.writes)]
            .into_iter()
            .flatten()
            .collect()
    }

    /// Returns a place in memory, in words.
    fn memory(&self, place: &Place) -> String {
        let index = |index: &ember_analysis::effects::Index| match index {
            None => "any".to_owned(),
            Some(run) => {
                let variable = |(key, k): (&Id, &i64)| match k {
                    1 => self.variable(*key),
                    k => format!("{k} {}", self.variable(*key)),
                };
                let mut parts: Vec<String> = run.start.terms.iter().map(variable).collect();
                if run.start.constant != 0 || parts.is_empty() {
                    parts.push(run.start.constant.to_string());
                }
                let lanes = if run.lanes == 1 {
                    String::new()
                } else {
                    format!(" and {} lanes", run.lanes)
                };
                format!("{}{lanes}", parts.join(" + "))
            }
        };
        let indices: String = place.index.iter().map(|i| format!("[{}]", index(i))).collect();
        format!("{}{indices}", place.tensor.as_str().trim_start_matches('%'))
    }
}

/// Returns a pattern as text, with one of its parts between marks.
pub(crate) fn pattern(pattern: &PatternAst<Node>, mark: Option<Id>) -> String {
    let mut texts: Vec<String> = Vec::with_capacity(pattern.len());
    for (at, node) in pattern.as_ref().iter().enumerate() {
        let text = match node {
            ENodeOrVar::Var(variable) => variable.to_string(),
            ENodeOrVar::ENode(node) if node.is_leaf() => node.to_string(),
            ENodeOrVar::ENode(node) => {
                let parts = node.children().iter().map(|c| texts[usize::from(*c)].as_str());
                format!("({node} {})", parts.collect::<Vec<_>>().join(" "))
            }
        };
        texts.push(if mark == Some(Id::from(at)) { format!(">>{text}<<") } else { text });
    }
    texts.pop().unwrap_or_default()
}

/// Returns the operators of some nodes, limited in number.
fn few<'a>(nodes: impl Iterator<Item = &'a Node>) -> String {
    let names: Vec<String> = nodes.map(|node| format!("`{node}`")).unique().collect();
    match names.len().checked_sub(FEW) {
        Some(more @ 1..) => format!("{} and {more} more", names[..FEW].join(", ")),
        None if names.is_empty() => "nothing".to_owned(),
        _ => names.join(", "),
    }
}
