//! Pictures that are moved, turned, enlarged, sheared and tilted.

use super::{
    Act, Corruption, Measured, Picture, Suite,
    picture::{Affine, rounded, size, turned, warped},
};

pub(super) const TRANSLATE_LAST_FRAME: Corruption = corruption!(
    Cifar10P,
    "p-translate",
    "the last frame of CIFAR-10-P: 8 pixels to the right, black behind",
    Once(|picture, _| moved(picture, 8, 0))
);

pub(super) const ROTATE_LAST_FRAME: Corruption = corruption!(
    Cifar10P,
    "p-rotate",
    "the last frame of CIFAR-10-P: turned by 15°, black corners",
    Once(|picture, _| rounded(turned(picture, 15.0)))
);

pub(super) const SCALE_LAST_FRAME: Corruption = corruption!(
    Cifar10P,
    "p-scale",
    "the last frame of CIFAR-10-P: enlarged to 130 %",
    Once(|picture, _| {
        rounded(warped(picture, &Affine::flat([1.0 / 1.3, 0.0, 0.0], [0.0, 1.0 / 1.3, 0.0])))
    })
);

pub(super) const SHEAR_LAST_FRAME: Corruption = corruption!(
    Cifar10P,
    "p-shear",
    "the last frame of CIFAR-10-P: sheared by 15°",
    Once(|picture, _| {
        let slope = 15f64.to_radians().tan();
        rounded(warped(picture, &Affine::flat([1.0, slope, 0.0], [0.0, 1.0, 0.0])))
    })
);

pub(super) const TILT_LAST_FRAME: Corruption = corruption!(
    Cifar10P,
    "p-tilt",
    "the last frame of CIFAR-10-P: tilted by 11.25° about both axes",
    Once(|picture, _| rounded(warped(picture, &tilt(picture, 11.25))))
);

pub(super) const TRANSLATE: Corruption = Corruption {
    choice: taste_choice::Choice {
        name: "translate",
        usage: "translate[:SEVERITY|pixels=T]",
        about: "moved by up to T whole pixels on either axis, black behind (TASTE, the experiment on MNIST); severities are 2 to 10",
    },
    suite: Suite::Geometry,
    act: Act::Measured(Measured {
        key: "pixels",
        wanted: "a whole number of pixels from 0 to 4096",
        fits: |t| t.fract() == 0.0 && (0.0..=4096.0).contains(&t),
        at: [2.0, 4.0, 6.0, 8.0, 10.0],
        apply: |picture, pixels, random| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "whole and small"
            )]
            let most = pixels as usize;
            let mut way = || random.below(2 * most + 1) as isize - most as isize;
            let (right, down) = (way(), way());
            moved(picture, right, down)
        },
    }),
};

pub(super) const ROTATE: Corruption = Corruption {
    choice: taste_choice::Choice {
        name: "rotate",
        usage: "rotate[:SEVERITY|degrees=A]",
        about: "turned by A degrees, black corners (TASTE, the experiment on MNIST: −90 to 72); severities are −18 to −90",
    },
    suite: Suite::Geometry,
    act: Act::Measured(Measured {
        key: "degrees",
        wanted: "a number of degrees from -360 to 360",
        fits: |a| a.abs() <= 360.0,
        at: [-18.0, -36.0, -54.0, -72.0, -90.0],
        apply: |picture, degrees, _| turned(picture, degrees),
    }),
};

/// Moved by whole pixels.
fn moved(picture: &Picture, right: isize, down: isize) -> Picture {
    let (height, width) = size(picture);
    Picture::from_shape_fn(picture.raw_dim(), |(c, y, x)| {
        let from = y.checked_add_signed(-down).zip(x.checked_add_signed(-right));
        from.filter(|&(y, x)| y < height && x < width).map_or(0.0, |(y, x)| picture[[c, y, x]])
    })
}

/// The way back from a picture that is turned about both axes by an angle and seen from as far as its diagonal is long.
fn tilt(picture: &Picture, degrees: f64) -> Affine {
    let (height, width) = size(picture);
    let focus = ((height * height + width * width) as f64).sqrt();
    let (sine, cosine) = degrees.to_radians().sin_cos();
    // The plane's axes after a turn about x, then about y.
    let (across, along) = ([cosine, 0.0, -sine], [sine * sine, cosine, sine * cosine]);
    // x' = f·X/(f + Z) is a homography of the plane, with 3 × 3 entries; its inverse by cofactors.
    let m = [
        [across[0], along[0], 0.0],
        [across[1], along[1], 0.0],
        [across[2] / focus, along[2] / focus, 1.0],
    ];
    let cofactor = |i: usize, j: usize| {
        let (a, b, c, d) = ((i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3);
        m[a][c] * m[b][d] - m[a][d] * m[b][c]
    };
    let last = cofactor(2, 2);
    let row = |i: usize| [0, 1, 2].map(|j| cofactor(j, i) / last);
    let depth = row(2);
    Affine { x: row(0), y: row(1), depth: [depth[0], depth[1]] }
}
