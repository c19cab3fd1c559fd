//! The DAE simulator: executes a [`Program`](ember_targets::dlc::Program) on real data and counts
//! cycles, bytes and energy. Knows programs and machines, nothing of rules or e-graphs.
