//! Convolutions as ONNX.

use ndarray::{ArrayD, Axis, IxDyn};
use taste_graph::{Dim, Emitter, OpError};
use taste_onnx::{builders, proto::AttributeProto};

use super::{Conv, Window};

/// Up to so many channels of a result, `ConvTranspose` is the faster form.
const FEW_CHANNELS: i64 = 4;

/// Matrices of up to so many columns are narrow: engines multiply several faster as one.
const NARROW: i64 = 16;

fn long(values: &[usize]) -> Vec<i64> {
    values.iter().map(|&v| v as i64).collect()
}

/// The attributes of a convolution with this window.
fn attributes(window: &Window, groups: usize) -> Vec<AttributeProto> {
    vec![
        builders::attr_ints("kernel_shape", &long(&window.kernel)),
        builders::attr_ints("strides", &long(&window.strides)),
        builders::attr_ints("dilations", &long(&window.dilations)),
        builders::attr_ints("pads", &long(&[&window.begin[..], &window.end[..]].concat())),
        builders::attr_int("group", groups as i64),
    ]
}

/// `Slice` to ranges of (axis, start, end).
fn cut(e: &mut Emitter<'_>, x: &str, ranges: &[(usize, i64, i64)]) -> String {
    if ranges.is_empty() {
        return x.to_owned();
    }
    let starts = e.ints(&ranges.iter().map(|r| r.1).collect::<Vec<_>>());
    let ends = e.ints(&ranges.iter().map(|r| r.2).collect::<Vec<_>>());
    let axes = e.ints(&ranges.iter().map(|r| r.0 as i64).collect::<Vec<_>>());
    e.node("Slice", &[x.to_owned(), starts, ends, axes], vec![])
}

/// Zeros around the spatial axes of a value with channels last; negative numbers cut.
fn pad_or_cut(e: &mut Emitter<'_>, x: &str, size: &[Dim], begin: &[i64], end: &[i64]) -> String {
    let cuts: Vec<(usize, i64, i64)> = (0..size.len())
        .filter(|&a| begin[a] < 0 || end[a] < 0)
        .map(|a| (a + 1, (-begin[a]).max(0), size[a].fixed + end[a].min(0)))
        .collect();
    let x = cut(e, x, &cuts);
    let zeros = |numbers: &[i64]| {
        let middle: Vec<i64> = numbers.iter().map(|&n| n.max(0)).collect();
        [&[0], &middle[..], &[0]].concat()
    };
    let pads = [zeros(begin), zeros(end)].concat();
    if pads.iter().all(|&p| p == 0) { x } else { e.pad_zeros(&x, &pads) }
}

fn transpose(e: &mut Emitter<'_>, x: &str, perm: &[usize]) -> String {
    e.node("Transpose", &[x.to_owned()], vec![builders::attr_ints("perm", &long(perm))])
}

/// The order of axes with two of them exchanged.
fn swapped(rank: usize, a: usize, b: usize) -> Vec<usize> {
    let mut perm: Vec<usize> = (0..rank).collect();
    perm.swap(a, b);
    perm
}

impl Conv {
    pub(super) fn write_result(&self, e: &mut Emitter<'_>, args: &[String]) -> String {
        e.node("Conv", args, attributes(&self.window, self.groups))
    }

    /// With stride 1 the adjoint is a convolution with flipped weights, for which engines have faster
    /// kernels than for `ConvTranspose`, unless the result has few channels, as an image has: then they would lay
    /// out windows of many channels for little arithmetic. With larger strides a convolution would have to compute on
    /// inserted zeros, or move elements between channels and space, which costs more than it gains.
    pub(super) fn write_data(
        &self,
        e: &mut Emitter<'_>,
        args: &[String],
    ) -> Result<String, OpError> {
        let positions = self.window.positions(&self.size)?;
        let channels = e.arg_fact(1).shape[1].as_fixed().unwrap_or(i64::MAX);
        let few = self.groups == 1 && channels <= FEW_CHANNELS;
        if few || self.window.strides.iter().any(|&s| s != 1) {
            return Ok(self.write_transposed(e, args, &positions));
        }
        let recipe = format!("flip in {} groups", self.groups);
        let flipped =
            e.made_from(1, &recipe, |w| Ok(self.flip(&w.as_float()?.to_owned()).into()))?;
        let weights = match flipped {
            Some(weights) => weights,
            None => self.write_flipped(e, &args[1]),
        };
        // Padding is what the window reaches beyond the padding of x; where that is negative, positions are cut off.
        let mut window = self.window.clone();
        let mut cuts = Vec::new();
        for (axis, &positions) in positions.iter().enumerate() {
            let reach = self.window.reach(axis) - 1;
            let before = self.window.begin[axis].saturating_sub(reach);
            let after = self.window.end[axis].saturating_sub(reach);
            if before > 0 || after > 0 {
                cuts.push((axis + 2, before as i64, positions as i64 - after as i64));
            }
            window.begin[axis] = reach.saturating_sub(self.window.begin[axis]);
            window.end[axis] = reach.saturating_sub(self.window.end[axis]);
        }
        let y = cut(e, &args[0], &cuts);
        Ok(e.node("Conv", &[y, weights], attributes(&window, self.groups)))
    }

