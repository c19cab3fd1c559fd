//! Finds a term in a class up to the names of its loop variables.
//!
//! A rule that makes a loop derives the variable's name from the terms that it matched. Matching a program up to the
//! names of its variables needs no renaming rules, and none of the forms that they add.

use crate::chains::Terms;
use egg::{Id, Language};
use ember_analysis::facts::EGraph;
use ember_language::rebuild::rebuild;
use ember_language::rules::Operators;
use ember_language::sexp::deeper;
use ember_language::term::{Head, Node, Term};
use ember_values::primitive::form::{Form, Undone};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The largest number of pairs of a part and a class that are compared.
const MOST: usize = 200_000;

/// The largest number of namings of outermost loops that are returned.
const MOST_FORMS: usize = 8;

/// Returns the variable of the search for each loop variable of a term, by the variable's number, if the class holds
/// the term up to these names. Each loop of the term has a number of its own.
pub(super) fn found(
    egraph: &EGraph,
    operators: &Arc<Operators>,
    class: Id,
    term: &Term,
) -> Option<BTreeMap<i64, Id>> {
    let root = Id::from(term.len().checked_sub(1)?);
    let names = BTreeMap::new();
    let mut search = Search { egraph, operators, term, names, tried: FxHashMap::default() };
    let fits = search.fits(root, egraph.find(class));
    let names = search.names.into_iter();
    fits.then(|| {
        names.filter_map(|(v, class)| Some((number(operators, term, v)?, class))).collect()
    })
}

/// Returns the possible names of a term's nested outermost loops in a class: for each form of the class with loops of
/// the same bounds, the variables of the search for the term's variables.
pub(super) fn outermost(
    egraph: &EGraph,
    operators: &Arc<Operators>,
    class: Id,
    term: &Term,
) -> Vec<BTreeMap<i64, Id>> {
    let Some(mut root) = term.len().checked_sub(1).map(Id::from) else { return Vec::new() };
    let mut classes = vec![class];
    let forgotten = |node: &Node| match operators.form(node)? {
        Form::Undone { statement, undone: Undone::Tensor(_) } => Some(statement),
        _ => None,
    };
    while let Some(body) = forgotten(&term[root]) {
        root = body;
        let forms = classes.iter().flat_map(|class| &egraph[*class].nodes);
        classes = forms.filter_map(forgotten).map(|body| egraph.find(body)).collect();
    }
    let mut found: Vec<BTreeMap<i64, Id>> = Vec::new();
    for form in classes.iter().flat_map(|class| &egraph[*class].nodes) {
        let names = BTreeMap::new();
        let mut search = Search { egraph, operators, term, names, tried: FxHashMap::default() };
        let mut within = search.looped(root, form);
        while let Some((part, class)) = within {
            let forms = egraph[class].nodes.iter();
            within = forms.filter_map(|form| search.looped(part, form)).next();
        }
        let names = search.names.into_iter();
        let names: BTreeMap<i64, Id> =
            names.filter_map(|(v, class)| Some((number(operators, term, v)?, class))).collect();
        if !names.is_empty() && !found.contains(&names) {
            found.push(names);
        }
        if found.len() == MOST_FORMS {
            break;
        }
    }
    found
}

/// Returns the number of a loop variable.
fn number(operators: &Operators, term: &Term, variable: Id) -> Option<i64> {
    let [name, ..] = operators.variable(&term[variable])?;
    match term[operators.number(&term[name])?].head() {
        Head::Int(n) => Some(n),
        Head::Op(_) | Head::Real(_) => None,
    }
}

/// Pairs of a variable of the term and its class.
type Named = Vec<(Id, Id)>;

struct Search<'a> {
    egraph: &'a EGraph,
    operators: &'a Arc<Operators>,
    term: &'a Term,
    /// The classes of the enclosing loops' variables and of the variables found so far.
    names: BTreeMap<Id, Id>,
    /// The results of comparing a part with a class, given the classes of the variables that the part mentions: the
    /// names found within, or `None` for a mismatch.
    tried: FxHashMap<(Id, Id, Named), Option<Named>>,
}

