//! Resampling along axes.
//!
//! Every mode is linear in the elements and acts on one axis at a time, so an axis is resampled by a
//! matrix. Two kinds of matrices have cheaper forms: repeating every element is broadcasting, and
//! keeping every so many is a slice.

use ndarray::Array2;
use taste_graph::{
    Dim, Id, OpError, Tensor,
    algebra::{Slice, Span},
    grid,
};

use crate::{
    Entry, Reader, Sample,
    matmul::{MatMul, swap_last},
};

/// Which source position an output position falls on.
#[derive(Clone, Copy, Debug)]
enum Coordinates {
    HalfPixel,
    HalfPixelSymmetric,
    PytorchHalfPixel,
    AlignCorners,
    Asymmetric,
    /// Across the part of the axis that is asked for; outside the axis there is nothing.
    Cropped,
}

#[derive(Clone, Copy, Debug)]
enum Rounding {
    PreferFloor,
    PreferCeil,
    Floor,
    Ceil,
}

#[derive(Clone, Copy, Debug)]
enum Kernel {
    Nearest(Rounding),
    Linear,
    /// With the coefficient of Keys' kernel.
    Cubic(f64),
}

#[derive(Clone, Copy, Debug)]
struct Method {
    coordinates: Coordinates,
    kernel: Kernel,
    /// Whether the kernel widens where the axis shrinks.
    antialias: bool,
    /// Whether positions outside count as nothing, rather than as the nearest element.
    exclude_outside: bool,
}

/// An axis and its new size.
#[derive(Clone, Copy, Debug)]
struct Along {
    axis: usize,
    from: usize,
    to: usize,
    /// The new size before it was rounded.
    width: f64,
    /// The part of the axis that is cropped to, from 0 to 1.
    part: [f64; 2],
}

/// All of an axis.
const WHOLE: [f64; 2] = [0.0, 1.0];

/// The weights of source positions for one output position.
type Row = Vec<(usize, f64)>;

/// The largest matrix that an axis is resampled by.
const MATRIX_LIMIT: usize = 1 << 24;
/// The longest axis, for which there is a list of weights for every position.
const AXIS_LIMIT: usize = 1 << 20;

impl Method {
    /// The source position of output position `i`.
    fn source(self, along: Along, i: usize) -> f64 {
        let Along { from, to, width, part: [start, end], .. } = along;
        let (from, to, i) = (from as f64, to as f64, i as f64);
        let half_pixel = (i + 0.5) * from / width - 0.5;
        match self.coordinates {
            Coordinates::HalfPixel => half_pixel,
            Coordinates::HalfPixelSymmetric => from / 2.0 * (1.0 - to / width) + half_pixel,
            Coordinates::PytorchHalfPixel => {
                if to > 1.0 {
                    half_pixel
                } else {
                    0.0
                }
            }
            Coordinates::AlignCorners => {
                let last = width - 1.0;
                if last == 0.0 { 0.0 } else { i * (from - 1.0) / last }
            }
            Coordinates::Asymmetric => i * from / width,
            Coordinates::Cropped => {
                let share = if width <= 1.0 { 0.5 } else { i / (width - 1.0) };
                (start + share * (end - start)) * (from - 1.0)
            }
        }
    }

