//! One contract for every operator of the table, in double precision.

use std::{any::Any, collections::HashMap, sync::Arc};

use ndarray::{ArrayD, IxDyn};
use taste_graph::{
    Build, DType, Dim, Graph, Id, Op, Tensor,
    diff::{
        Curvature, Derivatives, Second, Structure, gradient, hvp, jvp, second_order, structure, vjp,
    },
};
use taste_onnx::Model;
use taste_ops::{Entry, Sample, import, operators};
use taste_stats::random::Random;

/// A sample as a graph, with values for its inputs.
struct Case {
    graph: Graph,
    feeds: HashMap<Id, Tensor>,
    /// Float inputs.
    active: Vec<Id>,
    outs: Vec<(String, Id)>,
    batch: usize,
}

/// The sample as an ONNX model of one node, imported.
fn case(entry: &Entry, sample: &Sample, open_batch: bool) -> Case {
    let model = sample.model(entry, open_batch);
    let imported = import(&model, &[], &HashMap::new()).expect("sample imports");
    let ids: HashMap<String, Id> = imported.inputs.into_iter().collect();
    let feeds: HashMap<Id, Tensor> =
        sample.feeds().map(|(name, tensor)| (ids[&name], tensor.clone())).collect();
    let batch = if open_batch { sample.feeds().map(|f| f.1.shape()[0]).max() } else { None };
    let mut active: Vec<Id> =
        feeds.iter().filter(|(_, t)| t.dtype() == DType::Float).map(|(id, _)| *id).collect();
    active.sort_unstable();
    Case { graph: imported.graph, feeds, active, outs: imported.outputs, batch: batch.unwrap_or(1) }
}

/// Numbers between −1 and 1.
fn noise(shape: &[usize], random: &mut Random) -> ArrayD<f64> {
    ArrayD::from_shape_simple_fn(IxDyn(shape), || 2.0 * random.uniform() - 1.0)
}

fn floats(tensor: &Tensor) -> ArrayD<f64> {
    tensor.as_float().expect("a float").to_owned()
}

fn close(what: &str, got: &ArrayD<f64>, want: &ArrayD<f64>, tolerance: f64) {
    assert_eq!(got.shape(), want.shape(), "{what}: shapes");
    let scale = want.iter().fold(1.0f64, |m, v| m.max(v.abs()));
    for (g, w) in got.iter().zip(want.iter()) {
        assert!((g - w).abs() <= tolerance * scale, "{what}: got {g}, want {w} (scale {scale})");
    }
}

impl Case {
    fn eval(&self, ends: &[Id]) -> Vec<Tensor> {
        self.graph.eval(ends, &self.feeds, self.batch).expect("evaluates")
    }

    fn eval_at(&self, end: Id, feeds: &HashMap<Id, Tensor>) -> ArrayD<f64> {
        floats(&self.graph.eval(&[end], feeds, self.batch).expect("evaluates")[0])
    }

    /// The inputs moved by `step` along a direction.
    fn moved(&self, directions: &HashMap<Id, ArrayD<f64>>, step: f64) -> HashMap<Id, Tensor> {
        self.feeds
            .iter()
            .map(|(id, tensor)| match directions.get(id) {
                Some(d) => (*id, (floats(tensor) + d * step).into()),
                None => (*id, tensor.clone()),
            })
            .collect()
    }

    fn float_outs(&self) -> Vec<Id> {
        self.outs
            .iter()
            .map(|o| o.1)
            .filter(|o| self.graph.fact(*o).dtype == DType::Float)
            .collect()
    }

    /// A new input with the fact of `like`, behind an axis of lanes if there are any.
    fn feed(&mut self, like: Id, lanes: Option<usize>, value: ArrayD<f64>) -> Id {
        let mut fact = self.graph.fact(like).clone();
        fact.shape.splice(0..0, lanes.map(Dim::from));
        let name = format!("fed{}", self.graph.inputs().len());
        let id = self.graph.input(&name, fact);
        self.feeds.insert(id, value.into());
        id
    }

