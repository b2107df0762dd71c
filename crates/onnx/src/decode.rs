use std::io::{self, Read};
use std::path::Path;

use half::{bf16, f16};

use crate::elem::{ElemType, foreign_name};
use crate::error::{TensorProblem, shown_dims};
use crate::external;
use crate::proto::{DataLocation, TensorProto};
use crate::tensor::{TensorData, Values, from_le_bytes};

/// What a tensor says about itself, checked for being possible but not yet against its data.
pub(crate) struct Declared {
    pub elem_type: ElemType,
    pub dims: Vec<usize>,
    pub count: usize,
    /// Size of the elements in a file; `None` for strings.
    pub bytes: Option<u64>,
}

impl Declared {
    pub fn of(tensor: &TensorProto, limit: u64) -> Result<Self, TensorProblem> {
        let elem_type = ElemType::from_code(tensor.data_type).ok_or_else(|| {
            TensorProblem::UnsupportedType { elem_type: foreign_name(tensor.data_type) }
        })?;
        if let Some(&dim) = tensor.dims.iter().find(|dim| **dim < 0) {
            return Err(TensorProblem::NegativeDim { dim });
        }
        let too_large = || TensorProblem::TooLarge { dims: shown_dims(&tensor.dims), limit };
        let dims: Vec<usize> = tensor.dims.iter().map_while(|&dim| dim.try_into().ok()).collect();
        if dims.len() < tensor.dims.len() {
            return Err(too_large());
        }
        let count = element_count(&dims).ok_or_else(too_large)?;
        let size = elem_type.size();
        let bytes = count.checked_mul(size.unwrap_or(1)).and_then(|bytes| bytes.try_into().ok());
        match bytes {
            Some(bytes) if bytes <= limit => {
                Ok(Self { elem_type, dims, count, bytes: size.and(Some(bytes)) })
            }
            _ => Err(too_large()),
        }
    }
}

pub(crate) fn tensor(
    tensor: &TensorProto,
    folder: Option<&Path>,
    limit: u64,
) -> Result<TensorData, TensorProblem> {
    let declared = Declared::of(tensor, limit)?;
    let values = match (single_source(tensor)?, declared.bytes) {
        (Some(Source::External), _) => {
            let mut data = external::open(tensor, &declared, folder)?;
            number_values(&declared, &mut data.reader).map_err(|e| data.refused(&e))?
        }
        (Some(Source::Raw), Some(wanted)) => {
            check_len(tensor, "bytes", wanted, tensor.raw_data().len())?;
            // Lengths agree, so the only way to fail is the lack of memory.
            number_values(&declared, &mut tensor.raw_data())
                .map_err(|_| TensorProblem::TooLarge { dims: shown_dims(&tensor.dims), limit })?
        }
        _ => typed_values(tensor, &declared, limit)?,
    };
    Ok(TensorData { dims: declared.dims, values })
}

/// The product of all dimensions; `None` if that of those above zero overflows, so that no caller's
/// product of some of them can.
fn element_count(dims: &[usize]) -> Option<usize> {
    let nonzero = dims.iter().filter(|dim| **dim > 0);
    let product = nonzero.copied().try_fold(1, usize::checked_mul)?;
    Some(if dims.contains(&0) { 0 } else { product })
}

#[derive(Clone, Copy)]
enum Source {
    External,
    Raw,
    Typed,
}

/// Where the data is; `None` if no field holds any.
fn single_source(tensor: &TensorProto) -> Result<Option<Source>, TensorProblem> {
    let is_external = tensor.data_location() == DataLocation::External;
    let fields = [
        ("an external file", Source::External, is_external),
        ("raw_data", Source::Raw, !tensor.raw_data().is_empty()),
        ("float_data", Source::Typed, !tensor.float_data.is_empty()),
        ("int32_data", Source::Typed, !tensor.int32_data.is_empty()),
        ("string_data", Source::Typed, !tensor.string_data.is_empty()),
        ("int64_data", Source::Typed, !tensor.int64_data.is_empty()),
        ("double_data", Source::Typed, !tensor.double_data.is_empty()),
        ("uint64_data", Source::Typed, !tensor.uint64_data.is_empty()),
    ];
    let mut filled = fields.into_iter().filter(|(_, _, is_filled)| *is_filled);
    match (filled.next(), filled.next()) {
        (Some((first, ..)), Some((second, ..))) => Err(TensorProblem::Ambiguous { first, second }),
        (first, _) => Ok(first.map(|(_, source, _)| source)),
    }
}

