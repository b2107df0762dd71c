//! How samples were read for a network that was trained here: an entry in the metadata of its file.

use anyhow::Result;
use taste_data::Options;
use taste_engine::Model;

use crate::tell;

const KEY: &str = "taste.reading";

/// Puts an entry into a file.
pub(crate) fn put(onnx: &mut taste_onnx::Model, options: &Options) -> Result<()> {
    let options = Options { sample_shape: None, labels: false, label: None, ..options.clone() };
    onnx.set_metadata(KEY, serde_json::to_string(&options)?);
    Ok(())
}

/// Says where samples are scaled otherwise than those that a model learned from.
pub(crate) fn tell_difference(model: &Model, options: &Options) {
    let entry = model.onnx().metadata(KEY);
    let learned = entry.and_then(|text| serde_json::from_str::<Options>(text).ok());
    let Some(learned) = learned else { return };
    let (there, here) = (scaling(&learned), scaling(options));
    if there != here {
        let name = model.name();
        tell(&format!("{name} learned from samples read {there}; here they are read {here}"));
    }
}

/// The flags that decide on the scale of samples.
fn scaling(options: &Options) -> String {
    let list = |flag: &str, numbers: &[f32]| {
        let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
        (!numbers.is_empty()).then(|| format!("{flag} {}", numbers.join(",")))
    };
    let raw = options.raw.then(|| "--raw".to_owned());
    let flags = [raw, list("--mean", &options.mean), list("--std", &options.std)];
    match flags.into_iter().flatten().collect::<Vec<_>>()[..] {
        [] => "without --raw, --mean and --std".to_owned(),
        ref flags => format!("with {}", flags.join(" ")),
    }
}
