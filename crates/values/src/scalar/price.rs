//! The costs of operations on scalars: price classes and latencies.

/// The price class of an operation on scalars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScalarPrice {
    /// One operation of the vector unit.
    Operation,
    /// The exponential function of the machine.
    Exponential,
}

/// A latency that a machine states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Latency {
    /// The latency of the exponential function.
    Exponential,
    /// The latency of a square root.
    Root,
    /// The latency of a division.
    Quotient,
    /// The latency of a multiplication.
    Product,
    /// The latency of an addition, and of all that takes no longer.
    Sum,
}