    fn row(self, along: Along, i: usize) -> Row {
        let x = self.source(along, i);
        let last = along.from.saturating_sub(1) as f64;
        if matches!(self.coordinates, Coordinates::Cropped) && !(0.0..=last).contains(&x) {
            return Vec::new();
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a position clamped to the axis"
        )]
        let clamp = |at: f64| at.clamp(0.0, last) as usize;
        let shrink = if self.antialias { (along.width / along.from as f64).min(1.0) } else { 1.0 };
        let (reach, weight): (f64, Box<dyn Fn(f64) -> f64>) = match self.kernel {
            Kernel::Nearest(rounding) => {
                // Engines compute positions in single precision: a scale of 1/3 hits its targets.
                #[expect(clippy::cast_possible_truncation, reason = "single precision is wanted")]
                let x = f64::from(x as f32);
                let at = match rounding {
                    Rounding::PreferFloor => (x - 0.5).ceil(),
                    Rounding::PreferCeil => (x + 0.5).floor(),
                    Rounding::Floor => x.floor(),
                    Rounding::Ceil => x.ceil(),
                };
                return vec![(clamp(at), 1.0)];
            }
            Kernel::Linear => (1.0, Box::new(|d| (1.0 - d).max(0.0))),
            Kernel::Cubic(a) => (
                2.0,
                Box::new(move |d| match d {
                    d if d <= 1.0 => ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0,
                    d if d < 2.0 => ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a,
                    _ => 0.0,
                }),
            ),
        };
        let reach = reach / shrink;
        let (mut at, end) = ((x - reach).floor() + 1.0, (x + reach).ceil() - 1.0);
        let mut row: Row = Vec::new();
        while at <= end {
            let w = weight((at - x).abs() * shrink);
            if w != 0.0 && (!self.exclude_outside || (0.0..=last).contains(&at)) {
                match row.last_mut().filter(|(p, _)| *p == clamp(at)) {
                    Some((_, sum)) => *sum += w,
                    None => row.push((clamp(at), w)),
                }
            }
            at += 1.0;
        }
        let total: f64 = row.iter().map(|(_, w)| w).sum();
        if total != 0.0 && (self.exclude_outside || shrink < 1.0) {
            for (_, w) in &mut row {
                *w /= total;
            }
        }
        row
    }
}

/// Applies a matrix along an axis.
fn multiply(r: &mut Reader<'_, '_>, x: Id, along: Along, rows: &[Row]) -> Result<Id, OpError> {
    if along.from.checked_mul(along.to).is_none_or(|n| n > MATRIX_LIMIT) {
        let sizes = format!("{} to {}", along.from, along.to);
        return Err(OpError::unsupported("resizing an axis from", sizes));
    }
    let mut matrix: Array2<f64> = Array2::zeros((along.to, along.from));
    for (i, row) in rows.iter().enumerate() {
        for &(at, weight) in row {
            matrix[[i, at]] += weight;
        }
    }
    let matrix = r.b.graph_mut().constant(matrix.into_dyn().into());
    let rank = r.rank(x);
    if rank >= 2 && along.axis == rank - 2 {
        return r.b.push(MatMul, &[matrix, x]);
    }
    let matrix = swap_last(&mut r.b, matrix)?;
    if rank == 1 {
        let row = r.b.reshape(x, &[Dim::from(1), Dim::from(along.from)])?;
        let row = r.b.push(MatMul, &[row, matrix])?;
        return r.b.reshape(row, &[Dim::from(along.to)]);
    }
    let mut perm: Vec<usize> = (0..rank).collect();
    perm.swap(along.axis, rank - 1);
    let x = r.b.transpose(x, &perm)?;
    let y = r.b.push(MatMul, &[x, matrix])?;
    r.b.transpose(y, &perm)
}

/// Repeats every element along some axes, each by its factor.
fn repeat(r: &mut Reader<'_, '_>, x: Id, factors: &[(usize, usize)]) -> Result<Id, OpError> {
    let shape = r.fact(x).shape.clone();
    let (mut split, mut spread, mut merged) = (Vec::new(), Vec::new(), Vec::new());
    for (axis, &size) in shape.iter().enumerate() {
        split.push(size);
        spread.push(size);
        let factor = factors.iter().find(|(a, _)| *a == axis).map(|f| f.1);
        if let Some(factor) = factor {
            split.push(Dim::from(1));
            spread.push(Dim::from(factor));
        }
        let whole = crate::shape::product(&[size, Dim::from(factor.unwrap_or(1))]);
        merged.push(whole.ok_or_else(|| OpError::invalid("a size beyond memory"))?);
    }
    let x = r.b.reshape(x, &split)?;
    let x = r.b.expand(x, &spread)?;
    r.b.reshape(x, &merged)
}