    fn feed_all(&mut self, directions: &HashMap<Id, ArrayD<f64>>) -> Derivatives {
        let mut directions: Vec<_> = directions.iter().collect();
        directions.sort_by_key(|(id, _)| **id);
        directions.into_iter().map(|(id, d)| (*id, self.feed(*id, None, d.clone()))).collect()
    }

    fn directions(&self, random: &mut Random) -> HashMap<Id, ArrayD<f64>> {
        self.active.iter().map(|id| (*id, noise(self.feeds[id].shape(), random))).collect()
    }
}

fn shape_inference_matches_evaluation(case: &Case) {
    let ends: Vec<Id> = case.outs.iter().map(|o| o.1).collect();
    for (id, tensor) in ends.iter().zip(case.eval(&ends)) {
        assert_eq!(case.graph.fact(*id).at(case.batch), tensor.concrete(), "shape inference");
    }
}

/// A central difference of order four along the directions.
fn difference(case: &Case, end: Id, directions: &HashMap<Id, ArrayD<f64>>) -> ArrayD<f64> {
    let step = 1e-4;
    let at = |k: f64| case.eval_at(end, &case.moved(directions, k * step));
    ((at(1.0) - at(-1.0)) * 8.0 - (at(2.0) - at(-2.0))) / (12.0 * step)
}

fn jvp_matches_finite_differences(case: &mut Case) {
    let mut random = Random::new(11);
    let directions = case.directions(&mut random);
    let outs = case.float_outs();
    let seeds = case.feed_all(&directions);
    let mut b = Build::new(&mut case.graph);
    let tangents = jvp(&mut b, &outs, &seeds).expect("jvp");
    for (out, tangent) in outs.into_iter().zip(tangents) {
        let want = difference(case, out, &directions);
        let got = match tangent {
            Some(t) => floats(&case.eval(&[t])[0]),
            None => ArrayD::zeros(want.raw_dim()),
        };
        close("jvp against finite differences", &got, &want, 1e-7);
    }
}

fn vjp_is_the_adjoint_of_jvp(case: &mut Case) {
    let mut random = Random::new(23);
    let directions = case.directions(&mut random);
    let outs = case.float_outs();
    let values = case.eval(&outs);
    for (out, value) in outs.into_iter().zip(values) {
        let weights = noise(value.shape(), &mut random);
        let ct = case.feed(out, None, weights.clone());
        let seeds = case.feed_all(&directions);
        let mut b = Build::new(&mut case.graph);
        let cts = vjp(&mut b, &Derivatives::from([(out, ct)]), &case.active).expect("vjp");
        let tangent = jvp(&mut b, &[out], &seeds).expect("jvp")[0];
        let forward = tangent.map_or(0.0, |t| (floats(&case.eval(&[t])[0]) * &weights).sum());
        let mut backward = 0.0;
        for (id, ct) in case.active.iter().zip(cts) {
            if let Some(ct) = ct {
                let ct = floats(&case.eval(&[ct])[0]);
                assert_eq!(ct.shape(), case.feeds[id].shape(), "shape of a cotangent");
                backward += (ct * &directions[id]).sum();
            }
        }
        let scale = forward.abs().max(1.0);
        assert!((forward - backward).abs() < 1e-10 * scale, "adjoint: {forward} and {backward}");
    }
}

/// Σ weights · y³, so that curvature flows through linear operators too.
fn scalar_of(case: &mut Case, out: Id, random: &mut Random) -> Id {
    let shape = case.eval(&[out])[0].shape().to_vec();
    let weights = case.feed(out, None, noise(&shape, random));
    let mut b = Build::new(&mut case.graph);
    let square = b.square(out).expect("square");
    let cube = b.mul(square, out).expect("cube");
    let weighted = b.mul(cube, weights).expect("weighted");
    b.sum(weighted, &(0..shape.len()).collect::<Vec<_>>()).expect("sum")
}

