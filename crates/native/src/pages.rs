//! Large pages: a table that is read row by row at random misses the translations of addresses less often.

/// The bytes of a large page.
const LARGE: usize = 1 << 21;

/// The least bytes of memory that large pages are asked for: what is smaller is translated by few small ones.
const WORTH: usize = 4 * LARGE;

/// Asks the system to hold memory in large pages, as far as it consists of whole ones, and returns true if the system
/// agreed. The contents stay; what is not written yet will come in large pages. A system without them, or that has none
/// left, leaves all as it is.
pub fn large_pages<T>(memory: &[T]) -> bool {
    advise(memory.as_ptr().cast(), size_of_val(memory), true)
}

/// Asks for large pages for the capacity of an empty vector.
pub(crate) fn of_capacity<T>(vector: &Vec<T>) {
    advise(vector.as_ptr().cast(), vector.capacity() * size_of::<T>(), false);
}

#[cfg(target_os = "linux")]
fn advise(start: *const u8, bytes: usize, held: bool) -> bool {
    let (from, to) = (start.addr().next_multiple_of(LARGE), (start.addr() + bytes) / LARGE * LARGE);
    if bytes < WORTH || from >= to {
        return false;
    }
    let first = start.with_addr(from).cast_mut().cast();
    // SAFETY: the pages lie within memory that the caller has, and both advices leave its contents and its protection
    // as they are.
    unsafe {
        let agreed = libc::madvise(first, to - from, libc::MADV_HUGEPAGE) == 0;
        // Pages that are there already are joined; an older system does so later by itself.
        agreed && (!held || libc::madvise(first, to - from, libc::MADV_COLLAPSE) == 0)
    }
}

#[cfg(not(target_os = "linux"))]
fn advise(_start: *const u8, _bytes: usize, _held: bool) -> bool {
    false
}