fn check_len(
    tensor: &TensorProto,
    unit: &'static str,
    wanted: u64,
    found: usize,
) -> Result<(), TensorProblem> {
    let found = u64::try_from(found).unwrap_or(u64::MAX);
    if wanted == found {
        return Ok(());
    }
    Err(TensorProblem::WrongSize { dims: shown_dims(&tensor.dims), unit, wanted, found })
}

fn number_values(declared: &Declared, source: &mut dyn Read) -> io::Result<Values> {
    let count = declared.count;
    Ok(match declared.elem_type {
        ElemType::F32 => Values::F32(from_le_bytes(source, count)?),
        ElemType::F64 => Values::F64(from_le_bytes(source, count)?),
        ElemType::F16 => Values::F16(from_le_bytes(source, count)?),
        ElemType::Bf16 => Values::Bf16(from_le_bytes(source, count)?),
        ElemType::I8 => Values::I8(from_le_bytes(source, count)?),
        ElemType::U8 => Values::U8(from_le_bytes(source, count)?),
        ElemType::I16 => Values::I16(from_le_bytes(source, count)?),
        ElemType::U16 => Values::U16(from_le_bytes(source, count)?),
        ElemType::I32 => Values::I32(from_le_bytes(source, count)?),
        ElemType::U32 => Values::U32(from_le_bytes(source, count)?),
        ElemType::I64 => Values::I64(from_le_bytes(source, count)?),
        ElemType::U64 => Values::U64(from_le_bytes(source, count)?),
        ElemType::Bool => Values::Bool(from_le_bytes(source, count)?),
        ElemType::String => return Err(io::ErrorKind::Unsupported.into()),
    })
}

fn typed_values(
    tensor: &TensorProto,
    declared: &Declared,
    limit: u64,
) -> Result<Values, TensorProblem> {
    let elem_type = declared.elem_type;
    let found = match elem_type {
        ElemType::F32 => tensor.float_data.len(),
        ElemType::F64 => tensor.double_data.len(),
        ElemType::I64 => tensor.int64_data.len(),
        ElemType::U32 | ElemType::U64 => tensor.uint64_data.len(),
        ElemType::String => tensor.string_data.len(),
        _ => tensor.int32_data.len(),
    };
    check_len(tensor, "elements", u64::try_from(declared.count).unwrap_or(u64::MAX), found)?;
    let int32 = &tensor.int32_data;
    Ok(match elem_type {
        ElemType::F32 => Values::F32(tensor.float_data.clone()),
        ElemType::F64 => Values::F64(tensor.double_data.clone()),
        ElemType::I64 => Values::I64(tensor.int64_data.clone()),
        ElemType::U64 => Values::U64(tensor.uint64_data.clone()),
        ElemType::U32 => Values::U32(narrowed(&tensor.uint64_data, elem_type)?),
        ElemType::I32 => Values::I32(int32.clone()),
        ElemType::I16 => Values::I16(narrowed(int32, elem_type)?),
        ElemType::U16 => Values::U16(narrowed(int32, elem_type)?),
        ElemType::I8 => Values::I8(narrowed(int32, elem_type)?),
        ElemType::U8 => Values::U8(narrowed(int32, elem_type)?),
        ElemType::Bool => Values::Bool(int32.iter().map(|&v| v != 0).collect()),
        ElemType::F16 => Values::F16(bits(int32, elem_type)?.map(f16::from_bits).collect()),
        ElemType::Bf16 => Values::Bf16(bits(int32, elem_type)?.map(bf16::from_bits).collect()),
        ElemType::String => {
            let bytes = tensor.string_data.iter().map(Vec::len).sum::<usize>();
            if u64::try_from(bytes).is_ok_and(|bytes| bytes <= limit) {
                Values::String(tensor.string_data.clone())
            } else {
                return Err(TensorProblem::TooLarge { dims: shown_dims(&tensor.dims), limit });
            }
        }
    })
}

/// Values of a type that is stored in a wider one.
fn narrowed<W, N>(stored: &[W], elem_type: ElemType) -> Result<Vec<N>, TensorProblem>
where
    W: Copy + ToString,
    N: TryFrom<W>,
{
    let narrow = |(position, &value): (usize, &W)| {
        N::try_from(value).map_err(|_| TensorProblem::OutOfRange {
            value: value.to_string(),
            position,
            elem_type: elem_type.name(),
        })
    };
    stored.iter().enumerate().map(narrow).collect()
}

/// The bit patterns of 16-bit floats.
fn bits(
    stored: &[i32],
    elem_type: ElemType,
) -> Result<impl Iterator<Item = u16> + use<>, TensorProblem> {
    narrowed(stored, elem_type).map(Vec::into_iter)
}
