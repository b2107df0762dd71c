//! Convolutions and pools over random geometries, against loops.

use std::collections::HashMap;

use ndarray::{ArrayD, Dimension, IxDyn};
use proptest::prelude::*;
use taste_graph::{
    Build, Dim, Graph, Id, Tensor,
    diff::{Derivatives, jvp, vjp},
};
use taste_onnx::{
    ElemType, Model,
    builders::{self, DimSpec},
    proto::{AttributeProto, GraphProto},
};
use taste_ops::import;
use taste_stats::random::Random;

/// A window along one axis, and the size of the axis.
#[derive(Clone, Copy, Debug)]
struct Along {
    kernel: usize,
    stride: usize,
    dilation: usize,
    begin: usize,
    end: usize,
    size: usize,
}

impl Along {
    fn reach(self) -> usize {
        self.dilation * (self.kernel - 1) + 1
    }

    fn positions(self) -> usize {
        (self.begin + self.size + self.end - self.reach()) / self.stride + 1
    }

    /// Positions where a last window may hang over the end, unless it starts there.
    fn positions_rounded_up(self) -> usize {
        let room = self.begin + self.size + self.end - self.reach();
        let count = room.div_ceil(self.stride) + 1;
        count - usize::from((count - 1) * self.stride >= self.begin + self.size)
    }

    /// Where tap `k` of the window at `p` lies, if that is inside.
    fn at(self, p: usize, k: usize) -> Option<usize> {
        (self.stride * p + self.dilation * k).checked_sub(self.begin).filter(|&i| i < self.size)
    }
}

fn along(padding: usize, dilation: usize) -> impl Strategy<Value = Along> {
    (1..=3usize, 1..=3usize, 1..=dilation, 0..=padding, 0..=padding, 0..=4usize).prop_map(
        |(kernel, stride, dilation, begin, end, room)| {
            let bare = Along { kernel, stride, dilation, begin, end, size: 0 };
            let least = bare.reach().saturating_sub(begin + end).max(1);
            Along { size: least + room, ..bare }
        },
    )
}

/// Padding smaller than the kernel, so that every window holds an element.
fn pooled() -> impl Strategy<Value = Along> {
    along(2, 2).prop_map(|a| {
        let most = a.kernel - 1;
        let a = Along { begin: a.begin.min(most), end: a.end.min(most), ..a };
        Along { size: a.size.max(a.reach()), ..a }
    })
}

fn list(axes: &[Along], f: impl Fn(&Along) -> usize) -> Vec<usize> {
    axes.iter().map(f).collect()
}

fn attributes(axes: &[Along]) -> Vec<AttributeProto> {
    let ints = |name: &str, values: Vec<usize>| {
        builders::attr_ints(name, &values.iter().map(|&v| v as i64).collect::<Vec<_>>())
    };
    let pads = [list(axes, |a| a.begin), list(axes, |a| a.end)].concat();
    vec![
        ints("kernel_shape", list(axes, |a| a.kernel)),
        ints("strides", list(axes, |a| a.stride)),
        ints("dilations", list(axes, |a| a.dilation)),
        ints("pads", pads),
    ]
}

/// Numbers between −1 and 1.
fn noise(shape: &[usize], seed: u64) -> ArrayD<f64> {
    let mut random = Random::new(seed);
    ArrayD::from_shape_simple_fn(IxDyn(shape), || 2.0 * random.uniform() - 1.0)
}

/// One node whose arguments are inputs.
struct Case {
    graph: Graph,
    feeds: HashMap<Id, Tensor>,
    args: Vec<Id>,
    y: Id,
}

fn fixed(shape: &[usize]) -> Vec<DimSpec> {
    shape.iter().map(|&d| DimSpec::Fixed(d as i64)).collect()
}

