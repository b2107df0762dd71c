//! What must hold for any bytes, and how bytes are changed.

mod detector;
mod draws;
mod memory;
mod metadata;
mod mutate;
mod seeds;

pub use detector::check_detector;
pub use memory::Counting;
pub use seeds::write_seeds_if_asked;

use std::collections::HashMap;

use taste_engine::{LaplacianMethod, Model, Request, Wants};

/// Reads bytes as a model, imports it and builds derivatives of it. Whatever is wrong must come back as an
/// error: nothing here may panic, take long, or allocate much more than the bytes call for.
pub fn check_model(bytes: &[u8]) {
    let Ok(file) = taste_onnx::Model::from_bytes(bytes, None) else { return };
    if let Err(e) = taste_ops::import(&file, &[], &HashMap::new()) {
        drop(e.to_string());
    }
    let Ok(model) = Model::from_bytes("fuzz", bytes) else { return };
    let wants = Wants { gradient: true, laplacian: true, ..Wants::default() };
    for method in [LaplacianMethod::AUTO, LaplacianMethod::EXACT] {
        let request =
            Request { laplacian_method: method, wants, memory: 1 << 20, ..Request::default() };
        match model.derive(&request) {
            Err(e) => drop(e.to_string()),
            Ok(derived) => {
                derived.chunk();
                let is_small = derived.node_count() < 2000 && derived.dimension() <= 64;
                // One of them at a time, as a user has.
                drop(derived);
                if is_small {
                    drop(model.derive_file(&request));
                }
            }
        }
    }
}

/// Changes the first `size` bytes as a model and gives their new number. Nothing if they are no model, if the result
/// does not fit, and one time in eight.
pub fn change(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> Option<usize> {
    if seed.is_multiple_of(8) {
        return None;
    }
    let changed = mutate::mutate(&data[..size], u64::from(seed))?;
    if changed.len() > max_size {
        return None;
    }
    data[..changed.len()].copy_from_slice(&changed);
    Some(changed.len())
}