fn second_derivatives_agree(case: &mut Case) {
    let mut random = Random::new(37);
    for out in case.float_outs() {
        let f = scalar_of(case, out, &mut random);
        for x in case.active.clone() {
            let shape = case.feeds[&x].shape().to_vec();
            let n: usize = shape.iter().product();
            // The gradient and one product with the Hessian, against finite differences.
            let direction = noise(&shape, &mut random);
            let d = case.feed(x, None, direction.clone());
            let mut b = Build::new(&mut case.graph);
            let slope = gradient(&mut b, f, x).expect("gradient");
            let product = hvp(&mut b, f, x, d).expect("hvp");
            if let Some(slope) = slope {
                let want = difference(case, slope, &HashMap::from([(x, direction)]));
                let got = product
                    .map_or_else(|| ArrayD::zeros(want.raw_dim()), |p| floats(&case.eval(&[p])[0]));
                close("hvp against finite differences", &got, &want, 1e-6);
            }
            // The forward Laplacian and the diagonal along the basis, against the Hessian's columns.
            let mut lanes = vec![n];
            lanes.extend(&shape);
            let basis =
                ArrayD::from_shape_fn(IxDyn(&[n, n]), |i| f64::from(u8::from(i[0] == i[1])));
            let basis = basis.into_shape_with_order(IxDyn(&lanes)).expect("basis");
            let directions = case.feed(x, Some(n), basis);
            let mut b = Build::new(&mut case.graph);
            let directions = b.declare_lanes(directions, x).expect("lanes");
            let seeds = HashMap::from([(x, Second::along(directions))]);
            let sum = second_order(&mut b, &[f], &seeds, Curvature::Sum).expect("laplacian")[0];
            let each = second_order(&mut b, &[f], &seeds, Curvature::Each).expect("diagonal")[0];
            let columns = hvp(&mut b, f, x, directions).expect("hvp in lanes");
            let columns = columns.map(|c| b.stacked(c).expect("stacked"));
            let diagonal: Vec<f64> = columns.map_or_else(
                || vec![0.0; n],
                |c| {
                    let c = floats(&case.eval(&[c])[0]);
                    let c = c.into_shape_with_order(IxDyn(&[n, n])).expect("square");
                    (0..n).map(|i| c[[i, i]]).collect()
                },
            );
            let value = |id: Option<Id>, len: usize| match id {
                Some(id) => {
                    floats(&case.eval(&[id])[0]).into_shape_with_order(IxDyn(&[len])).unwrap()
                }
                None => ArrayD::zeros(IxDyn(&[len])),
            };
            let trace = ArrayD::from_elem(IxDyn(&[1]), diagonal.iter().sum::<f64>());
            let diagonal = ArrayD::from_shape_vec(IxDyn(&[n]), diagonal).expect("diagonal");
            close(
                "forward Laplacian against the trace of the Hessian",
                &value(sum.and_then(|s| s.curvature), 1),
                &trace,
                1e-9,
            );
            close(
                "Taylor diagonal against the diagonal of the Hessian",
                &value(each.and_then(|s| s.curvature), n),
                &diagonal,
                1e-9,
            );
        }
    }
}

/// What is not curved has no second differences.
fn curvature_is_known(case: &Case) {
    let mut random = Random::new(39);
    for out in case.float_outs() {
        for x in &case.active {
            let found = structure(&case.graph, &[out], *x).expect("structure");
            if found.get(out.index()) == Some(&Structure::Curved) {
                continue;
            }
            let directions = HashMap::from([(*x, noise(case.feeds[x].shape(), &mut random))]);
            let [below, at, above] =
                [-1.0, 0.0, 1.0].map(|k| case.eval_at(out, &case.moved(&directions, k * 1e-3)));
            close("a value that is not curved", &((below + above) * 0.5), &at, 1e-12);
        }
    }
}

