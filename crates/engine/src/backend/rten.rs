use std::sync::Arc;

use ndarray::{ArrayD, IxDyn};
use rten::{Model, ModelOptions, NodeId, RunOptions, ThreadPool, ValueOrView};
use rten_tensor::{AsView, Layout, Tensor, TensorView};
use taste_graph::Id;

use super::Session;
use crate::{Error, Value};

/// A graph loaded into rten.
pub(super) struct RtenSession {
    model: Model,
    outputs: Vec<NodeId>,
    pool: Arc<ThreadPool>,
}

fn failed(message: impl ToString) -> Error {
    Error::Backend { backend: "rten", message: message.to_string() }
}

impl RtenSession {
    pub(super) fn load(
        bytes: Vec<u8>,
        outputs: &[(String, Id)],
        threads: usize,
    ) -> Result<Self, Error> {
        let mut options = ModelOptions::with_all_ops();
        let model = options.prepack_weights(true).load(bytes).map_err(failed)?;
        let outputs = outputs
            .iter()
            .map(|(name, _)| model.node_id(name).map_err(failed))
            .collect::<Result<_, _>>()?;
        Ok(Self { model, outputs, pool: Arc::new(ThreadPool::with_num_threads(threads)) })
    }
}

impl Session for RtenSession {
    fn run(&mut self, feeds: &[(&str, &Value)]) -> Result<Vec<Value>, Error> {
        let mut inputs: Vec<(NodeId, ValueOrView<'_>)> = Vec::new();
        for (name, value) in feeds {
            let Some(id) = self.model.find_node(name) else { continue };
            let input = match value {
                Value::F32(a) => match a.as_slice() {
                    Some(data) => TensorView::from_data(a.shape(), data).into(),
                    None => float_tensor(a).into(),
                },
                Value::F64(_) => float_tensor(&value.to_f32()).into(),
                Value::I64(a) => {
                    let ints = a.iter().map(|&v| i32::try_from(v)).collect::<Result<Vec<_>, _>>();
                    let ints = ints.map_err(|_| failed("an integer input beyond 32 bits"))?;
                    Tensor::from_data(a.shape(), ints).into()
                }
            };
            inputs.push((id, input));
        }
        let options = RunOptions::default().with_thread_pool(Some(self.pool.clone()));
        let results = self.model.run(inputs, &self.outputs, Some(options)).map_err(failed)?;
        results.into_iter().map(from_rten).collect()
    }
}

fn float_tensor(a: &ArrayD<f32>) -> Tensor<f32> {
    Tensor::from_data(a.shape(), a.iter().copied().collect::<Vec<_>>())
}

fn from_rten(value: rten::Value) -> Result<Value, Error> {
    match value {
        rten::Value::FloatTensor(t) => {
            let shape = t.shape().to_vec();
            ArrayD::from_shape_vec(IxDyn(&shape), t.into_data()).map(Value::F32).map_err(failed)
        }
        rten::Value::Int32Tensor(t) => {
            let ints = t.iter().map(|&v| i64::from(v)).collect();
            ArrayD::from_shape_vec(IxDyn(t.shape()), ints).map(Value::I64).map_err(failed)
        }
        _ => Err(failed("an output that is neither float nor integer")),
    }
}
