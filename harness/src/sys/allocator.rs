//! The allocator of static programs. musl's own gives pages back as soon as they are free, and maps
//! them again.

use dlmalloc::GlobalDlmalloc;

#[global_allocator]
static ALLOCATOR: GlobalDlmalloc = GlobalDlmalloc;

/// Lets a child that is forked while another thread allocates allocate as well. Only for the beginning of
/// a program.
pub(crate) fn prepare() {
    // SAFETY: no other thread has been started, so that none allocates meanwhile.
    unsafe { dlmalloc::enable_alloc_after_fork() }
}
