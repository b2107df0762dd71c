use taste_graph::{Dim, Id, OpError};

use super::{Field, max::MaxPool};
use crate::{Reader, Sample, conv::window::spatial};

/// The number of elements in all spatial axes.
pub(super) fn elements(r: &Reader<'_, '_>, x: Id) -> Result<usize, OpError> {
    let size = spatial(r, x)?;
    let count = size.iter().try_fold(1usize, |n, &s| n.checked_mul(s)).filter(|&n| n > 0);
    count.ok_or_else(|| OpError::shape("spatial axes with elements", "at least 1", size))
}

/// The axes behind batch and channels.
pub(super) fn axes(r: &Reader<'_, '_>, x: Id) -> Vec<usize> {
    (2..r.rank(x)).collect()
}

pub(super) fn read_average(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [x] = r.take()?;
    let (count, axes) = (elements(r, x)?, axes(r, x));
    let sum = r.b.sum(x, &axes)?;
    Ok(vec![r.b.scale(sum, 1.0 / count as f64)?])
}

pub(super) fn read_max(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [x] = r.take()?;
    let count = elements(r, x)?;
    let mut shape = r.fact(x).shape.clone();
    let flat = [&shape[..2], &[Dim::from(count)]].concat();
    shape[2..].fill(Dim::from(1));
    let x = r.b.reshape(x, &flat)?;
    let y = MaxPool { field: Field::over(count) }.push(&mut r.b, x)?;
    Ok(vec![r.b.reshape(y, &shape)?])
}

pub(super) fn samples() -> Vec<Sample> {
    vec![
        Sample::new("two axes").active(&[2, 2, 3, 2]).batched(),
        Sample::new("one axis").active(&[2, 2, 5]).batched(),
        Sample::new("three axes").active(&[1, 2, 2, 3, 2]).batched(),
    ]
}
