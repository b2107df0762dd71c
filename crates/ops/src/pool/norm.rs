//! (Σ |x|ᵖ)^(1/p) over windows.

use taste_graph::{Build, Id, OpError};

use super::{Field, average::AveragePool, global::axes};
use crate::{
    Reader, Sample,
    pointwise::{EXP, LOG, Sign, Unary},
};

/// |x|ᵖ, where p is small.
fn powers(b: &mut Build<'_>, x: Id, p: i64) -> Result<Id, OpError> {
    let square = b.square(x)?;
    let mut power = if p % 2 == 1 {
        let sign = b.push(Sign, &[x])?;
        b.mul(x, sign)?
    } else {
        square
    };
    for _ in 0..(p - 1) / 2 {
        power = b.mul(power, square)?;
    }
    Ok(power)
}

/// u^(1/p) for u > 0.
fn root(b: &mut Build<'_>, u: Id, p: i64) -> Result<Id, OpError> {
    if p == 1 {
        return Ok(u);
    }
    let log = b.push(Unary(&LOG), &[u])?;
    let log = b.scale(log, 1.0 / p as f64)?;
    b.push(Unary(&EXP), &[log])
}

fn order(r: &mut Reader<'_, '_>) -> Result<i64, OpError> {
    let p = r.int_or("p", 2);
    if (1..=8).contains(&p) { Ok(p) } else { Err(OpError::unsupported("a norm of order", p)) }
}

pub(super) fn read(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [x] = r.take()?;
    let p = order(r)?;
    let mut field = Field::read(r, x)?;
    // A sum is a mean that counts every tap.
    field.asked.clone_from(&field.window.end);
    let taps = field.taps() as f64;
    let powers = powers(&mut r.b, x, p)?;
    let mean = AveragePool { field, count_padding: true }.push(&mut r.b, powers)?;
    let sum = r.b.scale(mean, taps)?;
    Ok(vec![root(&mut r.b, sum, p)?])
}

pub(super) fn read_global(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [x] = r.take()?;
    let p = order(r)?;
    let axes = axes(r, x);
    let powers = powers(&mut r.b, x, p)?;
    let sum = r.b.sum(powers, &axes)?;
    Ok(vec![root(&mut r.b, sum, p)?])
}

pub(super) fn samples() -> Vec<Sample> {
    let of = |title: &str, p: i64| {
        Sample::new(title)
            .active_in(&[2, 1, 3, 4], 0.2, 1.0)
            .int_list("kernel_shape", &[2, 2])
            .int("p", p)
            .batched()
    };
    vec![
        of("order 2", 2).int_list("strides", &[2, 2]),
        of("order 1, padded", 1).int_list("pads", &[1, 0, 0, 1]),
        of("order 3, rounded up", 3).int_list("strides", &[2, 2]).int("ceil_mode", 1),
        of("dilated", 2).int_list("dilations", &[2, 1]),
    ]
}

pub(super) fn global_samples() -> Vec<Sample> {
    vec![
        Sample::new("order 2").active_in(&[2, 2, 2, 2], 0.2, 1.0).batched(),
        Sample::new("order 3").active_in(&[2, 2, 3], -1.0, -0.2).int("p", 3).batched(),
    ]
}
