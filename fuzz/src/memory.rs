//! An allocator that counts: a small file that takes more than `LIMIT` is a crash.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering},
};

/// Counts live bytes.
pub struct Counting;

const LIMIT: usize = 512 << 20;
static LIVE: AtomicUsize = AtomicUsize::new(0);

fn count(bytes: usize) {
    if LIVE.fetch_add(bytes, Ordering::Relaxed) + bytes > LIMIT {
        LIVE.store(0, Ordering::Relaxed);
        panic!("more than {LIMIT} bytes are live after asking for {bytes}");
    }
}

// SAFETY: every request goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.realloc(at, layout, size) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(at, layout) }
    }
}
