//! Conversions between element types.

use taste_graph::{
    Build, Calculus, Concrete, DType, Emitter, Id, Lift, Op, OpError, Tensor, algebra::Expand, take,
};
use taste_onnx::{ElemType, builders};

use crate::{
    Entry, Reader, Sample,
    arithmetic::{Mod, int},
};

/// Elements in another type: floats lose what is behind the point, and all but zero is true.
#[derive(Clone, Debug)]
pub(crate) struct Cast {
    pub(crate) to: DType,
}

impl Op for Cast {
    fn name(&self) -> &'static str {
        "Cast"
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        let [x] = take(args)?;
        Ok(vec![Concrete { dtype: self.to, shape: x.shape.clone() }])
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [x] = take(args)?;
        #[expect(clippy::cast_possible_truncation, reason = "that is the conversion")]
        Ok(vec![match (x, self.to) {
            (Tensor::Float(a), DType::Int) => a.mapv(|v| v as i64).into(),
            (Tensor::Float(a), DType::Bool) => a.mapv(|v| v != 0.0).into(),
            (Tensor::Int(a), DType::Float) => a.mapv(|v| v as f64).into(),
            (Tensor::Int(a), DType::Bool) => a.mapv(|v| v != 0).into(),
            (Tensor::Bool(a), DType::Float) => a.mapv(|v| f64::from(u8::from(v))).into(),
            (Tensor::Bool(a), DType::Int) => a.mapv(i64::from).into(),
            _ => x.clone(),
        }])
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Constant
    }

    fn lift(&self, _laned: &[bool], _lanes: usize) -> Lift {
        Lift::Broadcast
    }

    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        let [x] = take(args)?;
        let to = match self.to {
            DType::Float => ElemType::F32,
            DType::Int => ElemType::I64,
            // Engines that keep truth values as integers do not map them to 0 and 1.
            DType::Bool => {
                let zero = match e.arg_fact(0).dtype {
                    DType::Float => e.scalar(0.0),
                    _ => e.tensor(&int(0)),
                };
                let zeros = e.node("Equal", &[x.clone(), zero], vec![]);
                return Ok(vec![e.node("Not", &[zeros], vec![])]);
            }
        };
        let to = builders::attr_int("to", i64::from(to.code()));
        Ok(vec![e.node("Cast", args, vec![to])])
    }
}

/// x in another type; x itself if it has that type.
pub(crate) fn cast(b: &mut Build<'_>, x: Id, to: DType) -> Result<Id, OpError> {
    if b.fact(x).dtype == to { Ok(x) } else { b.push(Cast { to }, &[x]) }
}

/// Integers reduced to `bits` bits, as two's complement or without a sign.
fn wrap(b: &mut Build<'_>, x: Id, bits: u32, signed: bool) -> Result<Id, OpError> {
    let size = 1i64 << bits;
    let low = if signed { -size / 2 } else { 0 };
    let low = b.graph_mut().constant(int(low));
    let size = b.graph_mut().constant(int(size));
    let above = b.sub(x, low)?;
    let above = b.push(Mod { truncated: false }, &[above, size])?;
    b.add(above, low)
}

/// The precision of floats is the engine's choice; so is that of integers from 32 bits on.
fn read_cast(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [x] = r.take()?;
    r.ignore("saturate");
    r.ignore("round_mode");
    let code = r.int_or("to", 0);
    let to = i32::try_from(code)
        .ok()
        .and_then(ElemType::from_code)
        .ok_or_else(|| OpError::unsupported("a conversion to the element type", code))?;
    let from = r.fact(x).dtype;
    let y = match to {
        ElemType::F32 | ElemType::F64 | ElemType::F16 | ElemType::Bf16 => {
            return Ok(vec![cast(&mut r.b, x, DType::Float)?]);
        }
        ElemType::Bool => return Ok(vec![cast(&mut r.b, x, DType::Bool)?]),
        ElemType::String => return Err(OpError::unsupported("a conversion to", to)),
        _ => cast(&mut r.b, x, DType::Int)?,
    };
    let y = match to {
        _ if from != DType::Int => y,
        ElemType::U8 => wrap(&mut r.b, y, 8, false)?,
        ElemType::I8 => wrap(&mut r.b, y, 8, true)?,
        ElemType::U16 => wrap(&mut r.b, y, 16, false)?,
        ElemType::I16 => wrap(&mut r.b, y, 16, true)?,
        _ => y,
    };
    Ok(vec![y])
}