fn resample(
    r: &mut Reader<'_, '_>,
    x: Id,
    changes: &[Along],
    method: Method,
) -> Result<Id, OpError> {
    let mut factors = Vec::new();
    let mut rest = Vec::new();
    for &along in changes {
        if along.from == 0 || along.from.max(along.to) > AXIS_LIMIT {
            let sizes = format!("{} to {}", along.from, along.to);
            return Err(OpError::unsupported("resizing an axis from", sizes));
        }
        let rows: Vec<Row> = (0..along.to).map(|i| method.row(along, i)).collect();
        let picks: Option<Vec<usize>> = rows
            .iter()
            .map(|row| match row[..] {
                [(at, 1.0)] => Some(at),
                _ => None,
            })
            .collect();
        match picks {
            Some(at) if along.from == along.to && at.iter().enumerate().all(|(i, &a)| i == a) => {}
            Some(at)
                if along.to % along.from == 0
                    && along.to > along.from
                    && at.iter().enumerate().all(|(i, &a)| a == i / (along.to / along.from)) =>
            {
                factors.push((along.axis, along.to / along.from));
            }
            _ => rest.push((along, rows, picks_span(picks.as_deref()))),
        }
    }
    let mut y = x;
    // What shrinks comes before what grows.
    for (along, rows, span) in rest {
        y = match span {
            Some(span) => r.b.push(Slice::along(along.axis, span), &[y])?,
            None => multiply(r, y, along, &rows)?,
        };
    }
    if factors.is_empty() { Ok(y) } else { repeat(r, y, &factors) }
}

/// The positions as an ascending progression, if they are one.
fn picks_span(picks: Option<&[usize]>) -> Option<Span> {
    let at = picks?;
    let step = match at {
        [] | [_] => 1,
        [a, b, ..] => b.checked_sub(*a).filter(|s| *s > 0)?,
    };
    let even = at.windows(2).all(|w| w[1].checked_sub(w[0]) == Some(step));
    let step = isize::try_from(step).ok()?;
    even.then(|| Span { start: at.first().copied().unwrap_or(0), step, len: at.len() })
}

/// The scales of some axes; axes whose size depends on the batch must keep it.
fn from_scales(
    r: &Reader<'_, '_>,
    x: Id,
    axes: &[usize],
    scales: &[f64],
) -> Result<Vec<Along>, OpError> {
    if scales.len() != axes.len() {
        return Err(OpError::shape("one scale an axis", axes.len(), scales.len()));
    }
    let mut changes = Vec::new();
    for (&axis, &scale) in axes.iter().zip(scales) {
        if scale.to_bits() == 1.0f64.to_bits() {
            continue;
        }
        let from = r.fixed_size(x, axis)?;
        let width = from as f64 * scale;
        if !(scale > 0.0 && width < MATRIX_LIMIT as f64) {
            return Err(OpError::unsupported("a scale of", scale));
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and the limit"
        )]
        let to = width.floor() as usize;
        changes.push(Along { axis, from, to, width, part: WHOLE });
    }
    Ok(changes)
}

