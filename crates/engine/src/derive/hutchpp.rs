//! Hutch++ (Meyer, Musco, Musco and Woodruff 2021): Hutchinson on what a low-rank sketch leaves.

use std::sync::Arc;

use ndarray::{Array1, Array2, ArrayD, Axis, IxDyn};
use taste_choice::{Arguments, Choice};
use taste_graph::{Build, Dim, Id, diff};

use super::{Job, Problem, Rows, RunOnce, Schedule, Signs, draw, precision};
use crate::{
    Accuracy, Error, LaplacianKind, LaplacianMethod, Outputs, Parts, Value,
    error::request,
    laplacian::{Rule, is_count},
    names::Fed,
};

pub(super) const KIND: &LaplacianKind = &LaplacianKind {
    choice: Choice {
        name: "hutchpp",
        usage: "hutchpp[:M]",
        about: "Hutch++ with M products of the Hessian, a multiple of 3: unbiased for every model",
    },
    rule: &HutchPlusPlus,
};

impl LaplacianMethod {
    /// Hutchinson on what a low-rank sketch leaves: unbiased for every model. `products` is a multiple of 3.
    pub const fn hutchpp(products: usize) -> Self {
        Self::new(KIND, Some(products))
    }
}

/// Products when nobody says how many.
const PRODUCTS: usize = 30;

struct HutchPlusPlus;

/// Products are split in three equal parts: the sketch, the part within its span, and the rest.
fn lanes(count: Option<usize>) -> usize {
    count.unwrap_or(PRODUCTS) / 3
}

impl Rule for HutchPlusPlus {
    fn read(&self, arguments: &mut Arguments<'_>) -> Result<Option<usize>, taste_choice::Error> {
        let wanted = "a multiple of 3 above 0, as products are split in three equal parts";
        let read = arguments.word_as("M", wanted, |m| is_count(m) && m.is_multiple_of(3))?;
        Ok(read.or(Some(PRODUCTS)))
    }

    fn accuracy(&self, count: Option<usize>) -> Accuracy {
        Accuracy::Random { draws: lanes(count) }
    }

    fn examples(&self, _width: usize) -> Vec<Option<usize>> {
        vec![Some(PRODUCTS)]
    }

    fn cost(&self, _p: &Problem, count: Option<usize>) -> String {
        format!("unbiased, with {} products of the Hessian", count.unwrap_or(PRODUCTS))
    }

    fn build(
        &self,
        p: &mut Problem,
        job: &Job,
        count: Option<usize>,
        parts: &mut Parts,
    ) -> Result<Arc<dyn Schedule>, Error> {
        if job.signs != Signs::Fed {
            return Err(request(
                "Hutch++ runs a graph several times and can't be written as one file",
            ));
        }
        p.scalar_target("Hutch++")?;
        if job.wants.diagonal {
            return Err(request(
                "Hutch++ estimates the trace; for the diagonal use hutchinson or exact",
            ));
        }
        if job.wants.gradient {
            parts.gradient = Some(p.gradient()?);
        }
        let lanes = lanes(count);
        let sample: Vec<usize> = p.sample_shape().iter().map(|d| d.at(0)).collect();
        let mut b = Build::new(&mut p.graph);
        let mut fact = b.fact(p.x).clone();
        fact.shape.insert(0, Dim::from(lanes));
        let directions = Fed::new(b.graph_mut(), "directions", fact);
        let fed = b.declare_lanes(directions.id, p.x)?;
        let along = p.metric.direct(&mut b, fed, 1)?;
        let products = match diff::hvp(&mut b, p.f, p.x, along)? {
            Some(product) => {
                let product = p.metric.lower(&mut b, product, 1)?;
                b.stacked(product)?
            }
            None => b.scale(fed, 0.0)?,
        };
        let (laplacian, stderr) = (job.wants.laplacian, job.wants.stderr);
        Ok(Arc::new(Sketch { directions, lanes, products, sample, laplacian, stderr }))
    }
}