/// Lanes of tangents and cotangents against one direction at a time.
fn lanes_are_directions_side_by_side(case: &mut Case) {
    let mut random = Random::new(41);
    let count = 3;
    for out in case.float_outs() {
        let out_shape = case.eval(&[out])[0].shape().to_vec();
        for x in case.active.clone() {
            let shape = [&[count][..], case.feeds[&x].shape()].concat();
            let stack = noise(&shape, &mut random);
            let ct_stack = noise(&[&[count][..], &out_shape].concat(), &mut random);
            let laned = case.feed(x, Some(count), stack.clone());
            let ct_laned = case.feed(out, Some(count), ct_stack.clone());
            let mut b = Build::new(&mut case.graph);
            let laned = b.declare_lanes(laned, x).expect("lanes");
            let ct_laned = b.declare_lanes(ct_laned, out).expect("lanes");
            let tangents = jvp(&mut b, &[out], &Derivatives::from([(x, laned)])).expect("jvp")[0];
            let tangents = tangents.map(|t| b.stacked(t).expect("stacked"));
            let cts = vjp(&mut b, &Derivatives::from([(out, ct_laned)]), &[x]).expect("vjp")[0];
            let cts = cts.map(|t| b.stacked(t).expect("stacked"));
            for lane in 0..count {
                let pick = |a: &ArrayD<f64>| a.index_axis(ndarray::Axis(0), lane).to_owned();
                let tangent = case.feed(x, None, pick(&stack));
                let ct = case.feed(out, None, pick(&ct_stack));
                let mut b = Build::new(&mut case.graph);
                let one = jvp(&mut b, &[out], &Derivatives::from([(x, tangent)])).expect("jvp")[0];
                let ct = vjp(&mut b, &Derivatives::from([(out, ct)]), &[x]).expect("vjp")[0];
                for (what, many, one) in [("tangent", tangents, one), ("cotangent", cts, ct)] {
                    assert_eq!(many.is_some(), one.is_some(), "{what} in lanes");
                    if let (Some(many), Some(one)) = (many, one) {
                        let values = case.eval(&[many, one]);
                        let many = pick(&floats(&values[0]));
                        close(&format!("{what} in lanes"), &many, &floats(&values[1]), 1e-12);
                    }
                }
            }
        }
    }
}

/// Directions shared by the whole batch, which stay of size 1 along it as long as they can.
fn uniform_lanes_agree_with_full_ones(case: &mut Case) {
    let mut random = Random::new(43);
    let count = 2;
    for out in case.float_outs() {
        for x in case.active.clone() {
            let shape = case.feeds[&x].shape().to_vec();
            let mut single = [&[count, 1][..], &shape[1..]].concat();
            let uniform = noise(&single, &mut random);
            single[1] = shape[0];
            let full = uniform.broadcast(IxDyn(&single)).expect("spreads").to_owned();
            let uniform = case.graph.constant(uniform.into());
            let full = case.feed(x, Some(count), full);
            let results = [uniform, full].map(|id| {
                let mut b = Build::new(&mut case.graph);
                let id = b.declare_lanes(id, x).expect("lanes");
                let seeds = HashMap::from([(x, Second::along(id))]);
                let second =
                    second_order(&mut b, &[out], &seeds, Curvature::Sum).expect("second")[0];
                let ends: Vec<Option<Id>> = match second {
                    Some(s) => vec![Some(b.stacked(s.tangents).expect("stacked")), s.curvature],
                    None => vec![None, None],
                };
                ends.into_iter().map(|e| e.map(|e| floats(&case.eval(&[e])[0]))).collect::<Vec<_>>()
            });
            let [uniform, full] = results;
            for (u, f) in uniform.iter().zip(&full) {
                assert_eq!(u.is_some(), f.is_some(), "uniform lanes");
                if let (Some(u), Some(f)) = (u, f) {
                    close("uniform lanes", u, f, 1e-12);
                }
            }
        }
    }
}

