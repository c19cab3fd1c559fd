//! Parallel work. Results have the order of the inputs, for any number of threads; without the feature `system` there
//! is one thread.

#[cfg(feature = "system")]
use rayon::{
    iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator},
    slice::ParallelSliceMut,
};

/// Applies a function to each item and returns the results in the order of the items. Every item is a task of its own,
/// so that no thread is idle while another still has several.
pub fn map<T: Sync, R: Send>(items: &[T], f: impl Fn(&T) -> R + Sync + Send) -> Vec<R> {
    #[cfg(feature = "system")]
    return items.par_iter().with_max_len(1).map(f).collect();
    #[cfg(not(feature = "system"))]
    items.iter().map(f).collect()
}

/// Fills the rows of a buffer, each of a width, by a function of the row's number; `None` if one of the rows fails. The
/// last row is left as it is if the buffer ends within it.
pub fn fill<T: Send>(
    buffer: &mut [T],
    width: usize,
    row: impl Fn(usize, &mut [T]) -> Option<()> + Sync + Send,
) -> Option<()> {
    let width = width.max(1);
    #[cfg(feature = "system")]
    return buffer.par_chunks_exact_mut(width).enumerate().try_for_each(|(i, out)| row(i, out));
    #[cfg(not(feature = "system"))]
    buffer.chunks_exact_mut(width).enumerate().try_for_each(|(i, out)| row(i, out))
}

/// Runs two functions, in parallel if possible, and returns both results.
pub fn join<A: Send, B: Send>(
    a: impl FnOnce() -> A + Send,
    b: impl FnOnce() -> B + Send,
) -> (A, B) {
    #[cfg(feature = "system")]
    return rayon::join(a, b);
    #[cfg(not(feature = "system"))]
    (a(), b())
}

/// Returns true if more than one thread is available.
pub fn several() -> bool {
    #[cfg(feature = "system")]
    return rayon::current_num_threads() > 1;
    #[cfg(not(feature = "system"))]
    false
}
