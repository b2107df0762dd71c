//! Matrices: products and factorisations, on the threads of this process.

use faer::{
    Accum, Mat, MatRef, Side,
    linalg::{
        matmul::triangular::{self, BlockStructure},
        triangular_solve::solve_lower_triangular_in_place,
    },
};
use ndarray::{Array1, Array2, ArrayView2};
use taste_threads::within;

fn view<'a>(a: &'a ArrayView2<'_, f64>) -> Option<MatRef<'a, f64>> {
    Some(MatRef::from_row_major_slice(a.as_slice()?, a.nrows(), a.ncols()))
}

/// Runs `f` on a matrix in row-major order, which is copied if it is in another.
fn with_view<T: Send>(a: &Array2<f64>, f: impl FnOnce(MatRef<'_, f64>) -> T + Send) -> T {
    let standard = a.as_standard_layout();
    let standard = standard.view();
    within(|| f(view(&standard).expect("standard layout")))
}

fn to_array(a: MatRef<'_, f64>) -> Array2<f64> {
    Array2::from_shape_fn((a.nrows(), a.ncols()), |(i, j)| a[(i, j)])
}

/// xᵀx.
pub fn gram(x: &Array2<f64>) -> Array2<f64> {
    with_view(x, |x| {
        let mut product = Mat::<f64>::zeros(x.ncols(), x.ncols());
        triangular::matmul(
            &mut product,
            BlockStructure::TriangularLower,
            Accum::Replace,
            x.transpose(),
            BlockStructure::Rectangular,
            x,
            BlockStructure::Rectangular,
            1.0,
            faer::get_global_parallelism(),
        );
        Array2::from_shape_fn((x.ncols(), x.ncols()), |(i, j)| product[(i.max(j), i.min(j))])
    })
}

/// x·yᵀ.
pub fn inner_products(x: &Array2<f64>, y: &Array2<f64>) -> Array2<f64> {
    with_view(x, |x| with_view(y, |y| to_array((x * y.transpose()).as_ref())))
}

/// A symmetric positive definite matrix as L·Lᵀ.
#[derive(Clone, Debug)]
pub struct Cholesky {
    lower: Mat<f64>,
}

impl Cholesky {
    /// Nothing if the matrix is not positive definite.
    pub fn new(a: &Array2<f64>) -> Option<Self> {
        let factor = with_view(a, |a| a.llt(Side::Lower).ok())?;
        Some(Self { lower: factor.L().to_owned() })
    }

    /// log det A.
    pub fn log_determinant(&self) -> f64 {
        (0..self.lower.nrows()).map(|i| 2.0 * self.lower[(i, i)].ln()).sum()
    }

    /// ‖L⁻¹x‖² for every row x.
    pub fn lengths(&self, rows: &Array2<f64>) -> Array1<f64> {
        let mut solved = with_view(rows, |rows| rows.transpose().to_owned());
        within(|| {
            let parallel = faer::get_global_parallelism();
            solve_lower_triangular_in_place(self.lower.as_ref(), solved.as_mut(), parallel);
        });
        (0..solved.ncols()).map(|j| solved.col(j).iter().map(|v| v * v).sum::<f64>()).collect()
    }

    /// W = L⁻ᵀ, for which W·Wᵀ = A⁻¹: rows x become xW with the identity as their covariance.
    pub fn whitening(&self) -> Array2<f64> {
        let mut inverse = Mat::<f64>::identity(self.lower.nrows(), self.lower.nrows());
        let parallel = faer::get_global_parallelism();
        solve_lower_triangular_in_place(self.lower.as_ref(), inverse.as_mut(), parallel);
        to_array(inverse.transpose())
    }

    /// Rows r with Σ r·rᵀ equal to the matrix.
    pub fn root_rows(&self) -> Array2<f64> {
        to_array(self.lower.transpose())
    }
}

/// A⁻¹, if A is positive definite.
pub fn inverse(a: &Array2<f64>) -> Option<Array2<f64>> {
    use faer::linalg::solvers::DenseSolveCore;
    with_view(a, |a| Some(to_array(a.llt(Side::Lower).ok()?.inverse().as_ref())))
}

/// The symmetric matrix whose square is A⁻¹, if A is positive definite.
pub fn inverse_root(a: &Array2<f64>) -> Option<Array2<f64>> {
    let eigen = with_view(a, |a| a.self_adjoint_eigen(Side::Lower).ok())?;
    let values: Vec<f64> = eigen.S().column_vector().iter().copied().collect();
    if !values.iter().all(|v| *v > 0.0) {
        return None;
    }
    let vectors = eigen.U();
    let scaled = Mat::from_fn(vectors.nrows(), vectors.ncols(), |i, j| {
        vectors[(i, j)] / values[j].sqrt().sqrt()
    });
    within(|| Some(to_array((&scaled * scaled.transpose()).as_ref())))
}

/// The eigenvalues of a symmetric matrix.
pub fn eigenvalues(a: &Array2<f64>) -> Option<Vec<f64>> {
    with_view(a, |a| a.self_adjoint_eigenvalues(Side::Lower).ok())
}

/// The eigenvalues of a symmetric matrix, ascending, and its eigenvectors as columns.
pub fn eigen(a: &Array2<f64>) -> Option<(Vec<f64>, Array2<f64>)> {
    let eigen = with_view(a, |a| a.self_adjoint_eigen(Side::Lower).ok())?;
    let values: Vec<f64> = eigen.S().column_vector().iter().copied().collect();
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&i, &j| values[i].total_cmp(&values[j]));
    let vectors = eigen.U();
    let sorted = Array2::from_shape_fn(a.dim(), |(i, j)| vectors[(i, order[j])]);
    Some((order.iter().map(|&i| values[i]).collect(), sorted))
}