    fn write_transposed(
        &self,
        e: &mut Emitter<'_>,
        args: &[String],
        positions: &[usize],
    ) -> String {
        let w = &self.window;
        let extra: Vec<i64> = (0..w.rank())
            .map(|a| {
                let covered = w.strides[a] * (positions[a] - 1) + w.reach(a);
                (self.size[a] + w.begin[a] + w.end[a] - covered) as i64
            })
            .collect();
        let mut attributes = attributes(w, self.groups);
        attributes.push(builders::attr_ints("output_padding", &extra));
        e.node("ConvTranspose", args, attributes)
    }

    /// \[g·o, i, k\] → \[g·i, o, k\], backwards along the kernel.
    fn flip(&self, w: &ArrayD<f64>) -> ArrayD<f64> {
        let (outputs, inputs) = (w.shape()[0] / self.groups, w.shape()[1]);
        let kernel = &self.window.kernel[..];
        let split = [&[self.groups, outputs, inputs], kernel].concat();
        let merged = [&[self.groups * inputs, outputs], kernel].concat();
        let mut flipped = w.to_shape(split).expect("outputs in groups").into_owned();
        flipped.swap_axes(1, 2);
        for axis in 0..kernel.len() {
            flipped.invert_axis(Axis(3 + axis));
        }
        flipped
            .as_standard_layout()
            .into_owned()
            .into_shape_with_order(merged)
            .expect("groups of inputs")
    }

    /// [`Conv::flip`] of weights that are computed.
    fn write_flipped(&self, e: &mut Emitter<'_>, w: &str) -> String {
        let shape = e.arg_fact(1).shape.clone();
        let rank = shape.len();
        let (outputs, inputs) = (shape[0].fixed / self.groups as i64, shape[1].fixed);
        let mut w = w.to_owned();
        if self.groups == 1 {
            w = transpose(e, &w, &swapped(rank, 0, 1));
        } else {
            let dim = |fixed: i64| Dim { per_batch: 0, fixed };
            let mut split = vec![Dim::from(self.groups), dim(outputs), dim(inputs)];
            split.extend(&shape[2..]);
            w = e.reshape(&w, &split);
            w = transpose(e, &w, &swapped(rank + 1, 1, 2));
            let mut merged = vec![dim(inputs * self.groups as i64), dim(outputs)];
            merged.extend(&shape[2..]);
            w = e.reshape(&w, &merged);
        }
        let axes: Vec<i64> = (0..self.window.rank())
            .filter(|&a| self.window.kernel[a] > 1)
            .map(|a| a as i64 + 2)
            .collect();
        if axes.is_empty() {
            return w;
        }
        let starts = e.ints(&vec![-1; axes.len()]);
        let ends = e.ints(&vec![i64::from(i32::MIN); axes.len()]);
        let steps = e.ints(&vec![-1; axes.len()]);
        let axes = e.ints(&axes);
        e.node("Slice", &[w, starts, ends, axes, steps], vec![])
    }

    /// Products of matrices, since engines are built for small kernels; a convolution over the batch where channels have groups.
    pub(super) fn write_weights(
        &self,
        e: &mut Emitter<'_>,
        args: &[String],
    ) -> Result<String, OpError> {
        if self.groups == 1 {
            self.write_weights_by_taps(e, args)
        } else {
            self.write_weights_by_images(e, args)
        }
    }

