"""Memory that all peers of a case read, in large pages where the system has them."""

import ctypes
import mmap

LARGE = 1 << 21
HELD = []


def memory(size):
    """Returns memory that is never freed, and its address."""
    # Only a process's own memory is held in large pages by what `madvise` asks for; that of a file or shared is not.
    own = mmap.mmap(-1, size + LARGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE") and size >= LARGE:
        own.madvise(mmap.MADV_HUGEPAGE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(own))
    address = -(-start // LARGE) * LARGE
    HELD.append(own)
    return (ctypes.c_char * size).from_address(address), address
