//! The constants of a file by name.

use std::collections::HashMap;

use rten_tensor::{AsView, Tensor};
use taste_onnx::{ElemType, TensorData, Values, proto::TensorProto};

use super::failed;
use crate::Error;

pub(super) struct Constants<'a> {
    file: &'a taste_onnx::Model,
    by_name: HashMap<&'a str, &'a TensorProto>,
}

impl<'a> Constants<'a> {
    pub(super) fn of(file: &'a taste_onnx::Model) -> Self {
        let tensors = file.proto.graph.iter().flat_map(|g| &g.initializer);
        Self { file, by_name: tensors.map(|t| (t.name.as_str(), t)).collect() }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    pub(super) fn get(&self, name: &str) -> Option<&'a TensorProto> {
        self.by_name.get(name).copied()
    }

    /// The numbers of a constant in single precision.
    pub(super) fn value(&self, name: &str) -> Result<Tensor<f32>, Error> {
        let tensor = self.get(name).ok_or_else(|| failed(format!("nothing computes {name:?}")))?;
        let TensorData { dims, values } = self.file.tensor(tensor)?;
        match values {
            Values::F32(values) => Ok(Tensor::from_data(&dims, values)),
            other => {
                let found = other.elem_type().name();
                Err(failed(format!("{name:?} is {found} where float32 is due")))
            }
        }
    }

    /// A constant that is one number in single precision.
    pub(super) fn number(&self, name: &str) -> Result<f32, Error> {
        let tensor = self.value(name)?;
        tensor.iter().next().copied().ok_or_else(|| failed(format!("{name:?} has no number")))
    }

    /// The sizes of a constant; none if there is no such constant.
    pub(super) fn sizes(&self, name: &str) -> Vec<usize> {
        let dims = self.get(name).map_or(&[][..], |t| &t.dims[..]);
        dims.iter().map(|&d| usize::try_from(d).unwrap_or(0)).collect()
    }

    /// The bytes of a constant in single precision; none if there is no such constant.
    pub(super) fn bytes(&self, name: &str) -> usize {
        let single = |t: &&TensorProto| t.data_type == ElemType::F32.code();
        let sizes = self.get(name).filter(single).map(|t| &t.dims[..]);
        sizes.map_or(0, |dims| dims.iter().fold(4, |b, &d| b * usize::try_from(d).unwrap_or(0)))
    }
}
