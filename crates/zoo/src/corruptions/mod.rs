//! Data as they come when something goes wrong: noise, blur, weather, compression and movement of pictures, and what
//! happens to the columns of tables. One file and one line in [`CORRUPTIONS`] each.
//!
//! Constants are those of CIFAR-10-C and CIFAR-10-P (Hendrycks and Dietterich 2019), in pixels, whatever the size of a
//! picture. What is drawn depends on the seed, the corruption and the place of a sample alone.
//!
//! ```
//! use ndarray::Array3;
//! use taste_zoo::corruptions::Recipe;
//!
//! let fog = Recipe::read("fog:3")?.with_seed(1);
//! let grey = Array3::from_elem((1, 16, 16), 0.5);
//! let (first, again) = (fog.picture(&grey, 0)?, fog.picture(&grey, 0)?);
//! assert_eq!(first, again);
//! # Ok::<(), taste_detector::Error>(())
//! ```

mod columns;
mod corruption;
mod picture;
mod recipe;
mod source;
mod write;

pub use columns::{Columns, RowChange};
pub use corruption::{Act, Corruption, Measured, Suite, TableAct};
pub use picture::Picture;
pub use recipe::{Recipe, Strength, recipes};
pub use source::Source;
pub use write::{Written, write};

/// An entry for pictures: its suite, name, what it is, and the function.
macro_rules! corruption {
    ($suite:ident, $name:literal, $about:literal, Graded($apply:expr)) => {
        Corruption {
            choice: taste_choice::Choice {
                name: $name,
                usage: concat!($name, "[:SEVERITY]"),
                about: $about,
            },
            suite: Suite::$suite,
            act: Act::Graded($apply),
        }
    };
    ($suite:ident, $name:literal, $about:literal, Once($apply:expr)) => {
        Corruption {
            choice: taste_choice::Choice { name: $name, usage: $name, about: $about },
            suite: Suite::$suite,
            act: Act::Once($apply),
        }
    };
}

taste_choice::table! {
    /// Every corruption.
    pub CORRUPTIONS: [Corruption] = {
        gaussian_noise::CORRUPTION | LAST_FRAME,
        shot_noise::CORRUPTION | LAST_FRAME,
        impulse_noise::CORRUPTION,
        speckle_noise::CORRUPTION,
        defocus_blur::CORRUPTION,
        glass_blur::CORRUPTION,
        motion_blur::CORRUPTION | LAST_FRAME,
        zoom_blur::CORRUPTION | LAST_FRAME,
        gaussian_blur::CORRUPTION,
        snow::CORRUPTION | LAST_FRAME,
        frost::CORRUPTION,
        fog::CORRUPTION,
        spatter::CORRUPTION,
        brightness::CORRUPTION | LAST_FRAME,
        contrast::CORRUPTION,
        saturate::CORRUPTION,
        elastic_transform::CORRUPTION,
        pixelate::CORRUPTION,
        jpeg::CORRUPTION,
        geometry::TRANSLATE_LAST_FRAME | ROTATE_LAST_FRAME | SCALE_LAST_FRAME | SHEAR_LAST_FRAME | TILT_LAST_FRAME
            | TRANSLATE | ROTATE,
        tables::NOISE | MISSING | UNITS | SWAPPED | DRIFT,
    }
}

#[cfg(test)]
mod tests;
