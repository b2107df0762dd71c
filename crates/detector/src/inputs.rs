//! What the inputs of a model say of its data.

use std::path::PathBuf;

use taste_data::{
    Dataset, Dictionary, Input, Options, Padding, Sequences, Takes, Wanted, sequences,
};
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
    let options = with_parts(options, model, None);
    if wanted.is_empty() || !options.columns.is_empty() {
        return Ok(with_columns(options, model, data));
    }
    let Some(found) = sequences(data, &wanted, &options, padding)? else {
        return Ok(with_columns(options, model, data));
    };
    let sample_shape = Some(vec![found.width()]);
    let options = with_parts(options, model, Some(found.length));
    // Lists have names; rows are all that there is.
    let columns = if found.by_name { found.given().cloned().collect() } else { Vec::new() };
    Ok(Options { sample_shape, columns, sequences: Some(found), ..options })
}

/// Likewise for rows in memory, of which a sample has these sizes.
pub fn with_rows(options: Options, model: &Model, sample: &[usize], padding: Padding) -> Options {
    match Sequences::of_rows(&wanted(model), sample, padding) {
        Some(found) => Options {
            sample_shape: Some(vec![found.width()]),
            sequences: Some(found.clone()),
            ..with_parts(options, model, Some(found.length))
        },
        None => with_parts(options, model, None),
    }
}

/// With the inputs that samples are spread over, each of `length` entries if that is given. Bytes are whole numbers where
/// nothing else is taken.
fn with_parts(options: Options, model: &Model, length: Option<usize>) -> Options {
    if !model.takes_rows() {
        return options;
    }
    let input = |port: &Port| Input {
        name: port.name.clone(),
        width: length.or_else(|| port.row_width()),
        takes: match () {
            () if !port.is_whole() => Takes::Numbers,
            () if model.reads_as_floats(&port.name) => Takes::Whole,
            () => Takes::Codes,
        },
    };
    let inputs: Vec<Input> = model.inputs().iter().map(input).collect();
    let raw = options.raw || inputs.iter().all(|input| input.takes != Takes::Numbers);
    Options { inputs, raw, ..options }
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
    if !options.columns.is_empty() {
        return options;
    }
    let names: Vec<String> = inputs.iter().map(|port| port.name.clone()).collect();
    if tables && has_lists(&names, &inputs, data) {
        return Options { columns: names, ..options };
    }
    if inputs.len() < 2 || !fits {
        return options;
    }
    // Inputs that take words say which.
    let parts = model.draft(&Request::default()).map(|draft| draft.parts().to_vec());
    let dictionary =
        |part: InputPart| part.words.map(|words| Dictionary { column: part.name, words });
    let words = parts.unwrap_or_default().into_iter().filter_map(dictionary).collect();
    Options { columns: names, words, ..options }
}

/// Whether the data have lists of numbers under the names of all inputs, of as many entries as these take.
fn has_lists(names: &[String], inputs: &[Port], data: &[PathBuf]) -> bool {
    let named = Options { columns: names.to_vec(), ..Options::default() };
    let found = data.first().and_then(|path| Dataset::open(path, &named).ok());
    let Some(found) = found.filter(Dataset::is_table) else { return false };
    let entries: usize = found.file_sample_shape().iter().product();
    let wanted: Option<usize> = inputs.iter().map(Port::row_width).sum();
    entries > names.len() && wanted.is_none_or(|wanted| wanted == entries)
}
