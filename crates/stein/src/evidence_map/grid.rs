//! Where maps are computed: at every few pixels of an image, and nowhere finer than they are smooth.

use super::planes::Planes;

/// Images of fewer pixels a side than this many times the deviation of the smoothing are smoothed less.
const SIDE: usize = 32;
/// The deviation of the smoothing, and the distance of places, in pixels.
const SMOOTHING: usize = 4;

/// Places of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grid {
    /// Height and width of the image.
    pub(super) image: [usize; 2],
    /// The deviation of the smoothing, and about the distance of places, in pixels.
    pub(super) step: usize,
}

impl Grid {
    pub(super) fn of(image: [usize; 2]) -> Self {
        let side = image[0].min(image[1]);
        Self { image, step: (side / SIDE).clamp(1, SMOOTHING) }
    }

    /// Height and width of the grid.
    pub(super) fn size(&self) -> [usize; 2] {
        self.image.map(|pixels| pixels.div_ceil(self.step))
    }

    /// How many places it has.
    pub(super) fn places(&self) -> usize {
        self.size().iter().product()
    }

    /// What lies around every place, of planes of the size of the image.
    pub(super) fn gather(&self) -> Planes {
        #[expect(clippy::cast_precision_loss, reason = "a few pixels")]
        let blur = Planes::blur(self.image, self.step as f64);
        blur.then(&Planes::resized(self.image, self.size()))
    }

    /// Smooth values at every place, of planes of any size that cover the image.
    pub(super) fn smooth(&self, from: [usize; 2]) -> Planes {
        Planes::resized(from, self.image).then(&self.gather())
    }

    /// Values at every pixel, of those at every place.
    pub(super) fn spread(&self) -> Planes {
        Planes::resized(self.size(), self.image)
    }
}
