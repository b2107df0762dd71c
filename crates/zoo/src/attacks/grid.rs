//! Samples as images: where a pixel of a channel lies in a row of numbers.

use taste_detector::channel_axis;
use taste_stats::random::Random;

/// The axes of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grid {
    pub(super) channels: usize,
    pub(super) height: usize,
    pub(super) width: usize,
    /// Whether the channels of a pixel lie side by side.
    last: bool,
}

/// A rectangle of pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) top: usize,
    pub(super) left: usize,
    pub(super) height: usize,
    pub(super) width: usize,
}

impl Grid {
    /// Of samples of a shape; what is no image is one line of one channel.
    pub(super) fn of(shape: &[usize]) -> Self {
        let entries = shape.iter().product();
        match (shape, channel_axis(shape)) {
            (&[height, width, channels], Some(2)) => Self { channels, height, width, last: true },
            (&[channels, height, width], _) => Self { channels, height, width, last: false },
            (&[height, width], _) => Self { channels: 1, height, width, last: false },
            _ => Self { channels: 1, height: 1, width: entries, last: false },
        }
    }

    /// Whether it has lines and columns.
    pub(super) fn is_image(self) -> bool {
        self.height > 1 && self.width > 1
    }

    /// The place of a pixel of a channel.
    pub(super) fn at(self, channel: usize, line: usize, column: usize) -> usize {
        if self.last {
            (line * self.width + column) * self.channels + channel
        } else {
            (channel * self.height + line) * self.width + column
        }
    }

    /// The side of a square window that holds a share of all pixels; of a line, the length of a part of it.
    pub(super) fn side(self, share: f64, least: usize) -> usize {
        let pixels = share * (self.height * self.width) as f64;
        let side = if self.is_image() { pixels.sqrt() } else { pixels };
        // The share is at most 1, so that a side is at most that of the image.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a count of pixels"
        )]
        let side = side.round() as usize;
        side.max(least).min(self.longest())
    }

    fn longest(self) -> usize {
        if self.is_image() { self.height.min(self.width) } else { self.height.max(self.width) }
    }

    /// A window of some side at a random place.
    pub(super) fn place(self, side: usize, random: &mut Random) -> Window {
        let (height, width) = (side.min(self.height), side.min(self.width));
        let top = random.below(self.height - height + 1);
        let left = random.below(self.width - width + 1);
        Window { top, left, height, width }
    }

    /// A window that holds a share of all pixels, at a random place.
    pub(super) fn window(self, share: f64, least: usize, random: &mut Random) -> Window {
        self.place(self.side(share, least), random)
    }
}

impl Window {
    /// Goes through the pixels by line and column.
    pub(super) fn each(self, mut visit: impl FnMut(usize, usize)) {
        for line in self.top..self.top + self.height {
            for column in self.left..self.left + self.width {
                visit(line, column);
            }
        }
    }

    pub(super) fn holds(self, line: usize, column: usize) -> bool {
        (self.top..self.top + self.height).contains(&line)
            && (self.left..self.left + self.width).contains(&column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_lie_where_the_layout_says() {
        let first = Grid::of(&[3, 8, 6]);
        assert_eq!((first.channels, first.height, first.width), (3, 8, 6));
        assert_eq!(first.at(2, 1, 5), 2 * 48 + 6 + 5);
        let last = Grid::of(&[8, 6, 3]);
        assert_eq!((last.channels, last.height, last.width), (3, 8, 6));
        assert_eq!(last.at(2, 1, 5), (6 + 5) * 3 + 2);
        assert!(Grid::of(&[28, 28]).is_image() && !Grid::of(&[7]).is_image());
    }

    #[test]
    fn windows_stay_inside_and_reach_every_border() {
        let mut random = Random::new(1);
        let grid = Grid::of(&[1, 7, 5]);
        let (mut lowest, mut farthest) = (0, 0);
        for _ in 0..500 {
            let window = grid.window(0.25, 1, &mut random);
            assert_eq!((window.height, window.width), (3, 3));
            lowest = lowest.max(window.top + window.height);
            farthest = farthest.max(window.left + window.width);
        }
        assert_eq!((lowest, farthest), (7, 5));
        let line = Grid::of(&[10]).window(0.5, 1, &mut random);
        assert_eq!((line.height, line.width), (1, 5));
        assert_eq!(grid.side(1.0, 1), 5);
    }
}
