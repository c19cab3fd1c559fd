//! Writes an e-graph in the JSON format of `egraph-serialize`.

use super::snapshot::Snapshot;
use egraph_serialize::{ClassData, ClassId, Cost, EGraph, Node, NodeId};
use serde_json::Value;

/// Returns the JSON. Nodes are called `CLASS.PLACE`; an operand is the first node of its class, as the format requires.
/// Every node costs 1, because the cost of a node depends on its context; the estimates are stored with the classes.
pub fn json(snapshot: &Snapshot) -> Value {
    let node_id = |class: usize, at: usize| NodeId::from(format!("{class}.{at}"));
    let class_id = |class: usize| ClassId::from(class.to_string());
    let mut egraph = EGraph::default();
    for (number, class) in &snapshot.classes {
        for (at, node) in class.nodes.iter().enumerate() {
            let children = node.children.iter().map(|child| node_id(*child, 0)).collect();
            let node = Node {
                op: node.operator.clone(),
                children,
                eclass: class_id(*number),
                cost: Cost::new(1.0).unwrap_or_default(),
                subsumed: false,
            };
            egraph.nodes.insert(node_id(*number, at), node);
        }
        let mut data = ClassData {
            typ: class.sort.map(str::to_owned),
            extra: [("facts".to_owned(), class.facts.clone())].into(),
        };
        if let Some(estimate) = class.estimate {
            data.extra.insert("estimate_cycles".to_owned(), format!("{estimate:.3}"));
        }
        if let Some(best) = class.nodes.iter().position(|node| node.best) {
            data.extra.insert("best".to_owned(), node_id(*number, best).to_string());
        }
        egraph.class_data.insert(class_id(*number), data);
    }
    egraph.root_eclasses.push(class_id(snapshot.root));
    // Serialising plain data with string keys cannot fail.
    let mut value = serde_json::to_value(&egraph).unwrap_or_default();
    if let Some(data) = value.get_mut("class_data") {
        // The crate keeps these in a hash table, whose order varies.
        data.as_object_mut().into_iter().for_each(|classes| {
            classes.values_mut().for_each(Value::sort_all_objects);
        });
    }
    value
}
