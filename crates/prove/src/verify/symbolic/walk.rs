//! Collects the visits of a side, loop by loop and lane by lane.

use super::parts::{mentions, of_rule, text};
use super::{Around, Inexpressible, LANE, Result, Side, Translation, Visit, Witness};
use egg::{ENodeOrVar, Id, Language, PatternAst, Var};
use ember_language::term::Node;
use ember_values::primitive::form::{By, Form, Number, Operation, Sequence};
use std::collections::BTreeSet;

/// A loop variable and the lanes that replace it.
type Block = (Id, By<Id>);

impl Translation<'_> {
    /// Adds the visits of a statement, a reduction, an address or a value.
    pub(super) fn visit(
        &mut self,
        p: &PatternAst<Node>,
        id: Id,
        around: Around,
        side: &mut Side,
    ) -> Result<()> {
        let node = match &p[id] {
            ENodeOrVar::Var(v) => return self.leaf(p, id, *v, around, side),
            ENodeOrVar::ENode(node) => node,
        };
        if let Some((variable, value, x)) = self.elsewhere(p, node, &around)? {
            let mut inner = around;
            inner.derived.insert(variable.clone());
            inner.values.insert(variable, value);
            return self.visit(p, x, inner, side);
        }
        match self.signature.table().form(node) {
            Some(Form::Carried { x, to: None }) => self.visit(p, x, around, side),
            Some(Form::Loop(_)) => self.enter(p, node, around, side),
            Some(Form::Sequence(Sequence::Empty)) => Ok(()),
            // The contents of memory after a statement cannot be expressed by visits.
            Some(Form::Undone { .. }) => {
                Err(Inexpressible(format!("`{node}` is about what stands in memory")))
            }
            Some(Form::Sequence(Sequence::Two(_))) => self.in_order(p, node, around, side),
            Some(Form::Replaced { variable, by, x }) => {
                if !self.is_statement(p, x) {
                    return self.other(p, id, around, side);
                }
                let (mut inner, active) = self.lanes(p, (variable, by), around)?;
                inner.domain.push(active);
                self.visit(p, x, inner, side)
            }
            Some(form) if form.as_fold().is_some() && !around.counters.is_empty() => {
                match self.folded(p, id) {
                    Some((_, lanes, x)) => {
                        let inner = self.fold(p, lanes, around, side)?;
                        self.visit(p, x, inner, side)
                    }
                    None => self.other(p, id, around, side),
                }
            }
            // Accumulating a fold is the same as accumulating each of its lanes.
            Some(Form::Write { op: Some(op), address, value }) => match self.folded(p, value) {
                Some((folds, lanes, x)) if text(p, folds) == text(p, op) => {
                    let inner = self.fold(p, lanes, around, side)?;
                    self.reach(self.name(node), p, &[op, address, x], inner, side)
                }
                _ => self.other(p, id, around, side),
            },
            // The identity as the start of a partial reduction contributes nothing.
            Some(Form::Number { value: Number::Start(Operation::Named(op)), .. })
                if self.reduction() == Some(text(p, op)) =>
            {
                Ok(())
            }
            // Applying the reduction's own operation to two parts is the same as folding both.
            Some(Form::Binary(Operation::Is(op), _))
                if self.reduction().as_deref() == Some(op.name()) =>
            {
                self.in_order(p, node, around, side)
            }
            _ => self.other(p, id, around, side),
        }
    }

    /// Adds the visits of a node's operands in order.
    fn in_order(
        &mut self,
        p: &PatternAst<Node>,
        node: &Node,
        around: Around,
        side: &mut Side,
    ) -> Result<()> {
        self.parts(node).into_iter().enumerate().try_for_each(|(k, part)| {
            let mut inner = around.clone();
            inner.order.push(k.to_string());
            self.visit(p, part, inner, side)
        })
    }

    /// Returns the operation of a fold, and the lanes and the term that it folds if they are the lanes of a block.
    fn folded(&self, p: &PatternAst<Node>, id: Id) -> Option<(Id, Block, Id)> {
        let form = |id: Id| match &p[id] {
            ENodeOrVar::ENode(node) => self.signature.table().form(node),
            ENodeOrVar::Var(_) => None,
        };
        let [op, lanes] = form(id)?.as_fold()?;
        match form(lanes)? {
            Form::Replaced { variable, by: by @ By::Lanes { .. }, x } => {
                Some((op, (variable, by), x))
            }
            _ => None,
        }
    }

    /// Adds the visit of a variable of the rule.
    fn leaf(
        &mut self,
        p: &PatternAst<Node>,
        id: Id,
        v: Var,
        around: Around,
        side: &mut Side,
    ) -> Result<()> {
        let needed = self.depends(v, &around);
        let unneeded =
            of_rule(&around.values).into_keys().filter(|name| !needed.contains_key(name));
        let mut around = around;
        around.derived.extend(unneeded);
        let value = self.is_value() && self.reduction().is_none();
        let leaf = if value { self.noun().to_owned() } else { v.to_string() };
        self.reach(&leaf, p, &[id], around, side)
    }

    /// Enters a loop or a reduction and adds the visits of its body, once for each value of its variable.
    fn enter(
        &mut self,
        p: &PatternAst<Node>,
        node: &Node,
        around: Around,
        side: &mut Side,
    ) -> Result<()> {
        let Some(over) = self.info(node).and_then(|info| info.looped()) else {
            return Err(Inexpressible(format!("`{node}` is no loop")));
        };
        let part = |at: usize| node.children()[at];
        let (var, body) = (part(over.variable), part(over.body));
        let (lo, hi, step) = (part(over.lo), part(over.hi), part(over.step));
        let lo = self.number(p, lo, &around)?.text;
        let hi = self.number(p, hi, &around)?.text;
        let step = self.literal(p, step)?;
        if let Some((_, start)) = over.folds {
            let mut before = around.clone();
            before.order.push("0".to_owned());
            self.visit(p, part(start), before, side)?;
        }
        let mut inner = around;
        inner.order.push("1".to_owned());
        let counter = self.counter();
        // The counter counts steps, so that membership needs no division.
        let of = text(p, var);
        let value = match step.parse::<i64>() {
            Ok(n) if n > 1 => {
                inner.witnesses.push(Witness { of, from: lo.clone(), step: n });
                inner.domain.push(format!("(<= 0 {counter})"));
                let value = format!("(+ {lo} (* {n} {counter}))");
                inner.domain.push(format!("(< {value} {hi})"));
                value
            }
            _ => {
                inner.witnesses.push(Witness { of, from: "0".to_owned(), step: 1 });
                let member = self.member(&lo, &hi, &step, &counter);
                inner.domain.push(member);
                counter.clone()
            }
        };
        inner.order.push(counter.clone());
        inner.counters.push(counter);
        inner.values.insert(text(p, var), value);
        self.visit(p, body, inner, side)
    }

    /// Enters the lanes of a block; also returns the condition under which a lane is active.
    fn lanes(
        &mut self,
        p: &PatternAst<Node>,
        (each, by): Block,
        around: Around,
    ) -> Result<(Around, String)> {
        let By::Lanes { from, lanes, hi } = by else {
            return Err(Inexpressible(format!("`{}` has no lanes", text(p, each))));
        };
        let start = self.loop_variable(p, from, &around);
        let n = self.literal(p, lanes)?;
        let hi = self.number(p, hi, &around)?.text;
        let mut inner = around;
        let lane = self.counter();
        let value = format!("(+ {start} {lane})");
        inner.domain.push(format!("(and (<= 0 {lane}) (< {lane} {n}))"));
        inner.order.push(lane.clone());
        inner.witnesses.push(Witness { of: text(p, each), from: start, step: 1 });
        inner.derived.insert(text(p, each));
        inner.values.insert(LANE.to_owned(), lane.clone());
        inner.counters.push(lane);
        let active = format!("(< {value} {hi})");
        inner.values.insert(text(p, each), value);
        Ok((inner, active))
    }

    /// Enters the lanes of a fold, all of which must be active.
    fn fold(
        &mut self,
        p: &PatternAst<Node>,
        lanes: Block,
        around: Around,
        side: &mut Side,
    ) -> Result<Around> {
        let (mut inner, active) = self.lanes(p, lanes, around)?;
        inner.must.push(active);
        side.folded = true;
        Ok(inner)
    }

    /// Returns the operation of the reduction on the left side, if it is one.
    pub fn reduction(&self) -> Option<String> {
        let pattern = &self.rule.lhs;
        let ENodeOrVar::ENode(root) = pattern.as_ref().last()? else { return None };
        let (op, _) = self.info(root)?.looped()?.folds?;
        Some(text(pattern, root.children()[op]))
    }

    /// Adds the visit of an operator that is not translated: its operands must be the same on both sides.
    fn other(
        &mut self,
        p: &PatternAst<Node>,
        id: Id,
        around: Around,
        side: &mut Side,
    ) -> Result<()> {
        let ENodeOrVar::ENode(node) = &p[id] else { return Ok(()) };
        if self.is_number(node) {
            self.reach(self.noun(), p, &[id], around, side)
        } else {
            let parts = self.parts(node);
            self.reach(self.name(node), p, &parts, around, side)
        }
    }

    /// Adds a visit of a leaf with some parts.
    fn reach(
        &mut self,
        leaf: &str,
        p: &PatternAst<Node>,
        parts: &[Id],
        around: Around,
        side: &mut Side,
    ) -> Result<()> {
        let mut visit = Visit {
            leaf: leaf.to_owned(),
            counters: around.counters.clone(),
            domain: around.domain.clone(),
            order: around.order.clone(),
            id: of_rule(&around.values),
            free_of: around.derived.clone(),
            witnesses: around.witnesses.clone(),
            args: Vec::new(),
            must: around.must.clone(),
        };
        let mut active = BTreeSet::new();
        for part in parts {
            let number = self.number(p, *part, &around)?;
            active.extend(number.active);
            visit.args.push(number.text);
        }
        let lane = self.lane();
        if !active.is_empty() || visit.args.iter().any(|text| mentions(text, &lane)) {
            visit.domain.push(format!("(<= 0 {lane})"));
            visit.domain.extend(active);
            visit.order.push(lane.clone());
            visit.id.insert(LANE.to_owned(), lane.clone());
            visit.witnesses.push(Witness { of: LANE.to_owned(), from: "0".to_owned(), step: 1 });
            visit.counters.push(lane);
        }
        side.visits.push(visit);
        Ok(())
    }
}
