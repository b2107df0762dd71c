use ndarray::{ArrayD, IxDyn, SliceInfoElem};

use crate::{
    Array, Build, Calculus, Concrete, DType, Dim, Emitter, Id, Lift, Linear, Op, OpError, Tensor,
    map_array, op::take,
};

/// The positions `start + step · i` for `i < len` along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first position.
    pub start: usize,
    /// The distance to the next, not zero.
    pub step: isize,
    /// How many.
    pub len: usize,
}

impl Span {
    /// The smallest and the largest position; nothing if there is none or it lies below zero.
    fn bounds(self) -> Option<(usize, usize)> {
        let steps = isize::try_from(self.len.checked_sub(1)?).ok()?;
        let last = self.start.checked_add_signed(self.step.checked_mul(steps)?)?;
        Some((self.start.min(last), self.start.max(last)))
    }

    fn fits(self, size: usize) -> bool {
        self.step != 0 && (self.len == 0 || self.bounds().is_some_and(|(_, max)| max < size))
    }

    /// The same positions as an ascending range, and whether they are visited from the end.
    fn as_slice(self) -> SliceInfoElem {
        let (min, max) = self.bounds().unwrap_or((0, 0));
        let end = if self.len == 0 { min } else { max + 1 };
        SliceInfoElem::Slice {
            start: min as isize,
            end: Some(end as isize),
            step: if self.step == 0 { 1 } else { self.step },
        }
    }
}

/// Some positions along some axes.
#[derive(Debug)]
pub struct Slice {
    /// Axis and positions, each axis at most once.
    pub spans: Vec<(usize, Span)>,
}

impl Slice {
    /// Positions along one axis.
    pub fn along(axis: usize, span: Span) -> Self {
        Self { spans: vec![(axis, span)] }
    }
}

fn slice_info(rank: usize, spans: &[(usize, Span)]) -> Vec<SliceInfoElem> {
    let whole = SliceInfoElem::Slice { start: 0, end: None, step: 1 };
    let mut info = vec![whole; rank];
    for &(axis, span) in spans {
        info[axis] = span.as_slice();
    }
    info
}

fn shifted(spans: &[(usize, Span)]) -> Vec<(usize, Span)> {
    spans.iter().map(|&(axis, span)| (axis + 1, span)).collect()
}

impl Op for Slice {
    fn name(&self) -> &'static str {
        "Slice"
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        let [x] = take(args)?;
        let mut shape = x.shape.clone();
        for &(axis, span) in &self.spans {
            let size = shape.get_mut(axis).ok_or_else(|| OpError::shape("axis", x.rank(), axis))?;
            if !span.fits(*size) {
                return Err(OpError::shape("positions below the axis size", *size, span));
            }
            *size = span.len;
        }
        Ok(vec![x.with_shape(shape)])
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [x] = take(args)?;
        let info = slice_info(x.shape().len(), &self.spans);
        Ok(vec![map_array!(x, a => a.slice(&info[..]).as_standard_layout().into_owned())])
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Linear(self)
    }

    fn lift(&self, _laned: &[bool], _lanes: usize) -> Lift {
        Lift::shift(Self { spans: shifted(&self.spans) })
    }

    /// Positions in ascending order, then reversed where they descend: rten 0.27 miscounts a slice of five or
    /// more axes that steps backwards through a part of an axis.
    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        let mut x = args[0].clone();
        let ranges: Vec<(usize, usize, usize, usize)> = self
            .spans
            .iter()
            .map(|&(axis, span)| {
                let (min, max) = span.bounds().unwrap_or((0, 0));
                let end = if span.len == 0 { min } else { max + 1 };
                (axis, min, end, span.step.unsigned_abs())
            })
            .filter(|&(axis, start, end, step)| {
                let whole = start == 0 && step == 1;
                !whole || e.arg_fact(0).shape[axis] != Dim::from(end)
            })
            .collect();
        if !ranges.is_empty() {
            let starts = e.ints(&ranges.iter().map(|r| r.1 as i64).collect::<Vec<_>>());
            let ends = e.ints(&ranges.iter().map(|r| r.2 as i64).collect::<Vec<_>>());
            let axes = e.ints(&ranges.iter().map(|r| r.0 as i64).collect::<Vec<_>>());
            let mut inputs = vec![x, starts, ends, axes];
            if ranges.iter().any(|r| r.3 != 1) {
                inputs.push(e.ints(&ranges.iter().map(|r| r.3 as i64).collect::<Vec<_>>()));
            }
            x = e.node("Slice", &inputs, vec![]);
        }
        let back: Vec<usize> =
            self.spans.iter().filter(|(_, s)| s.step < 0 && s.len > 1).map(|s| s.0).collect();
        x = reversed(e, x, &back);
        if x == args[0] {
            x = e.node("Identity", &[x], vec![]);
        }
        Ok(vec![x])
    }
}

/// Writes `x` with the order along some axes turned around.
fn reversed(e: &mut Emitter<'_>, x: String, axes: &[usize]) -> String {
    if axes.is_empty() {
        return x;
    }
    let last = e.ints(&vec![-1; axes.len()]);
    // An end of −1 would mean the last element.
    let end = e.ints(&vec![i64::from(i32::MIN); axes.len()]);
    let at = e.ints(&axes.iter().map(|&a| a as i64).collect::<Vec<_>>());
    let by = e.ints(&vec![-1; axes.len()]);
    e.node("Slice", &[x, last, end, at, by], vec![])
}

