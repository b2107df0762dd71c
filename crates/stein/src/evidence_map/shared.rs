//! Densities that all places share, learnt from pictures: at the pixels and at two cuts of the network.

use ndarray::{Array2, ArrayView2, Axis};
use serde_json::json;
use taste_detector::{
    Job, Level, Step, finding,
    passes::{Drawn, Gather, Gathered, Watch},
};
use taste_engine::Planes as Tensor;
use taste_graph::{Build, Dim, Id, OpError};
use taste_ops::functions;
use taste_stats::quantile::Quantile;

use super::{Kind, Term, few_pictures, pixels::Pixels, planes::Planes, statistic};
use crate::{
    Error,
    evidence::{curve::Curve, density::ClassGaussian},
    refused,
};

/// Numbers that are kept at each cut of the pictures that densities are fitted to.
const KEPT: usize = 1 << 24;
/// Numbers that are kept of the pictures that tails are read from.
const TAILS: usize = 1 << 23;
/// The share of the places of a batch, those furthest out, that densities are fitted without.
const LEFT_OUT: f64 = 0.1;
/// What the sizes of cuts are nearest to, as shares of the picture.
const SHARES: [f64; 2] = [8.0, 16.0];
/// Places along the shorter side that a cut has at least.
const LEAST_SIDE: usize = 4;

const TAIL_VALUES: &str = "values at every place";

/// A layer of values at places.
#[derive(Clone, Debug)]
struct Cut {
    term: Term,
    /// The tensor, its channels and its size.
    facts: serde_json::Value,
    /// N × P × C.
    values: Id,
    size: [usize; 2],
    channels: usize,
}

/// Densities at every cut, then their tails.
pub(super) fn fit(job: &mut Job<'_>, kind: Kind, pixels: &Pixels) -> Result<Step, Error> {
    let cuts = cuts(job, pixels)?;
    let seed = job.settings.seed;
    let watch = |cut: &Cut| {
        let width = cut.size[0] * cut.size[1] * cut.channels;
        Watch::value(&cut.term.name, cut.values, Gather::rows(KEPT, width, seed))
    };
    let watches = cuts.iter().map(watch).collect();
    let pixels = pixels.clone();
    Ok(Step::pass("training samples", kind.splits()[0], watches, move |job, seen| {
        let mut densities = Vec::new();
        for cut in &cuts {
            densities.push(density(kind, cut, seen.rows(&cut.term.name)?)?);
        }
        tails(job, kind, pixels, cuts, &densities, seen.used())
    }))
}

/// The pixels, and the last tensors of about an eighth and a sixteenth of the picture's size.
fn cuts(job: &mut Job<'_>, pixels: &Pixels) -> Result<Vec<Cut>, Error> {
    let (x, grid) = (job.draft.input(), pixels.grid());
    let tensors = nearest(job.draft.planes(), grid.image);
    let mut b = job.draft.build();
    let texture = pixels.build(&mut b, x, false)?;
    let mut found = vec![Cut {
        term: Term::new("pixels", "the texture of a place is unusual"),
        facts: json!({ "tensor": "pixels", "width": b.fact(texture.values).shape[1].at(1), "places": grid.size() }),
        values: places(&mut b, texture.values)?,
        size: grid.size(),
        channels: b.fact(texture.values).shape[1].at(1),
    }];
    let names = ["fine", "coarse"];
    for (tensor, name) in tensors.into_iter().zip(names) {
        let near = Planes::neighbours(tensor.size).apply(&mut b, tensor.id)?;
        found.push(Cut {
            term: Term::new(name, &format!("the {name} features of a place are unusual")),
            facts: json!({ "tensor": tensor.name, "width": tensor.channels, "places": tensor.size }),
            values: places(&mut b, near)?,
            size: tensor.size,
            channels: tensor.channels,
        });
    }
    Ok(found)
}

/// The tensors whose sizes are nearest to what is looked for, the finer one first.
fn nearest(mut tensors: Vec<Tensor>, image: [usize; 2]) -> Vec<Tensor> {
    tensors.retain(|t| t.size[0].min(t.size[1]) >= LEAST_SIDE && t.size[0] < image[0]);
    let mut found: Vec<Tensor> = Vec::new();
    for share in SHARES {
        let off = |t: &Tensor| (image[0] as f64 / t.size[0] as f64 / share).ln().abs();
        let free = tensors.iter().filter(|t| !found.contains(t));
        found.extend(free.min_by(|a, b| off(a).total_cmp(&off(b))).cloned());
    }
    found.sort_by_key(|t| std::cmp::Reverse(t.size[0]));
    found
}

/// Planes (N × C × h × w) with a row for every place: N × P × C.
fn places(b: &mut Build<'_>, planes: Id) -> Result<Id, OpError> {
    let [rows, channels, height, width] = [0, 1, 2, 3].map(|axis| b.fact(planes).shape[axis]);
    let flat = b.reshape(planes, &[rows, channels, Dim::from(height.at(1) * width.at(1))])?;
    b.transpose(flat, &[0, 2, 1])
}

