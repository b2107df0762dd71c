#![no_main]
//! Any bytes as a model: read, imported, derived.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering},
};

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

/// Counts live bytes; a small model that takes more than `LIMIT` is a crash.
struct Counting;

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

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fuzz_target!(
    init: {
        // The corpus is read after this.
        if std::env::var_os("TASTE_SEEDS").is_some()
            && let Err(e) = taste_fuzz::write_seeds()
        {
            eprintln!("no seeds: {e}");
        }
    },
    |bytes: &[u8]| taste_fuzz::check(bytes)
);

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    if seed % 8 != 0
        && let Some(changed) = taste_fuzz::mutate(&data[..size], u64::from(seed))
        && changed.len() <= max_size
    {
        data[..changed.len()].copy_from_slice(&changed);
        return changed.len();
    }
    fuzzer_mutate(data, size, max_size)
});