impl Linear for Slice {
    fn transpose(&self, b: &mut Build<'_>, args: &[Id], _i: usize, ct: Id) -> Result<Id, OpError> {
        let shape = &b.fact(args[0]).shape;
        let sizes = self
            .spans
            .iter()
            .map(|&(axis, _)| {
                usize::try_from(shape[axis].as_fixed().unwrap_or(-1))
                    .map_err(|_| OpError::unsupported("slicing the batch", shape[axis]))
            })
            .collect::<Result<_, _>>()?;
        b.push(Scatter { spans: self.spans.clone(), sizes }, &[ct])
    }
}

/// The adjoint of [`Slice`]: elements at some positions, zeros elsewhere.
#[derive(Debug)]
pub struct Scatter {
    /// Axis and positions, each axis at most once.
    pub spans: Vec<(usize, Span)>,
    /// The size of each of these axes in the result.
    pub sizes: Vec<usize>,
}

impl Scatter {
    fn target(&self, arg: &[usize]) -> Result<Vec<usize>, OpError> {
        let mut shape = arg.to_vec();
        for (&(axis, span), &size) in self.spans.iter().zip(&self.sizes) {
            if shape.get(axis) != Some(&span.len) || !span.fits(size) {
                return Err(OpError::shape("positions to scatter to", (size, span), arg));
            }
            shape[axis] = size;
        }
        Ok(shape)
    }
}

impl Op for Scatter {
    fn name(&self) -> &'static str {
        "Scatter"
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        let [x] = take(args)?;
        Ok(vec![x.with_shape(self.target(&x.shape)?)])
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        fn put<T: Clone + Default>(
            a: &Array<T>,
            shape: &[usize],
            at: &[SliceInfoElem],
        ) -> ArrayD<T> {
            let mut result = ArrayD::from_elem(IxDyn(shape), T::default());
            result.slice_mut(at).assign(a);
            result
        }
        let [x] = take(args)?;
        let shape = self.target(x.shape())?;
        let info = slice_info(shape.len(), &self.spans);
        Ok(vec![map_array!(x, a => put(a, &shape, &info))])
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Linear(self)
    }

    fn lift(&self, _laned: &[bool], _lanes: usize) -> Lift {
        Lift::shift(Self { spans: shifted(&self.spans), sizes: self.sizes.clone() })
    }

    /// Strides become zeros between elements (an axis of size `step`, padded, then merged), and what
    /// remains is padding.
    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        let mut x = args[0].clone();
        let mut shape = e.arg_fact(0).shape.clone();
        let rank = shape.len();
        let mut pads = vec![0; 2 * rank];
        let float = e.arg_fact(0).dtype == DType::Float;
        let mut places: Vec<(usize, Span, usize)> =
            self.spans.iter().zip(&self.sizes).map(|(&(axis, span), &size)| (axis, span, size)).collect();
        places.sort_by_key(|p| std::cmp::Reverse(p.0));
        for (axis, span, size) in places {
            // Single elements far apart: a product with ones in the right places moves them faster than
            // padding between them.
            let apart = span.step.unsigned_abs() > 1 && span.len > 1;
            if float && apart && axis + 1 == rank && rank > 1 && size <= 128 {
                let mut matrix = vec![0.0; span.len * size];
                for i in 0..span.len {
                    let at = span.start as isize + span.step * i as isize;
                    matrix[i * size + at as usize] = 1.0;
                }
                let matrix = e.tensor(&Tensor::floats(&[span.len, size], matrix)?);
                x = e.node("MatMul", &[x, matrix], vec![]);
                shape[axis] = Dim::from(size);
                continue;
            }
            if span.len == 0 {
                pads[axis] = size as i64;
                continue;
            }
            if span.step < 0 {
                x = reversed(e, x, &[axis]);
            }
            let (min, max) = span.bounds().unwrap_or((0, 0));
            let step = span.step.unsigned_abs();
            let mut len = span.len;
            if step > 1 && len > 1 {
                let mut split = shape.clone();
                split.insert(axis + 1, Dim::from(1));
                x = e.reshape(&x, &split);
                let mut widen = vec![0; 2 * split.len()];
                widen[split.len() + axis + 1] = (step - 1) as i64;
                x = e.pad_zeros(&x, &widen);
                len *= step;
                shape[axis] = Dim::from(len);
                x = e.reshape(&x, &shape);
            }
            pads[axis] = min as i64;
            // Negative where the last element carries zeros beyond the end.
            pads[rank + axis] = size as i64 - (min + len) as i64;
            debug_assert!(max < size);
        }
        // Engines differ on negative padding: cut first, then pad.
        if pads.iter().any(|&p| p < 0) {
            let cut: Vec<usize> = (0..rank).filter(|&a| pads[rank + a] < 0).collect();
            let starts = e.ints(&vec![0; cut.len()]);
            let ends = e.ints(&cut.iter().map(|&a| pads[rank + a]).collect::<Vec<_>>());
            let axes = e.ints(&cut.iter().map(|&a| a as i64).collect::<Vec<_>>());
            x = e.node("Slice", &[x, starts, ends, axes], vec![]);
            for p in &mut pads {
                *p = (*p).max(0);
            }
        }
        if pads.iter().any(|&p| p > 0) {
            x = e.pad_zeros(&x, &pads);
        }
        if x == args[0] {
            x = e.node("Identity", &[x], vec![]);
        }
        Ok(vec![x])
    }
}

impl Linear for Scatter {
    fn transpose(&self, b: &mut Build<'_>, _args: &[Id], _i: usize, ct: Id) -> Result<Id, OpError> {
        b.push(Slice { spans: self.spans.clone() }, &[ct])
    }
}
