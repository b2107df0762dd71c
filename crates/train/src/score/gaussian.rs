//! The loss of the best Gaussian score, which a network should beat.

use ndarray::Array2;
use taste_data::Samples;

use crate::Error;

/// Rows that the covariance is taken from.
const ROWS: usize = 20_000;

/// The least denoising loss that a linear score can have: 1 − σ²·tr((C + σ²)⁻¹) / D with the covariance C. Nothing without
/// samples.
pub(super) fn loss(samples: &dyn Samples, sigma: f64) -> Result<Option<f64>, Error> {
    let entries: usize = samples.sample_shape().iter().product();
    let rows = taste_data::draw(samples, ROWS, 0)?;
    let count = rows.shape()[0];
    if count == 0 || entries == 0 {
        return Ok(None);
    }
    let flat = rows.mapv(f64::from);
    let Ok(mut rows) = flat.into_shape_with_order((count, entries)) else { return Ok(None) };
    if let Some(mean) = rows.mean_axis(ndarray::Axis(0)) {
        rows -= &mean;
    }
    let mut covariance = rows.t().dot(&rows) / count as f64;
    covariance.diag_mut().mapv_inplace(|v| v + sigma * sigma);
    Ok(inverse_trace(covariance).map(|trace| 1.0 - sigma * sigma * trace / entries as f64))
}

/// tr(A⁻¹) of a positive definite matrix, as the squares of the inverse of its Cholesky factor.
fn inverse_trace(mut a: Array2<f64>) -> Option<f64> {
    let n = a.nrows();
    for j in 0..n {
        for i in j..n {
            let mut sum = a[[i, j]];
            for k in 0..j {
                sum -= a[[i, k]] * a[[j, k]];
            }
            if i == j {
                a[[j, j]] = if sum > 0.0 { sum.sqrt() } else { return None };
            } else {
                a[[i, j]] = sum / a[[j, j]];
            }
        }
    }
    let mut trace = 0.0;
    let mut column = vec![0.0; n];
    for j in 0..n {
        for i in j..n {
            let known: f64 = (j..i).map(|k| a[[i, k]] * column[k]).sum();
            column[i] = (f64::from(u8::from(i == j)) - known) / a[[i, i]];
            trace += column[i] * column[i];
        }
    }
    Some(trace)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn the_trace_of_an_inverse() {
        let a = array![[4.0, 2.0, 0.0], [2.0, 3.0, 1.0], [0.0, 1.0, 5.0]];
        // Cofactors 14, 20, 8 over the determinant 36.
        assert!((inverse_trace(a).expect("positive") - 42.0 / 36.0).abs() < 1e-12);
        assert_eq!(inverse_trace(array![[1.0, 2.0], [2.0, 1.0]]), None);
    }
}
