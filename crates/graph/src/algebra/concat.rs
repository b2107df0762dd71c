use ndarray::Axis;

use super::{Slice, Span};
use crate::{Build, Calculus, Concrete, Emitter, Id, Lift, Linear, Op, OpError, Tensor};
use taste_onnx::builders;

/// Arguments one after the other along an axis.
#[derive(Debug)]
pub struct Concat {
    /// The axis they are joined along.
    pub axis: usize,
}

impl Op for Concat {
    fn name(&self) -> &'static str {
        "Concat"
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        let first = args.first().ok_or(OpError::Arity { want: 1, got: 0 })?;
        if self.axis >= first.rank() {
            return Err(OpError::shape("an axis below", first.rank(), self.axis));
        }
        let mut shape = first.shape.clone();
        shape[self.axis] = 0;
        for arg in args {
            if arg.dtype != first.dtype {
                return Err(OpError::DType { want: first.dtype, got: arg.dtype });
            }
            let joins = arg.rank() == first.rank()
                && (0..shape.len()).all(|i| i == self.axis || shape[i] == arg.shape[i]);
            if !joins {
                return Err(OpError::shape(
                    "equal sizes beside the axis",
                    &first.shape,
                    &arg.shape,
                ));
            }
            shape[self.axis] = shape[self.axis].saturating_add(arg.shape[self.axis]);
        }
        Ok(vec![first.with_shape(shape)])
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        macro_rules! join {
            ($kind:ident) => {{
                let arrays: Vec<_> = args.iter().map(Tensor::$kind).collect::<Result<_, _>>()?;
                let views: Vec<_> = arrays.iter().map(|a| a.view()).collect();
                ndarray::concatenate(Axis(self.axis), &views)
                    .map_err(|e| OpError::invalid(e.to_string()))?
                    .into()
            }};
        }
        Ok(vec![match args.first() {
            None => return Err(OpError::Arity { want: 1, got: 0 }),
            Some(Tensor::Float(_)) => join!(as_float),
            Some(Tensor::Int(_)) => join!(as_int),
            Some(Tensor::Bool(_)) => join!(as_bool),
        }])
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Linear(self)
    }

    fn lift(&self, _laned: &[bool], _lanes: usize) -> Lift {
        Lift::shift(Self { axis: self.axis + 1 })
    }

    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        Ok(vec![e.node("Concat", args, vec![builders::attr_int("axis", self.axis as i64)])])
    }
}

impl Linear for Concat {
    fn transpose(&self, b: &mut Build<'_>, args: &[Id], i: usize, ct: Id) -> Result<Id, OpError> {
        let own = b.fact(args[i]).shape.clone();
        let equal = args.iter().all(|&a| b.fact(a).shape[self.axis] == own[self.axis]);
        if equal && own[self.axis].as_fixed().is_none() {
            // Parts of one size that is open: an axis of parts is what they are cut along.
            let mut parts = own.clone();
            parts.insert(self.axis, args.len().into());
            let parts = b.reshape(ct, &parts)?;
            let span = Span { start: i, step: 1, len: 1 };
            let part = b.push(Slice::along(self.axis, span), &[parts])?;
            return b.reshape(part, &own);
        }
        let size = |b: &Build<'_>, id: Id| -> Result<usize, OpError> {
            let dim = b.fact(id).shape[self.axis];
            dim.as_fixed()
                .and_then(|d| usize::try_from(d).ok())
                .ok_or_else(|| OpError::unsupported("joining along the batch", dim))
        };
        let start = args[..i].iter().map(|&a| size(b, a)).sum::<Result<usize, _>>()?;
        let len = size(b, args[i])?;
        b.push(Slice::along(self.axis, Span { start, step: 1, len }), &[ct])
    }
}
