use std::{collections::HashMap, path::Path, sync::Arc};

use taste_choice::Choice;
use taste_graph::{DType, Dim, Graph, Id, Tensor};

use super::{Backend, Engine, Instance, Loaded, Program};
use crate::{Error, Value, View};

pub(super) const ENGINE: &Engine = &Engine {
    choice: Choice {
        name: "reference",
        usage: "reference",
        about: "the interpreter in double precision: slow, and the oracle of the others",
    },
    has_library: false,
    read,
};

impl Backend {
    /// The interpreter in double precision: slow, and the oracle of the others.
    pub const REFERENCE: Self = Self::of(ENGINE);
}

#[expect(clippy::unnecessary_wraps, reason = "other engines refuse graphs")]
fn read(program: &Program<'_>, _library: Option<&Path>) -> Result<Arc<dyn Loaded>, Error> {
    let outputs = program.outputs.iter().map(|o| o.1).collect();
    Ok(Arc::new(ReferenceModel { graph: Arc::new(program.graph.clone()), outputs }))
}

/// A graph for the interpreter of the graph crate.
#[derive(Clone)]
struct ReferenceModel {
    graph: Arc<Graph>,
    outputs: Vec<Id>,
}

impl Loaded for ReferenceModel {
    fn instance(&self, _threads: usize) -> Result<Box<dyn Instance>, Error> {
        Ok(Box::new(self.clone()))
    }
}

impl Instance for ReferenceModel {
    fn run(&mut self, feeds: &[(&str, View<'_>)]) -> Result<Vec<Value>, Error> {
        let mut tensors = HashMap::new();
        let mut batch = 1;
        for (name, id) in self.graph.inputs() {
            let Some((_, value)) = feeds.iter().find(|(n, _)| *n == name) else { continue };
            let fact = self.graph.fact(id);
            if let Some(axis) = fact.shape.iter().position(|d| *d == Dim::BATCH) {
                batch = value.shape()[axis];
            }
            tensors.insert(id, to_tensor(value, fact.dtype));
        }
        let backend = |e: taste_graph::OpError| Error::Backend {
            backend: "reference",
            message: e.to_string(),
        };
        let results = self.graph.eval(&self.outputs, &tensors, batch).map_err(backend)?;
        Ok(results
            .iter()
            .map(|t| match t {
                Tensor::Float(a) => Value::F64(a.to_owned()),
                Tensor::Int(a) => Value::I64(a.to_owned()),
                Tensor::Bool(a) => Value::I64(a.mapv(i64::from)),
            })
            .collect())
    }
}

fn to_tensor(value: &View<'_>, dtype: DType) -> Tensor {
    match (dtype, value) {
        (DType::Float, value) => value.to_f64().into(),
        (DType::Int, View::I64(a)) => a.to_owned().into(),
        #[expect(clippy::cast_possible_truncation, reason = "an integer input fed with floats")]
        (DType::Int, value) => value.to_f64().mapv(|v| v as i64).into(),
        (DType::Bool, value) => value.to_f64().mapv(|v| v != 0.0).into(),
    }
}
