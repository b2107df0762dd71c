//! Maps of digits and of small photographs with local defects.

use std::path::Path;

use ndarray::{Array2, ArrayD, Axis};
use serde::{Deserialize, Serialize};
use taste_choice::Choice;
use taste_data::{Dataset, Options, Samples as _};
use taste_engine::{Model, Request};
use taste_stats::quantile::Quantile;

use super::pictures::{
    DEFECTS, Located, Picture, Pictures, Way, columns, detector, maps, marked, measure,
};
use crate::{Cell, Error, Experiment, Page, Run, Table, Verdict, Wanted, error::refused};

pub(super) const EXPERIMENT: Experiment = Experiment {
    choice: Choice {
        name: "maps",
        usage: "maps",
        about: "maps of digits and of photographs with local defects: the paper's residuals, and evidence maps",
    },
    section: "appendix on per-pixel heat maps",
    data: &[
        Wanted::needed(DIGITS, "digits"),
        Wanted::needed(PHOTOGRAPHS, "photographs of CIFAR-10 in its binary format"),
    ],
    models: &[
        Wanted::needed("mnist_cnn.onnx", "a classifier of digits"),
        Wanted::needed("cifar10_resnet20.onnx", "a classifier of CIFAR-10"),
    ],
    run,
};

const DIGITS: &str = "mnist/t10k-images-idx3-ubyte.gz";
const PHOTOGRAPHS: &str = "cifar10/test_batch.bin.gz";

const PAPER: &[(&str, &str)] = &[("score-model", "dct"), ("target", "prob"), ("baseline", "none")];

fn ways() -> Vec<Way> {
    vec![
        Way::new("residual, as in the paper", "stein", PAPER, 0.0),
        Way::new("residual, smoothed", "stein", PAPER, 1.0),
        Way::new("evidence map, zero-shot (Z+)", "evidence-map:zero-shot", &[], 0.0),
        Way::new("evidence map (F)", "evidence-map", &[], 0.0),
    ]
}

/// What a way gave on a set.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Found {
    /// All defects, then every kind against the good pictures.
    located: Vec<Located>,
    threshold: f64,
    shown: Vec<(usize, Vec<f32>)>,
    size: (usize, usize),
    /// The largest values of the maps of good pictures, and of the same moved by three pixels: medians.
    still: f64,
    moved: f64,
}

fn run(run: &Run<'_>) -> Result<Page, Error> {
    let sets = [
        ("digits", DIGITS, "mnist_cnn.onnx"),
        ("photographs", PHOTOGRAPHS, "cifar10_resnet20.onnx"),
    ];
    let (train, test) = (run.pick(1000, 400, 120), run.pick(100, 40, 8));
    run.plan(sets.len() * ways().len());
    let mut page = Page::new(run, "Maps of digits and of small photographs");
    page.lead(
        "Pictures of digits and of CIFAR-10 get a local defect, a square of a quarter of the side: noise, a hole, a piece \
         of another picture, more light, or less contrast. Which maps find the squares, and are they quiet on good \
         pictures, moved ones among them? The paper shows such maps without numbers.",
    );
    let mut all = Vec::new();
    for (name, path, model) in sets {
        let model = Model::open(&run.model_path(model)?)?;
        let shape = model.draft(&Request::default())?.sample_shape();
        let good = some(&run.data_path(path)?, &shape, train + test)?;
        let [fit, fresh] = [(0, train), (train, train + test)]
            .map(|(from, to)| good.slice_axis(Axis(0), ndarray::Slice::from(from..to)).to_owned());
        let pictures = marked(&fresh, run.seed_value());
        let mut found = Vec::new();
        for way in &ways() {
            let step = format!("{name}: {}", way.name);
            found.push(run.step(&step, &(way.facts(), train, test, path), || {
                of_way(run, &model, way, &fit, &pictures)
            })?);
        }
        of_set(&mut page, name, &found, &pictures)?;
        all.push((name, found));
    }
    claims(&mut page, &all);
    page.fact("pictures", format!("{train} good ones to learn from, {test} of each kind to judge"));
    page.fact("models", "mnist_cnn.onnx, cifar10_resnet20.onnx");
    Ok(page)
}

/// The first pictures of a file.
fn some(path: &Path, shape: &[usize], most: usize) -> Result<ArrayD<f32>, Error> {
    let options = Options { sample_shape: Some(shape.to_vec()), ..Options::default() };
    let data = Dataset::open(path, &options)?;
    let mut chunks = data.chunks(most)?;
    let first =
        chunks.next().ok_or_else(|| refused(format!("{}: no pictures", path.display())))??;
    if first.values.shape()[0] < most {
        return Err(refused(format!(
            "{}: {} pictures, and {most} are the least",
            path.display(),
            first.values.shape()[0]
        )));
    }
    Ok(first.values)
}