/// A node on arguments of which those from `constants` on are constants of the file.
fn case(op: &str, attributes: &[AttributeProto], args: &[ArrayD<f64>], constants: usize) -> Case {
    let names: Vec<String> = (0..args.len()).map(|i| format!("x{i}")).collect();
    let mut proto = GraphProto { name: "case".into(), ..Default::default() };
    for (i, (name, arg)) in names.iter().zip(args).enumerate() {
        if i >= constants {
            let values: Vec<f64> = arg.iter().copied().collect();
            proto.initializer.push(builders::tensor_f64(name, arg.shape(), &values));
        } else {
            proto.input.push(builders::value_info(name, ElemType::F64, &fixed(arg.shape())));
        }
    }
    let mut node = builders::node(op, &names, &["y".to_owned()], "node");
    node.attribute = attributes.to_vec();
    proto.node.push(node);
    proto.output.push(builders::value_info("y", ElemType::F64, &[]));
    let model = Model::new(builders::model(proto, taste_graph::OPSET));
    let imported = import(&model, &[], &HashMap::new()).expect("imports");
    let ids: Vec<Id> = imported.inputs.iter().map(|i| i.1).collect();
    let feeds = ids.iter().copied().zip(args.iter().map(|a| a.clone().into())).collect();
    Case { graph: imported.graph, feeds, args: ids, y: imported.outputs[0].1 }
}

impl Case {
    /// The value, of the shape that was inferred.
    fn eval(&self, id: Id) -> ArrayD<f64> {
        let value = self.graph.eval(&[id], &self.feeds, 1).expect("evaluates").swap_remove(0);
        assert_eq!(self.graph.fact(id).at(1), value.concrete(), "inferred and evaluated");
        value.as_float().expect("a float").to_owned()
    }

    fn feed(&mut self, like: Id, value: &ArrayD<f64>) -> Id {
        let fact = self.graph.fact(like).clone();
        let id = self.graph.input(&format!("fed{}", self.graph.inputs().len()), fact);
        self.feeds.insert(id, value.clone().into());
        id
    }

    fn tangent(&mut self, arg: Id, direction: &ArrayD<f64>) -> Id {
        let direction = self.feed(arg, direction);
        let mut b = Build::new(&mut self.graph);
        jvp(&mut b, &[self.y], &Derivatives::from([(arg, direction)])).expect("jvp")[0]
            .expect("depends")
    }

    fn cotangents(&mut self, weights: &ArrayD<f64>) -> Vec<Id> {
        let ct = self.feed(self.y, weights);
        let mut b = Build::new(&mut self.graph);
        let cts = vjp(&mut b, &Derivatives::from([(self.y, ct)]), &self.args).expect("vjp");
        cts.into_iter().map(|c| c.expect("depends")).collect()
    }

    /// ⟨c, J·t⟩ = ⟨Jᵀ·c, t⟩ for every argument.
    fn check_adjoint(&mut self, seed: u64) {
        let weights = noise(self.eval(self.y).shape(), seed);
        let cts = self.cotangents(&weights);
        for (i, arg) in self.args.clone().into_iter().enumerate() {
            let direction = noise(self.feeds[&arg].shape(), seed + 1 + i as u64);
            let tangent = self.tangent(arg, &direction);
            let forward = (self.eval(tangent) * &weights).sum();
            let backward = (self.eval(cts[i]) * &direction).sum();
            let scale = forward.abs().max(1.0);
            assert!((forward - backward).abs() < 1e-10 * scale, "{forward} and {backward}");
        }
    }

    /// Values are the same after writing and reading, up to single precision.
    fn check_round_trip(&self, ends: &[Id]) {
        let named: Vec<(String, Id)> =
            ends.iter().enumerate().map(|(i, &id)| (format!("end{i}"), id)).collect();
        let proto = self.graph.to_onnx(&named).expect("written");
        let shapes: HashMap<String, Vec<Dim>> = self
            .graph
            .inputs()
            .into_iter()
            .map(|(name, id)| (name, self.graph.fact(id).shape.clone()))
            .collect();
        let again = import(&Model::new(proto), &[], &shapes).expect("imported");
        let names: HashMap<String, Id> = self.graph.inputs().into_iter().collect();
        let feeds: HashMap<Id, Tensor> =
            again.inputs.iter().map(|(name, id)| (*id, self.feeds[&names[name]].clone())).collect();
        for (&end, (_, id)) in ends.iter().zip(&again.outputs) {
            let got = again.graph.eval(&[*id], &feeds, 1).expect("evaluates").swap_remove(0);
            close(got.as_float().expect("a float"), &self.eval(end), 2e-6);
        }
    }
}

