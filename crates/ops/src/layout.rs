//! Moving elements without changing them.

use ndarray::Axis;
use taste_graph::{
    Build, Calculus, Concrete, Dim, Emitter, Id, Lift, Linear, Op, OpError, Tensor,
    algebra::Concat, map_array, take,
};
use taste_onnx::builders;

use crate::{
    Entry, Reader, Sample,
    gather::{GatherNd, int_tensor},
};

fn read_identity(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    Ok(vec![r.arg(0)?])
}

fn read_transpose(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [x] = r.take()?;
    let rank = r.rank(x);
    let perm = r.sizes("perm")?.unwrap_or_else(|| (0..rank).rev().collect());
    if perm.len() != rank {
        return Err(OpError::shape("a permutation of the axes", rank, perm));
    }
    Ok(vec![r.b.transpose(x, &perm)?])
}

fn read_concat(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let args: Vec<Id> = (0..r.arity()).map(|i| r.arg(i)).collect::<Result<_, _>>()?;
    let rank = r.rank(r.arg(0)?);
    let axis = r.int("axis").ok_or_else(|| OpError::invalid("attribute axis is missing"))?;
    let axis = r.axis(axis, rank)?;
    Ok(vec![r.b.push(Concat { axis }, &args)?])
}

/// The block size of a move between channels and space, and the sizes N, C, H, W.
fn blocks(r: &mut Reader<'_, '_>, x: Id) -> Result<(usize, [Dim; 4]), OpError> {
    let block = r.int("blocksize").ok_or_else(|| OpError::invalid("blocksize is missing"))?;
    let block = usize::try_from(block)
        .ok()
        .filter(|b| (1..1 << 16).contains(b))
        .ok_or_else(|| OpError::unsupported("blocksize", block))?;
    let shape = r.fact(x).shape.clone();
    let sizes =
        shape.try_into().map_err(|s: Vec<Dim>| OpError::shape("images of rank", 4, s.len()))?;
    Ok((block, sizes))
}

fn part(size: Dim, by: usize) -> Result<Dim, OpError> {
    let by = by as i64;
    (size.per_batch % by == 0 && size.fixed % by == 0)
        .then(|| Dim { per_batch: size.per_batch / by, fixed: size.fixed / by })
        .ok_or_else(|| OpError::shape("a size divisible by", by, size))
}

fn times(size: Dim, by: usize) -> Result<Dim, OpError> {
    let by = by as i64;
    let scaled = size.per_batch.checked_mul(by).zip(size.fixed.checked_mul(by));
    scaled
        .map(|(per_batch, fixed)| Dim { per_batch, fixed })
        .ok_or_else(|| OpError::invalid("a size beyond memory"))
}

fn read_depth_to_space(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let x = r.arg(0)?;
    let (block, [n, c, h, w]) = blocks(r, x)?;
    let b = Dim::from(block);
    let depth = part(c, block * block)?;
    let mode = r.string_or("mode", "DCR");
    let (split, perm) = match mode.as_str() {
        "DCR" => ([n, b, b, depth, h, w], [0, 3, 4, 1, 5, 2]),
        "CRD" => ([n, depth, b, b, h, w], [0, 1, 4, 2, 5, 3]),
        _ => return Err(OpError::unsupported("mode", mode)),
    };
    let x = r.b.reshape(x, &split)?;
    let x = r.b.transpose(x, &perm)?;
    Ok(vec![r.b.reshape(x, &[n, depth, times(h, block)?, times(w, block)?])?])
}

fn read_space_to_depth(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let x = r.arg(0)?;
    let (block, [n, c, h, w]) = blocks(r, x)?;
    let b = Dim::from(block);
    let (h, w) = (part(h, block)?, part(w, block)?);
    let mode = r.string_or("mode", "DCR");
    let perm = match mode.as_str() {
        "DCR" => [0, 3, 5, 1, 2, 4],
        "CRD" => [0, 1, 3, 5, 2, 4],
        _ => return Err(OpError::unsupported("mode", mode)),
    };
    let x = r.b.reshape(x, &[n, c, h, b, w, b])?;
    let x = r.b.transpose(x, &perm)?;
    Ok(vec![r.b.reshape(x, &[n, times(c, block * block)?, h, w])?])
}

/// The elements of every matrix on one side of a diagonal, zeros on the other.
#[derive(Clone, Debug)]
pub(crate) struct Trilu {
    /// Whether the upper side stays.
    upper: bool,
    /// The diagonal, counted upwards from the main one.
    k: i64,
}

impl Op for Trilu {
    fn name(&self) -> &'static str {
        "Trilu"
    }

    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError> {
        let [x] = take(args)?;
        if x.rank() < 2 {
            return Err(OpError::shape("matrices of at least rank", 2, x.rank()));
        }
        Ok(vec![x.clone()])
    }

    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let [x] = take(args)?;
        self.infer(&[x.concrete()])?;
        let rank = x.shape().len();
        Ok(vec![map_array!(x, a => {
            let mut y = a.to_owned();
            for (row, mut line) in y.axis_iter_mut(Axis(rank - 2)).enumerate() {
                for (column, mut lane) in line.axis_iter_mut(Axis(rank - 2)).enumerate() {
                    let diagonal = column as i64 - row as i64;
                    if if self.upper { diagonal < self.k } else { diagonal > self.k } {
                        lane.fill(Default::default());
                    }
                }
            }
            y
        })])
    }

    fn calculus(&self) -> Calculus<'_> {
        Calculus::Linear(self)
    }

    fn lift(&self, _laned: &[bool], _lanes: usize) -> Lift {
        Lift::shift(self.clone())
    }

    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError> {
        let k = e.tensor(&int_tensor(&[], &[self.k]));
        let upper = builders::attr_int("upper", i64::from(self.upper));
        Ok(vec![e.node("Trilu", &[args[0].clone(), k], vec![upper])])
    }
}

