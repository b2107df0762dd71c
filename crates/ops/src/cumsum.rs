//! Running sums.

use ndarray::Axis;
use taste_graph::{
    Build, Calculus, Concrete, DType, Emitter, Id, Lift, Linear, Op, OpError, Tensor, take,
};
use taste_onnx::builders;

use crate::{Entry, Reader, Sample};

/// yᵢ = Σ xⱼ along an axis, over j ≤ i; over j ≥ i in reverse; without j = i if exclusive.
#[derive(Clone, Debug)]
struct CumSum {
    axis: usize,
    exclusive: bool,
    reverse: bool,
}

impl Op for CumSum {
    fn name(&self) -> &'static str {
        "CumSum"
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        let [x] = take(args)?;
        if self.axis >= x.rank() {
            return Err(OpError::shape("an axis below", x.rank(), self.axis));
        }
        if x.dtype == DType::Bool {
            return Err(OpError::DType { want: DType::Float, got: x.dtype });
        }
        Ok(vec![x.clone()])
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [x] = take(args)?;
        macro_rules! run {
            ($a:expr, $zero:expr, $add:expr) => {{
                let mut y = $a.to_owned();
                for mut lane in y.lanes_mut(Axis(self.axis)) {
                    if self.reverse {
                        lane.invert_axis(Axis(0));
                    }
                    let mut sum = $zero;
                    for v in lane.iter_mut() {
                        let (before, after) = (sum, $add(sum, *v));
                        *v = if self.exclusive { before } else { after };
                        sum = after;
                    }
                }
                y.into()
            }};
        }
        Ok(vec![match x {
            Tensor::Float(a) => run!(a, 0.0, |s: f64, v: f64| s + v),
            Tensor::Int(a) => run!(a, 0, i64::wrapping_add),
            Tensor::Bool(_) => {
                return Err(OpError::DType { want: DType::Float, got: DType::Bool });
            }
        }])
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Linear(self)
    }

    fn lift(&self, _laned: &[bool], _lanes: usize) -> Lift {
        Lift::shift(Self { axis: self.axis + 1, ..self.clone() })
    }

    fn mixes(&self, axis: usize) -> bool {
        axis == self.axis
    }

    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        let axis = e.tensor(&ndarray::arr0(self.axis as i64).into_dyn().into());
        let attrs = vec![
            builders::attr_int("exclusive", i64::from(self.exclusive)),
            builders::attr_int("reverse", i64::from(self.reverse)),
        ];
        Ok(vec![e.node("CumSum", &[args[0].clone(), axis], attrs)])
    }
}

impl Linear for CumSum {
    fn transpose(&self, b: &mut Build<'_>, _args: &[Id], _i: usize, ct: Id) -> Result<Id, OpError> {
        b.push(Self { reverse: !self.reverse, ..self.clone() }, &[ct])
    }
}

fn read(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let x = r.arg(0)?;
    let [axis] = r.fixed_ints(1)?[..] else {
        return Err(OpError::shape("one axis", 1, r.fixed_ints(1)?.len()));
    };
    let axis = r.axis(axis, r.rank(x))?;
    let (exclusive, reverse) = (r.flag("exclusive", false), r.flag("reverse", false));
    Ok(vec![r.b.push(CumSum { axis, exclusive, reverse }, &[x])?])
}

fn samples() -> Vec<Sample> {
    let of = |title: &str| Sample::new(title).active(&[2, 4]).ints(&[1]).batched();
    vec![
        of("inclusive"),
        of("exclusive").int("exclusive", 1),
        of("in reverse").int("reverse", 1),
        of("exclusive in reverse").int("exclusive", 1).int("reverse", 1),
        Sample::new("from the end").active(&[2, 3, 2]).ints(&[-2]).batched(),
        Sample::new("over the batch").active(&[3, 2]).ints(&[0]).batched(),
        Sample::new("integers").fed(Tensor::ints(&[2, 5, 3])).ints(&[0]),
    ]
}

pub(crate) const ENTRIES: &[Entry] = &[Entry::new("CumSum", read, samples)];