fn close<S: ndarray::Data<Elem = f64>>(
    got: &ndarray::ArrayBase<S, IxDyn>,
    want: &ArrayD<f64>,
    tolerance: f64,
) {
    assert_eq!(got.shape(), want.shape());
    let scale = want.iter().fold(1.0f64, |m, v| m.max(v.abs()));
    for (g, w) in got.iter().zip(want) {
        assert!((g - w).abs() <= tolerance * scale, "got {g}, want {w}");
    }
}

/// The elements of a window: multi-indices of taps and of the elements they touch.
fn window(axes: &[Along], at: &[usize]) -> Vec<(Vec<usize>, Vec<usize>)> {
    ndarray::indices(IxDyn(&list(axes, |a| a.kernel)))
        .into_iter()
        .filter_map(|tap| {
            let place: Option<Vec<usize>> =
                axes.iter().enumerate().map(|(i, a)| a.at(at[i], tap[i])).collect();
            place.map(|place| (tap.slice().to_vec(), place))
        })
        .collect()
}

fn naive_conv(x: &ArrayD<f64>, w: &ArrayD<f64>, axes: &[Along], groups: usize) -> ArrayD<f64> {
    let (inputs, outputs) = (w.shape()[1], w.shape()[0] / groups);
    let shape = [&[x.shape()[0], w.shape()[0]], &list(axes, |a| a.positions())[..]].concat();
    ArrayD::from_shape_fn(IxDyn(&shape), |at| {
        let at = at.slice();
        let mut sum = 0.0;
        for (tap, place) in window(axes, &at[2..]) {
            for c in 0..inputs {
                let channel = at[1] / outputs * inputs + c;
                sum += w[IxDyn(&[&[at[1], c], &tap[..]].concat())]
                    * x[IxDyn(&[&[at[0], channel], &place[..]].concat())];
            }
        }
        sum
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..Default::default() })]

    #[test]
    fn convolutions_are_sums_over_windows_and_their_adjoints_close(
        axes in prop::collection::vec(along(3, 2), 1..=3),
        batch in 1..=2usize,
        groups in 1..=3usize,
        inputs in 1..=2usize,
        outputs in 1..=2usize,
        seed in any::<u32>(),
    ) {
        let x = noise(&[&[batch, groups * inputs], &list(&axes, |a| a.size)[..]].concat(), seed.into());
        let w = noise(
            &[&[groups * outputs, inputs], &list(&axes, |a| a.kernel)[..]].concat(),
            u64::from(seed) + 1,
        );
        let mut attributes = attributes(&axes);
        attributes.push(builders::attr_int("group", groups as i64));
        let mut case = case("Conv", &attributes, &[x.clone(), w.clone()], 2);
        close(&case.eval(case.y), &naive_conv(&x, &w, &axes, groups), 1e-12);
        case.check_adjoint(seed.into());
        let weights = noise(case.eval(case.y).shape(), 3);
        let cts = case.cotangents(&weights);
        case.check_round_trip(&[&[case.y], &cts[..]].concat());
    }

    #[test]
    fn the_gradient_of_a_convolution_with_constant_weights_survives_writing(
        axes in prop::collection::vec(along(3, 2), 1..=2),
        groups in 1..=3usize,
        inputs in 1..=2usize,
        outputs in 1..=2usize,
        seed in any::<u32>(),
    ) {
        let x = noise(&[&[2, groups * inputs], &list(&axes, |a| a.size)[..]].concat(), seed.into());
        let w = noise(&[&[groups * outputs, inputs], &list(&axes, |a| a.kernel)[..]].concat(), 5);
        let mut attributes = attributes(&axes);
        attributes.push(builders::attr_int("group", groups as i64));
        let mut case = case("Conv", &attributes, &[x, w], 1);
        let weights = noise(case.eval(case.y).shape(), 3);
        let cts = case.cotangents(&weights);
        case.check_round_trip(&cts);
        case.check_adjoint(seed.into());
    }

    #[test]
    fn transposed_convolutions_have_the_size_of_the_specification(
        axes in prop::collection::vec(along(1, 2), 1..=2),
        extra in 0..=1usize,
        seed in any::<u32>(),
    ) {
        // Here `size` counts positions.
        let covered = |a: &Along| a.stride * (a.size - 1) + a.reach();
        let extra: Vec<usize> = axes.iter().map(|a| extra.min(a.stride - 1)).collect();
        prop_assume!(axes.iter().all(|a| covered(a) > a.begin + a.end));
        let y = noise(&[&[1, 2], &list(&axes, |a| a.size)[..]].concat(), seed.into());
        let w = noise(&[&[2, 1], &list(&axes, |a| a.kernel)[..]].concat(), 5);
        let mut attributes = attributes(&axes);
        attributes.push(builders::attr_ints(
            "output_padding",
            &extra.iter().map(|&e| e as i64).collect::<Vec<_>>(),
        ));
        let mut case = case("ConvTranspose", &attributes, &[y, w], 2);
        let x = case.eval(case.y);
        let want: Vec<usize> =
            axes.iter().zip(&extra).map(|(a, e)| covered(a) + e - a.begin - a.end).collect();
        prop_assert_eq!(&x.shape()[2..], &want[..]);
        case.check_adjoint(seed.into());
    }

    #[test]
    fn average_pools_are_means_and_have_adjoints(
        axes in prop::collection::vec(pooled(), 1..=2),
        count_padding: bool,
        round_up: bool,
        seed in any::<u32>(),
    ) {
        let x = noise(&[&[2, 2], &list(&axes, |a| a.size)[..]].concat(), seed.into());
        let mut attributes = attributes(&axes);
        attributes.push(builders::attr_int("count_include_pad", i64::from(count_padding)));
        attributes.push(builders::attr_int("ceil_mode", i64::from(round_up)));
        let mut case = case("AveragePool", &attributes, std::slice::from_ref(&x), 1);
        let positions =
            list(&axes, |a| if round_up { a.positions_rounded_up() } else { a.positions() });
        let want = ArrayD::from_shape_fn(IxDyn(&[&[2, 2], &positions[..]].concat()), |at| {
            let at = at.slice();
            let elements = window(&axes, &at[2..]);
            let count = if count_padding {
                let padded: Vec<Along> = axes
                    .iter()
                    .map(|a| Along { begin: 0, end: 0, size: a.begin + a.size + a.end, ..*a })
                    .collect();
                window(&padded, &at[2..]).len()
            } else {
                elements.len()
            };
            let value = |place: &Vec<usize>| x[IxDyn(&[&at[..2], &place[..]].concat())];
            elements.iter().map(|(_, place)| value(place)).sum::<f64>() / count as f64
        });
        close(&case.eval(case.y), &want, 1e-12);
        case.check_adjoint(seed.into());
    }

    #[test]
    fn the_tangent_of_a_maximum_is_that_of_the_largest_element(
        axes in prop::collection::vec(pooled(), 1..=2),
        tiles: bool,
        round_up: bool,
        seed in any::<u32>(),
    ) {
        let side_by_side = |a: &Along| {
            let a = Along { dilation: 1, stride: a.kernel, begin: 0, end: 0, ..*a };
            Along { size: a.size.max(a.kernel), ..a }
        };
        let axes: Vec<Along> =
            if tiles { axes.iter().map(side_by_side).collect() } else { axes };
        let x = noise(&[&[2, 2], &list(&axes, |a| a.size)[..]].concat(), seed.into());
        let direction = noise(x.shape(), u64::from(seed) + 1);
        let mut attributes = attributes(&axes);
        attributes.push(builders::attr_int("ceil_mode", i64::from(round_up)));
        let mut case = case("MaxPool", &attributes, std::slice::from_ref(&x), 1);
        let positions =
            list(&axes, |a| if round_up { a.positions_rounded_up() } else { a.positions() });
        let shape = [&[2, 2], &positions[..]].concat();
        let pick = |at: &[usize], of: &ArrayD<f64>| {
            let places = window(&axes, &at[2..]).into_iter();
            let places = places.map(|(_, place)| IxDyn(&[&at[..2], &place[..]].concat()));
            let best = places.fold(None, |best: Option<IxDyn>, place| match best {
                Some(best) if x[&best] >= x[&place] => Some(best),
                _ => Some(place),
            });
            of[best.expect("every window holds an element")]
        };
        let value = ArrayD::from_shape_fn(IxDyn(&shape), |at| pick(at.slice(), &x));
        let slope = ArrayD::from_shape_fn(IxDyn(&shape), |at| pick(at.slice(), &direction));
        close(&case.eval(case.y), &value, 1e-12);
        let tangent = case.tangent(case.args[0], &direction);
        close(&case.eval(tangent), &slope, 1e-12);
        case.check_adjoint(seed.into());
    }
}
