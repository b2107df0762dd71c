//! Running a compiled derivative.

use ndarray::{Array1, Array2, ArrayD, Axis, IxDyn, concatenate};

use crate::{
    Backend, Batch, Derived, Error, Session, Value, View,
    derive::{Schedule, SignInput},
    session::Inputs,
};

/// Results for some samples; what was not asked for is absent.
#[derive(Clone, Debug)]
pub struct Outputs {
    /// f, one entry a sample (N), or one a class (N × K).
    pub value: Value,
    /// ∇f, in the shape of the input.
    pub gradient: Option<Value>,
    /// Δf, in the shape of the value.
    pub laplacian: Option<Value>,
    /// The standard error of Δf.
    pub stderr: Option<Value>,
    /// ∂²f/∂xᵢ², in the shape of the input.
    pub diagonal: Option<Value>,
    /// s·∇f, in the shape of the value.
    pub drift: Option<Value>,
}

/// A derivative in an engine.
pub struct Compiled {
    derived: Derived,
    session: Session,
    inputs: Inputs,
    names: Vec<String>,
}

impl Compiled {
    pub(crate) fn new(derived: Derived, backend: &Backend, threads: usize) -> Result<Self, Error> {
        let outputs = &derived.derivation.outputs;
        let session = backend.compile(&derived.derivation.graph, outputs, threads)?;
        let names = outputs.iter().map(|o| o.0.clone()).collect();
        let inputs = Inputs::new(&derived.inputs, derived.batch);
        Ok(Self { derived, session, inputs, names })
    }

    /// The derivative.
    pub fn derived(&self) -> &Derived {
        &self.derived
    }

