//! `MVTec` AD: where the maps of the paper, and evidence maps, see the defects of products.

use std::path::PathBuf;

use ndarray::Axis;
use serde::{Deserialize, Serialize};
use taste_choice::Choice;
use taste_engine::{Model, Request};
use taste_stats::{beta_binomial, quantile::Quantile};

use super::{
    pictures::{Category, Located, Way, categories, columns, detector, maps, measure},
    published::{self, OfImageNet},
};
use crate::{Cell, Error, Experiment, Page, Run, Table, Verdict, Wanted};

pub(super) const EXPERIMENT: Experiment = Experiment {
    choice: Choice {
        name: "mvtec",
        usage: "mvtec",
        about: "maps of defects in pictures of products: the paper's residuals, and evidence maps, against masks",
    },
    section: "6.4, appendix",
    data: &[Wanted::needed("mvtec", "folders of MVTec AD, one for each category")],
    models: &[
        published::RESNET50,
        Wanted::optional(MODEL, "a classifier of ImageNet, where there is no ResNet-50"),
        published::DDPM_256,
    ],
    run,
};

const MODEL: &str = "efficientnet_lite0.onnx";
/// Categories that are textures; the others are objects.
const TEXTURES: [&str; 5] = ["carpet", "grid", "leather", "tile", "wood"];
/// The share of pixels of good pictures that a threshold for looking leaves above it.
const LOOKED_AT: f64 = 0.01;
/// The false-alarm rate of outlines.
const ALPHA: f64 = 0.1;

/// The score of photographs in general, where the paper's diffusion model is not there.
const GENERIC: &str = "dct:generic";
const DRIFT: &[(&str, &str)] = &[
    ("score-model", "dct:generic"),
    ("target", "logit"),
    ("operator", "no-laplacian"),
    ("baseline", "none"),
];
const FITTED: &[(&str, &str)] = &[
    ("score-model", "dct"),
    ("target", "logit"),
    ("operator", "no-laplacian"),
    ("baseline", "none"),
];
const F: &str = "evidence map (F)";
const Z: &str = "evidence map, zero-shot (Z+)";
const B: &str = "evidence map of a batch (B)";

fn ways(run: &Run<'_>) -> Vec<Way> {
    let score = match diffusion(run) {
        Some(folder) => format!("ddpm:{},t=50", folder.display()),
        None => GENERIC.to_owned(),
    };
    // Pixels go from 0 to 1 here, and from −1 to 1 for the diffusion model.
    let mut paper = vec![("score-model", score.as_str())];
    paper.extend((score != GENERIC).then_some(("score-input", "2,-1")));
    paper.extend([("target", "prob"), ("baseline", "none"), ("laplacian-method", "probe:2")]);
    vec![
        Way::new("residual, as in the paper", "stein", &paper, 0.0),
        Way::new("residual, smoothed", "stein", &paper, 4.0),
        Way::new("logit drift, generic dct", "stein", DRIFT, 4.0),
        Way::new("logit drift, fitted dct", "stein", FITTED, 4.0),
        Way::new(Z, "evidence-map:zero-shot", &[], 0.0),
        Way::new(F, "evidence-map", &[], 0.0),
        Way::new(B, "evidence-map:batch", &[], 0.0),
    ]
}

/// The paper's diffusion model, where there is its classifier too, which takes pictures of the same size. It takes minutes
/// for a picture, so for the full run alone.
fn diffusion(run: &Run<'_>) -> Option<PathBuf> {
    run.model_if(published::RESNET50.path)?;
    run.model_if(published::DDPM_256.path).filter(|_| run.pick(true, false, true))
}

/// What a way gave on a category.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Found {
    located: Located,
    /// The upper 1 % of the pixels of good training pictures.
    threshold: f64,
    /// The places of the pictures that are shown, and their maps row by row.
    shown: Vec<(usize, Vec<f32>)>,
    size: (usize, usize),
    fitted: usize,
}

/// A re-split of the good pictures: how many of the test pictures have an outline.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Outlined {
    calibrated: usize,
    good: (usize, usize),
    defective: (usize, usize),
}

