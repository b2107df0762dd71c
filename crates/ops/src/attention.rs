//! Attention.

use ndarray::{ArrayD, IxDyn};
use taste_graph::{Build, DType, Dim, Id, OpError, Tensor, algebra::Concat};

use crate::{
    Entry, Reader, Sample,
    cast::Cast,
    matmul::{MatMul, swap_last},
    reduce::ReduceExtreme,
    softmax::Softmax,
};

/// What is added where attention is not allowed: nothing is left of it in either precision, and unlike
/// infinity it survives a row without a single key.
const FAR: f64 = 1e30;

/// The largest causal mask that becomes a constant.
const MASK_LIMIT: usize = 1 << 24;

/// softmax(scale · q kᵀ + bias) v for every head. Queries, keys and values come as (N, heads, length, size), or as
/// (N, length, heads · size).
fn read(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [q, k, v] = r.take()?;
    let (q_heads, kv_heads) = (r.int("q_num_heads"), r.int("kv_num_heads"));
    let scale = r.float_or("scale", f64::NAN);
    let causal = r.flag("is_causal", false);
    let softcap = r.float_or("softcap", 0.0);
    if softcap != 0.0 {
        return Err(OpError::unsupported("softcap", softcap));
    }
    for name in ["left_window_size", "right_window_size"] {
        let size = r.int_or(name, -1);
        if size >= 0 {
            return Err(OpError::unsupported(name, size));
        }
    }
    // Floats have one precision here, and the scores are not returned.
    r.ignore("softmax_precision");
    r.ignore("qk_matmul_output_mode");
    if r.wants_result(3) {
        return Err(OpError::unsupported("result", "qk_matmul_output"));
    }
    if r.optional(6).is_some() {
        return Err(OpError::unsupported("input", "nonpad_kv_seqlen"));
    }
    let flat = r.rank(q) == 3;
    let q = split_heads(r, q, q_heads)?;
    let (mut k, mut v) = (split_heads(r, k, kv_heads)?, split_heads(r, v, kv_heads)?);
    let mut past = 0;
    match (r.optional(4), r.optional(5)) {
        (Some(past_k), Some(past_v)) => {
            check_rank(r, past_k)?;
            past = r.fixed_size(past_k, 2)?;
            k = r.b.push(Concat { axis: 2 }, &[past_k, k])?;
            v = r.b.push(Concat { axis: 2 }, &[past_v, v])?;
        }
        (None, None) => {}
        _ => return Err(OpError::invalid("a past of keys without one of values, or the reverse")),
    }
    let present = [k, v];
    let heads = r.fixed_size(q, 1)?;
    let (k, v) = (repeat_heads(r, k, heads)?, repeat_heads(r, v, heads)?);
    let scale = if scale.is_nan() { 1.0 / (r.fixed_size(q, 3)? as f64).sqrt() } else { scale };
    let bias = Bias::read(r, q, k, causal.then_some(past))?;

    let b = &mut r.b;
    let q = b.scale(q, scale)?;
    let k = swap_last(b, k)?;
    let mut scores = b.push(MatMul, &[q, k])?;
    if let Some(added) = bias.added {
        scores = b.add(scores, added)?;
    }
    if let Some(allowed) = bias.allowed {
        let barrier = b.offset(allowed, -1.0)?;
        let barrier = b.scale(barrier, FAR)?;
        scores = b.add(scores, barrier)?;
    }
    let weights = b.push(Softmax { axis: 3, log: false }, &[scores])?;
    let mut y = b.push(MatMul, &[weights, v])?;
    if let Some(allowed) = bias.allowed {
        y = drop_empty_rows(b, y, allowed)?;
    }
    if flat {
        y = b.transpose(y, &[0, 2, 1, 3])?;
        let shape = b.fact(y).shape.clone();
        let width = crate::shape::product(&shape[2..])
            .ok_or_else(|| OpError::unsupported("heads that depend on", "the batch"))?;
        y = b.reshape(y, &[shape[0], shape[1], width])?;
    }
    Ok(vec![y, present[0], present[1]])
}

/// What happens to the scores before the softmax.
struct Bias {
    /// Numbers that are added.
    added: Option<Id>,
    /// 1 where a query may see a key, 0 elsewhere.
    allowed: Option<Id>,
}

impl Bias {
    /// The mask of the file, together with the causal one, which lets query i see keys up to `past` + i.
    fn read(r: &mut Reader<'_, '_>, q: Id, k: Id, past: Option<usize>) -> Result<Self, OpError> {
        let mut bias = Self { added: None, allowed: None };
        if let Some(mask) = r.optional(3) {
            let known = r.b.graph().as_constant(mask).cloned();
            match (r.fact(mask).dtype, known) {
                (DType::Bool, _) => {
                    bias.allowed = Some(r.b.push(Cast { to: DType::Float }, &[mask])?);
                }
                (DType::Float, Some(Tensor::Float(a))) => {
                    let shut = |v: f64| v == f64::NEG_INFINITY;
                    let open = a.mapv(|v| if shut(v) { 0.0 } else { v });
                    if a.iter().any(|&v| shut(v)) {
                        let allowed = a.mapv(|v| f64::from(u8::from(!shut(v))));
                        bias.allowed = Some(r.b.graph_mut().constant(allowed.into()));
                    }
                    if open.iter().any(|&v| v != 0.0) {
                        bias.added = Some(r.b.graph_mut().constant(open.into()));
                    }
                }
                (DType::Float, _) => bias.added = Some(mask),
                (other, _) => return Err(OpError::unsupported("a mask of", other)),
            }
        }
        if let Some(past) = past {
            let (rows, columns) = (r.fixed_size(q, 2)?, r.fixed_size(k, 2)?);
            if rows.checked_mul(columns).is_none_or(|n| n > MASK_LIMIT) {
                return Err(OpError::unsupported(
                    "a causal mask of",
                    format!("{rows} × {columns}"),
                ));
            }
            let seen = |i: IxDyn| f64::from(u8::from(i[1] <= i[0] + past));
            let seen = ArrayD::from_shape_fn(IxDyn(&[rows, columns]), seen);
            let seen = r.b.graph_mut().constant(seen.into());
            bias.allowed = Some(match bias.allowed {
                Some(allowed) => r.b.mul(allowed, seen)?,
                None => seen,
            });
        }
        Ok(bias)
    }
}