fn read_cast_like(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [x, like] = r.take()?;
    r.ignore("saturate");
    r.ignore("round_mode");
    let to = r.fact(like).dtype;
    Ok(vec![cast(&mut r.b, x, to)?])
}

/// The identity outside training; the mask is true everywhere.
fn read_dropout(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let x = r.arg(0)?;
    r.ignore("ratio");
    r.ignore("seed");
    if r.optional(2).is_some() {
        let training = r.constant(2)?.as_bool()?;
        if training.iter().any(|&t| t) {
            return Err(OpError::unsupported("training_mode", true));
        }
    }
    if !r.wants_result(1) {
        return Ok(vec![x]);
    }
    let shape = r.fact(x).shape.clone();
    let truth = r.b.graph_mut().constant(ndarray::arr0(true).into_dyn().into());
    let mask = r.b.push(Expand { shape }, &[truth])?;
    Ok(vec![x, mask])
}

fn cast_samples() -> Vec<Sample> {
    let to = |title: &str, elem: ElemType| Sample::new(title).int("to", i64::from(elem.code()));
    vec![
        to("float to float", ElemType::F64).active(&[2, 3]).batched(),
        to("float to half", ElemType::F16).active(&[2, 3]).batched(),
        to("float to integer", ElemType::I32).active_in(&[2, 3], -3.0, 3.0).batched(),
        to("float to bool", ElemType::Bool).active(&[2, 3]).batched(),
        to("integer to float", ElemType::F32).fed(Tensor::ints(&[-1, 0, 2])),
        to("integer to integer", ElemType::I32).fed(Tensor::ints(&[-1, 0, 2])),
        to("integer to byte", ElemType::U8).fed(Tensor::ints(&[-1, 200, 300])),
        to("integer to signed byte", ElemType::I8).fed(Tensor::ints(&[-129, 200, 7])),
        to("integer to bool", ElemType::Bool).fed(Tensor::ints(&[-1, 0, 36])),
        to("bool to float", ElemType::F32).fed(ndarray::arr1(&[true, false]).into_dyn().into()),
        to("bool to integer", ElemType::I64).fed(ndarray::arr1(&[true, false]).into_dyn().into()),
    ]
}

fn like_samples() -> Vec<Sample> {
    vec![
        Sample::new("a float").active(&[2, 3]).fixed(&[1]).batched(),
        Sample::new("an integer").active_in(&[2, 3], -3.0, 3.0).ints(&[1]).batched(),
    ]
}

fn dropout_samples() -> Vec<Sample> {
    let no = || Tensor::from(ndarray::arr0(false).into_dyn());
    vec![
        Sample::new("one result").active(&[2, 3]).batched(),
        Sample::new("with its mask").active(&[2, 3]).results(2).batched(),
        Sample::new("an attribute").active(&[2, 3]).float("ratio", 0.3).opset(11).batched(),
        Sample::new("not in training")
            .active(&[2, 3])
            .constant(Tensor::scalar(0.3))
            .constant(no())
            .int("seed", 1)
            .batched(),
    ]
}

pub(crate) const ENTRIES: &[Entry] = &[
    Entry::new("Cast", read_cast, cast_samples),
    Entry::new("CastLike", read_cast_like, like_samples),
    Entry::new("Dropout", read_dropout, dropout_samples),
];