fn of_way(
    run: &Run<'_>,
    model: &Model,
    way: &Way,
    fit: &ArrayD<f32>,
    pictures: &Pictures,
) -> Result<Found, Error> {
    let detector = detector(run, model, way, fit, run.seed_value())?;
    let (found, _) = maps(run, way, &detector, &pictures.values)?;
    let few =
        fit.slice_axis(Axis(0), ndarray::Slice::from(..pictures.of.len().min(fit.shape()[0])));
    let (of_good, _) = maps(run, way, &detector, &few.to_owned())?;
    let pixels: Vec<f64> = of_good.iter().flatten().map(|&v| f64::from(v)).collect();
    let good = pictures.of.iter().filter(|p| p.mask.is_none()).count();
    let still = pictures.values.slice_axis(Axis(0), ndarray::Slice::from(..good)).to_owned();
    let (of_moved, _) = maps(run, way, &detector, &moved(&still))?;
    let mut located = vec![measure(&found, &pictures.of)?];
    for kind in DEFECTS {
        let at: Vec<usize> = (0..found.len())
            .filter(|&i| ["good", kind].contains(&pictures.of[i].kind.as_str()))
            .collect();
        let own: Vec<Array2<f32>> = at.iter().map(|&i| found[i].clone()).collect();
        let of: Vec<Picture> = at.iter().map(|&i| pictures.of[i].clone()).collect();
        located.push(measure(&own, &of)?);
    }
    let shown = pictures.one_of_each().into_iter().map(|i| (i, found[i].iter().copied().collect()));
    Ok(Found {
        located,
        threshold: Quantile::Linear.of(&pixels, 0.99).unwrap_or(f64::INFINITY),
        shown: shown.collect(),
        size: found[0].dim(),
        still: middle(&found[..good]),
        moved: middle(&of_moved),
    })
}

/// Pictures moved by three pixels to the right; what leaves comes in on the other side.
fn moved(pictures: &ArrayD<f32>) -> ArrayD<f32> {
    let width = pictures.shape()[3];
    let columns: Vec<usize> = (0..width).map(|c| (c + width - 3) % width).collect();
    pictures.select(Axis(3), &columns)
}

/// The median of the largest values of maps.
fn middle(maps: &[Array2<f32>]) -> f64 {
    let largest = |m: &Array2<f32>| m.iter().fold(f64::NEG_INFINITY, |a, v| a.max((*v).into()));
    let all: Vec<f64> = maps.iter().map(largest).collect();
    Quantile::Linear.of(&all, 0.5).unwrap_or(f64::NAN)
}

fn of_set(page: &mut Page, name: &str, found: &[Found], pictures: &Pictures) -> Result<(), Error> {
    page.heading(name);
    let head = std::iter::once("map").chain(columns());
    let caption = "All kinds of defects together.";
    let mut table = Table::new(name, caption, head);
    for (way, found) in ways().iter().zip(found) {
        table.row(std::iter::once(Cell::from(way.name.as_str())).chain(found.located[0].cells()));
    }
    page.table(table);
    let head = std::iter::once("map").chain(DEFECTS);
    let mut table = Table::new(format!("{name}-kinds"), "Pixel AUROC by kind of defect.", head);
    for (way, found) in ways().iter().zip(found) {
        let kinds = found.located[1..].iter().map(|l| Cell::from((l.pixel_auroc, 3)));
        table.row(std::iter::once(Cell::from(way.name.as_str())).chain(kinds));
    }
    page.table(table);
    for (place, short) in [(0, "paper"), (3, "evidence")] {
        let found = &found[place];
        let title = format!("{name}: {}", ways()[place].name);
        let figure = pictures.panels(&found.shown, found.size, found.threshold, &title)?.pixel(4);
        let caption = "A good picture and one with every kind of defect, the map, what lies above the upper 1 % of the \
                       pixels of good pictures, and the square.";
        page.figure(format!("{name}-{short}"), &figure, caption)?;
    }
    Ok(())
}

fn claims(page: &mut Page, all: &[(&str, Vec<Found>)]) {
    for (name, found) in all {
        let (paper, evidence) = (&found[0], &found[3]);
        let ratio = paper.moved / paper.still;
        page.claim(
            format!("{name}: a good picture that is moved by three pixels gives no larger signal (the paper's map)"),
            Verdict::of(ratio < 1.25),
            format!("the median of the largest value is {ratio:.2} times that of pictures as they are"),
        );
        let [a, b] = [paper, evidence].map(|f| f.located[0].pixel_auroc);
        page.claim(
            format!("{name}: evidence maps find local defects better than the paper's map"),
            Verdict::of(b > a),
            format!("pixel AUROC {b:.3} and {a:.3}"),
        );
    }
}
