//! What must hold for any bytes, and how bytes are changed.

mod mutate;
mod seeds;

pub use mutate::mutate;
pub use seeds::{words, write_seeds};

use std::collections::HashMap;

use taste_engine::{LaplacianMethod, Model, Request, Wants};

/// Reads bytes as a model, imports it and builds derivatives of it. Whatever is wrong must come back as an
/// error: nothing here may panic, take long, or allocate much more than the bytes call for.
pub fn check(bytes: &[u8]) {
    let Ok(file) = taste_onnx::Model::from_bytes(bytes, None) else { return };
    if let Err(e) = taste_ops::import(&file, &[], &HashMap::new()) {
        drop(e.to_string());
    }
    let Ok(model) = Model::from_bytes("fuzz", bytes) else { return };
    let wants = Wants { gradient: true, laplacian: true, ..Wants::default() };
    for method in [LaplacianMethod::AUTO, LaplacianMethod::EXACT] {
        let request = Request { laplacian_method: method, wants, memory: 1 << 20, ..Request::default() };
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
