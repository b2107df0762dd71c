//! `Scan`, where it stands for something plain: the distances that exporters of nearest neighbours and Gaussian processes
//! compute row by row.

use taste_graph::{DType, Id, OpError};
use taste_onnx::proto::{GraphProto, NodeProto};

use crate::{
    Entry, Reader, Sample,
    ml::svm::squared_distances,
    pointwise::{SQRT, Unary},
};

/// The node that computes a value of a body, behind copies.
fn source<'a>(body: &'a GraphProto, name: &'a str) -> Result<&'a NodeProto, &'a str> {
    let mut name = name;
    // A body of n nodes has at most n copies in a row.
    for _ in 0..=body.node.len() {
        match body.node.iter().find(|n| n.output.first().is_some_and(|o| o == name)) {
            Some(node) if node.op_type == "Identity" && node.input.len() == 1 => {
                name = &node.input[0];
            }
            Some(node) => return Ok(node),
            None => return Err(name),
        }
    }
    Err(name)
}

/// Whether a body computes ‖rows − row‖² for every row, and hands on the rows: its inputs are these, in either order of the
/// difference.
fn is_squared_distance(body: &GraphProto) -> bool {
    let ([rows, row], [next, out]) = (&body.input[..], &body.output[..]) else { return false };
    if source(body, &next.name) != Err(rows.name.as_str()) {
        return false;
    }
    let Ok(sum) = source(body, &out.name) else { return false };
    let listed = sum.attribute.iter().find(|a| a.name == "axes").map(|a| a.ints.clone());
    let axes = listed.or_else(|| {
        let tensor = body.initializer.iter().find(|t| Some(&t.name) == sum.input.get(1))?;
        let raw: Option<[u8; 8]> = tensor.raw_data().try_into().ok();
        Some(raw.map_or_else(|| tensor.int64_data.clone(), |raw| vec![i64::from_le_bytes(raw)]))
    });
    let keeps = sum.attribute.iter().any(|a| a.name == "keepdims" && a.i != Some(0))
        || !sum.attribute.iter().any(|a| a.name == "keepdims");
    if sum.op_type != "ReduceSumSquare" || keeps || axes.as_deref() != Some(&[1]) {
        return false;
    }
    let Some(Ok(difference)) = sum.input.first().map(|name| source(body, name)) else {
        return false;
    };
    let ends: Vec<_> = difference.input.iter().map(|name| source(body, name)).collect();
    let (a, b) = (Err(rows.name.as_str()), Err(row.name.as_str()));
    difference.op_type == "Sub" && (ends == [a, b] || ends == [b, a])
}

fn read_scan(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let scanned = r.int_or("num_scan_inputs", 1);
    let plain =
        ["scan_input_axes", "scan_input_directions", "scan_output_axes", "scan_output_directions"];
    let plain = plain.map(|name| r.ints(name).unwrap_or_default()).concat();
    let body = r.graph("body");
    if scanned != 1 || plain.iter().any(|v| *v != 0) || !body.is_some_and(is_squared_distance) {
        return Err(OpError::unsupported("a loop other than distances between rows", "Scan"));
    }
    let [x, others] = r.take()?;
    for id in [x, others] {
        if r.fact(id).dtype != DType::Float {
            return Err(OpError::DType { want: DType::Float, got: r.fact(id).dtype });
        }
    }
    let distances = squared_distances(&mut r.b, x, others)?;
    let across = r.b.transpose(distances, &[1, 0])?;
    Ok(vec![x, across])
}

/// Distances between rows, as ONNX Runtime has them in one operator.
fn read_distances(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let [x, others] = r.take()?;
    let squares = squared_distances(&mut r.b, x, others)?;
    Ok(vec![match r.string_or("metric", "sqeuclidean").as_str() {
        "sqeuclidean" => squares,
        "euclidean" => r.b.push(Unary(&SQRT), &[squares])?,
        other => return Err(OpError::unsupported("metric", other)),
    }])
}

fn scan_samples() -> Vec<Sample> {
    use taste_onnx::{ElemType, builders};
    let port = |name: &str| builders::value_info(name, ElemType::F64, &[]);
    let node = |op: &str, args: &[&str], out: &str| builders::node(op, args, &[out], out);
    let mut sum = node("ReduceSumSquare", &["apart", "axes"], "out");
    sum.attribute = vec![builders::attr_int("keepdims", 0)];
    let body = GraphProto {
        name: "body".to_owned(),
        input: vec![port("rows"), port("row")],
        output: vec![port("next"), port("out")],
        node: vec![
            node("Identity", &["rows"], "next"),
            node("Sub", &["rows", "row"], "apart"),
            sum,
        ],
        initializer: vec![builders::tensor_i64("axes", &[1], &[1])],
        ..GraphProto::default()
    };
    vec![
        Sample::new("squared distances")
            .active(&[2, 3])
            .fixed(&[4, 3])
            .int("num_scan_inputs", 1)
            .attribute(builders::attr_graph("body", body))
            .results(2)
            .batched(),
    ]
}

fn distance_samples() -> Vec<Sample> {
    let of = |metric: &str| {
        Sample::new(metric).active(&[2, 3]).fixed(&[4, 3]).string("metric", metric).batched()
    };
    vec![of("sqeuclidean"), of("euclidean")]
}

pub(crate) const ENTRIES: &[Entry] = &[
    Entry::new("Scan", read_scan, scan_samples),
    Entry {
        name: "CDist",
        domain: "com.microsoft",
        read: read_distances,
        samples: distance_samples,
    },
];