    /// Computes the results for samples along the first axis of every input. `first` is the number of the first
    /// sample in the whole data set: random signs depend on it.
    pub fn run(&self, inputs: &[(&str, &Value)], first: usize) -> Result<Outputs, Error> {
        let inputs: Vec<(&str, View<'_>)> = inputs.iter().map(|(n, v)| (*n, (*v).into())).collect();
        let rows = self.check(&inputs)?;
        let size = match self.derived.batch {
            Batch::Fixed(size) if size != rows => size,
            _ => return self.run_rows(&inputs, rows, first),
        };
        let parts = self.inputs.in_batches(&inputs, rows, size, |inputs, start| {
            self.run_rows(inputs, size, first + start)
        })?;
        let cut = parts.into_iter().map(|(part, rows)| part.map(&|v| v.rows(0, rows)));
        Outputs::join(&cut.collect::<Vec<_>>())
    }

    /// The number of samples, if every input has the right shape and finite entries.
    fn check(&self, inputs: &[(&str, View<'_>)]) -> Result<usize, Error> {
        let rows = self.inputs.check(inputs)?;
        for (name, value) in inputs {
            if let Some(place) = value.first_not_finite() {
                let message = format!("sample {place} holds NaN or infinite entries");
                return Err(Error::Input { name: (*name).to_owned(), message });
            }
        }
        rows.ok_or_else(|| Error::Request("there are no samples".to_owned()))
    }

    fn run_rows(
        &self,
        inputs: &[(&str, View<'_>)],
        rows: usize,
        first: usize,
    ) -> Result<Outputs, Error> {
        match self.derived.derivation.schedule {
            Schedule::Once => {
                let signs = self.derived.derivation.signs.clone();
                let signs = signs.map(|s| (s.name, draw(&s, self.derived.seed, first, rows)));
                let results = match &signs {
                    Some((name, value)) => self.session.run(&with(inputs, name, value))?,
                    None => self.session.run(inputs)?,
                };
                Ok(self.named(results))
            }
            Schedule::Basis(lanes) => self.run_basis(inputs, lanes),
            Schedule::HutchPlusPlus(lanes) => self.run_hutch_plus_plus(inputs, lanes, rows, first),
        }
    }

    fn named(&self, results: Vec<Value>) -> Outputs {
        let mut outputs = Outputs::of(Value::F32(ArrayD::zeros(IxDyn(&[0]))));
        for (name, value) in self.names.iter().zip(results) {
            match name.as_str() {
                "value" => outputs.value = value,
                "gradient" => outputs.gradient = Some(value),
                "laplacian" => outputs.laplacian = Some(value),
                "stderr" => outputs.stderr = Some(value),
                "diagonal" => outputs.diagonal = Some(value),
                "drift" => outputs.drift = Some(value),
                _ => {}
            }
        }
        outputs
    }

    fn output<'v>(&self, results: &'v [Value], name: &str) -> Option<&'v Value> {
        self.names.iter().position(|n| n == name).map(|i| &results[i])
    }

    /// Parts of the basis one after the other; the last is filled up with zeros.
    fn run_basis(&self, inputs: &[(&str, View<'_>)], lanes: usize) -> Result<Outputs, Error> {
        let dimension = self.derived.dimension;
        let graph = &self.derived.derivation.graph;
        let fed = graph.inputs().into_iter().find(|(n, _)| n == "directions");
        let shape = fed.map(|(_, id)| graph.fact(id).at(1).shape).unwrap_or_default();
        let copies = shape.get(1).copied().unwrap_or(1);
        let (mut value, mut sum) = (None, None::<ArrayD<f64>>);
        let (mut slopes, mut each) = (Vec::new(), Vec::new());
        for start in (0..dimension).step_by(lanes) {
            let mut directions = ArrayD::<f32>::zeros(IxDyn(&[lanes, copies, dimension]));
            for lane in 0..lanes.min(dimension - start) {
                directions
                    .index_axis_mut(Axis(0), lane)
                    .index_axis_mut(Axis(1), start + lane)
                    .fill(1.0);
            }
            let directions = Value::F32(directions).reshaped(&shape);
            let results = self.session.run(&with(inputs, "directions", &directions))?;
            let used = lanes.min(dimension - start);
            let part = |name: &str| self.output(&results, name).map(|v| v.rows(0, used).to_f64());
            slopes.extend(part("slopes"));
            each.extend(part("each"));
            if let Some(part) = self.output(&results, "sum") {
                let part = part.to_f64();
                sum = Some(sum.map_or(part.clone(), |s| s + part));
            }
            value = value.or_else(|| self.output(&results, "value").cloned());
        }
        let double = matches!(value, Some(Value::F64(_)));
        let mut outputs = Outputs::of(value.unwrap_or(Value::F64(ArrayD::zeros(IxDyn(&[0])))));
        let wants = self.derived.wants;
        let sample = &inputs
            .iter()
            .find(|(n, _)| *n == self.derived.wrt)
            .map(|(_, v)| v.shape()[1..].to_vec());
        let sample = sample.clone().unwrap_or_default();
        let per_sample = |parts: &[ArrayD<f64>]| -> Result<Value, Error> {
            // (D, N, …) → (N, …, x…)
            let views: Vec<_> = parts.iter().map(|p| p.view()).collect();
            let stack = concatenate(Axis(0), &views).map_err(|e| Error::Request(e.to_string()))?;
            let axes: Vec<usize> = (1..stack.ndim()).chain([0]).collect();
            let moved = stack.permuted_axes(IxDyn(&axes)).as_standard_layout().into_owned();
            let mut shape = moved.shape()[..moved.ndim() - 1].to_vec();
            shape.extend(&sample);
            Ok(precision(moved, double).reshaped(&shape))
        };
        if wants.gradient {
            outputs.gradient = Some(per_sample(&slopes)?);
        }
        if wants.diagonal {
            outputs.diagonal = Some(per_sample(&each)?);
        }
        if wants.laplacian {
            let total =
                sum.or_else(|| each.iter().map(|e| e.sum_axis(Axis(0))).reduce(|a, b| a + b));
            outputs.laplacian = total.map(|t| precision(t, double));
        }
        Ok(outputs)
    }

    /// Meyer, Musco, Musco and Woodruff 2021: with Q an orthonormal basis of H·S for signs S,
    /// tr H = tr `QᵀHQ` + E gᵀ(I−QQᵀ)H(I−QQᵀ)g.
    fn run_hutch_plus_plus(
        &self,
        inputs: &[(&str, View<'_>)],
        lanes: usize,
        rows: usize,
        first: usize,
    ) -> Result<Outputs, Error> {
        let dimension = self.derived.dimension;
        let sample = inputs
            .iter()
            .find(|(n, _)| *n == self.derived.wrt)
            .map(|(_, v)| v.shape()[1..].to_vec());
        let shape: Vec<usize> =
            [lanes, rows].into_iter().chain(sample.unwrap_or_default()).collect();
        let seed = self.derived.seed;
        let draw = |offset: usize| -> ArrayD<f64> {
            let input = SignInput { name: "directions", lanes, shape: vec![dimension] };
            draw_from(&input, seed, first, rows, offset).to_f64()
        };
        let mut outputs = None;
        let mut products =
            |session: &Compiled, directions: &ArrayD<f64>| -> Result<ArrayD<f64>, Error> {
                let fed = Value::F64(directions.clone()).reshaped(&shape);
                let results = session.session.run(&with(inputs, "directions", &fed))?;
                let product = session.output(&results, "products").map(Value::to_f64);
                let product = product.ok_or_else(|| Error::Request("no products".to_owned()))?;
                outputs.get_or_insert_with(|| session.named(results));
                Ok(Value::F64(product).reshaped(&[lanes, rows, dimension]).to_f64())
            };
        let sketch = products(self, &draw(0))?;
        let bases: Vec<Array2<f64>> = (0..rows).map(|n| orthonormal(&column(&sketch, n))).collect();
        let mut q = ArrayD::zeros(IxDyn(&[lanes, rows, dimension]));
        let mut g = draw(lanes);
        for (n, basis) in bases.iter().enumerate() {
            q.index_axis_mut(Axis(1), n).assign(basis);
            let rest = column(&g, n);
            let inside = rest.dot(&basis.t()).dot(basis);
            g.index_axis_mut(Axis(1), n).assign(&(rest - inside));
        }
        let (hq, hg) = (products(self, &q)?, products(self, &g)?);
        let (mut laplacian, mut error) = (Array1::zeros(rows), Array1::zeros(rows));
        for n in 0..rows {
            let sketched = (column(&q, n) * column(&hq, n)).sum();
            let draws = (column(&g, n) * column(&hg, n)).sum_axis(Axis(1));
            let mean = draws.mean().unwrap_or(0.0);
            laplacian[n] = sketched + mean;
            let spread: f64 = draws.iter().map(|d| (d - mean).powi(2)).sum();
            error[n] = (spread / (lanes * lanes.saturating_sub(1)).max(1) as f64).sqrt();
        }
        let mut outputs = outputs.ok_or_else(|| Error::Request("nothing ran".to_owned()))?;
        let double = matches!(outputs.value, Value::F64(_));
        if self.derived.wants.laplacian {
            outputs.laplacian = Some(precision(laplacian.into_dyn(), double));
        }
        if self.derived.wants.stderr {
            outputs.stderr = Some(precision(error.into_dyn(), double));
        }
        Ok(outputs)
    }
}

/// Feeds with one more.
fn with<'v>(
    inputs: &'v [(&str, View<'_>)],
    name: &'v str,
    value: &'v Value,
) -> Vec<(&'v str, View<'v>)> {
    let inputs = inputs.iter().map(|(name, value)| (*name, value.view()));
    inputs.chain([(name, value.into())]).collect()
}

/// Row `n` of every lane as a matrix (lanes × dimension).
fn column(stack: &ArrayD<f64>, n: usize) -> Array2<f64> {
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

#[expect(clippy::cast_possible_truncation, reason = "results have the engine's precision")]
fn precision(array: ArrayD<f64>, double: bool) -> Value {
    if double { Value::F64(array) } else { Value::F32(array.mapv(|v| v as f32)) }
}

/// Signs for samples `first..first + rows`.
fn draw(input: &SignInput, seed: u64, first: usize, rows: usize) -> Value {
    draw_from(input, seed, first, rows, 0)
}

fn draw_from(input: &SignInput, seed: u64, first: usize, rows: usize, offset: usize) -> Value {
    let width: usize = input.shape.iter().product();
    let mut values = Vec::with_capacity(input.lanes * rows * width);
    for lane in 0..input.lanes {
        for row in 0..rows {
            let stream = taste_stats::random::signs(
                seed,
                (first + row) as u64,
                (offset + lane) as u64,
                width,
            );
            #[expect(clippy::cast_possible_truncation, reason = "±1 is exact")]
            values.extend(stream.map(|s| s as f32));
        }
    }
    let shape: Vec<usize> =
        [input.lanes, rows].into_iter().chain(input.shape.iter().copied()).collect();
    Value::F32(ArrayD::from_shape_vec(IxDyn(&shape), values).expect("lanes × rows × width"))
}

impl Outputs {
    fn of(value: Value) -> Self {
        Self { value, gradient: None, laplacian: None, stderr: None, diagonal: None, drift: None }
    }

    fn map(self, f: &dyn Fn(&Value) -> Value) -> Self {
        let each = |v: Option<Value>| v.map(|v| f(&v));
        Self {
            value: f(&self.value),
            gradient: each(self.gradient),
            laplacian: each(self.laplacian),
            stderr: each(self.stderr),
            diagonal: each(self.diagonal),
            drift: each(self.drift),
        }
    }

    /// Results of consecutive samples as one.
    pub fn join(parts: &[Self]) -> Result<Self, Error> {
        let column = |get: &dyn Fn(&Self) -> Option<&Value>| -> Result<Option<Value>, Error> {
            let values: Option<Vec<&Value>> = parts.iter().map(get).collect();
            values.map(|v| Value::join(&v)).transpose()
        };
        Ok(Self {
            value: column(&|p| Some(&p.value))?
                .ok_or_else(|| Error::Request("no results".to_owned()))?,
            gradient: column(&|p| p.gradient.as_ref())?,
            laplacian: column(&|p| p.laplacian.as_ref())?,
            stderr: column(&|p| p.stderr.as_ref())?,
            diagonal: column(&|p| p.diagonal.as_ref())?,
            drift: column(&|p| p.drift.as_ref())?,
        })
    }
}