/// The shortest x that comes nearest to Ax = b. Singular values of A below a share of the largest count as zero.
pub fn shortest_solution(a: &Array2<f64>, b: &Array1<f64>, share: f64) -> Option<Array1<f64>> {
    let svd = with_view(a, |a| a.thin_svd().ok())?;
    let values: Vec<f64> = svd.S().column_vector().iter().copied().collect();
    let largest = values.iter().copied().fold(0.0, f64::max);
    let (u, v) = (svd.U(), svd.V());
    let mut x = Array1::zeros(a.ncols());
    for (k, &value) in values.iter().enumerate().filter(|(_, s)| **s > share * largest) {
        let along: f64 = b.iter().enumerate().map(|(i, b)| u[(i, k)] * b).sum();
        x.iter_mut().enumerate().for_each(|(j, x)| *x += along / value * v[(j, k)]);
    }
    Some(x)
}

/// An orthonormal basis of the row space of a matrix, one column each. Directions of which the matrix has less than 10⁻⁶ of
/// its largest do not count.
pub fn row_space(a: &Array2<f64>) -> Option<Array2<f64>> {
    let svd = with_view(a, |a| a.thin_svd().ok())?;
    let values: Vec<f64> = svd.S().column_vector().iter().copied().collect();
    let largest = values.iter().copied().fold(0.0, f64::max);
    let rank = values.iter().filter(|v| **v > 1e-6 * largest).count();
    let vectors = svd.V();
    Some(Array2::from_shape_fn((a.ncols(), rank), |(i, j)| vectors[(i, j)]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn near(a: &Array2<f64>, b: &Array2<f64>) {
        let worst = (a - b).iter().fold(0.0f64, |m, v| m.max(v.abs()));
        assert!(worst < 1e-10, "differ by {worst}");
    }

    fn random(rows: usize, columns: usize, seed: u64) -> Array2<f64> {
        let mut random = Random::new(seed);
        Array2::from_shape_simple_fn((rows, columns), || random.normal())
    }

    #[test]
    fn factorisations_agree_with_products() {
        let mut random = Random::new(1);
        let x = Array2::from_shape_simple_fn((40, 7), || random.normal());
        let a = gram(&x);
        near(&a, &x.t().dot(&x));
        let (inverse, root) = (inverse(&a).expect("definite"), inverse_root(&a).expect("definite"));
        near(&a.dot(&inverse), &Array2::eye(7));
        near(&root.dot(&root), &inverse);
        let trace: f64 = eigenvalues(&a).expect("symmetric").iter().map(|v| 1.0 / v).sum();
        assert!((trace - inverse.diag().sum()).abs() < 1e-10);
        let factor = Cholesky::new(&a).expect("definite");
        let rows = factor.root_rows();
        near(&rows.t().dot(&rows), &a);
        let white = factor.whitening();
        near(&white.dot(&white.t()), &inverse);
        let lengths = factor.lengths(&x);
        let direct = x.dot(&inverse).dot(&x.t()).diag().to_owned();
        assert!((&lengths - &direct).iter().all(|d| d.abs() < 1e-10));
        // The determinant of a⁻¹ by its own factor.
        let other = Cholesky::new(&inverse).expect("definite").log_determinant();
        assert!((factor.log_determinant() + other).abs() < 1e-10);
        near(&inner_products(&x, &x), &x.dot(&x.t()));
    }

    #[test]
    fn a_row_space_holds_the_rows_and_no_more() {
        let mut random = Random::new(2);
        let factors = Array2::from_shape_simple_fn((5, 2), || random.normal());
        let a = factors.dot(&Array2::from_shape_simple_fn((2, 9), || random.normal()));
        let basis = row_space(&a).expect("finite");
        assert_eq!(basis.dim(), (9, 2));
        near(&basis.t().dot(&basis), &Array2::eye(2));
        near(&a.dot(&basis).dot(&basis.t()), &a);
    }

    #[test]
    fn what_is_not_definite_has_no_inverse() {
        let singular = ndarray::arr2(&[[1.0, 1.0], [1.0, 1.0]]);
        let negative = ndarray::arr2(&[[1.0, 0.0], [0.0, -1.0]]);
        assert!(Cholesky::new(&negative).is_none() && inverse(&negative).is_none());
        assert!(inverse_root(&negative).is_none());
        assert!(inverse(&singular).is_none_or(|a| a[[0, 0]] > 1e12));
    }

    #[test]
    fn eigenvectors_come_in_order_and_make_the_matrix() {
        let a = gram(&random(9, 4, 5));
        let (values, vectors) = eigen(&a).expect("symmetric");
        assert!(values.is_sorted());
        let scaled = &vectors * &Array1::from(values);
        near(&scaled.dot(&vectors.t()), &a);
    }

    #[test]
    fn the_shortest_solution_solves_and_is_in_the_row_space() {
        let a = random(3, 5, 6);
        let b = Array1::from(vec![1.0, -2.0, 0.5]);
        let x = shortest_solution(&a, &b, 1e-9).expect("a solution");
        assert!((a.dot(&x) - &b).iter().all(|d| d.abs() < 1e-10));
        let basis = row_space(&a).expect("a basis");
        let within = basis.dot(&basis.t().dot(&x));
        assert!((within - &x).iter().all(|d| d.abs() < 1e-10));
        // A row that comes twice adds no singular value that counts.
        let twice = ndarray::concatenate![ndarray::Axis(0), a, a.slice(ndarray::s![..1, ..])];
        let b = Array1::from(vec![1.0, -2.0, 0.5, 1.0]);
        let again = shortest_solution(&twice, &b, 1e-9).expect("a solution");
        assert!((again - &x).iter().all(|d| d.abs() < 1e-9));
    }
}
