//! An order of classes, children first, and the nodes that respect it.

use crate::graph::{Class, Graph, Node};
use crate::tree::by_tree_cost;

/// An order of all classes. In a graph without cycles every child comes before its user. Classes on a common cycle are in
/// the order in which they settle by tree cost.
pub(crate) struct Order {
    pub classes: Vec<Class>,
    places: Vec<usize>,
}

impl Order {
    pub fn of(graph: &Graph) -> Order {
        let components = components(graph);
        let settled = by_tree_cost(graph).places;
        let mut classes: Vec<Class> = graph.classes().collect();
        classes.sort_by_key(|class| (components[class.index()], settled[class.index()]));
        let mut places = vec![0; classes.len()];
        classes.iter().enumerate().for_each(|(place, class)| places[class.index()] = place);
        Order { classes, places }
    }

    /// Returns true if all children of a node come before its class. A selection of such nodes has no cycle; every class
    /// that settled has one, and so has every class whose nodes lead to no cycle.
    pub fn admits(&self, graph: &Graph, node: Node) -> bool {
        let place = self.places[graph.class_of(node).index()];
        graph.uses(node).iter().all(|child| self.places[child.index()] < place)
    }
}

/// Returns the number of each class's strongly connected component; that of a child is no higher than that of its user.
/// This is Tarjan's algorithm with a stack of its own.
fn components(graph: &Graph) -> Vec<u32> {
    const NONE: u32 = u32::MAX;
    let count = graph.classes().len();
    let (mut entered, mut low, mut component) =
        (vec![NONE; count], vec![NONE; count], vec![NONE; count]);
    let (mut entries, mut found) = (0, 0);
    let mut open: Vec<Class> = Vec::new();
    for root in graph.roots() {
        if entered[root.index()] != NONE {
            continue;
        }
        let mut visits = vec![enter(graph, *root, &mut entries, &mut entered, &mut low, &mut open)];
        while let Some((class, children)) = visits.last_mut() {
            let class = *class;
            let Some(child) = children.next() else {
                visits.pop();
                if low[class.index()] == entered[class.index()] {
                    while let Some(member) = open.pop() {
                        component[member.index()] = found;
                        if member == class {
                            break;
                        }
                    }
                    found += 1;
                }
                if let Some((user, _)) = visits.last() {
                    low[user.index()] = low[user.index()].min(low[class.index()]);
                }
                continue;
            };
            if entered[child.index()] == NONE {
                visits.push(enter(graph, child, &mut entries, &mut entered, &mut low, &mut open));
            } else if component[child.index()] == NONE {
                low[class.index()] = low[class.index()].min(entered[child.index()]);
            }
        }
    }
    component
}

/// Begins the visit of a class: returns it with the children that are still to be looked at.
fn enter<'a>(
    graph: &'a Graph,
    class: Class,
    entries: &mut u32,
    entered: &mut [u32],
    low: &mut [u32],
    open: &mut Vec<Class>,
) -> (Class, impl Iterator<Item = Class> + use<'a>) {
    (entered[class.index()], low[class.index()]) = (*entries, *entries);
    *entries += 1;
    open.push(class);
    (class, graph.nodes_of(class).iter().flat_map(|node| graph.uses(*node)).copied())
}
