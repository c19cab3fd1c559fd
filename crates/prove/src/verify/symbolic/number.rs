//! Translates numbers and addresses to formulas, and determines which of them are known to be integers.

use super::parts::{applied, literal, quoted, text};
use super::{Around, Inexpressible, Result, Translation, VALUE};
use egg::{ENodeOrVar, Id, Language, PatternAst};
use ember_language::rules::{Arg, COMPUTE, Call, Kind};
use ember_language::term::{Head, Node};
use ember_values::primitive::Typing;
use ember_values::primitive::form::{By, Condition, Form};
use ember_values::scalar::{BinaryOp, DType, Linear};
use std::collections::BTreeSet;

/// An integer, or lanes: a function of the counter of the lanes around it.
pub(super) struct Number {
    pub text: String,
    /// The conditions under which a lane is active.
    pub active: BTreeSet<String>,
}

impl Translation<'_> {
    /// Translates a number, an address or any other term that is a function of its parts.
    pub(super) fn number(
        &mut self,
        p: &PatternAst<Node>,
        id: Id,
        around: &Around,
    ) -> Result<Number> {
        let scalar = |text: String| Ok(Number { text, active: BTreeSet::new() });
        let node = match &p[id] {
            ENodeOrVar::Var(v) => {
                let text = self.variable(*v, around);
                return scalar(text);
            }
            ENodeOrVar::ENode(node) => node,
        };
        if let Head::Int(n) = node.head() {
            return scalar(literal(n));
        }
        if node.name() == Some(COMPUTE) {
            return self.computed(p, node, around);
        }
        if let Some((variable, value, x)) = self.elsewhere(p, node, around)? {
            let mut inner = around.clone();
            inner.values.insert(variable, value);
            return self.number(p, x, &inner);
        }
        let form = self.signature.table().form(node);
        if let Some(variable) = form.and_then(Form::as_iv) {
            return scalar(self.loop_variable(p, variable, around));
        }
        match form {
            Some(Form::Carried { x, to: None }) => self.number(p, x, around),
            Some(Form::Replaced { variable: each, by: By::Lanes { from, lanes, hi }, x }) => {
                let lane = self.lane();
                let start = self.loop_variable(p, from, around);
                let n = self.literal(p, lanes)?;
                let hi = self.number(p, hi, around)?.text;
                let mut inner = around.clone();
                let value = format!("(+ {start} {lane})");
                inner.values.insert(text(p, each), value.clone());
                let mut number = self.number(p, x, &inner)?;
                number.active.insert(format!("(< {lane} {n})"));
                number.active.insert(format!("(< {value} {hi})"));
                Ok(number)
            }
            Some(Form::Spread { lanes, x, below: Some(hi) }) => {
                let lane = self.lane();
                let n = self.literal(p, lanes)?;
                let hi = self.number(p, hi, around)?.text;
                let start = self.number(p, x, around)?.text;
                let value = format!("(+ {start} {lane})");
                let active = [format!("(< {lane} {n})"), format!("(< {value} {hi})")];
                Ok(Number { text: value, active: active.into() })
            }
            Some(Form::Spread { lanes, x, below: None }) => {
                let lane = self.lane();
                let n = self.literal(p, lanes)?;
                let mut number = self.number(p, x, around)?;
                number.active.insert(format!("(< {lane} {n})"));
                Ok(number)
            }
            Some(form) if form.repeats() => {
                let name = self.name(node);
                Err(Inexpressible(format!("`{name}` stands within an expression")))
            }
            Some(Form::Binary(op, operands)) => {
                match op.known(|op| BinaryOp::parse(&text(p, op))) {
                    Some(op) => self.arithmetic(p, op, &operands, around),
                    None => {
                        let (parts, active) = self.numbers_of(p, &operands, around)?;
                        let name = op.named().map(|op| text(p, op)).unwrap_or_default();
                        Ok(Number { text: self.foreign(&name, parts), active })
                    }
                }
            }
            Some(Form::Select { condition: Condition::NotZero(condition), of: [a, b] }) => {
                let (parts, active) = self.numbers_of(p, &[condition, a, b], around)?;
                let [c, a, b] = &parts[..] else { return Err(Inexpressible(node.to_string())) };
                Ok(Number { text: format!("(ite (= {c} 0) {b} {a})"), active })
            }
            Some(Form::Carried { x, to: Some(_) }) if self.result(node) == Some(Typing::I64) => {
                self.number(p, x, around)
            }
            _ => {
                let (name, parts) = (self.name(node), self.parts(node));
                let (parts, active) = self.numbers_of(p, &parts, around)?;
                Ok(Number { text: self.foreign(name, parts), active })
            }
        }
    }

    /// Returns the variable, the value and the term of a term in which a variable has another value.
    pub(super) fn elsewhere(
        &mut self,
        p: &PatternAst<Node>,
        node: &Node,
        around: &Around,
    ) -> Result<Option<(String, String, Id)>> {
        let form = self.signature.table().form(node);
        let Some(Form::Replaced { variable, by, x }) = form else { return Ok(None) };
        let value = match by {
            By::Variable(to) => self.loop_variable(p, to, around),
            By::Value(value) => self.number(p, value, around)?.text,
            By::Lanes { .. } => return Ok(None),
        };
        Ok(Some((text(p, variable), value, x)))
    }

    /// Translates a number that is computed when a rule is applied, which is always an integer.
    fn computed(&mut self, p: &PatternAst<Node>, node: &Node, around: &Around) -> Result<Number> {
        let operation = node.children().split_first();
        let operation =
            operation.and_then(|(op, args)| Some((BinaryOp::parse(&text(p, *op))?, args)));
        let Some((op, args)) = operation else {
            return Err(Inexpressible(format!("`{node}` names no operation")));
        };
        let (parts, active) = self.numbers_of(p, args, around)?;
        Ok(Number { text: self.operation(op, parts), active })
    }

    /// Translates an operation on integers; one that solvers do not have is only known by name.
    fn operation(&mut self, op: BinaryOp, operands: Vec<String>) -> String {
        let text = match op.solver() {
            Some(solver) => operation_text(op, solver, &operands),
            None => return self.foreign(op.name(), operands),
        };
        match op.linear() {
            Some(Linear::Sum | Linear::Difference) => self.wrapped(text, false),
            Some(Linear::Product) => self.wrapped(text, true),
            None => text,
        }
    }

    /// Returns what remains of an integer in 64 bits; `far` if it may be further from them than a sum of two.
    pub(super) fn wrapped(&self, text: String, far: bool) -> String {
        let [(near, _), (any, _)] = WRAPPED;
        match (self.wraps, far) {
            (false, _) => text,
            (true, false) => format!("({near} {text})"),
            (true, true) => format!("({any} {text})"),
        }
    }

    /// Translates an operation on numbers, and records if they may not be integers, since the formula would then be
    /// wrong.
    fn arithmetic(
        &mut self,
        p: &PatternAst<Node>,
        op: BinaryOp,
        operands: &[Id],
        around: &Around,
    ) -> Result<Number> {
        self.floats |= !operands.iter().all(|x| self.is_integer(p, *x));
        let (parts, active) = self.numbers_of(p, operands, around)?;
        Ok(Number { text: self.operation(op, parts), active })
    }

    /// Translates several numbers; returns their texts and the conditions under which all their lanes are active.
    fn numbers_of(
        &mut self,
        p: &PatternAst<Node>,
        ids: &[Id],
        around: &Around,
    ) -> Result<(Vec<String>, BTreeSet<String>)> {
        let (mut texts, mut active) = (Vec::new(), BTreeSet::new());
        for id in ids {
            let number = self.number(p, *id, around)?;
            active.extend(number.active);
            texts.push(number.text);
        }
        Ok((texts, active))
    }

    /// Translates an operation that is only known by name.
    fn foreign(&mut self, name: &str, args: Vec<String>) -> String {
        self.foreign.insert(format!("{name}/{}", args.len()));
        self.function(name, args)
    }

    /// Applies an uninterpreted function of integers. Functions of the same name are distinguished by their number of
    /// arguments.
    pub(super) fn function(&mut self, name: &str, args: Vec<String>) -> String {
        let name =
            if args.is_empty() { quoted(name) } else { quoted(&format!("{name}/{}", args.len())) };
        self.functions.insert(name.clone(), (args.len(), false));
        applied(&name, &args)
    }

    /// Returns the value of a loop variable; an unknown constant if no enclosing loop binds it.
    pub(super) fn loop_variable(
        &mut self,
        p: &PatternAst<Node>,
        id: Id,
        around: &Around,
    ) -> String {
        let key = text(p, id);
        if let Some(value) = around.values.get(&key) {
            return value.clone();
        }
        self.function(&format!("iv {key}"), Vec::new())
    }

    /// Returns true if a part is known to be an integer.
    pub(super) fn is_integer(&self, p: &PatternAst<Node>, id: Id) -> bool {
        let node = match &p[id] {
            ENodeOrVar::Var(v) => {
                let says = |call: &Call| {
                    INTEGERS.contains(&call.what.name) && call.args.contains(&Arg::Var(*v))
                };
                return self.numbers.contains_key(v)
                    || self.bounds.contains(v)
                    || self.rule.guards.iter().any(says);
            }
            ENodeOrVar::ENode(node) => node,
        };
        if matches!(node.head(), Head::Int(_)) || node.name() == Some(COMPUTE) {
            return true;
        }
        let integer = |at: usize| self.is_integer(p, node.children()[at]);
        let Some(info) = self.info(node) else { return false };
        match (info.typing, info.form) {
            (_, Some(Form::Binary(op, operands))) if !op.compares() => {
                operands.into_iter().all(integer)
            }
            (Some(Typing::I64), _) => true,
            (Some(Typing::Named(at)), _) => {
                DType::parse(&text(p, node.children()[at])) == Some(DType::I64)
            }
            (Some(Typing::Of(at)), _) => integer(at),
            (None, _) => false,
        }
    }

    /// Returns true if a node is a value rather than a statement or an address.
    pub(super) fn is_number(&self, node: &Node) -> bool {
        self.info(node).and_then(|info| info.kind) != Some(Kind::Statement) && self.is_value()
    }

    /// Returns the name of a side that is not a statement, for messages and leaves.
    pub(super) fn noun(&self) -> &'static str {
        match self.rule.sort.and_then(|sort| self.kind(sort)) {
            Some(Kind::Address) => "address",
            _ => VALUE,
        }
    }

    /// Returns true if the sides are values or addresses rather than statements.
    pub(super) fn is_value(&self) -> bool {
        self.rule.sort.is_some_and(|sort| self.kind(sort) != Some(Kind::Statement))
    }

    /// Returns true if the body of lanes is a statement, so that the lanes run one after the other.
    pub(super) fn is_statement(&self, p: &PatternAst<Node>, id: Id) -> bool {
        let kind = match &p[id] {
            ENodeOrVar::Var(v) => self.kind_of(*v),
            ENodeOrVar::ENode(node) => self.info(node).and_then(|info| info.kind),
        };
        kind == Some(Kind::Statement)
    }
}

