//! Checks the variables of a rule: each is bound once, and before it is used.

use super::book::Arg;
use super::check::{Conditions, Trees};
use super::rule_form::RuleForm;
use super::syntax::Word;
use super::tree::{Tree, TreeHead};
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Severity, Span};
use crate::suggest::nearest;
use egg::Symbol;

/// A checker of rule variables.
pub(super) struct Binding<'a> {
    errors: &'a mut Vec<Diagnostic>,
    found: usize,
}

impl<'a> Binding<'a> {
    /// Creates a checker that reports to `errors`.
    pub fn new(errors: &'a mut Vec<Diagnostic>) -> Binding<'a> {
        Binding { errors, found: 0 }
    }

    /// Checks a rule; returns true if it has no errors.
    pub fn check(mut self, form: &RuleForm, trees: &Trees, conditions: &Conditions) -> bool {
        self.bound(form, trees, conditions);
        if form.both_ways {
            self.reversible(form, trees);
        }
        self.found == 0
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.found += usize::from(diagnostic.severity == Severity::Error);
        self.errors.push(diagnostic);
    }

    /// Reports every variable that is used before it is bound.
    fn bound(&mut self, form: &RuleForm, trees: &Trees, conditions: &Conditions) {
        if let TreeHead::Var(name) = trees.lhs.nodes[trees.lhs.root()].head {
            self.bare_variable(name, trees.lhs.span());
        }
        self.nothing_computed(&trees.lhs, "the left side is matched, not computed");
        let mut bound: Vec<Symbol> = trees.lhs.variables().iter().map(|v| v.0).collect();
        for (x, tree) in &trees.wheres {
            let name = Symbol::from(&x.text);
            if form.withs.iter().any(|with| with.span == x.span) {
                self.anchored(&bound, x, tree);
                self.fresh(&mut bound, x);
            } else {
                let why = "`:where` says more of a variable of the left side";
                self.require(&bound, name, x.span, why);
            }
            self.nothing_computed(tree, "a pattern is matched, not computed");
            bound.extend(tree.variables().iter().map(|v| v.0));
        }
        for (x, _) in &form.fors {
            // An unresolved generator has been reported already; its variable counts as bound.
            let resolved = conditions.fors.iter().find(|(name, ..)| name.text == x.text);
            if let Some((_, call, span)) = resolved {
                self.arguments(&bound, &call.args, *span);
            }
            self.fresh(&mut bound, x);
        }
        let made = |arg: &Arg| trees.lets.iter().find(|(x, _)| named(arg, x));
        for (call, span) in &conditions.guards {
            // Of a variable that the rule makes may be asked whether it is new, and nothing else.
            let new = matches!(call.what.name, "different" | "not-free");
            let at = call.args.iter().position(|arg| made(arg).is_some()).filter(|_| new);
            let asked = call.args.iter().enumerate();
            let asked = asked.filter(|(k, _)| Some(*k) != at).map(|(_, arg)| *arg);
            self.arguments(&bound, &asked.collect::<Vec<_>>(), *span);
        }
        let mut used: Vec<Symbol> = trees.rhs.variables().iter().map(|v| v.0).collect();
        for (x, tree) in &trees.lets {
            for (name, span) in tree.variables() {
                self.require(&bound, name, span, "used before it is bound");
                used.push(name);
            }
            self.fresh(&mut bound, x);
        }
        for (name, span) in trees.rhs.variables() {
            self.require(&bound, name, span, "nothing on the left side binds it");
        }
        for (x, _) in trees.lets.iter().filter(|(x, _)| !used.contains(&Symbol::from(&x.text))) {
            self.report(
                Diagnostic::error(format!("`{}` is not used", x.text), x.span, "defined here")
                    .with_code(Code::Unused)
                    .with_help("remove the :let")
                    .warning(),
            );
        }
    }

    /// Checks that the pattern of a new variable can be found: one of its operands must be a bound variable.
    fn anchored(&mut self, bound: &[Symbol], x: &Word, tree: &Tree) {
        let root = &tree.nodes[tree.root()];
        let is_bound = |child: &usize| match tree.nodes[*child].head {
            TreeHead::Var(name) => bound.contains(&name),
            TreeHead::Head(_) | TreeHead::Compute(_) => false,
        };
        if !root.children.iter().any(is_bound) {
            let message = format!("nothing leads to `{}`", x.text);
            let error =
                Diagnostic::error(message, tree.span(), "no operand of it is a bound variable")
                    .with_code(Code::Unanchored);
            self.report(
                error.with_help("start the pattern one operator above a variable that is bound"),
            );
        }
    }

    fn arguments(&mut self, bound: &[Symbol], args: &[Arg], span: Span) {
        for arg in args {
            if let Arg::Var(variable) = arg {
                let name = Symbol::from(variable.to_string());
                self.require(bound, name, span, "conditions speak of the left side only");
            }
        }
    }

    fn require(&mut self, bound: &[Symbol], name: Symbol, span: Span, why: &str) {
        if !bound.contains(&name) {
            let bare = |s: &Symbol| s.as_str().trim_start_matches('?');
            let error = Diagnostic::error(format!("`{name}` is not bound"), span, why)
                .with_code(Code::Unbound);
            self.report(match nearest(bare(&name), bound.iter().map(bare)) {
                Some(known) => error.with_help(format!("did you mean `?{known}`?")),
                None => error,
            });
        }
    }

    /// Binds a new variable.
    fn fresh(&mut self, bound: &mut Vec<Symbol>, x: &Word) {
        let name = Symbol::from(&x.text);
        if bound.contains(&name) {
            self.report(
                Diagnostic::error(format!("`{name}` is bound twice"), x.span, "again here")
                    .with_code(Code::BoundTwice)
                    .with_help("use another name"),
            );
        }
        bound.push(name);
    }

    fn bare_variable(&mut self, name: Symbol, span: Span) {
        self.report(
            Diagnostic::error(format!("a left side of `{name}` alone"), span, "matches every term")
                .with_code(Code::BareVariable)
                .with_help("start the left side with an operator"),
        );
    }

    fn nothing_computed(&mut self, tree: &Tree, why: &str) {
        let computed = tree.nodes.iter().find(|n| matches!(n.head, TreeHead::Compute(_)));
        if let Some(node) = computed {
            self.report(
                Diagnostic::error("`!` in a pattern", node.span, why)
                    .with_code(Code::ComputedPattern)
                    .with_help("match a variable, and ask for its value in :when"),
            );
        }
    }

    /// Checks the additional requirements of a `<=>` rule: its right side also serves as a left side.
    fn reversible(&mut self, form: &RuleForm, trees: &Trees) {
        let keyword = |span: Span, what: &str| {
            Diagnostic::error(format!("`{what}` in a `<=>` rule"), span, "has no backward meaning")
                .with_code(Code::OneWay)
                .with_help("write two rules, one for each direction")
        };
        if let Some((x, _)) = form.fors.first() {
            self.report(keyword(x.span, ":for"));
        }
        if let Some((x, _)) = form.lets.first() {
            self.report(keyword(x.span, ":let"));
        }
        if let Some(x) = form.withs.first() {
            self.report(keyword(x.span, ":with"));
        }
        if let Some(span) = form.subsume {
            self.report(keyword(span, ":subsume"));
        }
        if let TreeHead::Var(name) = trees.rhs.nodes[trees.rhs.root()].head {
            self.bare_variable(name, trees.rhs.span());
        }
        self.nothing_computed(&trees.rhs, "the right side of `<=>` is matched too");
        let mut bound: Vec<Symbol> = trees.rhs.variables().iter().map(|v| v.0).collect();
        for (x, tree) in &trees.wheres {
            self.require(&bound, Symbol::from(&x.text), x.span, "the right side does not bind it");
            bound.extend(tree.variables().iter().map(|v| v.0));
        }
        for (name, span) in trees.lhs.variables() {
            self.require(&bound, name, span, "the right side of `<=>` does not bind it");
        }
    }
}

/// Returns true if an argument is the variable of a word.
pub(super) fn named(arg: &Arg, word: &Word) -> bool {
    matches!(arg, Arg::Var(variable) if Symbol::from(variable.to_string()) == Symbol::from(&word.text))
}
