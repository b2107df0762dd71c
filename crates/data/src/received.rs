//! Samples that come without a file: pictures, tables and arrays in memory, prepared as files are.

use std::sync::Arc;

use image::DynamicImage;
use ndarray::{ArrayD, Axis, stack};

use crate::{
    Error, Layout, Options, Problem, Samples,
    dataset::Dataset,
    formats::{Shaping, decode_image},
    prepare::Prepare,
    source::{Facts, elements},
};

/// The most memory that decoding a picture may take.
const MOST_MEMORY: u64 = 1 << 28;

/// Samples in the bytes of any format that is read from its first byte on: JSON lines, CSV, npy.
pub fn from_bytes(name: &str, bytes: Arc<[u8]>, options: &Options) -> Result<ArrayD<f32>, Error> {
    let set = Dataset::from_bytes(name, bytes, options)?;
    let chunks = set.chunks(usize::MAX)?.map(|chunk| Ok(chunk?.values));
    let parts = chunks.collect::<Result<Vec<_>, Error>>()?;
    let views: Vec<_> = parts.iter().map(|part| part.view()).collect();
    ndarray::concatenate(Axis(0), &views).map_err(|_| Error::new(name, "it holds no samples"))
}

/// Samples that are an array, along its first axis; `bytes` says that its entries are those of uint8.
pub fn from_array(
    name: &str,
    values: ArrayD<f32>,
    bytes: bool,
    options: &Options,
) -> Result<ArrayD<f32>, Error> {
    let sample = values.shape().get(1..).unwrap_or_default().to_vec();
    elements(&sample).map_err(|problem| Error::new(name, problem))?;
    let (layout, columns, taken) = (Layout::Auto, None, None);
    let facts = Facts { sample, bytes, layout, columns, taken, texts: Vec::new(), sized: false };
    Prepare::new(name, &facts, options)?.samples(name, values, None, |sample| sample)
}

/// Samples that are pictures (PNG, JPEG, WebP, TIFF), each as the bytes of its file.
pub fn from_images<B: AsRef<[u8]>>(
    name: &str,
    pictures: &[B],
    options: &Options,
) -> Result<ArrayD<f32>, Error> {
    let size = |image: &DynamicImage| (image.height() as usize, image.width() as usize);
    let mut known: Option<(Shaping, Facts)> = None;
    let mut samples = Vec::with_capacity(pictures.len());
    for (place, bytes) in pictures.iter().enumerate() {
        let entry = |problem: Problem| Error::new(format!("{name}, picture {place}"), problem);
        let image = decode_image(bytes.as_ref(), MOST_MEMORY)
            .map_err(|reason| entry(Problem::Entry { line: None, reason }))?;
        let (shaping, facts) = match &mut known {
            Some(known) => known,
            none => {
                let shaping = Shaping::new(size(&image), !image.color().has_color(), options);
                none.insert((shaping, shaping.facts(size(&image)).map_err(entry)?))
            }
        };
        let sample = shaping.apply(&image).map_err(entry)?;
        if sample.shape() != facts.sample {
            let (found, first) = (&sample.shape()[1..], &facts.sample[1..]);
            let problem = format!("it has the size {found:?}, and the first has {first:?}");
            return Err(entry(problem.into()));
        }
        samples.push(sample);
    }
    let Some((_, facts)) = known else { return Err(Error::new(name, "there are no pictures")) };
    let views: Vec<_> = samples.iter().map(|sample| sample.view()).collect();
    let rows = stack(Axis(0), &views).map_err(|e| Error::new(name, e.to_string()))?.into_dyn();
    Prepare::new(name, &facts, options)?.samples(name, rows, None, |sample| sample)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_in_memory_are_read_as_files_are() {
        let options = Options { columns: vec!["b".into(), "a".into()], ..Options::default() };
        for text in ["{\"a\": 1, \"b\": 2}\n{\"b\": 3, \"a\": null}\n", "a,b\n1,2\n,3\n"] {
            let rows = from_bytes("body", text.as_bytes().into(), &options).expect("a table");
            assert_eq!(rows.shape(), [2, 2]);
            assert_eq!((rows[[0, 0]], rows[[0, 1]], rows[[1, 0]]), (2.0, 1.0, 3.0));
            assert!(rows[[1, 1]].is_nan());
        }
        let wrong = from_bytes("body", b"a,b\n1,x\n".as_slice().into(), &options);
        let message = wrong.expect_err("a word").to_string();
        assert!(message.starts_with("body"), "{message}");
    }

    #[test]
    fn arrays_of_bytes_are_scaled_and_take_the_shape_of_samples() {
        let options = Options { sample_shape: Some(vec![1, 2, 2]), ..Options::default() };
        let values = ArrayD::from_shape_vec(vec![1, 4], vec![0.0, 51.0, 102.0, 255.0]).expect("4");
        let bytes = from_array("x", values.clone(), true, &options).expect("a sample");
        assert_eq!(bytes.shape(), [1, 1, 2, 2]);
        assert_eq!(bytes.iter().copied().collect::<Vec<_>>(), [0.0, 0.2, 0.4, 1.0]);
        let floats = from_array("x", values, false, &options).expect("a sample");
        assert_eq!(floats[[0, 0, 1, 1]].to_bits(), 255f32.to_bits());
    }
}