impl Search<'_> {
    /// Returns true if the class holds the part under the names so far; adds the names of loops within.
    fn fits(&mut self, part: Id, class: Id) -> bool {
        if self.tried.len() > MOST {
            return false;
        }
        deeper(|| self.fits_here(part, class))
    }

    fn fits_here(&mut self, part: Id, class: Id) -> bool {
        let term = self.term;
        let node = &term[part];
        if self.operators.is_variable(node) {
            return self.names.get(&part) == Some(&class);
        }
        let key = (part, class, self.around(part));
        if let Some(known) = self.tried.get(&key) {
            let Some(within) = known.clone() else { return false };
            return within
                .into_iter()
                .all(|(v, name)| *self.names.entry(v).or_insert(name) == name);
        }
        let binder = match node.head() {
            Head::Op(name) => self.operators.binds(name, node.children().len()),
            Head::Int(_) | Head::Real(_) => None,
        };
        let (head, arity) = (node.head(), node.children().len());
        let forms: Vec<Node> = self.egraph[class]
            .nodes
            .iter()
            .filter(|n| n.head() == head && n.children().len() == arity)
            .cloned()
            .collect();
        let before = self.names.clone();
        let mut fits = false;
        for form in forms {
            fits = match binder {
                Some((variable, _)) => {
                    self.binds(node.children()[variable], form.children()[variable])
                        && self.all(node, &form, Some(variable))
                }
                None => self.all(node, &form, None),
            };
            if fits {
                break;
            }
            self.names.clone_from(&before);
        }
        let within = self.names.iter().filter(|(v, _)| !before.contains_key(v));
        let within = fits.then(|| within.map(|(v, name)| (*v, *name)).collect());
        self.tried.insert(key, within);
        fits
    }

    fn all(&mut self, node: &Node, form: &Node, but: Option<usize>) -> bool {
        let pairs: Vec<(usize, Id, Id)> = node
            .children()
            .iter()
            .zip(form.children())
            .enumerate()
            .map(|(at, (part, class))| (at, *part, self.egraph.find(*class)))
            .collect();
        pairs.into_iter().all(|(at, part, class)| Some(at) == but || self.fits(part, class))
    }

    /// If a part and a form are loops with the same bounds, names the variable and returns both bodies.
    fn looped(&mut self, part: Id, form: &Node) -> Option<(Id, Id)> {
        let node = &self.term[part];
        let (own, other) = (node.children(), form.children());
        let Head::Op(name) = node.head() else { return None };
        let (variable, body) = self.operators.binds(name, own.len())?;
        let alike = form.head() == node.head() && other.len() == own.len();
        let alike = alike && self.binds(own[variable], other[variable]);
        alike.then(|| (own[body], self.egraph.find(other[body])))
    }

    /// Names a variable of the term if the class is a variable with the same bounds that no enclosing loop uses;
    /// returns true on success.
    fn binds(&mut self, variable: Id, class: Id) -> bool {
        let class = self.egraph.find(class);
        let term = self.term;
        let bounds = |node: &Node| self.operators.variable(node);
        let Some([_, lo, hi, step]) = bounds(&term[variable]) else { return false };
        let around =
            self.names.iter().any(|(v, known)| *known == class && self.encloses(*v, variable));
        if around {
            return false;
        }
        let Some([_, a, b, c]) = self.egraph[class].nodes.iter().find_map(bounds) else {
            return false;
        };
        let bounds = [(lo, a), (hi, b), (step, c)].map(|(x, y)| (x, self.egraph.find(y)));
        if !bounds.into_iter().all(|(part, class)| self.fits(part, class)) {
            return false;
        }
        self.names.insert(variable, class);
        true
    }

    /// Returns true if a loop over `outer` encloses the loop over `inner`.
    fn encloses(&self, outer: Id, inner: Id) -> bool {
        let mut open: Vec<Id> = Vec::new();
        for node in self.term {
            let Head::Op(name) = node.head() else { continue };
            if let Some((variable, body)) = self.operators.binds(name, node.children().len())
                && node.children()[variable] == outer
            {
                open.push(node.children()[body]);
            }
        }
        let mut seen = FxHashSet::default();
        while let Some(at) = open.pop() {
            if at == inner {
                return true;
            }
            open.extend(self.term[at].children().iter().filter(|c| seen.insert(**c)));
        }
        false
    }

    /// Returns the classes of the variables that a part mentions.
    fn around(&self, part: Id) -> Vec<(Id, Id)> {
        if self.names.is_empty() {
            return Vec::new();
        }
        let mut open = vec![part];
        let mut seen = BTreeSet::new();
        let mut found = BTreeSet::new();
        while let Some(at) = open.pop() {
            if let Some(class) = self.names.get(&at) {
                found.insert((at, *class));
            }
            open.extend(self.term[at].children().iter().filter(|c| seen.insert(**c)));
        }
        found.into_iter().collect()
    }
}

/// Returns a term with its loop variables renamed to the given variables of the search.
pub(super) fn renamed(egraph: &EGraph, term: &Term, names: &BTreeMap<i64, Id>) -> Term {
    let operators = egraph.analysis.operators();
    let name_of = |node: &Node| operators.variable(node).map(|[name, ..]| name);
    let mut made = Terms::default();
    let root = rebuild(term.as_ref(), |at, mut node| {
        // The bounds remain the bounds of the term's loop; only the name changes.
        let class = number(operators, term, Id::from(at)).and_then(|number| names.get(&number));
        let other = class.and_then(|c| egraph[*c].nodes.iter().find_map(name_of));
        let own = operators.of(&node).and_then(|info| info.positions().next());
        let own = own.and_then(|own| node.children_mut().get_mut(own));
        if let (Some(name), Some(own)) = (other, own) {
            *own = made.put(&egraph.id_to_expr(name));
        }
        made.add(node)
    });
    Terms::of(&made.finish(), root)
}

/// Adds the loop variables of a term with their bounds, and nothing else.
pub(super) fn add_variables(egraph: &mut EGraph, term: &Term) {
    let nodes = term.as_ref();
    let mut wanted = vec![false; nodes.len()];
    for (at, node) in nodes.iter().enumerate().rev() {
        wanted[at] |= egraph.analysis.operators().is_variable(node);
        if wanted[at] {
            node.children().iter().for_each(|c| wanted[usize::from(*c)] = true);
        }
    }
    let mut ids: Vec<Id> = vec![Id::default(); nodes.len()];
    for (at, node) in nodes.iter().enumerate().filter(|(at, _)| wanted[*at]) {
        ids[at] = egraph.add(node.clone().map_children(|c| ids[usize::from(c)]));
    }
}
