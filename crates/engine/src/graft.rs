//! Another model as part of a graph that is being built.

use std::collections::HashMap;

use taste_graph::{Build, DType, Dim, Id, Tensor};
use taste_onnx::proto::ValueInfoProto;
use taste_ops::{Imported, declared_shape, import};

use crate::{
    Error, Model,
    derive::mixed,
    error::{Given, request},
};

/// How a model becomes part of a graph.
#[derive(Clone, Debug, Default)]
pub struct Graft {
    /// The input that takes the samples; by default what [`Model::input`] says.
    pub input: Option<String>,
    /// The output to use; by default the first that holds floats.
    pub output: Option<String>,
    /// What the other inputs are filled with.
    pub fill: Vec<(Further, f64)>,
}

/// An input other than the one that takes the samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Further {
    /// By its name.
    Named(String),
    /// By its place among the inputs that do not take the samples, counted from 0.
    Place(usize),
}

/// The first axis of inputs that are filled with one number.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Filled {
    /// One number for all samples: what depends on it alone is computed once.
    Once,
    /// A copy for every sample.
    PerSample,
}

/// What a graph of the model is made for.
struct Plan<'a> {
    data: &'a ValueInfoProto,
    /// The sizes of a sample as the model takes them.
    sample: Vec<Dim>,
    /// The other inputs in order, each with its number.
    fills: Vec<(&'a ValueInfoProto, f64)>,
    output: Option<&'a str>,
}

impl Plan<'_> {
    /// How many samples the file was exported for, if not for any number.
    fn exported(&self) -> Option<usize> {
        declared_shape(self.data).and_then(|s| s.first().copied().flatten())
    }
}

/// A graph of the model.
struct Grafting {
    imported: Imported,
    x: Id,
    output: Id,
}

impl Model {
    /// Adds the model to a graph with the samples `x` (N × …) as its input, and returns its output. Samples are
    /// flattened if the model takes rows.
    pub fn graft(&self, b: &mut Build<'_>, x: Id, options: &Graft) -> Result<Id, Error> {
        let inputs = self.free_inputs();
        let name = self.input(options.input.as_deref())?.name;
        let data = *inputs
            .iter()
            .find(|i| i.name == name)
            .ok_or_else(|| request(format!("{}: no input {name:?}", self.name())))?;
        let rows = *b.fact(x).shape.first().ok_or_else(|| {
            request(format!("{}: samples without an axis of samples", self.name()))
        })?;
        let plan = Plan {
            data,
            sample: self.sample_for(b, x, data)?,
            fills: self.fills(&inputs, data, &options.fill)?,
            output: options.output.as_deref(),
        };
        let Grafting { imported, x: input, output } = self.open_or_fixed(&plan, rows)?;

        let full: Vec<Dim> = std::iter::once(rows).chain(plan.sample).collect();
        let mut bind = vec![(input, b.reshape(x, &full)?)];
        let others = imported.inputs.iter().filter(|i| i.1 != input);
        for ((name, id), (_, value)) in others.zip(plan.fills) {
            let fact = imported.graph.fact(*id);
            let constant = b.graph_mut().constant(self.number(name, fact.dtype, value)?);
            let shape: Vec<Dim> = fact.shape.iter().map(|d| d.with_batch(rows)).collect();
            bind.push((*id, b.expand(constant, &shape)?));
        }
        let outputs = b
            .graph_mut()
            .absorb(&imported.graph, &bind, &[output])
            .map_err(|e| request(format!("{}: {e}", self.name())))?;
        Ok(outputs[0])
    }

    /// The inputs that the file holds no value for.
    fn free_inputs(&self) -> Vec<&ValueInfoProto> {
        let Some(graph) = &self.onnx().proto.graph else { return Vec::new() };
        let held = |name: &str| graph.initializer.iter().any(|t| t.name == name);
        graph.input.iter().filter(|i| !held(&i.name)).collect()
    }

    /// The sizes of a sample as the model takes them.
    fn sample_for(&self, b: &Build<'_>, x: Id, data: &ValueInfoProto) -> Result<Vec<Dim>, Error> {
        let got = &b.fact(x).shape[1..];
        let Some(declared) = declared_shape(data) else { return Ok(got.to_vec()) };
        let entries: Option<i64> = got.iter().map(|d| d.as_fixed()).product();
        let flat = entries.map(|fixed| vec![Dim { per_batch: 0, fixed }]);
        let fits = |sample: &[Dim]| {
            declared.len() == sample.len() + 1
                && declared[1..]
                    .iter()
                    .zip(sample)
                    .all(|(d, g)| d.is_none_or(|d| Dim::from(d) == *g))
        };
        if fits(got) {
            return Ok(got.to_vec());
        }
        flat.filter(|flat| fits(flat)).ok_or_else(|| {
            let size = |d: &Dim| d.as_fixed().and_then(|d| usize::try_from(d).ok());
            let got = Given::Sample(got.iter().filter_map(size).collect());
            let wanted = declared.iter().skip(1).copied().collect();
            let misfit = Error::Shape { name: data.name.clone(), wanted, got };
            request(format!("{}: {misfit}", self.name()))
        })
    }