impl Linear for Trilu {
    fn transpose(&self, b: &mut Build<'_>, _args: &[Id], _i: usize, ct: Id) -> Result<Id, OpError> {
        b.push(self.clone(), &[ct])
    }
}

fn read_trilu(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let x = r.arg(0)?;
    let upper = r.flag("upper", true);
    let k = match r.optional(1) {
        Some(_) => r.fixed_ints(1)?.first().copied().unwrap_or(0),
        None => 0,
    };
    let shape = &r.fact(x).shape;
    if shape.iter().rev().take(2).any(|d| d.depends_on_batch()) {
        return Err(OpError::unsupported("a triangle in the batch", r.fact(x)));
    }
    let k = k.clamp(i64::from(i32::MIN), i64::from(i32::MAX));
    Ok(vec![r.b.push(Trilu { upper, k }, &[x])?])
}

/// The first elements along the time axis backwards, as many as each sample's length says.
fn read_reverse_sequence(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let x = r.arg(0)?;
    let lens = crate::reader::to_sizes(&r.fixed_ints(1)?)?;
    let axes = [r.int_or("batch_axis", 1), r.int_or("time_axis", 0)];
    let axes = [r.axis(axes[0], r.rank(x))?, r.axis(axes[1], r.rank(x))?];
    let [batch, time] = [r.fixed_size(x, axes[0])?, r.fixed_size(x, axes[1])?];
    if axes[0] == axes[1] || lens.len() != batch || lens.iter().any(|&l| l > time) {
        return Err(OpError::shape("lengths of sequences", (batch, time), lens));
    }
    let mut perm = axes.to_vec();
    perm.extend((0..r.rank(x)).filter(|a| !axes.contains(a)));
    let mut back = vec![0; perm.len()];
    for (to, &from) in perm.iter().enumerate() {
        back[from] = to;
    }
    let mut pairs = Vec::with_capacity(2 * batch * time);
    for (sample, &len) in lens.iter().enumerate() {
        for t in 0..time {
            let from = if t < len { len - 1 - t } else { t };
            pairs.extend([sample as i64, from as i64]);
        }
    }
    let pairs = r.b.graph_mut().constant(int_tensor(&[batch, time, 2], &pairs));
    let x = r.b.transpose(x, &perm)?;
    let y = r.b.push(GatherNd { lead: 0 }, &[x, pairs])?;
    Ok(vec![r.b.transpose(y, &back)?])
}

fn transpose_samples() -> Vec<Sample> {
    vec![
        Sample::new("reversed").active(&[2, 3]),
        Sample::new("three axes").active(&[2, 3, 2]).int_list("perm", &[1, 2, 0]),
        Sample::new("batch stays").active(&[2, 3, 2]).int_list("perm", &[0, 2, 1]).batched(),
        Sample::new("batch moves").active(&[2, 3, 2]).int_list("perm", &[1, 0, 2]).batched(),
    ]
}

fn concat_samples() -> Vec<Sample> {
    vec![
        Sample::new("two").active(&[2, 3]).active(&[2, 1]).int("axis", 1).batched(),
        Sample::new("with a constant").active(&[2, 3]).fixed(&[1, 3]).int("axis", 0),
        Sample::new("from the end").active(&[2, 2, 1]).active(&[2, 2, 2]).int("axis", -1).batched(),
    ]
}

fn depth_to_space_samples() -> Vec<Sample> {
    let of = |title: &str| Sample::new(title).active(&[1, 8, 2, 1]).int("blocksize", 2).batched();
    vec![
        of("depth first"),
        of("depth first, named").string("mode", "DCR"),
        of("columns first").string("mode", "CRD"),
    ]
}

fn space_to_depth_samples() -> Vec<Sample> {
    vec![
        Sample::new("blocks of 2").active(&[1, 2, 2, 4]).int("blocksize", 2).batched(),
        Sample::new("blocks of 3").active(&[2, 1, 3, 3]).int("blocksize", 3).batched(),
        Sample::new("columns first")
            .active(&[1, 2, 2, 4])
            .int("blocksize", 2)
            .string("mode", "CRD")
            .opset(28)
            .batched(),
    ]
}

fn trilu_samples() -> Vec<Sample> {
    let k = |k: i64| int_tensor(&[], &[k]);
    vec![
        Sample::new("upper").active(&[2, 3, 3]).batched(),
        Sample::new("lower").active(&[2, 3, 4]).int("upper", 0).batched(),
        Sample::new("upper, k = 1").active(&[2, 3, 3]).constant(k(1)).batched(),
        Sample::new("lower, k = −1").active(&[3, 2]).constant(k(-1)).int("upper", 0),
    ]
}

fn reverse_sequence_samples() -> Vec<Sample> {
    vec![
        Sample::new("time first").active(&[3, 2]).ints(&[3, 2]),
        Sample::new("batch first")
            .active(&[2, 3, 2])
            .ints(&[1, 3])
            .int("batch_axis", 0)
            .int("time_axis", 1),
    ]
}

pub(crate) const ENTRIES: &[Entry] = &[
    Entry::new("Concat", read_concat, concat_samples),
    Entry::new("DepthToSpace", read_depth_to_space, depth_to_space_samples),
    Entry::new("Identity", read_identity, || {
        vec![Sample::new("as it is").active(&[2, 3]).batched()]
    }),
    Entry::new("ReverseSequence", read_reverse_sequence, reverse_sequence_samples),
    Entry::new("SpaceToDepth", read_space_to_depth, space_to_depth_samples),
    Entry::new("Transpose", read_transpose, transpose_samples),
    Entry::new("Trilu", read_trilu, trilu_samples),
];
