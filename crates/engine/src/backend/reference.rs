use std::{collections::HashMap, sync::Arc};

use taste_graph::{DType, Dim, Graph, Id, Tensor};

use super::{Loaded, Session};
use crate::{Error, Value};

/// A graph for the interpreter of the graph crate.
#[derive(Clone)]
pub(super) struct ReferenceModel {
    graph: Arc<Graph>,
    outputs: Vec<Id>,
}

impl ReferenceModel {
    pub(super) fn new(graph: &Graph, outputs: &[(String, Id)]) -> Self {
        let outputs = outputs.iter().map(|o| o.1).collect();
        Self { graph: Arc::new(graph.clone()), outputs }
    }
}

impl Loaded for ReferenceModel {
    fn session(&self, _threads: usize) -> Result<Box<dyn Session>, Error> {
        Ok(Box::new(self.clone()))
    }
}

impl Session for ReferenceModel {
    fn run(&mut self, feeds: &[(&str, &Value)]) -> Result<Vec<Value>, Error> {
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

fn to_tensor(value: &Value, dtype: DType) -> Tensor {
    match (dtype, value) {
        (DType::Float, value) => value.to_f64().into(),
        (DType::Int, Value::I64(a)) => a.clone().into(),
        #[expect(clippy::cast_possible_truncation, reason = "an integer input fed with floats")]
        (DType::Int, value) => value.to_f64().mapv(|v| v as i64).into(),
        (DType::Bool, value) => value.to_f64().mapv(|v| v != 0.0).into(),
    }
}
