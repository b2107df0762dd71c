//! What the inputs of a model say of its data.

use std::path::PathBuf;

use anyhow::Result;
use taste_data::{Dictionary, Options, Wanted, sequences};
use taste_engine::{InputPart, Model, Port, Request};

use super::DataArgs;

impl DataArgs {
    /// As options for data of a model.
    pub(crate) fn for_model(&self, model: &Model, data: &[PathBuf]) -> Result<Options> {
        let options = self.options(model.sample_shape()?)?;
        let wanted = model.sequences();
        if wanted.is_empty() || !options.columns.is_empty() {
            return Ok(with_columns(options, model, data));
        }
        let wanted: Vec<Wanted> =
            wanted.into_iter().map(|(name, length)| Wanted { name, length }).collect();
        let Some(found) = sequences(data, &wanted, &options, self.length, self.padding)? else {
            return Ok(options);
        };
        let sample_shape = Some(vec![found.length * found.inputs.len()]);
        // Lists have names; rows are all that there is.
        let columns = if found.by_name { found.given().cloned().collect() } else { Vec::new() };
        Ok(Options { sample_shape, columns, sequences: Some(found), ..options })
    }
}

/// With the columns of a table, or the arrays of an archive, that a model has inputs for under their names.
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
