//! What happens to glyphs between training and use.

use std::f64::consts::{FRAC_PI_4, TAU};

use ndarray::{Array2, ArrayD, IxDyn};
use taste_data::InMemory;
use taste_stats::random::Random;

use super::{
    canvas::{self, SIDE, single},
    glyph::{Pose, Shape},
};

/// The noise that every image has: enough for the classifier to err at times, as an estimate of its accuracy is learnt
/// from mistakes.
const NOISE: f64 = 0.15;

/// A shift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Nothing,
    Dimmed,
    Rim,
    Nudged,
    Faint,
    Blurred,
    Noisy,
    Turned,
    Covered,
    Struck,
    Unseen,
    Attacked,
}

impl Change {
    /// In the order of reports: those that should not matter to a classifier first.
    pub(super) const ALL: [Self; 12] = [
        Self::Nothing,
        Self::Dimmed,
        Self::Rim,
        Self::Nudged,
        Self::Faint,
        Self::Blurred,
        Self::Noisy,
        Self::Turned,
        Self::Covered,
        Self::Struck,
        Self::Unseen,
        Self::Attacked,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Nothing => "fresh samples",
            Self::Dimmed => "dimmed",
            Self::Rim => "rim noise",
            Self::Nudged => "nudged",
            Self::Faint => "faint",
            Self::Blurred => "blurred",
            Self::Noisy => "noisy",
            Self::Turned => "turned",
            Self::Covered => "covered",
            Self::Struck => "struck out",
            Self::Unseen => "unseen shape",
            Self::Attacked => "attacked",
        }
    }

    /// What it is, for someone who has not seen it.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Nothing => "drawn like the training data",
            Self::Dimmed => "strokes 15 % darker",
            Self::Rim => "noise in the outermost row of pixels, where no glyph is",
            Self::Nudged => "moved by one pixel more",
            Self::Faint => "strokes at half their brightness",
            Self::Blurred => "out of focus, by 1.5 pixels",
            Self::Noisy => "three times the usual noise everywhere",
            Self::Turned => "turned by 45 degrees",
            Self::Covered => "a black square of 7 by 7 pixels over a part of the glyph",
            Self::Struck => "a straight line drawn across",
            Self::Unseen => "a zigzag, which is none of the six classes",
            Self::Attacked => "pixels moved by a third of their noise, to mislead",
        }
    }

    /// An image and its class. The same number gives the same glyph under every change. What depends on the classifier is
    /// done to whole batches, by [`attack`](super::attack).
    pub(super) fn sample(self, seed: u64, number: u64) -> (Array2<f32>, Option<usize>) {
        let mut usual = Random::stream(seed, number);
        let mut random = Random::stream(!seed, number);
        let known = Shape::KNOWN[usual.below(Shape::KNOWN.len())];
        let shape = if self == Self::Unseen { Shape::Zigzag } else { known };
        let mut pose = Pose::draw(&mut usual);
        match self {
            Self::Dimmed => pose.ink *= 0.85,
            Self::Faint => pose.ink *= 0.5,
            Self::Nudged => {
                let (sin, cos) = (TAU * random.uniform()).sin_cos();
                pose.centre = [pose.centre[0] + cos, pose.centre[1] + sin];
            }
            Self::Turned => pose.angle += FRAC_PI_4,
            _ => {}
        }
        let mut image = pose.image(shape);
        match self {
            Self::Blurred => image = canvas::blur(&image, 1.5),
            Self::Struck => {
                let (sin, cos) = (TAU * random.uniform()).sin_cos();
                let far = SIDE as f64;
                let [x, y] = pose.centre.map(|v| v + 4.0 * (random.uniform() - 0.5));
                let ends = [[x - far * cos, y - far * sin], [x + far * cos, y + far * sin]];
                canvas::stroke(&mut image, &ends, pose.thickness, pose.ink);
            }
            Self::Covered => {
                let at = [1 + random.below(8), 1 + random.below(8)];
                canvas::cover(&mut image, at, 7);
            }
            _ => {}
        }
        image.mapv_inplace(|v| v + single(NOISE * usual.normal()));
        match self {
            Self::Noisy => {
                let more = NOISE * 8f64.sqrt();
                image.mapv_inplace(|v| v + single(more * random.normal()));
            }
            Self::Rim => {
                for ((row, column), value) in image.indexed_iter_mut() {
                    if [row, column].iter().any(|&at| at == 0 || at == SIDE - 1) {
                        *value += single(0.2 * random.normal());
                    }
                }
            }
            _ => {}
        }
        (image, shape.label())
    }

    /// Samples as the classifier takes them.
    pub(super) fn batch(self, seed: u64, count: usize) -> Glyphs {
        let mut values = Vec::with_capacity(count * SIDE * SIDE);
        let mut labels = Vec::with_capacity(count);
        for number in 0..count as u64 {
            let (image, label) = self.sample(seed, number);
            values.extend(image);
            labels.push(label);
        }
        let shape = IxDyn(&[count, 1, SIDE, SIDE]);
        let images = ArrayD::from_shape_vec(shape, values).expect("as many pixels as images have");
        Glyphs { images, labels }
    }
}

/// Images with their classes.
pub(super) struct Glyphs {
    /// N × 1 × height × width.
    pub(super) images: ArrayD<f32>,
    pub(super) labels: Vec<Option<usize>>,
}

impl Glyphs {
    /// The classes of all images, unless one has none.
    pub(super) fn classes(&self) -> Option<Vec<i64>> {
        self.labels.iter().map(|label| label.and_then(|class| class.try_into().ok())).collect()
    }

    /// As a data set of this name.
    pub(super) fn samples(&self, name: &str) -> InMemory {
        let samples = InMemory::new(name, self.images.clone());
        match self.classes() {
            Some(classes) => samples.with_labels(classes),
            None => samples,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_depend_on_seed_and_number_alone() {
        for change in Change::ALL {
            let (all, some) = (change.batch(5, 8), change.batch(5, 3));
            assert_eq!(some.images, all.images.slice_axis(ndarray::Axis(0), (..3).into()));
            assert_eq!(some.labels, all.labels[..3]);
            assert_ne!(change.batch(6, 8).images, all.images);
        }
    }

    #[test]
    fn a_change_leaves_the_glyph_and_alters_its_image() {
        let drawn = Change::ALL.into_iter().filter(|&change| change != Change::Attacked);
        for change in drawn.skip(1) {
            let mut changed = 0.0f32;
            for number in 0..50 {
                let (before, label) = Change::Nothing.sample(1, number);
                let (after, same) = change.sample(1, number);
                assert_eq!(same, label.filter(|_| change != Change::Unseen));
                changed += (&after - &before).mapv(f32::abs).sum() / 50.0;
            }
            assert!(changed > 1.0, "{change:?}: {changed}");
        }
    }

    #[test]
    fn rim_noise_stays_at_the_rim() {
        for number in 0..20 {
            let ((before, _), (after, _)) =
                (Change::Nothing.sample(2, number), Change::Rim.sample(2, number));
            let inner = ndarray::s![1..SIDE - 1, 1..SIDE - 1];
            assert_eq!(before.slice(inner), after.slice(inner));
        }
    }

    #[test]
    fn every_class_is_about_as_frequent_as_any_other() {
        let labels = Change::Nothing.batch(9, 3000).labels;
        for class in 0..Shape::KNOWN.len() {
            let count = labels.iter().filter(|&&label| label == Some(class)).count();
            assert!((400..600).contains(&count), "{class}: {count}");
        }
    }
}
