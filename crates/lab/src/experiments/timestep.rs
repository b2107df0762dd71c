//! Maps and detection against the diffusion time t.

use std::path::Path;

use ndarray::{ArrayD, Axis};
use serde::{Deserialize, Serialize};
use taste_choice::Choice;
use taste_data::{Dataset, Options, Samples as _};
use taste_engine::{Model, Request};
use taste_report::{Lines, Series};
use taste_stats::rank::spearman;

use super::{
    pictures::{Category, Located, Pictures, Way, categories, detector, maps, marked, measure},
    published::{self, OfImageNet},
};
use crate::{Cell, Error, Experiment, Page, Run, Table, Verdict, Wanted, error::refused};

pub(super) const EXPERIMENT: Experiment = Experiment {
    choice: Choice {
        name: "timestep",
        usage: "timestep",
        about: "maps of defects and detection of pictures against the diffusion time t of the score",
    },
    section: "appendix on the diffusion time step",
    data: &[
        Wanted::needed("mvtec", "folders of MVTec AD"),
        Wanted::needed(PHOTOGRAPHS, "photographs of CIFAR-10 in its binary format"),
    ],
    models: &[
        published::RESNET50,
        Wanted::optional(PRODUCTS, "a classifier of ImageNet, where there is no ResNet-50"),
        Wanted::needed(SMALL, "a classifier of CIFAR-10"),
        published::DDPM_32,
        Wanted::optional(
            DDPM,
            "a diffusion model of CIFAR-10, where that of the paper is not there",
        ),
    ],
    run,
};

const PHOTOGRAPHS: &str = "cifar10/test_batch.bin.gz";
const PRODUCTS: &str = "efficientnet_lite0.onnx";
const SMALL: &str = "cifar10_resnet20.onnx";
const DDPM: &str = "cifar10_ddpm_small.onnx";

/// Times, each with the deviation of its noise over the scale of the data, for pictures in −1..1.
const TIMES: [(u32, f64); 6] = [
    (1, 0.014_84),
    (10, 0.046_885),
    (25, 0.095_483),
    (50, 0.176_010),
    (100, 0.342_259),
    (200, 0.723_591),
];

/// One of the sets.
type Of = fn(&Found) -> &Located;

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Found {
    products: Located,
    photographs: Located,
}

fn run(run: &Run<'_>) -> Result<Page, Error> {
    let times = &TIMES[..run.pick(6, 6, 2)];
    let OfImageNet { model: products, name: origin, digest } = OfImageNet::open(run, PRODUCTS)?;
    let small = Model::open(&run.model_path(SMALL)?)?;
    let shape = products.draft(&Request::default())?.sample_shape();
    let folder = categories(&run.data_path("mvtec")?)?.swap_remove(0);
    let category = Category::open(&folder, &shape, run.pick(usize::MAX, 8, 6))?;
    let (train, test) = (run.pick(300, 120, 60), run.pick(40, 12, 4));
    let (fit, pictures) = photographs(run, &small, train, test)?;
    let ddpm = match run.model_if(published::DDPM_32.path) {
        Some(folder) => folder,
        None => run.model_path(DDPM)?,
    };
    let ddpm_digest = published::digest(&ddpm)?;
    run.plan(2 * times.len());
    let mut found = Vec::new();
    for &(t, deviation) in times {
        // Pixels go from 0 to 1 here.
        let generic = format!("dct:generic,noise={}", deviation / 2.0);
        let options = [
            ("score-model", generic.as_str()),
            ("target", "logit"),
            ("operator", "no-laplacian"),
            ("baseline", "none"),
        ];
        let way = Way::new(format!("products at t = {t}"), "stein", &options, 4.0);
        let facts = (way.facts(), category.facts(), &digest);
        let products = run.step(&way.name, &facts, || {
            one(run, &products, &way, &category.train, &category.test)
        })?;
        let field = format!("ddpm:{},t={t}", ddpm.display());
        let options = [
            ("score-model", field.as_str()),
            ("score-input", "2,-1"),
            ("target", "prob"),
            ("baseline", "none"),
        ];
        let way = Way::new(format!("photographs at t = {t}"), "stein", &options, 1.0);
        let facts = (t, train, test, &ddpm_digest);
        let photographs =
            run.step(&way.name, &facts, || one(run, &small, &way, &fit, &pictures))?;
        found.push(Found { products, photographs });
    }
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut page = page(run, times, &found, &name(&folder))?;
    page.fact("models", format!("{origin} and {SMALL}; {}", name(&ddpm)));
    Ok(page)
}

fn one(
    run: &Run<'_>,
    model: &Model,
    way: &Way,
    fit: &ArrayD<f32>,
    test: &Pictures,
) -> Result<Located, Error> {
    let detector = detector(run, model, way, fit, run.seed_value())?;
    let (found, _) = maps(run, way, &detector, &test.values)?;
    measure(&found, &test.of)
}

