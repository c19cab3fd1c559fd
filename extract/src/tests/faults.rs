//! Faults of texts that are no e-graph.

use crate::{Fault, Graph};

/// Returns the faults of a graph with these members of `nodes`, whose root is `r`.
fn faults(nodes: &str) -> Vec<String> {
    let text = format!(r#"{{"nodes": {{{nodes}}}, "root_eclasses": ["r"]}}"#);
    let faults = Graph::from_json(&text).expect_err("faults");
    faults.iter().map(Fault::to_string).collect()
}

#[test]
fn costs_that_are_none_name_their_class() {
    for cost in ["NaN", "Infinity", "-Infinity", "-1", "1e999", "null", "\"NaN\"", "\"much\""] {
        let found = faults(&format!(r#""a": {{"op": "a\"N", "eclass": "r", "cost": {cost}}}"#));
        let shown = cost.replace('"', "");
        assert_eq!(found, [format!("class `r`: the node `a` costs {shown}")]);
    }
}

#[test]
fn every_fault_is_reported_at_once() {
    let found = faults(
        r#""a": {"op": "a", "eclass": "r", "children": ["b"], "cost": -2},
           "c": {"op": "c"},
           "d": {"op": "d", "eclass": "s"},
           "d": {"op": "d", "eclass": "t"}"#,
    );
    let expected = [
        "class `r`: the node `a` costs -2",
        "the node `c` has no class",
        "two nodes are called `d`, in class `t` and in class `s`",
        "class `r`: the node `a` has the child `b`, which is no node",
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_long_cycle_is_shown_by_its_ends() {
    let node = |at: usize| {
        let (class, next) = (if at == 0 { "r".to_owned() } else { at.to_string() }, (at + 1) % 20);
        format!(r#""{at}": {{"op": "f", "eclass": "{class}", "children": ["{next}"]}}"#)
    };
    let nodes: Vec<String> = (0..20).map(node).collect();
    let cycle = "`r` -> `1` -> `2` -> `3` -> `…` -> `18` -> `19` -> `r`";
    assert_eq!(faults(&nodes.join(",")), [format!("class `r` has only cyclic nodes: {cycle}")]);
}

#[test]
fn a_cost_may_be_missing_and_is_1_then() {
    let text = r#"{"nodes": {"a": {"op": "a", "eclass": "r"}}, "root_eclasses": ["r", "r"]}"#;
    let graph = Graph::from_json(text).expect("a graph");
    let costs: Vec<f64> = graph.nodes().map(|node| graph.cost(node)).collect();
    assert_eq!((costs, graph.roots().len()), (vec![1.0], 1));
}
