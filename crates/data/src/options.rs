use serde::{Deserialize, Serialize};

/// How a file becomes samples. Stored with a detector, so that data are prepared alike when it is used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
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
    /// Columns of a table that come along as text, whether they are taken or not: see [`Chunk::kept`](crate::Chunk::kept).
    /// Not stored with a detector, as they are a matter of one data set.
    #[serde(skip)]
    pub keep: Vec<String>,
    /// Leaves out images and lines that can't be read, see [`Dataset::skipped`](crate::Dataset::skipped).
    pub skip_bad: bool,
    /// Height and width that images are brought to.
    pub resize: Option<(usize, usize)>,
    /// Height and width that images are brought to with a margin of zeros, after any resizing and before scaling.
    pub pad: Option<(usize, usize)>,
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