/// Values and derivatives survive writing and reading, up to single precision.
fn onnx_round_trip(case: &mut Case) {
    let mut random = Random::new(47);
    let mut ends = case.outs.clone();
    for (i, out) in case.float_outs().into_iter().enumerate() {
        let shape = case.eval(&[out])[0].shape().to_vec();
        let weights = noise(&shape, &mut random);
        let directions = case.directions(&mut random);
        let ct = case.feed(out, None, weights);
        let seeds = case.feed_all(&directions);
        let mut b = Build::new(&mut case.graph);
        let cts = vjp(&mut b, &Derivatives::from([(out, ct)]), &case.active).expect("vjp");
        let tangent = jvp(&mut b, &[out], &seeds).expect("jvp")[0];
        let all = cts.into_iter().chain([tangent]).enumerate();
        ends.extend(all.filter_map(|(k, id)| id.map(|id| (format!("d{i}_{k}"), id))));
    }
    let proto = case.graph.to_onnx(&ends).expect("written");
    let bytes = Model::new(proto).to_bytes().expect("bytes");
    let model = Model::from_bytes(&bytes, None).expect("read");
    let shapes: HashMap<String, Vec<Dim>> = case
        .graph
        .inputs()
        .into_iter()
        .map(|(name, id)| (name, case.graph.fact(id).shape.clone()))
        .collect();
    let again = import(&model, &[], &shapes).expect("imported");
    let names: HashMap<Id, String> =
        case.graph.inputs().into_iter().map(|(name, id)| (id, name)).collect();
    let ids: HashMap<String, Id> = again.inputs.into_iter().collect();
    let feeds: HashMap<Id, Tensor> = case
        .feeds
        .iter()
        .filter_map(|(id, t)| ids.get(&names[id]).map(|id| (*id, t.clone())))
        .collect();
    let want = case.eval(&ends.iter().map(|e| e.1).collect::<Vec<_>>());
    let got = again
        .graph
        .eval(&again.outputs.iter().map(|o| o.1).collect::<Vec<_>>(), &feeds, case.batch)
        .expect("evaluates");
    for ((want, got), (name, _)) in want.iter().zip(&got).zip(&ends) {
        match (want, got) {
            (Tensor::Float(w), Tensor::Float(g)) => {
                close(&format!("round trip of {name}"), &g.to_owned(), &w.to_owned(), 2e-6);
            }
            _ => assert_eq!(want, got, "round trip of {name}"),
        }
    }
}

fn check(entry: &Entry, sample: &Sample, open_batch: bool) {
    let mut case = case(entry, sample, open_batch);
    shape_inference_matches_evaluation(&case);
    jvp_matches_finite_differences(&mut case);
    vjp_is_the_adjoint_of_jvp(&mut case);
    second_derivatives_agree(&mut case);
    curvature_is_known(&case);
    lanes_are_directions_side_by_side(&mut case);
    if open_batch {
        uniform_lanes_agree_with_full_ones(&mut case);
    }
    onnx_round_trip(&mut case);
}

#[test]
fn every_operator_keeps_its_contract() {
    let only = std::env::var("TASTE_OPERATOR").ok();
    let mut failures = Vec::new();
    for entry in operators().filter(|e| only.as_ref().is_none_or(|o| o == e.name)) {
        let samples = (entry.samples)();
        assert!(!samples.is_empty(), "{}: no samples", entry.name);
        for sample in &samples {
            for open_batch in [false, true].into_iter().take(1 + usize::from(sample.batched)) {
                let place = format!("{} ({}), open batch {open_batch}", entry.name, sample.title);
                let run = std::panic::AssertUnwindSafe(|| check(entry, sample, open_batch));
                if std::panic::catch_unwind(run).is_err() {
                    failures.push(place);
                }
            }
        }
    }
    assert!(failures.is_empty(), "operators that break the contract:\n{}", failures.join("\n"));
}

/// Equal nodes exist once in a graph, so a key that misses an attribute would put one operator in place of another.
#[test]
fn operators_of_one_type_and_key_compute_the_same() {
    let mut seen: HashMap<_, Arc<dyn Op>> = HashMap::new();
    let mut compared = 0;
    for entry in operators() {
        for sample in (entry.samples)() {
            let case = case(entry, &sample, false);
            for node in case.graph.nodes().iter().filter(|n| !n.args.is_empty()) {
                let args = case.eval(&node.args);
                let kinds = args.iter().map(|a| format!("{:?}", a.concrete())).collect::<Vec<_>>();
                let identity = ((&*node.op as &dyn Any).type_id(), node.op.key(), kinds);
                let first = seen.entry(identity).or_insert_with(|| node.op.clone());
                let [want, got] = [first, &node.op].map(|op| op.eval(&args).expect("evaluates"));
                let same = want.len() == got.len()
                    && want.iter().zip(&got).all(|(w, g)| w.is_identical(g));
                assert!(same, "{} ({}): {:?} and {first:?}", entry.name, sample.title, node.op);
                compared += usize::from(!Arc::ptr_eq(first, &node.op));
            }
        }
    }
    assert!(compared > 100, "only {compared} pairs of operators met");
}
