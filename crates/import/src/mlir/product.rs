//! The text of products of whole matrices: of two dimensions, of three, or of three and two, where the second factor is
//! that of every product.

/// The dimensions of a product: that of products, of rows, of columns, and the one that is summed over.
const DIMENSIONS: &str = "(d0, d1, d2, d3)";

/// Returns the operation for factors of so many dimensions, if there is one, up to its operands.
pub(super) fn operation(dimensions: (usize, usize), transposed: bool) -> Option<String> {
    let suffix = if transposed { "_transpose_b" } else { "" };
    match dimensions {
        (2, 2) => Some(format!("linalg.matmul{suffix}")),
        (3, 3) => Some(format!("linalg.batch_matmul{suffix}")),
        (3, 2) => {
            let second = if transposed { "(d2, d3)" } else { "(d3, d2)" };
            let maps = ["(d0, d1, d3)", second, "(d0, d1, d2)"]
                .map(|places| format!("affine_map<{DIMENSIONS} -> {places}>"));
            Some(format!("linalg.batch_matmul indexing_maps = [{}]", maps.join(", ")))
        }
        _ => None,
    }
}

/// The dimensions of the second factor where products have it in common, and whether it is transposed.
pub(super) const COMMON: [([usize; 2], bool); 2] = [([3, 2], false), ([2, 3], true)];

/// The dimensions of the first factor and of the result then.
pub(super) const BATCHES: [[usize; 3]; 2] = [[0, 1, 3], [0, 1, 2]];
