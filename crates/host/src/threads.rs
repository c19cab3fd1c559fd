//! Parallel work. Results have the order of the inputs, for any number of threads; without the feature `system` there
//! is one thread.

#[cfg(feature = "system")]
use std::cell::Cell;
#[cfg(feature = "system")]
use std::sync::TryLockError;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Applies a function to each item and returns the results in the order of the items.
pub fn map<T: Sync, R: Send>(items: &[T], f: impl Fn(&T) -> R + Sync + Send) -> Vec<R> {
    #[cfg(feature = "system")]
    return rayon::iter::ParallelIterator::collect(rayon::iter::ParallelIterator::map(
        rayon::iter::IntoParallelRefIterator::par_iter(items),
        f,
    ));
    #[cfg(not(feature = "system"))]
    items.iter().map(f).collect()
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

/// The most units of other work that one thread runs within each other while it waits for a lock, which bounds its stack.
#[cfg(feature = "system")]
const NESTED: usize = 4;

/// Locks a mutex that other threads hold while they work. Meanwhile the thread does other parallel work, if there is some.
/// The caller must not hold another lock. A mutex whose holder panicked is locked all the same.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    #[cfg(feature = "system")]
    {
        thread_local!(static DEPTH: Cell<usize> = const { Cell::new(0) });
        let depth = DEPTH.get();
        while depth < NESTED {
            match mutex.try_lock() {
                Ok(guard) => return guard,
                Err(TryLockError::Poisoned(guard)) => return guard.into_inner(),
                Err(TryLockError::WouldBlock) => {}
            }
            DEPTH.set(depth + 1);
            let worked = rayon::yield_now() == Some(rayon::Yield::Executed);
            DEPTH.set(depth);
            if !worked {
                break;
            }
        }
    }
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
