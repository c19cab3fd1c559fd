//! The words of operations: of those on elements, which tables, the graph and models share, and of those in models.

// Operations on two elements.
pub(crate) const ADD: &str = "add";
pub(crate) const SUB: &str = "sub";
pub(crate) const MUL: &str = "mul";
pub(crate) const DIV: &str = "div";
pub(crate) const POW: &str = "pow";
pub(crate) const MAX: &str = "max";
pub(crate) const MIN: &str = "min";

// Operations of models that are more than one on elements.
pub(crate) const MAP: &str = "nn.map";
pub(crate) const NEGATED: &str = "nn.neg";
pub(crate) const SOFTMAX: &str = "nn.softmax";
pub(crate) const CENTRE: &str = "nn.centre";
pub(crate) const NORMALISE: &str = "nn.normalise";
pub(crate) const CAST: &str = "nn.cast";
pub(crate) const LEAKY: &str = "nn.leaky_relu";
pub(crate) const WHERE: &str = "nn.where";
pub(crate) const WHERE_NUMBER: &str = "nn.where_number";
pub(crate) const SWAP: &str = "nn.swap";
pub(crate) const SLICE: &str = "nn.slice";
pub(crate) const MATMUL: &str = "nn.matmul";
pub(crate) const MATMUL_T: &str = "nn.matmul_t";
pub(crate) const GATHER: &str = "emb.gather";
pub(crate) const BLOCK_GATHER: &str = "emb.block_gather";
pub(crate) const BAG: &str = "emb.bag";
pub(crate) const SPMM: &str = "emb.spmm";
pub(crate) const KG: &str = "emb.kg";
pub(crate) const TRIANGLE: &str = "nn.triangle";