/// The functions of an integer that return what remains of it in 64 bits, by name: of a sum of two that fit, and of any.
pub const WRAPPED: [(&str, &str); 2] = [
    (
        "wrapped_sum",
        "(ite (< 9223372036854775807 x) (- x 18446744073709551616) \
         (ite (< x (- 9223372036854775808)) (+ x 18446744073709551616) x))",
    ),
    (
        "wrapped",
        "(ite (and (<= (- 9223372036854775808) x) (<= x 9223372036854775807)) x \
         (- (mod (+ x 9223372036854775808) 18446744073709551616) 9223372036854775808))",
    ),
];

/// Returns the name of the solver function that defines an operation.
pub fn defined(op: BinaryOp) -> String {
    format!("int_{}", op.name())
}

/// Returns an operation on integers in the solver's language: its encoding, or a call of its function if the encoding
/// mentions an operand more than once.
fn operation_text(op: BinaryOp, solver: &str, operands: &[String]) -> String {
    let [a, b] = operands else { return applied(&defined(op), operands) };
    let words = |name: &str| solver.split([' ', '(', ')']).filter(|word| *word == name).count();
    if words("a") > 1 || words("b") > 1 {
        return applied(&defined(op), operands);
    }
    let mut text = String::new();
    for part in solver.split_inclusive([' ', '(', ')']) {
        let word = part.trim_end_matches([' ', '(', ')']);
        text.push_str(match word {
            "a" => a,
            "b" => b,
            _ => word,
        });
        text.push_str(&part[word.len()..]);
    }
    text
}

/// Conditions that hold for integers only.
const INTEGERS: [&str; 8] = [
    "at-most",
    "at-most-in-loop",
    "below",
    "below-in-loop",
    "bounded",
    "bounded-product",
    "divides",
    "index",
];
