//! The functions and types that state dicts name.

use super::{
    Tensor,
    values::{Value, Values},
};
use crate::import::{names::shown, weights::Element};

/// Something of Python that is known by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Global {
    OrderedDict,
    RebuildTensor,
    RebuildParameter,
    Storage(Element),
}

impl Global {
    pub(super) fn named(module: &str, name: &str) -> Result<Self, String> {
        let storage = |name: &str| {
            Some(Self::Storage(match name {
                "DoubleStorage" => Element::F64,
                "FloatStorage" => Element::F32,
                "HalfStorage" => Element::F16,
                "BFloat16Storage" => Element::Bf16,
                "LongStorage" => Element::Other(8),
                "IntStorage" => Element::Other(4),
                "ShortStorage" => Element::Other(2),
                "CharStorage" | "ByteStorage" | "BoolStorage" => Element::Other(1),
                _ => return None,
            }))
        };
        let known = match (module, name) {
            ("collections", "OrderedDict") => Some(Self::OrderedDict),
            ("torch._utils", "_rebuild_tensor_v2") => Some(Self::RebuildTensor),
            ("torch._utils", "_rebuild_parameter") => Some(Self::RebuildParameter),
            ("torch", name) => storage(name),
            _ => None,
        };
        known.ok_or_else(|| {
            format!(
                "its pickle calls for {}, and nothing is run but what rebuilds tensors; \
                 torch.save(model.state_dict(), FILE) writes the weights alone",
                shown(&format!("{module}.{name}"))
            )
        })
    }

    /// What a call gives.
    pub(super) fn call(self, values: &mut Values, arguments: &[usize]) -> Result<usize, String> {
        match (self, arguments) {
            (Self::OrderedDict, []) => values.add(Value::Dict(Vec::new())),
            (Self::RebuildParameter, [tensor, ..]) => Ok(*tensor),
            (Self::RebuildTensor, [storage, offset, shape, strides, ..]) => {
                let Value::Storage { name, element } = values.get(*storage) else {
                    return Err(format!("a tensor lies in {}", values.get(*storage).kind()));
                };
                let tensor = Tensor {
                    storage: name.clone(),
                    element: *element,
                    offset: values.size(*offset)?,
                    shape: values.sizes(*shape)?,
                    strides: values.sizes(*strides)?,
                };
                if tensor.shape.len() != tensor.strides.len() {
                    return Err("a tensor has more axes than strides, or fewer".to_owned());
                }
                values.add(Value::Tensor(tensor))
            }
            _ => Err(format!("{self:?} is called with {} arguments", arguments.len())),
        }
    }
}

/// Storages are numbered.
const LONGEST_NAME: usize = 64;

/// A storage, from what stands for it: a tuple of `"storage"`, its type, its name, a device and a length.
pub(super) fn storage(values: &Values, id: usize) -> Result<Value, String> {
    let Value::Tuple(parts) = values.get(id) else {
        return Err(format!("a storage is named by {}, not by a tuple", values.get(id).kind()));
    };
    let parts: Vec<&Value> = parts.iter().take(3).map(|&part| values.get(part)).collect();
    match parts[..] {
        [Value::Text(kind), Value::Global(Global::Storage(element)), Value::Text(name)]
            if kind == "storage" && name.len() <= LONGEST_NAME =>
        {
            Ok(Value::Storage { name: name.clone(), element: *element })
        }
        _ => Err("its pickle refers to something that is no storage".to_owned()),
    }
}
