//! Why an image can't be made.

/// Why an image can't be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// More pixels than an image may have.
    #[error(
        "the image would have {width} × {height} pixels, which is more than {most} million: \
         draw fewer panels or a smaller matrix, or write SVG"
    )]
    TooLarge {
        /// Pixels across.
        width: u64,
        /// Pixels down.
        height: u64,
        /// Millions of pixels that are possible.
        most: u64,
    },
    /// Channels that make no colour.
    #[error("an image has 1 or 3 channels, but this sample has {found}")]
    Channels {
        /// How many there are.
        found: usize,
    },
    /// The PNG encoder's objection.
    #[error("the image can't be encoded as PNG: {0}")]
    Encoding(String),
}
