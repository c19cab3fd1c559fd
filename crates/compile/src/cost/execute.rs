//! What statements and values of the execute unit, or of the only core, cost.

use super::summary::Load;
use super::{Cost, Goal, Model, Summary, at, lanes, run, tensor};
use egg::{Id, Language};
use ember_analysis::effects::variable_key;
use ember_analysis::facts::{EGraph, dtype_named};
use ember_language::term::Node;

impl Model<'_> {
    /// Statements and values that the execute unit (or the only core) runs.
    pub(super) fn execute(
        &self,
        egraph: &EGraph,
        node: &Node,
        operator: &str,
        children: &[&Summary],
    ) -> Option<Summary> {
        match operator {
            "skip" | "barrier" => Some(Summary::passive(children)),
            "matmul" | "matmul_t" => {
                let mut summary = Summary::merge(children)?;
                summary.touched.extend(children.iter().filter_map(|c| c.tensor));
                // No other form of a product competes with it, so that its own cost decides nothing.
                summary.cost = summary.cost + self.rates.operations(1.0);
                summary.admissible().then_some(summary)
            }
            "seq" => Summary::merge(children),
            "const" => {
                children[0].literal.then(|| Summary { element: 8.0, ..Summary::passive(&[]) })
            }
            // They stand for the numbers and casts that they are folded to.
            "identity" | "one" | "convert" => None,
            "counter" => self.index(egraph, node, false),
            "in" | "out" => Some(tensor(egraph, node, children)),
            "at" => Some(at(children)),
            "freeze" => Some(children[0].clone()),
            "lanes" => Some(run(egraph, node, children)),
            "for" => {
                self.execute_loop(egraph, node.children()[0], &children[1..3], children[4], None)
            }
            "walk" => {
                let (streams, bounds) = (&children[1..3], &children[3..5]);
                self.execute_loop(egraph, node.children()[0], bounds, children[6], Some(streams))
            }
            "reduce" => {
                let body = self.fold(children[6])?;
                let mut looped =
                    self.execute_loop(egraph, node.children()[1], &children[2..4], &body, None)?;
                looped = looped.and(children[5])?;
                Some(Summary { element: body.element, lanes: body.lanes, ..looped })
            }
            "walk_reduce" => {
                let body = self.fold(children[8])?;
                let (streams, bounds) = (&children[2..4], &children[4..6]);
                let mut looped =
                    self.execute_loop(egraph, node.children()[1], bounds, &body, Some(streams))?;
                looped = looped.and(children[7])?;
                Some(Summary { element: body.element, lanes: body.lanes, ..looped })
            }
            "store" | "accumulate" => {
                let mut summary = Summary::merge(children)?;
                let address = children[children.len() - 2];
                let registers = self.rates.registers(address.bytes());
                summary.touched.extend(address.tensor);
                summary.cost = summary.cost + self.rates.operations(registers);
                if operator == "accumulate" {
                    let loaded = self.rates.load(address.bytes());
                    summary.cost = summary.cost + loaded + self.arithmetic(address, 1.0);
                }
                summary.admissible().then_some(summary)
            }
            "fetched" => {
                // Nothing is read ahead of no loop of the access unit.
                let (ahead, address) = (children[0], children[1]);
                if !self.fetches || ahead.stream_scope.is_empty() {
                    return None;
                }
                let mut summary = Summary::merge(children)?;
                summary.touched.extend(address.tensor);
                (summary.element, summary.lanes) = (address.element, address.lanes);
                self.prefetch(node, ahead, &mut summary);
                Some(summary)
            }
            "held" => {
                // Its loops are those of its streams; with none it is a constant.
                let value = children[0];
                let known = value.execute_scope.is_subset(&value.stream_scope);
                if value.stream_scope.is_empty() || !known {
                    return None;
                }
                let mut summary = Summary { cost: Cost::default(), ..value.clone() };
                self.stream(node, children, &mut summary, |held| held.computed = value.cost);
                Some(summary)
            }
            "load" => {
                let address = children[0];
                let mut summary = address.clone();
                summary.touched.extend(address.tensor);
                summary.cost = summary.cost + self.rates.load(address.bytes());
                let misses = self.misses(address);
                // A load on its own waits; how long depends on whether its line was just used.
                let lines = if address.stride.is_some() {
                    address.bytes() / self.rates.line_bytes
                } else {
                    (address.bytes() / self.rates.line_bytes).max(1.0)
                };
                summary.cost.execute += lines * misses * self.rates.exposed_latency;
                summary.cost.dram_bytes += lines * misses * self.rates.line_bytes;
                if self.goal == Goal::Coupled {
                    summary.loads.push(Load {
                        scope: address.execute_scope.clone(),
                        stride: address.stride,
                        part: (address.bytes() / self.rates.line_bytes).min(1.0),
                    });
                }
                Some(summary)
            }
            "broadcast" => {
                let mut summary = Summary::merge(children)?;
                summary.element = children[1].element;
                summary.lanes = lanes(egraph, node);
                summary.cost = summary.cost + self.rates.vector(1.0);
                Some(summary)
            }
            "cast" => {
                let mut summary = Summary::merge(children)?;
                let dtype = dtype_named(egraph, node.children()[0])?;
                summary.element = dtype.bits() as f64 / 8.0;
                summary.lanes = children[1].lanes;
                summary.cost = summary.cost + self.arithmetic(&summary, 1.0);
                Some(summary)
            }
            "fold" => {
                let mut summary = Summary::merge(children)?;
                let value = children.last()?;
                (summary.element, summary.lanes) = (value.element, 1.0);
                // Registers are combined to one, and its halves again and again: a permutation and an
                // operation each.
                let registers = self.rates.registers(value.bytes());
                let lanes = (self.rates.simd_bytes / value.element.max(1.0)).min(value.lanes);
                let operations = registers - 1.0 + 2.0 * lanes.max(1.0).log2().ceil();
                summary.cost = summary.cost + self.rates.vector(operations);
                Some(summary)
            }
            "exp" | "sqrt" => {
                let mut summary = Summary::merge(children)?;
                (summary.element, summary.lanes) = (children[0].element, children[0].lanes);
                let each = if operator == "exp" { self.rates.exponential } else { 1.0 };
                summary.cost = summary.cost + self.arithmetic(&summary, each);
                Some(summary)
            }
            _ => {
                let mut summary = Summary::merge(children)?;
                let value = children.last()?;
                summary.element = value.element;
                summary.lanes = value.lanes;
                summary.cost = summary.cost + self.arithmetic(&summary, 1.0);
                Some(summary)
            }
        }
    }

    /// The cost of so many operations on a value. A scalar of 8 bytes is taken to be an index, which
    /// is no business of the vector ports; nobody waits for a latency that other iterations hide.
    fn arithmetic(&self, value: &Summary, operations: f64) -> Cost {
        if value.lanes <= 1.0 && value.element >= 8.0 {
            return self.rates.operations(operations);
        }
        self.rates.vector(operations * self.rates.registers(value.bytes()))
    }

    /// A loop of the execute unit; with `streams`, one that the access unit traverses too.
    fn execute_loop(
        &self,
        egraph: &EGraph,
        var: Id,
        bounds: &[&Summary],
        body: &Summary,
        streams: Option<&[&Summary]>,
    ) -> Option<Summary> {
        let key = variable_key(egraph, var)?;
        let mut body = body.clone();
        match streams {
            None if body.walks || body.stream_scope.contains(&key) => return None,
            None => {
                body.execute_scope.remove(&key);
            }
            Some(_) => {
                self.bind(key, &mut body);
                body.cost.steps += 1.0;
            }
        }
        // In its innermost loop, a load that moves by other than its neighbour leaves the line that
        // the first-level cache has just got.
        let leaves = |load: &Load| load.scope.contains(&key) && load.stride != Some(key);
        for load in std::mem::take(&mut body.loads).iter().filter(|load| leaves(load)) {
            body.cost.execute += (1.0 - load.part) * self.rates.exposed_llc;
        }
        let iteration = body.cost + self.rates.operations(2.0);
        body.cost = self.rates.settled(&iteration) * self.trips(key);
        body.enclose(key);
        let mut summary = Summary::merge(bounds)?.and(&body)?;
        if let Some(streams) = streams {
            summary = summary.and(&Summary::merge(streams)?)?;
            summary.walks = true;
            summary.cost.steps += 1.0;
            summary.cost.marshal += self.rates.traversal;
        }
        Some(summary)
    }

    /// The body of a reduction with its fold: one operation a register, and iterations that wait
    /// for one another.
    fn fold(&self, body: &Summary) -> Option<Summary> {
        let mut folded = body.clone();
        folded.cost = folded.cost + self.arithmetic(body, 1.0);
        let waits = self.rates.fold_latency * self.rates.vector_ports;
        folded.cost.vector = folded.cost.vector.max(waits);
        Some(folded)
    }
}
