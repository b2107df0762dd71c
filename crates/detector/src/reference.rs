//! What a detector keeps of its calibration samples.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use ndarray::Array2;

/// Calibration samples that batches are compared with.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// One row a sample: the columns of every part in order, then the score, then the novelty if there is one.
    pub rows: Array2<f32>,
}

/// The values of every column of a table on calibration samples, as they were read. Columns are sorted each for itself: no row can be read
/// back.
#[derive(Clone, Debug, PartialEq)]
pub struct Margins {
    /// One row a column, ascending by `total_cmp`; missing values are NaN, at the end.
    pub sorted: Array2<f32>,
}

impl Margins {
    /// Of rows.
    pub(crate) fn of(rows: &Array2<f32>) -> Self {
        // NaN of the other sign would stand in front.
        let mut sorted = rows.t().mapv(|v| if v.is_nan() { f32::NAN } else { v });
        sorted = sorted.as_standard_layout().into_owned();
        for mut column in sorted.outer_iter_mut() {
            if let Some(values) = column.as_slice_mut() {
                values.sort_unstable_by(f32::total_cmp);
            }
        }
        Self { sorted }
    }
}

/// What the maps of calibration samples were like.
#[derive(Clone, Debug, PartialEq)]
pub struct MapReference {
    /// The mean of every entry; none where that is zero.
    pub means: Vec<f32>,
    /// The standard deviation of every entry.
    pub deviations: Vec<f32>,
    /// The largest size of an entry, summed over channels, for every calibration sample, ascending.
    pub largest: Vec<f32>,
}

/// The width of a row and the numbers, as text.
pub(crate) fn pack<'a>(width: usize, values: impl Iterator<Item = &'a f32>) -> String {
    let bytes: Vec<u8> = values.flat_map(|v| v.to_le_bytes()).collect();
    format!("{width}:{}", BASE64_STANDARD.encode(bytes))
}

/// From [`pack`].
pub(crate) fn unpack(text: &str) -> Option<(usize, Vec<f32>)> {
    let (width, data) = text.split_once(':')?;
    let bytes = BASE64_STANDARD.decode(data).ok()?;
    let (words, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty() {
        return None;
    }
    Some((width.parse().ok()?, words.iter().map(|w| f32::from_le_bytes(*w)).collect()))
}
