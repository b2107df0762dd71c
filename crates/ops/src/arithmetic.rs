//! Sums and products of elements.

use taste_graph::{
    Id, OpError,
    algebra::{Add, Mul},
};

use crate::{Entry, Reader, Sample};

fn read_add(r: &mut Reader<'_, '_>, minus: bool) -> Result<Vec<Id>, OpError> {
    let [x, y] = r.take()?;
    Ok(vec![r.b.push(Add { minus }, &[x, y])?])
}

fn read_mul(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [x, y] = r.take()?;
    Ok(vec![r.b.push(Mul, &[x, y])?])
}

fn samples() -> Vec<Sample> {
    vec![
        Sample::new("equal shapes").active(&[2, 3]).active(&[2, 3]).batched(),
        Sample::new("a constant row").active(&[2, 3]).fixed(&[3]).batched(),
        Sample::new("broadcast both ways").active(&[2, 1, 3]).active(&[2, 1]),
        Sample::new("scalar").active(&[2, 3]).fixed(&[]).batched(),
    ]
}

pub(crate) const ENTRIES: &[Entry] = &[
    Entry::new("Add", |r| read_add(r, false), samples),
    Entry::new("Sub", |r| read_add(r, true), samples),
    Entry::new("Mul", read_mul, samples),
];