fn from_sizes(
    r: &Reader<'_, '_>,
    x: Id,
    axes: &[usize],
    sizes: &[Dim],
    policy: &str,
) -> Result<Vec<Along>, OpError> {
    if sizes.len() != axes.len() {
        return Err(OpError::shape("one size an axis", axes.len(), sizes.len()));
    }
    if policy != "stretch" {
        let mut ratios = Vec::new();
        for (&axis, size) in axes.iter().zip(sizes) {
            let size = size.as_fixed().ok_or_else(|| OpError::unsupported("a size of", size))?;
            ratios.push(size as f64 / r.fixed_size(x, axis)? as f64);
        }
        let scale = match policy {
            "not_larger" => ratios.into_iter().fold(f64::INFINITY, f64::min),
            "not_smaller" => ratios.into_iter().fold(0.0, f64::max),
            _ => return Err(OpError::unsupported("keep_aspect_ratio_policy", policy)),
        };
        let mut changes = from_scales(r, x, axes, &vec![scale; axes.len()])?;
        for along in &mut changes {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "between 0 and the limit"
            )]
            let to = (along.width + 0.5).floor() as usize;
            along.to = to;
        }
        return Ok(changes);
    }
    let mut changes = Vec::new();
    for (&axis, &size) in axes.iter().zip(sizes) {
        if r.fact(x).shape[axis] == size {
            continue;
        }
        let from = r.fixed_size(x, axis)?;
        let to = size.as_fixed().and_then(|s| usize::try_from(s).ok());
        let to = to.ok_or_else(|| OpError::unsupported("a size of", size))?;
        changes.push(Along { axis, from, to, width: to as f64, part: WHOLE });
    }
    Ok(changes)
}

/// Sets the parts of axes that are cropped to: all starts, then all ends.
fn crop(
    r: &Reader<'_, '_>,
    x: Id,
    axes: &[usize],
    ends: &[f64],
    changes: &mut Vec<Along>,
) -> Result<(), OpError> {
    if ends.len() != 2 * axes.len() {
        return Err(OpError::shape("two ends an axis", 2 * axes.len(), ends.len()));
    }
    for (&axis, (&start, &end)) in axes.iter().zip(ends.iter().zip(&ends[axes.len()..])) {
        let part = [start, end];
        if let Some(along) = changes.iter_mut().find(|c| c.axis == axis) {
            along.part = part;
        } else if part != WHOLE {
            let size = r.fixed_size(x, axis)?;
            changes.push(Along { axis, from: size, to: size, width: size as f64, part });
        }
    }
    Ok(())
}

/// `value` at the output positions that fall outside the input, 0 elsewhere.
fn outside(rank: usize, changes: &[Along], method: Method, value: f64) -> Result<Tensor, OpError> {
    let mut shape = vec![1; rank];
    for along in changes {
        shape[along.axis] = along.to;
    }
    let elements = shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
    if elements.is_none_or(|n| n > MATRIX_LIMIT) {
        return Err(OpError::unsupported(
            "extrapolation_value for the shape",
            format!("{shape:?}"),
        ));
    }
    let misses: Vec<(usize, Vec<bool>)> = changes
        .iter()
        .map(|&c| (c.axis, (0..c.to).map(|i| method.row(c, i).is_empty()).collect()))
        .collect();
    let at =
        |i: &[usize]| if misses.iter().any(|(axis, miss)| miss[i[*axis]]) { value } else { 0.0 };
    Ok(grid(&shape, at).into())
}

/// The floats of argument `i`; nothing if it is left out or empty.
fn given_floats(r: &Reader<'_, '_>, i: usize) -> Result<Option<Vec<f64>>, OpError> {
    if r.optional(i).is_none_or(|id| r.fact(id).shape == [Dim::from(0)]) {
        return Ok(None);
    }
    match r.constant(i)? {
        Tensor::Float(a) => Ok(Some(a.iter().copied().collect())),
        other => Err(OpError::unsupported("scales of", other.dtype())),
    }
}