/// Zeros for queries that may see no key.
fn drop_empty_rows(b: &mut Build<'_>, y: Id, allowed: Id) -> Result<Id, OpError> {
    let last = b.fact(allowed).rank().checked_sub(1);
    let last = last.ok_or_else(|| OpError::shape("a mask of at least one axis", 1, 0))?;
    let some = b.push(ReduceExtreme::frozen_max(&[last]), &[allowed])?;
    match b.graph().as_constant(some) {
        Some(Tensor::Float(a)) if a.iter().all(|&v| v != 0.0) => Ok(y),
        _ => b.mul(y, some),
    }
}

fn check_rank(r: &Reader<'_, '_>, x: Id) -> Result<(), OpError> {
    if r.rank(x) == 4 { Ok(()) } else { Err(OpError::shape("an array of rank", 4, r.rank(x))) }
}

/// (N, length, heads · size) → (N, heads, length, size); what has four axes stays.
fn split_heads(r: &mut Reader<'_, '_>, x: Id, heads: Option<i64>) -> Result<Id, OpError> {
    if r.rank(x) == 4 {
        return Ok(x);
    }
    if r.rank(x) != 3 {
        return Err(OpError::shape("an array of rank", "3 or 4", r.rank(x)));
    }
    let width = r.fixed_size(x, 2)?;
    let count = heads
        .and_then(|h| usize::try_from(h).ok())
        .filter(|&h| h > 0 && width.is_multiple_of(h))
        .ok_or_else(|| OpError::unsupported("this many heads", format!("{heads:?} of {width}")))?;
    let (batch, length) = (r.fact(x).shape[0], r.fact(x).shape[1]);
    let x = r.b.reshape(x, &[batch, length, Dim::from(count), Dim::from(width / count)])?;
    r.b.transpose(x, &[0, 2, 1, 3])
}

/// Every head of keys or values, for as many neighbouring heads of queries as share it.
fn repeat_heads(r: &mut Reader<'_, '_>, x: Id, heads: usize) -> Result<Id, OpError> {
    let own = r.fixed_size(x, 1)?;
    if own == heads {
        return Ok(x);
    }
    if own == 0 || !heads.is_multiple_of(own) {
        return Err(OpError::shape("heads that share keys evenly", heads, own));
    }
    let shape = r.fact(x).shape.clone();
    let with = |share: usize| [shape[0], shape[1], Dim::from(share), shape[2], shape[3]];
    let x = r.b.reshape(x, &with(1))?;
    let x = r.b.expand(x, &with(heads / own))?;
    r.b.reshape(x, &[shape[0], Dim::from(heads), shape[2], shape[3]])
}

fn samples() -> Vec<Sample> {
    let four = |title: &str, heads: usize| {
        let (q, kv) = ([2, 2, 3, 2], [2, heads, 2, 2]);
        Sample::new(title).active(&q).active(&kv).active(&kv).opset(23).batched()
    };
    let flat = |title: &str, width: usize| {
        Sample::new(title)
            .active(&[2, 2, 4])
            .active(&[2, 3, width])
            .active(&[2, 3, width])
            .int("q_num_heads", 2)
            .int("kv_num_heads", width as i64 / 2)
            .opset(23)
            .batched()
    };
    let table = |rows: Vec<f64>| {
        Tensor::from(ArrayD::from_shape_vec(IxDyn(&[3, 2]), rows).unwrap_or_default())
    };
    let far = f64::NEG_INFINITY;
    let bools = ArrayD::from_shape_vec(IxDyn(&[3, 2]), vec![true, false, true, true, false, false]);
    vec![
        four("four axes", 2),
        four("shared keys", 1).float("scale", 0.4),
        four("causal", 2).int("is_causal", 1),
        four("a mask that is added", 2).constant(table(vec![0.5, -1.0, 0.0, 2.0, far, 1.0])),
        four("a mask with an empty row", 2).constant(Tensor::from(bools.unwrap_or_default())),
        four("a mask that is computed", 2).active(&[2, 1, 3, 2]),
        flat("three axes", 4),
        flat("three axes, shared keys", 2).int("is_causal", 1),
        Sample::new("a past")
            .active(&[1, 1, 2, 2])
            .active(&[1, 1, 2, 2])
            .active(&[1, 1, 2, 3])
            .omitted()
            .active(&[1, 1, 1, 2])
            .active(&[1, 1, 1, 3])
            .int("is_causal", 1)
            .results(3)
            .opset(23),
    ]
}

pub(crate) const ENTRIES: &[Entry] = &[Entry::new("Attention", read, samples)];
