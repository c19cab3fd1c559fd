//! Tests of graphs and extractors: properties on small random graphs against every selection there is, known graphs, and
//! graphs of a million nodes.

mod faults;
mod graphs;
mod known;
mod properties;
mod scale;
