//! Writes terms as program text, which reads back to the same term up to the names of its variables.

use super::names::Names;
use super::pieces::Text;
use super::words::{Stands, Words};
use crate::erase::erased;
use crate::rules::Sort;
use crate::sexp::deeper;
use crate::term::{Head, Node, Term, Terms};
use egg::{Id, Language};
use ember_values::layout::Keep;

/// Writes a term. Variables that nothing binds are named too, so that parts of programs are readable; such a text does
/// not read back.
pub fn written(term: &Term, words: &Words, names: &mut Names) -> Text {
    let Some(root) = term.len().checked_sub(1).map(Id::from) else { return Text::default() };
    // This makes each variable a single node, however the term was built.
    let term = &Terms::of(term, root);
    let root = Id::from(term.len() - 1);
    names.start();
    let mut writer =
        Writer { words, term, names, around: Vec::new(), free: Vec::new(), text: Text::default() };
    writer.node(root, None);
    writer.text
}

/// Returns the name of a variable by itself; `None` if the term is not a variable built from a name.
pub fn name(variable: &Term, words: &Words, names: &mut Names) -> Option<String> {
    let root = Id::from(variable.len().checked_sub(1)?);
    let op = words.signature.operator_of(&variable[root])?;
    let maker = words.maker(op.result.named()?)?;
    names.start();
    (op.name == maker.op).then(|| names.next(variable, root, words))
}

struct Writer<'a> {
    words: &'a Words<'a>,
    term: &'a Term,
    names: &'a mut Names,
    /// The variables of the enclosing loops, with their names.
    around: Vec<(Id, String)>,
    /// The variables that nothing binds, with their names.
    free: Vec<(Id, String)>,
    text: Text,
}