fn photographs(
    run: &Run<'_>,
    model: &Model,
    train: usize,
    test: usize,
) -> Result<(ArrayD<f32>, Pictures), Error> {
    let shape = model.draft(&Request::default())?.sample_shape();
    let options = Options { sample_shape: Some(shape), ..Options::default() };
    let data = Dataset::open(&run.data_path(PHOTOGRAPHS)?, &options)?;
    let first = data.chunks(train + test)?.next();
    let values = first.ok_or_else(|| refused("there are no photographs"))??.values;
    if values.shape()[0] < train + test {
        return Err(refused(format!(
            "{PHOTOGRAPHS}: {} photographs, and {} are the least",
            values.shape()[0],
            train + test
        )));
    }
    let part = |from: usize, to: usize| {
        values.slice_axis(Axis(0), ndarray::Slice::from(from..to)).to_owned()
    };
    Ok((part(0, train), marked(&part(train, train + test), run.seed_value())))
}

fn page(
    run: &Run<'_>,
    times: &[(u32, f64)],
    found: &[Found],
    category: &str,
) -> Result<Page, Error> {
    let mut page = Page::new(run, "The diffusion time");
    page.lead(format!(
        "The score of a diffusion model at time t is that of the data with noise. The paper looks at maps of defects \
         against t, and sees AUROC and AUPRO fall and average precision rise. Here twice: photographs of CIFAR-10 with \
         local defects, a diffusion model of that size and the paper's residual; and pictures of {category}, for which no \
         diffusion model of their size is at hand. There the score is that of photographs in general (dct:generic) with \
         the noise of time t, which is the same smoothing of another density, and the map is the drift of the predicted \
         class's logit.",
    ));
    let sets: [(&str, Of); 2] =
        [("photographs", |f| &f.photographs), ("products", |f| &f.products)];
    let mut table = Table::new(
        "times",
        "Metrics by time; AUPRO up to a share of .3 of wrongly found pixels and over all.",
        [
            "set",
            "t",
            "pixel AUROC",
            "FPR ≤ .3",
            "pixel AP",
            "FPR ≤ .3 ",
            "AUPRO",
            "AUPRO, whole",
            "image AUROC",
        ],
    );
    for (set, of) in sets {
        let located: Vec<(u32, &Located)> =
            times.iter().zip(found).map(|(time, f)| (time.0, of(f))).collect();
        for (t, l) in &located {
            let numbers = [
                l.pixel_auroc,
                l.pixel_auroc_truncated,
                l.pixel_precision,
                l.pixel_precision_truncated,
                l.overlap,
                l.overlap_whole,
                l.image_auroc,
            ];
            let first = [Cell::from(set), Cell::from(*t as usize)];
            table.row(first.into_iter().chain(numbers.map(|v| Cell::from((v, 3)))));
        }
        page.figure(set, &curves(set, &located), format!("Maps of {set}."))?;
        claims(&mut page, set, &located);
    }
    page.table(table);
    Ok(page)
}

/// The metrics of a set against the diffusion time.
fn curves(set: &str, located: &[(u32, &Located)]) -> Lines {
    let series = |name: &str, number: fn(&Located) -> f64| {
        let points = located.iter().map(|(t, l)| (f64::from(*t), number(l)));
        Series::new(name, points.collect::<Vec<_>>()).markers()
    };
    Lines::new(format!("{set}: metrics against the diffusion time"))
        .axes("t", "metric")
        .series(series("pixel AUROC", |l| l.pixel_auroc))
        .series(series("pixel AUROC, FPR ≤ .3", |l| l.pixel_auroc_truncated).dashed())
        .series(series("AUPRO (FPR ≤ .3)", |l| l.overlap))
        .series(series("pixel AP", |l| l.pixel_precision))
        .series(series("image AUROC", |l| l.image_auroc))
}

/// What the paper says of the metrics of a set.
fn claims(page: &mut Page, set: &str, located: &[(u32, &Located)]) {
    let times: Vec<f64> = located.iter().map(|l| f64::from(l.0)).collect();
    let trend = |number: fn(&Located) -> f64| {
        let numbers: Vec<f64> = located.iter().map(|l| number(l.1)).collect();
        spearman(&times, &numbers).unwrap_or(f64::NAN)
    };
    let (auroc, overlap) = (trend(|l| l.pixel_auroc), trend(|l| l.overlap));
    page.claim(
        format!("{set}: pixel AUROC and AUPRO fall with t"),
        Verdict::of(auroc <= -0.6 && overlap <= -0.6),
        format!("rank correlations with t {auroc:+.2} and {overlap:+.2}"),
    );
    let precision = trend(|l| l.pixel_precision);
    page.claim(
        format!("{set}: average precision rises with t"),
        Verdict::of(precision >= 0.6),
        format!("rank correlation with t {precision:+.2}"),
    );
}
