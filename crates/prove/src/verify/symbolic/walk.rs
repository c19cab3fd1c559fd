//! What a side reaches, loop by loop and lane by lane.

use super::parts::{fold_operation, folded, loop_parts, mentions, of_rule, plain, text};
use super::{Around, Inexpressible, LANE, Result, Side, Translation, Visit, Witness};
use egg::{ENodeOrVar, Id, Language, PatternAst, Var};
use ember_language::term::Node;
use std::collections::BTreeSet;

impl Translation<'_> {
    /// Adds what a statement, a reduction, an address or a value does.
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
        let args = node.children();
        match plain(node) {
            "boundary" => self.visit(p, args[0], around, side),
            "skip" => Ok(()),
            // What a statement leaves in memory is not told by what it reaches.
            "after" | "forget" => {
                Err(Inexpressible(format!("`{node}` is about what stands in memory")))
            }
            "seq" => args.iter().enumerate().try_for_each(|(k, part)| {
                let mut inner = around.clone();
                inner.order.push(k.to_string());
                self.visit(p, *part, inner, side)
            }),
            "rename" => {
                let mut inner = around;
                let value = self.loop_variable(p, args[1], &inner);
                inner.derived.insert(text(p, args[0]));
                inner.values.insert(text(p, args[0]), value);
                self.visit(p, args[2], inner, side)
            }
            "fix" => {
                let mut inner = around;
                let value = self.number(p, args[1], &inner)?.text;
                inner.derived.insert(text(p, args[0]));
                inner.values.insert(text(p, args[0]), value);
                self.visit(p, args[2], inner, side)
            }
            "for" | "walk" | "reduce" | "walk_reduce" => self.enter(p, node, around, side),
            "vec" if self.is_statement(p, args[4]) => {
                let (inner, active) = self.lanes(p, args, around)?;
                let mut inner = inner;
                inner.domain.push(active);
                self.visit(p, args[4], inner, side)
            }
            "fold" if !around.counters.is_empty() => match folded(p, id) {
                Some(lanes) => {
                    let inner = self.fold(p, lanes, around, side)?;
                    self.visit(p, lanes.children()[4], inner, side)
                }
                None => self.other(p, id, around, side),
            },
            // A fold that is accumulated is as many accumulations.
            "accumulate" => match folded(p, args[2]) {
                Some(lanes) if fold_operation(p, args[2]) == Some(text(p, args[0])) => {
                    let inner = self.fold(p, lanes, around, side)?;
                    let parts = [args[0], args[1], lanes.children()[4]];
                    self.reach("accumulate", p, &parts, inner, side)
                }
                _ => self.other(p, id, around, side),
            },
            // What a part of a reduction starts from changes nothing.
            "identity" if self.reduction() == Some(text(p, args[0])) => Ok(()),
            // Neither does a fold of two differ from their sum.
            name if self.reduction().as_deref() == Some(name) => {
                args.iter().enumerate().try_for_each(|(k, part)| {
                    let mut inner = around.clone();
                    inner.order.push(k.to_string());
                    self.visit(p, *part, inner, side)
                })
            }
            _ => self.other(p, id, around, side),
        }
    }

    /// A variable of the rule that is reached.
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

    /// A loop or a reduction: its body, once for each value of its variable.
    fn enter(
        &mut self,
        p: &PatternAst<Node>,
        node: &Node,
        around: Around,
        side: &mut Side,
    ) -> Result<()> {
        let Some((var, lo, hi, step, body)) = loop_parts(node) else {
            return Err(Inexpressible(format!("`{node}` is no loop")));
        };
        let lo = self.number(p, lo, &around)?.text;
        let hi = self.number(p, hi, &around)?.text;
        let step = self.literal(p, step)?;
        if plain(node).ends_with("reduce") {
            let start = node.children().len() - 2;
            let mut before = around.clone();
            before.order.push("0".to_owned());
            self.visit(p, node.children()[start], before, side)?;
        }
        let mut inner = around;
        inner.order.push("1".to_owned());
        let counter = self.counter();
        // Steps are counted, so that membership needs no division.
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

    /// The lanes of `(vec v e n hi x)`, and when a lane is active.
    fn lanes(
        &mut self,
        p: &PatternAst<Node>,
        args: &[Id],
        around: Around,
    ) -> Result<(Around, String)> {
        let start = self.loop_variable(p, args[0], &around);
        let n = self.literal(p, args[2])?;
        let hi = self.number(p, args[3], &around)?.text;
        let mut inner = around;
        let lane = self.counter();
        let value = format!("(+ {start} {lane})");
        inner.domain.push(format!("(and (<= 0 {lane}) (< {lane} {n}))"));
        inner.order.push(lane.clone());
        inner.witnesses.push(Witness { of: text(p, args[1]), from: start, step: 1 });
        inner.derived.insert(text(p, args[1]));
        inner.values.insert(LANE.to_owned(), lane.clone());
        inner.counters.push(lane);
        let active = format!("(< {value} {hi})");
        inner.values.insert(text(p, args[1]), value);
        Ok((inner, active))
    }

    /// The lanes of a fold, all of which must be active.
    fn fold(
        &mut self,
        p: &PatternAst<Node>,
        lanes: &Node,
        around: Around,
        side: &mut Side,
    ) -> Result<Around> {
        let (mut inner, active) = self.lanes(p, lanes.children(), around)?;
        inner.must.push(active);
        side.folded = true;
        Ok(inner)
    }

    /// The operation of the reduction that the left side is.
    pub fn reduction(&self) -> Option<String> {
        let pattern = &self.rule.lhs;
        let ENodeOrVar::ENode(root) = pattern.as_ref().last()? else { return None };
        let reduces = plain(root).ends_with("reduce");
        reduces.then(|| root.children().first().map(|op| text(pattern, *op))).flatten()
    }

    /// An operator that has its meaning elsewhere: what it is reached with must be the same.
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
            self.reach(plain(node), p, node.children(), around, side)
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