fn read_resize(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let x = r.arg(0)?;
    let mode = r.string_or("mode", "nearest");
    if r.opset < 11 {
        return plain(r, x, &mode, None);
    }
    let coordinates = r.string_or("coordinate_transformation_mode", "half_pixel");
    let coordinates = match coordinates.as_str() {
        "half_pixel" => Coordinates::HalfPixel,
        "half_pixel_symmetric" => Coordinates::HalfPixelSymmetric,
        "pytorch_half_pixel" => Coordinates::PytorchHalfPixel,
        "align_corners" => Coordinates::AlignCorners,
        "asymmetric" => Coordinates::Asymmetric,
        "tf_crop_and_resize" => Coordinates::Cropped,
        _ => return Err(OpError::unsupported("coordinate_transformation_mode", coordinates)),
    };
    let rounding = r.string_or("nearest_mode", "round_prefer_floor");
    let rounding = match rounding.as_str() {
        "round_prefer_floor" => Rounding::PreferFloor,
        "round_prefer_ceil" => Rounding::PreferCeil,
        "floor" => Rounding::Floor,
        "ceil" => Rounding::Ceil,
        _ => return Err(OpError::unsupported("nearest_mode", rounding)),
    };
    let a = r.float_or("cubic_coeff_a", -0.75);
    let kernel = match mode.as_str() {
        "nearest" => Kernel::Nearest(rounding),
        "linear" => Kernel::Linear,
        "cubic" => Kernel::Cubic(a),
        _ => return Err(OpError::unsupported("mode", mode)),
    };
    let beyond = r.float_or("extrapolation_value", 0.0);
    let method = Method {
        coordinates,
        kernel,
        antialias: r.flag("antialias", false),
        exclude_outside: r.flag("exclude_outside", false),
    };
    let policy = r.string_or("keep_aspect_ratio_policy", "stretch");
    let rank = r.rank(x);
    let axes: Vec<usize> = match r.ints("axes") {
        Some(axes) => axes.into_iter().map(|a| r.axis(a, rank)).collect::<Result<_, _>>()?,
        None => (0..rank).collect(),
    };
    if (1..axes.len()).any(|i| axes[..i].contains(&axes[i])) {
        return Err(OpError::shape("different axes", rank, axes));
    }
    let mut changes = match given_floats(r, 2)? {
        Some(scales) => from_scales(r, x, &axes, &scales)?,
        None => from_sizes(r, x, &axes, &r.known_ints(3)?, &policy)?,
    };
    if !matches!(coordinates, Coordinates::Cropped) {
        return Ok(vec![resample(r, x, &changes, method)?]);
    }
    let ends = given_floats(r, 1)?.ok_or_else(|| OpError::invalid("roi is missing"))?;
    crop(r, x, &axes, &ends, &mut changes)?;
    let y = resample(r, x, &changes, method)?;
    if beyond == 0.0 {
        return Ok(vec![y]);
    }
    let beyond = r.b.graph_mut().constant(outside(rank, &changes, method, beyond)?);
    Ok(vec![r.b.add(y, beyond)?])
}

/// The forms before positions could be chosen.
fn plain(
    r: &mut Reader<'_, '_>,
    x: Id,
    mode: &str,
    scales: Option<Vec<f64>>,
) -> Result<Vec<Id>, OpError> {
    let kernel = match mode {
        "nearest" => Kernel::Nearest(Rounding::Floor),
        "linear" | "bilinear" => Kernel::Linear,
        _ => return Err(OpError::unsupported("mode", mode)),
    };
    let scales = match scales {
        Some(scales) => scales,
        None => given_floats(r, 1)?.ok_or_else(|| OpError::invalid("scales are missing"))?,
    };
    let axes: Vec<usize> = (0..r.rank(x)).collect();
    let changes = from_scales(r, x, &axes, &scales)?;
    let coordinates = Coordinates::Asymmetric;
    let method = Method { coordinates, kernel, antialias: false, exclude_outside: false };
    Ok(vec![resample(r, x, &changes, method)?])
}

fn read_upsample(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let x = r.arg(0)?;
    let mode = r.string_or("mode", "nearest");
    let scales = r.floats("scales");
    plain(r, x, &mode, scales)
}