impl Writer<'_> {
    fn node(&mut self, id: Id, sort: Option<Sort>) {
        if self.text.has_room() {
            deeper(|| self.any(id, sort));
        }
    }

    fn any(&mut self, id: Id, sort: Option<Sort>) {
        if let Some(word) = self.word(id, sort) {
            return self.text.word(word);
        }
        let node = &self.term[id];
        if node.is_leaf() {
            return self.text.word(node.to_string());
        }
        let Some(op) = self.words.signature.operator_of(node) else {
            self.text.open(Keep::Fitting, &node.to_string());
            node.children().iter().for_each(|child| self.node(*child, None));
            return self.text.close();
        };
        let needs = self.words.needs(op, sort);
        match self.words.binds(op) {
            Some(binds) if self.is_made(node.children()[binds.0], binds.1) => {
                self.named_loop(id, &needs, binds);
            }
            _ if self.words.is_sequence(op) => {
                let row = self.row(id, node.head());
                self.text.open(Keep::Items(1), &node.to_string());
                row.into_iter().for_each(|part| self.node(part, needs[0]));
                self.text.close();
            }
            _ => {
                self.text.open(Keep::Fitting, &node.to_string());
                for (at, part) in self.operands(node).into_iter().enumerate() {
                    self.node(part, needs.get(at).or(needs.last()).copied().flatten());
                }
                self.text.close();
            }
        }
    }

    /// Returns the operands of a node. A chain of one operator through first operands is flattened.
    fn operands(&self, node: &Node) -> Vec<Id> {
        let mut operands = node.children().to_vec();
        let Head::Op(name) = node.head() else { return operands };
        while node.children().len() == 2
            && self.term[operands[0]].matches(node)
            && self.words.repeated(name, operands.len() + 1).is_some()
        {
            operands.splice(0..1, self.term[operands[0]].children().iter().copied());
        }
        operands
    }

    /// Returns the terms that a sequence runs, in order.
    fn row(&self, id: Id, head: Head) -> Vec<Id> {
        let mut row = Vec::new();
        let mut rest = id;
        while let (true, [next, after]) =
            (self.term[rest].head() == head, self.term[rest].children())
        {
            row.push(*next);
            rest = *after;
        }
        row.push(rest);
        row
    }

    fn named_loop(
        &mut self,
        id: Id,
        needs: &[Option<Sort>],
        (at, own, body): (usize, Sort, usize),
    ) {
        let children = self.term[id].children();
        let variable = children[at];
        let name = self.names.next(self.term, variable, self.words);
        let last = body + 1 == children.len();
        let keep = if last { Keep::AtMost(body + 1) } else { Keep::Fitting };
        self.text.open(keep, &self.term[id].to_string());
        for (arg, child) in children.iter().enumerate() {
            if arg == at {
                match self.is_told(id, variable) {
                    true => self.text.word(name.clone()),
                    false => self.ranging(variable, own, &name),
                }
            } else if arg == body {
                self.around.push((variable, name.clone()));
                let head = self.term[*child].head();
                let sequence = needs[body].and_then(|sort| self.words.sequence(sort));
                match sequence {
                    Some(sequence) if last && head == Head::Op(sequence) => {
                        let row = self.row(*child, head);
                        row.into_iter().for_each(|part| self.node(part, needs[body]));
                    }
                    _ => self.node(*child, needs[body]),
                }
                self.around.pop();
            } else {
                self.node(*child, needs[arg]);
            }
        }
        self.text.close();
    }

    /// Writes a variable with its range.
    fn ranging(&mut self, variable: Id, own: Sort, name: &str) {
        let Some(maker) = self.words.maker(own) else { return };
        self.text.open(Keep::Fitting, maker.op.as_str());
        self.text.word(name.to_owned());
        let bounds = self.term[variable].children().iter().skip(1).zip(&maker.bounds);
        bounds.for_each(|(bound, sort)| self.node(*bound, Some(*sort)));
        self.text.close();
    }

    /// Returns true if the node is a variable built from a name and a range.
    fn is_made(&self, id: Id, sort: Sort) -> bool {
        let (node, maker) = (&self.term[id], self.words.maker(sort));
        let arity = |maker: &super::words::Maker| node.children().len() == maker.bounds.len() + 1;
        maker.is_some_and(|maker| node.head() == Head::Op(maker.op) && arity(maker))
    }

    /// Returns true if a loop's own bounds determine the range of its variable.
    fn is_told(&self, id: Id, variable: Id) -> bool {
        let (node, variable) = (&self.term[id], &self.term[variable]);
        let op = self.words.signature.operator_of(node);
        let Some(around) = op.and_then(|op| self.words.looped(op)) else { return false };
        let bounds = [around.lo, around.hi, around.step].map(|at| node.children()[at]);
        let ranges = variable.children().get(1..).unwrap_or_default();
        let same = |(bound, range): (&Id, &Id)| {
            let bound = erased(&Terms::of(self.term, *bound), self.words.signature.table());
            bound == Some(Terms::of(self.term, *range))
        };
        bounds.len() == ranges.len() && bounds.iter().zip(ranges).all(same)
    }

    /// Returns the word that is short for a node at a place that needs the sort.
    fn word(&mut self, id: Id, sort: Option<Sort>) -> Option<String> {
        let node = &self.term[id];
        match (node.head(), node.children()) {
            // A number has the sort of values; at a place of another sort it is written out.
            (Head::Int(_) | Head::Real(_), _) | (Head::Op(_), []) => None,
            (Head::Op(op), children) => {
                if let Some(name) = self.variable(id, sort) {
                    return Some(name);
                }
                let [child] = children else { return None };
                let inner = &self.term[*child];
                match (inner.head(), inner.children()) {
                    (Head::Int(n), []) if self.words.over_number(sort) == Some(op) => {
                        Some(n.to_string())
                    }
                    (Head::Op(name), []) => {
                        let stands = Stands { over: None, root: op };
                        self.model_name(name.as_str(), sort, stands)
                    }
                    (Head::Op(root), [name]) => {
                        let name = self.term[*name].name()?;
                        self.model_name(name, sort, Stands { over: Some(op), root })
                    }
                    _ => None,
                }
            }
        }
    }

    /// Returns a name of the model without its mark, if the word has this meaning here.
    fn model_name(&self, name: &str, sort: Option<Sort>, stands: Stands) -> Option<String> {
        let word = name.strip_prefix('%')?;
        let shadowed = self.around.iter().chain(&self.free).any(|(_, name)| name == word);
        let means = self.words.name(word, sort).filter(|_| !shadowed);
        (means == Some(stands)).then(|| word.to_owned())
    }

    /// Returns the name of a variable, or of the operator over a variable that the place implies.
    fn variable(&mut self, id: Id, sort: Option<Sort>) -> Option<String> {
        let node = &self.term[id];
        let op = self.words.signature.operator_of(node)?;
        let (variable, own) = match (op.args.as_slice(), node.children()) {
            (_, _) if op.result.named().is_some_and(|own| self.is_made(id, own)) => {
                (id, op.result.named()?)
            }
            ([arg], [child]) => (*child, arg.named()?),
            _ => return None,
        };
        if !self.is_made(variable, own) {
            return None;
        }
        let over = self.words.over_variable(own, sort);
        let fits = if variable == id { over.is_none() } else { over == Some(op.name) };
        let known = self.around.iter().rev().chain(&self.free).find(|(at, _)| *at == variable);
        if let Some((_, name)) = known.filter(|_| fits) {
            return Some(name.clone());
        }
        if !fits || known.is_some() {
            return None;
        }
        let name = self.names.next(self.term, variable, self.words);
        self.free.push((variable, name.clone()));
        Some(name)
    }
}
