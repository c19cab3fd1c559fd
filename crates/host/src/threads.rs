//! Work on several things at once. The results stand in the order of the things, on however many threads, and
//! on one if the feature `system` is off.

/// The results of a function for each item, in the order of the items.
pub fn map<T: Sync, R: Send>(items: &[T], f: impl Fn(&T) -> R + Sync + Send) -> Vec<R> {
    #[cfg(feature = "system")]
    return rayon::iter::ParallelIterator::collect(rayon::iter::ParallelIterator::map(
        rayon::iter::IntoParallelRefIterator::par_iter(items),
        f,
    ));
    #[cfg(not(feature = "system"))]
    items.iter().map(f).collect()
}

/// The results of two functions.
pub fn join<A: Send, B: Send>(
    a: impl FnOnce() -> A + Send,
    b: impl FnOnce() -> B + Send,
) -> (A, B) {
    #[cfg(feature = "system")]
    return rayon::join(a, b);
    #[cfg(not(feature = "system"))]
    (a(), b())
}

/// Whether there is more than one thread to work on.
pub fn several() -> bool {
    #[cfg(feature = "system")]
    return rayon::current_num_threads() > 1;
    #[cfg(not(feature = "system"))]
    false
}