/// One Gaussian for the places of all pictures; of a batch, without those that are furthest out.
fn density(kind: Kind, cut: &Cut, drawn: &Drawn) -> Result<ClassGaussian, Error> {
    let count = drawn.values.len() / cut.channels.max(1);
    let rows = ArrayView2::from_shape(
        (count, cut.channels),
        drawn.values.as_slice().ok_or_else(|| refused("rows that are not in order"))?,
    )
    .map_err(|e| refused(e.to_string()))?
    .mapv(f64::from);
    let whole = ClassGaussian::fit(&rows, None)?;
    if kind == Kind::Good {
        return Ok(whole);
    }
    let squares = whole.squares(&rows);
    let limit = Quantile::Linear.of(&squares, 1.0 - LEFT_OUT).unwrap_or(f64::INFINITY);
    let near: Vec<usize> = (0..count).filter(|&i| squares[i] <= limit).collect();
    ClassGaussian::fit(&rows.select(Axis(0), &near), None)
}

/// Adds how far out every place is, and looks at held-out pictures.
fn tails(
    job: &mut Job<'_>,
    kind: Kind,
    pixels: Pixels,
    cuts: Vec<Cut>,
    densities: &[ClassGaussian],
    fitted: usize,
) -> Result<Step, Error> {
    let (rows, grid, seed) = (job.draft.rows(), pixels.grid(), job.settings.seed);
    let mut b = job.draft.build();
    let mut values = Vec::new();
    for (cut, density) in cuts.iter().zip(densities) {
        let off = density.score(&mut b, cut.values, None)?;
        let squared = functions::square_sum(&mut b, off, 2)?;
        let [height, width] = cut.size.map(Dim::from);
        let plane = b.reshape(squared, &[rows, 1.into(), height, width])?;
        let plane = functions::at_least(&mut b, plane, 1e-12)?;
        let log = functions::log(&mut b, plane)?;
        let half = b.scale(log, 0.5)?;
        let smooth = grid.smooth(cut.size).apply(&mut b, half)?;
        values.push(b.reshape(smooth, &[rows, Dim::from(grid.places()), 1.into()])?);
    }
    let all = functions::concat(&mut b, &values, 2)?;
    let gather = Gather::rows(TAILS, grid.places() * values.len(), seed);
    let watches = vec![Watch::value(TAIL_VALUES, all, gather)];
    let split = kind.splits()[1];
    Ok(Step::pass("samples for the tails", split, watches, move |job, seen| {
        finish(job, kind, &pixels, &cuts, &values, seen, fitted)
    }))
}

/// The evidence of every place, once tails are known.
fn finish(
    job: &mut Job<'_>,
    kind: Kind,
    pixels: &Pixels,
    cuts: &[Cut],
    values: &[Id],
    seen: &Gathered,
    fitted: usize,
) -> Result<Step, Error> {
    let drawn = &seen.rows(TAIL_VALUES)?.values;
    if drawn.is_empty() {
        return Err(refused(format!(
            "of the {} samples held out for the tails, none has finite values at every place",
            seen.taken()
        )));
    }
    let mut evidence = Vec::new();
    let mut tails = Vec::new();
    for (j, &value) in values.iter().enumerate() {
        let pooled = every(drawn, j, cuts.len());
        let curve = Curve::fit(&pooled);
        evidence.push(curve.build(&mut job.draft.build(), value)?);
        tails.push(curve.tail);
    }
    let named: Vec<Term> = cuts.iter().map(|c| c.term.clone()).collect();
    let mut statistic = statistic(job, pixels, &evidence, &named)?;
    statistic.facts["kind"] = json!(kind.word().unwrap_or("good pictures"));
    statistic.facts["cuts"] = cuts.iter().map(|c| c.facts.clone()).collect();
    for (fact, (q, m)) in
        statistic.facts["evidence"].as_array_mut().into_iter().flatten().zip(tails)
    {
        fact["q95"] = json!(q);
        fact["excess"] = json!(m);
    }
    statistic.findings.extend(few_pictures(fitted));
    if kind == Kind::Batch {
        statistic.findings.push(finding(
            "batch",
            Level::Note,
            fitted as f64,
            "The densities come from the batch itself. Unless calibration data are apart, it calibrates itself as well: \
             p-values rank its own pictures, alpha is the share of them that is flagged, and other pictures get none \
             that mean anything.",
        ));
    }
    if cuts.len() < 3 {
        statistic.findings.push(finding(
            "cuts",
            Level::Note,
            cuts.len() as f64 - 1.0,
            "The network has fewer than two layers of places that all of its answer goes through: the map is made of \
             the others and the pixels.",
        ));
    }
    Ok(statistic.into())
}

/// The values of one cut at all places of all pictures.
fn every(drawn: &Array2<f32>, cut: usize, cuts: usize) -> Vec<f64> {
    drawn.iter().skip(cut).step_by(cuts).map(|&v| f64::from(v)).collect()
}