fn run(run: &Run<'_>) -> Result<Page, Error> {
    let OfImageNet { model, name: origin, digest } = OfImageNet::open(run, MODEL)?;
    let ways = ways(run);
    let score = diffusion(run).map(|folder| published::digest(&folder)).transpose()?;
    let networks = (digest, score);
    let shape = model.draft(&Request::default())?.sample_shape();
    let folders = categories(&run.data_path("mvtec")?)?;
    let splits = run.pick(8, 2, 1);
    run.plan(folders.len() * (ways.len() + splits));
    let mut all: Vec<(String, Vec<Found>, Vec<Outlined>, Category)> = Vec::new();
    for folder in folders {
        let name =
            folder.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        let category = Category::open(&folder, &shape, run.pick(usize::MAX, 12, 6))?;
        let mut found = Vec::new();
        for way in &ways {
            let step = format!("{name}: {}", way.name);
            let facts = (way.facts(), category.facts(), &networks);
            found.push(run.step(&step, &facts, || of_way(run, &model, way, &category))?);
        }
        let mut outlined = Vec::new();
        for seed in 0..splits as u64 {
            let step = format!("{name}: split {seed}");
            let facts = (ALPHA, category.facts(), &networks);
            let outlines = || outlines(run, &model, &ways[5], &category, seed);
            outlined.push(run.step(&step, &facts, outlines)?);
        }
        all.push((name, found, outlined, category));
    }
    let mut page = Page::new(run, "Defects of products: maps against masks");
    page.lead(
        "Pictures of MVTec AD, a classifier of ImageNet, and maps of where a picture differs. The paper's map is the \
         absolute value of the per-pixel residual of the predicted class, summed over channels. Evidence maps are ours: \
         F holds every place against good pictures, Z+ against the picture itself, B against the unlabelled pictures \
         that are scored (transductive). Maps are compared with masks at the size of the masks; the score of a picture \
         is the largest value of its map.",
    );
    for (name, found, outlined, category) in &all {
        of_category(&mut page, &ways, name, (found, outlined), category)?;
    }
    means(&mut page, run, &ways, &all);
    claims(&mut page, &all);
    page.fact("categories", all.iter().map(|a| a.0.clone()).collect::<Vec<_>>().join(", "));
    for (name, found, _, category) in &all {
        page.fact(
            format!("{name}: pictures"),
            format!(
                "{} good for training, of which F fits its densities to {}; {} for the test",
                category.train.shape()[0],
                found[5].fitted,
                category.test.of.len()
            ),
        );
    }
    page.fact("model", format!("{origin}, input {shape:?}; pictures are resized to that"));
    Ok(page)
}

fn of_way(run: &Run<'_>, model: &Model, way: &Way, category: &Category) -> Result<Found, Error> {
    let test = &category.test;
    let learns_from = if way.name == B { &test.values } else { &category.train };
    let detector = detector(run, model, way, learns_from, run.seed_value())?;
    let (of_test, _) = maps(run, way, &detector, &test.values)?;
    let few = category.train.shape()[0].min(run.pick(24, 8, 4));
    let some = category.train.slice_axis(Axis(0), ndarray::Slice::from(..few)).to_owned();
    let (of_good, _) = maps(run, way, &detector, &some)?;
    let pixels: Vec<f64> = of_good.iter().flatten().map(|&v| f64::from(v)).collect();
    let threshold = Quantile::Linear.of(&pixels, 1.0 - LOOKED_AT).unwrap_or(f64::INFINITY);
    let shown = test.one_of_each().into_iter().map(|i| (i, of_test[i].iter().copied().collect()));
    Ok(Found {
        located: measure(&of_test, &test.of)?,
        threshold,
        shown: shown.collect(),
        size: of_test[0].dim(),
        fitted: detector.manifest().data.fitted,
    })
}

/// F with another division of the good pictures.
fn outlines(
    run: &Run<'_>,
    model: &Model,
    way: &Way,
    category: &Category,
    seed: u64,
) -> Result<Outlined, Error> {
    let detector = detector(run, model, way, &category.train, run.seed_value() + seed + 1)?;
    let (_, flags) = maps(run, way, &detector, &category.test.values)?;
    let share = |good: bool| {
        let of = category.test.of.iter().zip(&flags).filter(|(p, _)| p.mask.is_none() == good);
        let flags: Vec<bool> = of.map(|(_, flag)| *flag).collect();
        (flags.iter().filter(|f| **f).count(), flags.len())
    };
    let calibrated = detector.calibration().len();
    Ok(Outlined { calibrated, good: share(true), defective: share(false) })
}

fn of_category(
    page: &mut Page,
    ways: &[Way],
    name: &str,
    (found, outlined): (&[Found], &[Outlined]),
    category: &Category,
) -> Result<(), Error> {
    page.heading(name);
    let head = std::iter::once("map").chain(columns());
    let caption = format!(
        "Pixels and pictures of {name}. AUPRO is the mean overlap with marked regions, up to a share of .3 of wrongly \
         found pixels; columns with FPR ≤ .3 are cut there as well and divided by it."
    );
    let mut table = Table::new(name, caption, head);
    for (way, found) in ways.iter().zip(found) {
        table.row(std::iter::once(Cell::from(way.name.as_str())).chain(found.located.cells()));
    }
    page.table(table);
    for (place, short) in [(1, "paper"), (5, "evidence")] {
        let found = &found[place];
        let title = format!("{name}: {}", ways[place].name);
        let figure = category.test.panels(&found.shown, found.size, found.threshold, &title)?;
        page.figure(
            format!("{name}-{short}"),
            &figure,
            "The first picture of every kind, its map, what lies above the upper 1 % of the pixels of good training \
             pictures, and the mask.",
        )?;
    }
    let head = ["split", "calibrated on", "good outlined", "of", "defective outlined", "of"];
    let caption = format!(
        "How many pictures of {name} have an outline at the conformal threshold of the largest value of the map (F, \
         alpha {ALPHA}), for divisions of the good training pictures by different seeds; densities, tails and threshold \
         are of different pictures."
    );
    let mut table = Table::new(format!("{name}-outlines"), caption, head);
    for (i, o) in outlined.iter().enumerate() {
        let counts = [i + 1, o.calibrated, o.good.0, o.good.1, o.defective.0, o.defective.1];
        table.row(counts.map(Cell::from));
    }
    page.table(table);
    Ok(())
}