    /// The other inputs in order, each with its number.
    fn fills<'a>(
        &self,
        inputs: &[&'a ValueInfoProto],
        data: &ValueInfoProto,
        given: &[(Further, f64)],
    ) -> Result<Vec<(&'a ValueInfoProto, f64)>, Error> {
        let others: Vec<&ValueInfoProto> =
            inputs.iter().copied().filter(|i| i.name != data.name).collect();
        let meant = |further: &Further, place: usize, name: &str| match further {
            Further::Named(n) => n == name,
            Further::Place(p) => *p == place,
        };
        for (further, _) in given {
            if !others.iter().enumerate().any(|(place, i)| meant(further, place, &i.name)) {
                let names: Vec<&str> = others.iter().map(|i| i.name.as_str()).collect();
                let wanted = match further {
                    Further::Named(name) => format!("an input {name:?}"),
                    Further::Place(place) => format!("input number {}", place + 1),
                };
                return Err(request(format!(
                    "{}: wants {wanted} besides {:?}, but the model has {}",
                    self.name(),
                    data.name,
                    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
                )));
            }
        }
        others
            .iter()
            .enumerate()
            .map(|(place, info)| {
                let value = given.iter().find(|g| meant(&g.0, place, &info.name));
                let value = value.ok_or_else(|| {
                    request(format!(
                        "{}: the model also wants the input {:?}, and nothing is given for it",
                        self.name(),
                        info.name
                    ))
                })?;
                Ok((*info, value.1))
            })
            .collect()
    }

    /// The model's graph, for any number of samples if the file allows that.
    fn open_or_fixed(&self, plan: &Plan<'_>, rows: Dim) -> Result<Grafting, Error> {
        let open = self
            .import_for(plan, Dim::BATCH, Filled::Once)
            .or_else(|_| self.import_for(plan, Dim::BATCH, Filled::PerSample));
        let Some(exported) = plan.exported() else { return open };
        open.or_else(|cause| {
            if rows == Dim::from(exported) {
                return self.import_for(plan, rows, Filled::PerSample);
            }
            let plural = if exported == 1 { "" } else { "s" };
            Err(request(format!(
                "{}: the file was exported for batches of {exported} sample{plural} and does not work for any \
                 number of them; export it with an open batch axis ({cause})",
                self.name()
            )))
        })
    }

    fn import_for(&self, plan: &Plan<'_>, rows: Dim, filled: Filled) -> Result<Grafting, Error> {
        let full: Vec<Dim> = std::iter::once(rows).chain(plan.sample.iter().copied()).collect();
        let mut shapes = HashMap::from([(plan.data.name.clone(), full)]);
        for (info, _) in &plan.fills {
            let shape = self.filled_shape(info, rows, plan.exported(), filled)?;
            shapes.insert(info.name.clone(), shape);
        }
        let wanted = plan.output.map(str::to_owned).or_else(|| self.answer_output());
        let imported = import(self.onnx(), &wanted.into_iter().collect::<Vec<_>>(), &shapes)
            .map_err(|cause| self.import_error(cause))?;
        let (graph, inputs) = (&imported.graph, &imported.inputs);
        let x = inputs.iter().find(|i| i.0 == plan.data.name).map(|i| i.1);
        let x = x.ok_or_else(|| request(format!("{}: no input for samples", self.name())))?;
        let (name, output) = imported
            .outputs
            .iter()
            .find(|(_, id)| graph.fact(*id).dtype == DType::Float)
            .ok_or_else(|| request(format!("{}: no output holds floats", self.name())))?;
        let output = *output;
        let fact = graph.fact(output);
        let by_sample = fact.shape.split_first().is_some_and(|(first, rest)| {
            *first == rows && !rest.iter().any(|d| d.depends_on_batch())
        });
        if !by_sample {
            return Err(request(format!(
                "{}: output {name:?} is {fact}, which is not one row for every sample",
                self.name()
            )));
        }
        if let Some(place) = mixed(graph, output, x)? {
            return Err(request(format!(
                "{}: {place} mixes the samples of a batch, so output {name:?} is not computed sample by sample",
                self.name()
            )));
        }
        Ok(Grafting { imported, x, output })
    }

    /// The shape of an input that is filled with one number. Its first axis counts samples if it is open or
    /// has as many entries as the file has samples; a single entry serves any number of them.
    fn filled_shape(
        &self,
        info: &ValueInfoProto,
        rows: Dim,
        exported: Option<usize>,
        filled: Filled,
    ) -> Result<Vec<Dim>, Error> {
        let Some(declared) = declared_shape(info) else { return Ok(vec![Dim::from(1)]) };
        declared
            .iter()
            .enumerate()
            .map(|(axis, size)| match (axis, size) {
                (0, size) if size.is_none_or(|s| s == 1 || Some(s) == exported) => {
                    Ok(if filled == Filled::Once { Dim::from(1) } else { rows })
                }
                (_, Some(size)) => Ok(Dim::from(*size)),
                _ => Err(request(format!(
                    "{}: input {:?} leaves the size of axis {axis} open, so it can't be filled with one number",
                    self.name(),
                    info.name
                ))),
            })
            .collect()
    }

    fn number(&self, name: &str, dtype: DType, value: f64) -> Result<Tensor, Error> {
        let misfit = |wanted: &str| {
            request(format!("{}: input {name:?} takes {wanted}, got {value}", self.name()))
        };
        match dtype {
            DType::Float => Ok(Tensor::scalar(value)),
            #[expect(clippy::cast_possible_truncation, reason = "a whole number in range")]
            DType::Int if value.fract() == 0.0 && value.abs() < 9e15 => {
                Ok(ndarray::ArrayD::from_elem(ndarray::IxDyn(&[]), value as i64).into())
            }
            DType::Int => Err(misfit("a whole number")),
            DType::Bool => Err(misfit("truth values")),
        }
    }
}
