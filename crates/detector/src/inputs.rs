//! What the inputs of a model say of its data.

use std::path::PathBuf;

use taste_data::{Dictionary, Options, Padding, Sequences, Wanted, sequences};
use taste_engine::{InputPart, Model, Port, Request};

use crate::Error;

/// With what the inputs of a model say of data: columns of a table or arrays of an archive that go by their names, and how
/// sequences are padded.
pub fn with_inputs(
    options: Options,
    model: &Model,
    data: &[PathBuf],
    padding: Padding,
) -> Result<Options, Error> {
    let wanted = wanted(model);
    if wanted.is_empty() || !options.columns.is_empty() {
        return Ok(with_columns(options, model, data));
    }
    let Some(found) = sequences(data, &wanted, &options, padding)? else { return Ok(options) };
    let sample_shape = Some(vec![found.width()]);
    // Lists have names; rows are all that there is.
    let columns = if found.by_name { found.given().cloned().collect() } else { Vec::new() };
    Ok(Options { sample_shape, columns, sequences: Some(found), ..options })
}

/// Likewise for rows in memory, of which a sample has these sizes.
pub fn with_rows(options: Options, model: &Model, sample: &[usize], padding: Padding) -> Options {
    match Sequences::of_rows(&wanted(model), sample, padding) {
        Some(found) => {
            Options { sample_shape: Some(vec![found.width()]), sequences: Some(found), ..options }
        }
        None => options,
    }
}

fn wanted(model: &Model) -> Vec<Wanted> {
    model.sequences().into_iter().map(|(name, length)| Wanted { name, length }).collect()
}

fn with_columns(options: Options, model: &Model, data: &[PathBuf]) -> Options {
    let inputs = model.inputs();
    let ends = |path: &PathBuf, ending: &str| path.extension().is_some_and(|e| e == ending);
    let single = |port: &Port| matches!(port.shape.as_deref(), Some([_] | [_, Ok(1)]));
    let archives = data.iter().all(|path| ends(path, "npz"));
    let tables = !data.iter().any(|path| ends(path, "npz") || ends(path, "npy"));
    let fits = archives || (tables && inputs.iter().all(single));
    if inputs.len() < 2 || !options.columns.is_empty() || !fits {
        return options;
    }
    // Inputs that take words say which.
    let parts = model.draft(&Request::default()).map(|draft| draft.parts().to_vec());
    let dictionary =
        |part: InputPart| part.words.map(|words| Dictionary { column: part.name, words });
    let words = parts.unwrap_or_default().into_iter().filter_map(dictionary).collect();
    Options { columns: inputs.into_iter().map(|p| p.name).collect(), words, ..options }
}
