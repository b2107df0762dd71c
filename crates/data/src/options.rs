use serde::{Deserialize, Serialize};

use crate::{Sequences, error::listed};

/// How a file becomes samples. Stored with a detector, so that data are prepared alike when it is used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub struct Options {
    /// The sizes of one sample as the model takes it. Decides between grey and colour, adds or drops axes of size 1, gives
    /// flat rows their shape and moves channels to where they belong.
    pub sample_shape: Option<Vec<usize>>,
    /// Where the file keeps its channels.
    pub layout: Layout,
    /// Leaves uint8 values as they are, instead of dividing them by 255.
    pub raw: bool,
    /// Subtracted after scaling: one number, or one for each channel or column.
    pub mean: Vec<f32>,
    /// Divided by after that: one number, or one for each channel or column.
    pub std: Vec<f32>,
    /// Whether labels are read: of a table those in [`label`](Self::label), of images the numbers of their folders, of
    /// other files those beside or within them. A file of labels that nobody asks for is not opened.
    pub labels: bool,
    /// The column of a table that holds the label, which is no part of a sample.
    pub label: Option<String>,
    /// The columns of a table to take, in this order; all if there are none.
    pub columns: Vec<String>,
    /// The columns of a table to leave out.
    pub exclude: Vec<String>,
    /// The words of columns that hold categories.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<Dictionary>,
    /// The names of the classes, in the order of their numbers. Labels that are words are looked up here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<String>,
    /// The numbers that labels have, by class, where they are not 0, 1, 2 and so on: a model that learned from 3, 5 and 8
    /// calls its classes so.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub numbers: Vec<i64>,
    /// Columns of a table that come along as text, whether they are taken or not: see [`Chunk::kept`](crate::Chunk::kept).
    /// Not stored with a detector, as they are a matter of one data set.
    #[serde(skip)]
    pub keep: Vec<String>,
    /// Whether nothing of a table is read but what comes along.
    #[serde(skip)]
    pub only_kept: bool,
    /// Leaves out images and lines that can't be read, see [`Dataset::skipped`](crate::Dataset::skipped).
    pub skip_bad: bool,
    /// How lists of different lengths become rows, for a model that takes sequences.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequences: Option<Sequences>,
    /// The inputs that samples are spread over, in order, where a model has several or takes whole numbers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<Input>,
    /// The size that images are brought to.
    pub resize: Option<Resize>,
    /// How pixels are made of those of another size.
    #[serde(skip_serializing_if = "Filter::is_default")]
    pub filter: Filter,
    /// Height and width that are cut out of the middle of images after any resizing; smaller ones get a margin of zeros.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crop: Option<(usize, usize)>,
    /// Height and width that images are brought to with a margin of zeros, after all that and before scaling.
    pub pad: Option<(usize, usize)>,
}

impl Options {
    /// The place of the class that a label has this number for, or what there is in its place.
    pub(crate) fn place_of(&self, number: i64) -> Result<i64, String> {
        if self.numbers.is_empty() {
            return Ok(number);
        }
        let place = self.numbers.iter().position(|known| *known == number);
        place.and_then(|place| i64::try_from(place).ok()).ok_or_else(|| {
            let known: Vec<String> = self.numbers.iter().map(ToString::to_string).collect();
            format!("{number}, which is none of the classes {}", listed(&known))
        })
    }

    /// The number of the class in a place.
    pub(crate) fn number_of(&self, place: usize) -> Option<i64> {
        match self.numbers.get(place) {
            Some(number) => Some(*number),
            None => i64::try_from(place).ok(),
        }
    }
}

/// An input of a model that takes a part of every sample.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// Its name.
    pub name: String,
    /// How many entries of a sample it takes, if that is known.
    pub width: Option<usize>,
    /// What they have to be.
    pub takes: Takes,
}

/// What an input takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Takes {
    /// Numbers, and words by their numbers.
    Numbers,
    /// Whole numbers, which the model reads as numbers like others.
    Whole,
    /// Whole numbers that the model looks up or computes with as they are: ids, codes.
    Codes,
}

/// A size that images are brought to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Resize {
    /// This height and width, whatever the ratio was.
    To(usize, usize),
    /// The shorter side to this, the other in proportion.
    Shorter(usize),
}

impl Resize {
    /// The height and width of an image that had another.
    pub fn of(self, (height, width): (usize, usize)) -> (usize, usize) {
        match self {
            Self::To(height, width) => (height, width),
            Self::Shorter(side) if height <= width => (side, longer(side, width, height)),
            Self::Shorter(side) => (longer(side, height, width), side),
        }
    }
}

/// The longer side of an image whose shorter side becomes `side`, rounded down as torchvision does.
fn longer(side: usize, long: usize, short: usize) -> usize {
    usize::try_from(side as u128 * long as u128 / (short.max(1)) as u128).unwrap_or(usize::MAX)
}

/// How a pixel is made of those of an image of another size. All but `nearest` average where images shrink.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Filter {
    /// A triangle.
    #[default]
    Bilinear,
    /// Keys' cubic with a = −1/2.
    Bicubic,
    /// The pixel in the same place.
    Nearest,
}

impl Filter {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// The words that a column may hold. A word is read as its place here; words that are not here are all read as the number
/// after the last, and a missing one as NaN.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dictionary {
    /// The name of the column.
    pub column: String,
    /// The words, in the order of their numbers.
    pub words: Vec<String>,
}

impl Dictionary {
    /// The number that words stand for which are not here.
    pub fn unseen(&self) -> usize {
        self.words.len()
    }
}

/// The place of the channels among the axes of an image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// As the model's sample shape tells; without one, uint8 arrays with a last axis of 1, 3 or 4 have channels last.
    #[default]
    Auto,
    /// Channels × height × width.
    Nchw,
    /// Height × width × channels.
    Nhwc,
}
