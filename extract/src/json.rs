//! Graphs in the JSON format of the crate `egraph-serialize`, which other tools read and write.
//!
//! Its own reader keeps the last of two nodes of one name, stops at the first cost that is no number, and does not say
//! whose it is. So the text is read here, with all names borrowed from it.

use crate::build::{Builder, NewNode};
use crate::check::Selection;
use crate::fault::Fault;
use crate::graph::{Graph, Node};
use rustc_hash::FxHashSet;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize as Read, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;

use std::fmt;
use std::marker::PhantomData;

/// A text of the format.
#[derive(Read)]
struct File<'a> {
    #[serde(borrow)]
    nodes: Members<'a, Member<'a>>,
    #[serde(borrow, default)]
    root_eclasses: Vec<Text<'a>>,
    #[serde(borrow, default)]
    class_data: Members<'a, &'a RawValue>,
}

/// A node. A cost is kept as text until its node is known.
#[derive(Read)]
struct Member<'a> {
    #[serde(borrow)]
    op: Text<'a>,
    #[serde(borrow, default)]
    children: Vec<Text<'a>>,
    #[serde(borrow)]
    eclass: Option<Text<'a>>,
    #[serde(borrow, default)]
    cost: Given<'a>,
    /// True if the node stays in its class only for what was derived from it, and must not be chosen.
    #[serde(default)]
    subsumed: bool,
}

/// A text, borrowed if it has no escapes.
#[derive(Read)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// A value as text, if there is one. A `null` is one, because that is what some writers make of a cost that is infinite.
#[derive(Default)]
struct Given<'a>(Option<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Given<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&RawValue>::deserialize(deserializer).map(|value| Given(Some(value)))
    }
}

/// The members of an object, in order, with their names; a name may occur twice.
struct Members<'a, T>(Vec<(Text<'a>, T)>);

impl<T> Default for Members<'_, T> {
    fn default() -> Self {
        Members(Vec::new())
    }
}

impl<'de: 'a, 'a, T: Deserialize<'de>> Deserialize<'de> for Members<'a, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Each<'a, T>(PhantomData<(&'a (), T)>);
        impl<'de: 'a, 'a, T: Deserialize<'de>> Visitor<'de> for Each<'a, T> {
            type Value = Members<'a, T>;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Each(PhantomData))
    }
}

impl Graph {
    /// Reads a graph. A subsumed node is never chosen, so it is left out, but may be named as a child.
    ///
    /// # Errors
    ///
    /// Returns every fault that is found.
    pub fn from_json(text: &str) -> Result<Graph, Vec<Fault>> {
        match serde_json::from_str(text) {
            Ok(file) => read(file),
            // Some writers put numbers into JSON that it lacks. With quotes they are read, and refused with their class.
            Err(error) => match serde_json::from_str(&quoted(text)) {
                Ok(file) => read(file),
                Err(_) => Err(vec![Fault::Syntax(error.to_string())]),
            },
        }
    }

    /// Returns a selection as a graph of the chosen nodes alone; a child is the chosen node of its class.
    pub fn to_json(&self, selection: &Selection) -> String {
        let written = Written { graph: self, selection, nodes: selection.nodes(self) };
        // Plain data with string keys cannot fail to be written.
        serde_json::to_string_pretty(&written).unwrap_or_default() + "\n"
    }
}

fn read(file: File) -> Result<Graph, Vec<Fault>> {
    let mut faults = Vec::new();
    let mut builder = Builder::default();
    for (name, member) in file.nodes.0 {
        let Some(Text(class)) = member.eclass else {
            faults.push(Fault::NoClass { node: name.0.into_owned() });
            continue;
        };
        let written = member.cost.0.map_or("1", RawValue::get);
        let cost = written.parse::<f64>().ok().filter(|cost| cost.is_finite() && *cost >= 0.0);
        if cost.is_none() {
            let (class, node) = (class.to_string(), name.0.to_string());
            // The quotes may be those of `quoted`.
            faults.push(Fault::Cost { class, node, cost: written.replace('"', "") });
        }
        let node = NewNode {
            name: name.0,
            class,
            operator: member.op.0,
            children: member.children.into_iter().map(|child| child.0).collect(),
            cost: cost.unwrap_or(0.0),
            subsumed: member.subsumed,
        };
        builder.node(node);
    }
    let mut described = FxHashSet::default();
    for (class, _) in &file.class_data.0 {
        if !described.insert(&class.0) {
            faults.push(Fault::DuplicateClass { class: class.0.to_string() });
        }
    }
    file.root_eclasses.into_iter().for_each(|root| builder.root(root.0));
    match builder.build() {
        Ok(graph) if faults.is_empty() => Ok(graph),
        Ok(_) => Err(faults),
        Err(more) => Err([faults, more].concat()),
    }
}

/// Returns a text with quotes around `NaN`, `Infinity` and `-Infinity` outside of strings.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['"', 'N', 'I', '-']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = if rest.starts_with('"') {
            let mut escaped = true;
            let end = rest.bytes().position(|byte| {
                let ends = byte == b'"' && !escaped;
                escaped = byte == b'\\' && !escaped;
                ends
            });
            end.map_or(rest.len(), |end| end + 1)
        } else if let Some(word) =
            ["NaN", "Infinity", "-Infinity"].into_iter().find(|word| rest.starts_with(word))
        {
            out.extend(["\"", word, "\""]);
            rest = &rest[word.len()..];
            continue;
        } else {
            1
        };
        out.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    out + rest
}

/// A selection as it is written.
struct Written<'a> {
    graph: &'a Graph,
    selection: &'a Selection,
    nodes: Vec<Node>,
}

impl Serialize for Written<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let roots: Vec<&str> =
            self.graph.roots().iter().map(|root| self.graph.class_name(*root)).collect();
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("nodes", &WrittenNodes(self))?;
        map.serialize_entry("root_eclasses", &roots)?;
        map.end()
    }
}

/// The nodes of a selection as they are written.
struct WrittenNodes<'a>(&'a Written<'a>);

/// A node as it is written.
#[derive(Serialize)]
struct WrittenNode<'a> {
    op: &'a str,
    children: Vec<&'a str>,
    eclass: &'a str,
    cost: f64,
}

impl Serialize for WrittenNodes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Written { graph, selection, nodes } = self.0;
        let members = nodes.iter().map(|node| {
            let chosen = graph.children(*node).iter().filter_map(|child| selection.of(*child));
            let written = WrittenNode {
                op: graph.operator(*node),
                children: chosen.map(|child| graph.node_name(child)).collect(),
                eclass: graph.class_name(graph.class_of(*node)),
                cost: graph.cost(*node),
            };
            (graph.node_name(*node), written)
        });
        serializer.collect_map(members)
    }
}
