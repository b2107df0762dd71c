//! Random changes to images that leave their meaning alone.

use taste_stats::random::Random;

/// What may happen to an image each time that it is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Augment {
    /// Mirrored left to right, every other time.
    pub flip: bool,
    /// Moved by up to this many pixels along each axis, with zeros coming in: what padding by as much and cutting at
    /// random does.
    pub shift: usize,
}

impl Augment {
    pub(crate) fn is_nothing(self) -> bool {
        self == Self::default()
    }

    /// Changes an image of channels × height × width.
    pub(crate) fn apply(self, image: &mut [f32], [height, width]: [usize; 2], random: &mut Random) {
        if height == 0 || width == 0 {
            return;
        }
        if self.flip && random.bits() >> 63 == 1 {
            image.chunks_mut(width).for_each(<[f32]>::reverse);
        }
        if self.shift > 0 {
            let reach = 2 * self.shift + 1;
            let by = [random.below(reach), random.below(reach)];
            let before = image.to_vec();
            let planes = image.chunks_mut(height * width).zip(before.chunks(height * width));
            for (to, from) in planes {
                to.fill(0.0);
                for row in 0..height {
                    let Some(source) = (row + by[0]).checked_sub(self.shift) else { continue };
                    if source >= height {
                        continue;
                    }
                    // Columns `start..end` of the result come from `start + by − shift` on.
                    let start = self.shift.saturating_sub(by[1]).min(width);
                    let end = (width + self.shift).saturating_sub(by[1]).min(width);
                    if start < end {
                        let first = source * width + start + by[1] - self.shift;
                        to[row * width + start..row * width + end]
                            .copy_from_slice(&from[first..first + end - start]);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_mirrored_and_moved() {
        let size = [3, 4];
        let image: Vec<f32> = (1u8..=24).map(f32::from).collect();
        let mut seen = std::collections::BTreeSet::new();
        let mut random = Random::new(5);
        for _ in 0..400 {
            let mut moved = image.clone();
            Augment { flip: true, shift: 1 }.apply(&mut moved, size, &mut random);
            let fits = [false, true].into_iter().any(|flip| {
                (-1..=1).any(|down| {
                    (-1..=1).any(|right| moved == reference(&image, size, flip, [down, right]))
                })
            });
            assert!(fits, "{moved:?}");
            seen.insert(moved.iter().map(|v| v.to_bits()).collect::<Vec<_>>());
        }
        assert_eq!(seen.len(), 18);
    }

    fn reference(
        image: &[f32],
        [height, width]: [usize; 2],
        flip: bool,
        by: [isize; 2],
    ) -> Vec<f32> {
        (0..image.len())
            .map(|at| {
                let (plane, row, column) = (at / (height * width), at / width % height, at % width);
                let row = row.checked_add_signed(by[0]).filter(|&r| r < height);
                let column = column.checked_add_signed(by[1]).filter(|&c| c < width);
                let (Some(row), Some(column)) = (row, column) else { return 0.0 };
                let column = if flip { width - 1 - column } else { column };
                image[(plane * height + row) * width + column]
            })
            .collect()
    }
}