/// Means over textures, objects and all.
fn means(
    page: &mut Page,
    run: &Run<'_>,
    ways: &[Way],
    all: &[(String, Vec<Found>, Vec<Outlined>, Category)],
) {
    let is_texture = |name: &str| TEXTURES.contains(&name);
    let groups = [("textures", Some(true)), ("objects", Some(false)), ("all", None)];
    page.heading("Means over categories");
    let head = ["map", "categories", "number"].into_iter().chain(columns());
    let mut table = Table::new("means", "Means over the categories that were there.", head);
    for (place, way) in ways.iter().enumerate() {
        for (group, wanted) in groups {
            let of: Vec<Located> = all
                .iter()
                .filter(|a| wanted.is_none_or(|w| is_texture(&a.0) == w))
                .map(|a| a.1[place].located)
                .collect();
            if !of.is_empty() {
                let first =
                    [Cell::from(way.name.as_str()), Cell::from(group), Cell::from(of.len())];
                table.row(first.into_iter().chain(Located::mean(&of).cells()));
            }
        }
    }
    page.table(table);
    let mean =
        |place: usize| Located::mean(&all.iter().map(|a| a.1[place].located).collect::<Vec<_>>());
    let paper = mean(0);
    let classifier = if run.model_if(published::RESNET50.path).is_some() {
        "its classifier"
    } else {
        "another classifier"
    };
    let score = if diffusion(run).is_some() {
        "its diffusion model of faces"
    } else {
        "the score is that of photographs in general (dct:generic) in place of a diffusion model of faces"
    };
    let why = format!(
        "{} of 15 categories; {classifier}; {score}; coordinates by the chain rule",
        all.len()
    );
    page.beside("image AUROC", 0.6527, paper.image_auroc, &why);
    page.beside("image AP", 0.817, paper.image_precision, &why);
    page.beside("pixel AUROC", 0.6977, paper.pixel_auroc, &why);
    page.beside("AUPRO", 0.688, paper.overlap, &why);
}

fn claims(page: &mut Page, all: &[(String, Vec<Found>, Vec<Outlined>, Category)]) {
    let mean =
        |place: usize| Located::mean(&all.iter().map(|a| a.1[place].located).collect::<Vec<_>>());
    let said = |l: &Located| {
        format!(
            "pixel AUROC {:.3}, AUPRO {:.3}, image AUROC {:.3}",
            l.pixel_auroc, l.overlap, l.image_auroc
        )
    };
    let reaches = |l: &Located, [pixel, overlap, image]: [f64; 3]| {
        Verdict::of(l.pixel_auroc >= pixel && l.overlap >= overlap && l.image_auroc >= image)
    };
    let paper = mean(0);
    let words = "The paper's maps tell defects from the rest: pixel AUROC and AUPRO above .6 (paper: .70 and .69)";
    page.claim(words, Verdict::of(paper.pixel_auroc > 0.6 && paper.overlap > 0.6), said(&paper));
    let words = "F: pixel AUROC at least .98, AUPRO .93, image AUROC .97";
    page.claim(words, reaches(&mean(5), [0.98, 0.93, 0.97]), said(&mean(5)));
    let words = "Z+, which needs no picture of the product: at least .95, .92, .92";
    page.claim(words, reaches(&mean(4), [0.95, 0.92, 0.92]), said(&mean(4)));
    let splits: Vec<&Outlined> = all.iter().flat_map(|a| &a.2).collect();
    let within = |o: &Outlined| {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank")]
        let rank = (ALPHA * (o.calibrated as f64 + 1.0) + 1e-9).floor() as usize;
        let (a, b) = (rank as f64, (o.calibrated + 1 - rank) as f64);
        let (_, high) = beta_binomial::band(o.good.1, a, b, 0.05);
        o.good.0 <= high
    };
    let held = splits.iter().filter(|o| within(o)).count();
    let share = |of: fn(&Outlined) -> (usize, usize)| {
        let (some, every) = splits.iter().fold((0, 0), |s, o| (s.0 + of(o).0, s.1 + of(o).1));
        some as f64 / every.max(1) as f64
    };
    page.claim(
        format!("At most {ALPHA} of good pictures have an outline, within the conformal band of every re-split"),
        Verdict::of(held == splits.len()),
        format!(
            "{:.3} of good ones and {:.3} of defective ones over {} splits; {held} within the 95 % band",
            share(|o| o.good),
            share(|o| o.defective),
            splits.len()
        ),
    );
}
