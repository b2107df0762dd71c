mod files;
mod formulas;
mod laws;
mod tables;

use super::Picture;

/// A coloured or grey picture with edges and gradients.
fn drawn(channels: usize, height: usize, width: usize) -> Picture {
    Picture::from_shape_fn((channels, height, width), |(c, y, x)| {
        let (v, u) = (y as f64 / height as f64, x as f64 / width as f64);
        let disk = (v - 0.5).powi(2) + (u - 0.4).powi(2) < 0.05;
        let wave = 0.5 + 0.4 * (9.0 * u + 5.0 * v + 2.0 * c as f64).sin();
        if disk { 0.9 - 0.3 * c as f64 } else { wave }
    })
}

/// The mean absolute difference.
fn difference(a: &Picture, b: &Picture) -> f64 {
    (a - b).mapv(f64::abs).mean().expect("pixels")
}
