#![no_main]
//! Any bytes as a model: read, imported, derived.

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

#[global_allocator]
static ALLOCATOR: taste_fuzz::Counting = taste_fuzz::Counting;

fuzz_target!(
    // The corpus is read after this.
    init: taste_fuzz::write_seeds_if_asked("import"),
    |bytes: &[u8]| taste_fuzz::check_model(bytes)
);

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    taste_fuzz::change(data, size, max_size, seed)
        .unwrap_or_else(|| fuzzer_mutate(data, size, max_size))
});
