//! The messages of a graph file, with the fields that are read.

use crate::error::Problem;
use crate::limits::OPERATORS;
use prost::Message;
use prost::encoding::{DecodeContext, WireType, decode_key, skip_field};
use std::collections::BTreeMap;

/// The field of a graph that holds its nodes.
const NODES: u32 = 1;

/// A node of the graph.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Node {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "2")]
    pub(super) op: String,
    /// The names of nodes, each with the number of a result behind a colon; with `^` before it, a node that only runs
    /// before.
    #[prost(string, repeated, tag = "3")]
    pub(super) input: Vec<String>,
    #[prost(btree_map = "string, message", tag = "5")]
    pub(super) attr: BTreeMap<String, Attribute>,
}

/// An attribute of a node.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Attribute {
    #[prost(oneof = "Value", tags = "1, 2, 3, 4, 5, 6, 7, 8")]
    pub(super) value: Option<Value>,
}

/// The content of an attribute.
#[derive(Clone, PartialEq, prost::Oneof)]
pub(super) enum Value {
    #[prost(message, tag = "1")]
    List(List),
    #[prost(bytes, tag = "2")]
    Text(Vec<u8>),
    #[prost(int64, tag = "3")]
    Int(i64),
    #[prost(float, tag = "4")]
    Number(f32),
    #[prost(bool, tag = "5")]
    Bool(bool),
    #[prost(int32, tag = "6")]
    Type(i32),
    #[prost(message, tag = "7")]
    Shape(Shape),
    #[prost(message, tag = "8")]
    Tensor(Box<Tensor>),
}

/// Several whole numbers or types.
#[derive(Clone, PartialEq, Message)]
pub(super) struct List {
    #[prost(int64, repeated, tag = "3")]
    pub(super) ints: Vec<i64>,
    #[prost(int32, repeated, tag = "6")]
    pub(super) types: Vec<i32>,
}

/// The extents of a tensor.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Shape {
    #[prost(message, repeated, tag = "2")]
    pub(super) dims: Vec<Dim>,
    #[prost(bool, tag = "3")]
    pub(super) unknown: bool,
}

/// One extent; -1 if only the data says it.
#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct Dim {
    #[prost(int64, tag = "1")]
    pub(super) size: i64,
}

/// A tensor: raw bytes, or elements in the list of their type, of which the last one stands for all that are missing.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Tensor {
    #[prost(int32, tag = "1")]
    pub(super) dtype: i32,
    #[prost(message, optional, tag = "2")]
    pub(super) shape: Option<Shape>,
    #[prost(bytes, tag = "4")]
    pub(super) content: Vec<u8>,
    #[prost(float, repeated, tag = "5")]
    pub(super) floats: Vec<f32>,
    #[prost(double, repeated, tag = "6")]
    pub(super) doubles: Vec<f64>,
    #[prost(int32, repeated, tag = "7")]
    pub(super) ints: Vec<i32>,
    #[prost(int64, repeated, tag = "10")]
    pub(super) longs: Vec<i64>,
    #[prost(bool, repeated, tag = "11")]
    pub(super) bools: Vec<bool>,
    #[prost(int32, repeated, tag = "13")]
    pub(super) halves: Vec<i32>,
}

/// Reads the nodes of a graph, one after the other, so that their number is limited before memory is asked for.
pub(super) fn nodes(bytes: &[u8]) -> Result<Vec<Node>, Problem> {
    let mut rest = bytes;
    let mut nodes: Vec<Node> = Vec::new();
    while !rest.is_empty() {
        let (field, kind) = decode_key(&mut rest)?;
        if field != NODES || kind != WireType::LengthDelimited {
            skip_field(kind, field, &mut rest, DecodeContext::default())?;
            continue;
        }
        if nodes.len() >= OPERATORS {
            let (length, limit) = (nodes.len() as u64 + 1, OPERATORS as u64);
            let what = "the list of nodes".to_owned();
            return Err(Problem::TooLarge { what, length, limit });
        }
        nodes.push(Node::decode_length_delimited(&mut rest)?);
    }
    Ok(nodes)
}