    /// w\[o, c, k\] = Σ_{n, p} y\[n, o, p\] · x\[n, c, stride · p + dilation · k − begin\]: for each tap k the product of y
    /// with the part of x that the tap sees. With stride 1 it may as well be x with the part of y, if that has fewer
    /// channels to move.
    fn write_weights_by_taps(
        &self,
        e: &mut Emitter<'_>,
        args: &[String],
    ) -> Result<String, OpError> {
        let w = &self.window;
        let (positions, rank) = (w.positions(&self.size)?, w.rank());
        let (x, y) = (e.arg_fact(0).shape.clone(), e.arg_fact(1).shape.clone());
        let (inputs, outputs) = (x[1], y[1]);
        let turned = w.strides.iter().all(|&s| s == 1) && outputs.fixed < inputs.fixed;
        let (moving, resting) = if turned { (y, x) } else { (x, y) };
        let (moving_name, resting_name) =
            if turned { (&args[1], &args[0]) } else { (&args[0], &args[1]) };
        let extent = if turned { &self.size } else { &positions };
        let rows = resting[2..].iter().fold(resting[0], |rows, size| Dim {
            per_batch: rows.per_batch * size.fixed,
            fixed: rows.fixed * size.fixed,
        });

        let still = transpose(e, resting_name, &swapped(rank + 2, 0, 1));
        let still = e.reshape(&still, &[resting[1], rows]);
        let channels_last: Vec<usize> = std::iter::once(0).chain(2..rank + 2).chain([1]).collect();
        let shifting = transpose(e, moving_name, &channels_last);
        let (begin, end): (Vec<i64>, Vec<i64>) = (0..rank)
            .map(|a| {
                let (begin, end) = (w.begin[a] as i64, w.end[a] as i64);
                let reach = w.reach(a) as i64 - 1;
                if turned { (reach - begin, reach - end) } else { (begin, end) }
            })
            .unzip();
        let shifting = pad_or_cut(e, &shifting, &moving[2..], &begin, &end);
        let axes = e.ints(&(1..=rank as i64).collect::<Vec<_>>());
        let steps = e.ints(&long(&w.strides));
        let mut seen = Vec::new();
        for tap in ndarray::indices(IxDyn(&w.kernel)) {
            let (starts, ends): (Vec<i64>, Vec<i64>) = (0..rank)
                .map(|a| {
                    let tap = if turned { w.kernel[a] - 1 - tap[a] } else { tap[a] };
                    let start = tap * w.dilations[a];
                    (start as i64, (start + w.strides[a] * (extent[a] - 1) + 1) as i64)
                })
                .unzip();
            let (starts, ends) = (e.ints(&starts), e.ints(&ends));
            let range = [shifting.clone(), starts, ends, axes.clone(), steps.clone()];
            let part = e.node("Slice", &range, vec![]);
            seen.push(e.reshape(&part, &[rows, moving[1]]));
        }
        let joined = |e: &mut Emitter<'_>, parts: &[String]| match parts {
            [one] => one.clone(),
            _ => e.node("Concat", parts, vec![builders::attr_int("axis", 1)]),
        };
        // Narrow matrices are joined before the product, wide ones after it.
        let products = if moving[1].fixed <= NARROW {
            let all = joined(e, &seen);
            e.node("MatMul", &[still, all], vec![])
        } else {
            let each: Vec<String> = seen
                .into_iter()
                .map(|part| e.node("MatMul", &[still.clone(), part], vec![]))
                .collect();
            joined(e, &each)
        };
        // resting × (taps, moving) → outputs × inputs × taps
        let taps = Dim::from(w.kernel.iter().product::<usize>());
        let split = e.reshape(&products, &[resting[1], taps, moving[1]]);
        let ordered = transpose(e, &split, if turned { &[2, 0, 1] } else { &[0, 2, 1] });
        let kernel = w.kernel.iter().map(|&k| Dim::from(k));
        Ok(e.reshape(&ordered, &[outputs, inputs].into_iter().chain(kernel).collect::<Vec<_>>()))
    }

    /// A convolution over the batch: channels of x are its batch, y its weights, and stride and
    /// dilation change places.
    fn write_weights_by_images(
        &self,
        e: &mut Emitter<'_>,
        args: &[String],
    ) -> Result<String, OpError> {
        let positions = self.window.positions(&self.size)?;
        let (rank, groups) = (self.window.rank(), self.groups);
        let data = e.arg_fact(0).shape.clone();
        let swap = swapped(rank + 2, 0, 1);
        let x = if groups == 1 {
            transpose(e, &args[0], &swap)
        } else {
            // [n, g·i, …] → [i, g·n, …].
            let (batch, inputs) = (data[0], data[1].fixed / groups as i64);
            let inputs = Dim { per_batch: 0, fixed: inputs };
            let split = [&[batch, Dim::from(groups), inputs], &data[2..]].concat();
            let x = e.reshape(&args[0], &split);
            let perm: Vec<usize> = [2, 1, 0].into_iter().chain(3..rank + 3).collect();
            let x = transpose(e, &x, &perm);
            let merged = Dim {
                per_batch: batch.per_batch * groups as i64,
                fixed: batch.fixed * groups as i64,
            };
            e.reshape(&x, &[&[inputs, merged], &data[2..]].concat())
        };
        let y = transpose(e, &args[1], &swap);
        let mut ranges = Vec::new();
        for (axis, &positions) in positions.iter().enumerate() {
            // Rows that a stride leaves out make the result longer than the kernel.
            let padded = self.size[axis] + self.window.begin[axis] + self.window.end[axis];
            let room = padded - self.window.strides[axis] * (positions - 1) - 1;
            let taps = room / self.window.dilations[axis] + 1;
            if taps > self.window.kernel[axis] {
                ranges.push((axis + 2, 0, self.window.kernel[axis] as i64));
            }
        }
        let window = Window {
            kernel: positions,
            strides: self.window.dilations.clone(),
            dilations: self.window.strides.clone(),
            ..self.window.clone()
        };
        let w = e.node("Conv", &[x, y], attributes(&window, groups));
        let w = cut(e, &w, &ranges);
        Ok(transpose(e, &w, &swap))
    }
}
