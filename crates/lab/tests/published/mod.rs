//! Small networks in the form in which those of the paper are published.

use std::{fs, path::Path};

/// Puts small networks in the form of the paper's under their published names: a `ResNet` of torchvision, a diffusion
/// model of diffusers for pictures of so many pixels on a side.
pub(crate) fn publish(models: &Path, resnet: &str, diffusion: &str, side: usize) {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../train/tests/fixtures/imports");
    fs::copy(fixtures.join("basic.pt"), models.join(resnet)).expect("copied");
    let (from, to) = (fixtures.join("plain"), models.join(diffusion));
    fs::create_dir_all(&to).expect("a folder");
    let weights = "diffusion_pytorch_model.safetensors";
    fs::copy(from.join(weights), to.join(weights)).expect("copied");
    let config = fs::read_to_string(from.join("config.json")).expect("a configuration");
    let sized = config.replace("\"sample_size\": 8", &format!("\"sample_size\": {side}"));
    assert_ne!(sized, config);
    fs::write(to.join("config.json"), sized).expect("written");
}