/// Three runs of a graph of products with the Hessian.
#[derive(Debug)]
struct Sketch {
    directions: Fed,
    lanes: usize,
    products: Id,
    /// The sizes of one sample.
    sample: Vec<usize>,
    /// What is wanted.
    laplacian: bool,
    stderr: bool,
}

impl Schedule for Sketch {
    fn ends(&self) -> Vec<Id> {
        vec![self.products]
    }

    /// With Q an orthonormal basis of H·S for signs S, tr H = tr `QᵀHQ` + E gᵀ(I−QQᵀ)H(I−QQᵀ)g.
    fn run(&self, rows: Rows, run: &mut RunOnce<'_>) -> Result<Outputs, Error> {
        let (lanes, count) = (self.lanes, rows.count);
        let dimension: usize = self.sample.iter().product();
        let fed: Vec<usize> = [lanes, count].into_iter().chain(self.sample.clone()).collect();
        let mut outputs = None;
        let mut products = |directions: &ArrayD<f64>| -> Result<ArrayD<f64>, Error> {
            let along = Value::F64(directions.clone()).reshaped(&fed);
            let (quantities, mut ends) = run(&[(&self.directions.name, &along)])?;
            outputs.get_or_insert(quantities);
            let product = ends.pop().ok_or_else(|| request("no products"))?;
            Ok(product.reshaped(&[lanes, count, dimension]).to_f64())
        };
        let sketch = products(&draw(rows, 0..lanes, dimension).to_f64())?;
        let mut q = ArrayD::zeros(IxDyn(&[lanes, count, dimension]));
        let mut g = draw(rows, lanes..2 * lanes, dimension).to_f64();
        for n in 0..count {
            let basis = orthonormal(&of_sample(&sketch, n));
            let rest = of_sample(&g, n);
            let inside = rest.dot(&basis.t()).dot(&basis);
            q.index_axis_mut(Axis(1), n).assign(&basis);
            g.index_axis_mut(Axis(1), n).assign(&(rest - inside));
        }
        let (hq, hg) = (products(&q)?, products(&g)?);
        let (mut laplacian, mut error) = (Array1::zeros(count), Array1::zeros(count));
        for n in 0..count {
            let sketched = (of_sample(&q, n) * of_sample(&hq, n)).sum();
            let draws = (of_sample(&g, n) * of_sample(&hg, n)).sum_axis(Axis(1));
            let mean = draws.mean().unwrap_or(0.0);
            laplacian[n] = sketched + mean;
            let spread: f64 = draws.iter().map(|d| (d - mean).powi(2)).sum();
            error[n] = (spread / (lanes * lanes.saturating_sub(1)).max(1) as f64).sqrt();
        }
        let mut outputs = outputs.ok_or_else(|| request("nothing ran"))?;
        let double = matches!(outputs.value, Value::F64(_));
        outputs.laplacian = self.laplacian.then(|| precision(laplacian.into_dyn(), double));
        outputs.stderr = self.stderr.then(|| precision(error.into_dyn(), double));
        Ok(outputs)
    }
}

/// What belongs to sample `n` in every lane, as a matrix (lanes × dimension).
fn of_sample(stack: &ArrayD<f64>, n: usize) -> Array2<f64> {
    let matrix = stack.index_axis(Axis(1), n).to_owned();
    matrix.into_dimensionality().expect("lanes × samples × dimension")
}

/// Orthonormal rows that span the rows given (Gram–Schmidt, twice); rows that add nothing become zero.
fn orthonormal(rows: &Array2<f64>) -> Array2<f64> {
    let mut basis = rows.clone();
    for i in 0..basis.nrows() {
        let mut row = basis.row(i).to_owned();
        let length = row.dot(&row).sqrt();
        for _ in 0..2 {
            for j in 0..i {
                let other = basis.row(j);
                let along = row.dot(&other);
                row.scaled_add(-along, &other);
            }
        }
        let rest = row.dot(&row).sqrt();
        // What single precision leaves of a dependent row is noise.
        let scale = if rest > 1e-6 * length.max(f64::MIN_POSITIVE) { 1.0 / rest } else { 0.0 };
        basis.row_mut(i).assign(&(row * scale));
    }
    basis
}