fn samples() -> Vec<Sample> {
    let scales = |s: &[f64]| Tensor::floats(&[s.len()], s.to_vec()).unwrap_or(Tensor::scalar(1.0));
    let by = |title: &str, mode: &str, h: f64, w: f64| {
        Sample::new(title)
            .active(&[1, 2, 3, 4])
            .omitted()
            .constant(scales(&[1.0, 1.0, h, w]))
            .string("mode", mode)
            .batched()
    };
    let to = |title: &str, mode: &str, h: i64, w: i64| {
        Sample::new(title)
            .active(&[1, 2, 3, 4])
            .omitted()
            .omitted()
            .ints(&[h, w])
            .int_list("axes", &[2, -1])
            .string("mode", mode)
            .batched()
    };
    let coordinates = "coordinate_transformation_mode";
    vec![
        by("nearest, doubled", "nearest", 2.0, 3.0),
        by("nearest, asymmetric", "nearest", 2.0, 2.0)
            .string(coordinates, "asymmetric")
            .string("nearest_mode", "floor"),
        by("nearest, not a multiple", "nearest", 1.5, 1.3).string("nearest_mode", "ceil"),
        by("nearest, a third", "nearest", 1.0 / 3.0, 0.5)
            .string(coordinates, "asymmetric")
            .string("nearest_mode", "floor"),
        by("linear, half pixel", "linear", 2.0, 2.0),
        by("linear, symmetric", "linear", 1.6, 2.3).string(coordinates, "half_pixel_symmetric"),
        by("linear, asymmetric", "linear", 2.0, 0.6).string(coordinates, "asymmetric"),
        by("linear, smoothed", "linear", 0.6, 0.5).int("antialias", 1),
        by("cubic", "cubic", 2.0, 1.5),
        by("cubic, inside only", "cubic", 1.5, 0.8)
            .int("exclude_outside", 1)
            .float("cubic_coeff_a", -0.5),
        to("linear, corners aligned", "linear", 5, 7).string(coordinates, "align_corners"),
        to("linear, pytorch", "linear", 1, 6).string(coordinates, "pytorch_half_pixel"),
        to("nearest, sizes", "nearest", 6, 3).string("nearest_mode", "round_prefer_ceil"),
        to("aspect kept", "linear", 5, 5).string("keep_aspect_ratio_policy", "not_larger"),
        Sample::new("one axis of three")
            .active(&[2, 2, 3])
            .omitted()
            .constant(scales(&[1.0, 1.0, 2.5]))
            .string("mode", "linear")
            .batched(),
        Sample::new("channels last")
            .active(&[1, 3, 2, 2])
            .omitted()
            .constant(scales(&[1.0, 1.5, 2.0, 1.0]))
            .string("mode", "linear")
            .batched(),
        Sample::new("cropped")
            .active(&[1, 1, 3, 4])
            .constant(scales(&[0.2, -0.3, 0.9, 1.2]))
            .omitted()
            .ints(&[3, 5])
            .int_list("axes", &[2, 3])
            .string("mode", "linear")
            .string(coordinates, "tf_crop_and_resize")
            .float("extrapolation_value", 0.5)
            .batched(),
        Sample::new("a vector")
            .active(&[4])
            .omitted()
            .constant(scales(&[1.7]))
            .string("mode", "linear"),
        Sample::new("as in opset 10")
            .active(&[1, 1, 2, 3])
            .constant(scales(&[1.0, 1.0, 2.0, 1.5]))
            .string("mode", "linear")
            .opset(10)
            .batched(),
    ]
}

fn upsample_samples() -> Vec<Sample> {
    let scales = || Tensor::floats(&[4], vec![1.0, 1.0, 2.0, 3.0]).unwrap_or(Tensor::scalar(1.0));
    let of = |title: &str| Sample::new(title).active(&[1, 2, 2, 2]).batched();
    vec![
        of("nearest").constant(scales()).opset(9),
        of("linear").constant(scales()).string("mode", "linear").opset(9),
        of("scales as attribute")
            .attribute(taste_onnx::builders::attr_floats("scales", &[1.0, 1.0, 2.0, 2.0]))
            .opset(8),
    ]
}

pub(crate) const ENTRIES: &[Entry] = &[
    Entry::new("Resize", read_resize, samples),
    Entry::new("Upsample", read_upsample, upsample_samples),
];
