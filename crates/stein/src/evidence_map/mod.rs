//! The method `evidence-map`: where a picture differs from good ones. At the pixels and at two cuts of the network every
//! place is held against one density for all places; what each says becomes evidence, as in the method `taste`, and the
//! evidence adds up to a map. The score of a picture is the largest value of its map.

mod grid;
mod own;
mod pixels;
mod planes;
mod shared;

use std::sync::Arc;

use serde_json::json;
use taste_choice::{Arguments, Choice, Entry};
use taste_detector::{
    About, Family, Finding, Job, Level, Map, Method, Named, Needs, Part, Role, Split, Statistic,
    Step, finding,
    passes::{Gather, Watch},
};
use taste_graph::{Dim, Id};
use taste_ops::functions;

use crate::{
    Error,
    fields::{Layout, photographs},
};
use pixels::Pixels;

/// The entry of the table of methods.
pub const FAMILY: &dyn Family = &EvidenceMap { kind: Kind::Good };

const CHOICE: Choice = Choice {
    name: "evidence-map",
    usage: "evidence-map[:zero-shot|batch]",
    about: "where a picture differs from good ones: evidence of pixels and of two layers of features, added up place by \
            place; the score is the largest value of the map. zero-shot: from the picture's own places; batch: from a \
            batch in which most is good",
};

const RANGE: &str = "range";

/// What a picture is held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Good pictures.
    Good,
    /// Its own places.
    ZeroShot,
    /// All pictures of a batch, without the places that are furthest out.
    Batch,
}

impl Kind {
    /// The pictures that densities are fitted to, and those that tails are read from.
    fn splits(self) -> [Split; 2] {
        match self {
            Self::Good => [Split::Fit, Split::Tails],
            Self::ZeroShot | Self::Batch => [Split::All, Split::All],
        }
    }

    fn word(self) -> Option<&'static str> {
        match self {
            Self::Good => None,
            Self::ZeroShot => Some("zero-shot"),
            Self::Batch => Some("batch"),
        }
    }
}

/// Evidence, place by place.
#[derive(Clone, Copy, Debug)]
struct EvidenceMap {
    kind: Kind,
}

impl Entry for EvidenceMap {
    fn choice(&self) -> &Choice {
        &CHOICE
    }
}

impl Family for EvidenceMap {
    fn about(&self) -> About {
        About {
            paper: "this project",
            fit: "1 and a pass over held-out samples; 0 for zero-shot",
            score: "1",
        }
    }

    fn read(&self, arguments: &mut Arguments<'_>, _: &Named) -> Result<Arc<dyn Method>, Error> {
        let named = |kind: &Kind| kind.word().is_some_and(|word| arguments.flag(word));
        let kind = [Kind::ZeroShot, Kind::Batch].into_iter().find(named).unwrap_or(self.kind);
        Ok(Arc::new(Self { kind }))
    }
}

impl Method for EvidenceMap {
    fn name(&self) -> &str {
        CHOICE.name
    }

    fn written(&self) -> String {
        match self.kind.word() {
            Some(word) => format!("{}:{word}", CHOICE.name),
            None => CHOICE.name.to_owned(),
        }
    }

    fn needs(&self) -> Needs {
        let learns = self.kind == Kind::Good;
        Needs { learns, tails: learns, images: true, ..Needs::default() }
    }

    fn begin(&self, job: &mut Job<'_>) -> Result<Step, Error> {
        let kind = self.kind;
        let shape = job.draft.sample_shape();
        let layout = Layout::of(&shape)?;
        if let Some(range) = photographs::known_range(&layout, job.data) {
            return with_pixels(job, kind, &Pixels::new(layout, &shape, range));
        }
        let watches = vec![Watch::input(RANGE, Gather::Range)];
        Ok(Step::pass("training samples", kind.splits()[0], watches, move |job, seen| {
            let range = photographs::pixel_range(&layout, job.data, seen.range(RANGE)?)?;
            with_pixels(job, kind, &Pixels::new(layout, &shape, range))
        }))
    }
}

fn with_pixels(job: &mut Job<'_>, kind: Kind, pixels: &Pixels) -> Result<Step, Error> {
    match kind {
        Kind::ZeroShot => own_places(job, pixels),
        Kind::Good | Kind::Batch => shared::fit(job, kind, pixels),
    }
}

/// Every place against the picture's own.
fn own_places(job: &mut Job<'_>, pixels: &Pixels) -> Result<Step, Error> {
    let (x, rows, grid) = (job.draft.input(), job.draft.rows(), pixels.grid());
    let [height, width] = grid.size();
    let mut b = job.draft.build();
    let texture = pixels.build(&mut b, x, true)?;
    let channels = b.fact(texture.values).shape[1];
    let places = Dim::from(grid.places());
    let values = b.reshape(texture.values, &[rows, channels, places])?;
    let distance = own::distance(&mut b, values)?;
    let plane = b.reshape(distance, &[rows, 1.into(), height.into(), width.into()])?;
    let texture_term = grid.smooth(grid.size()).apply(&mut b, plane)?;
    let size = b.reshape(texture.size, &[rows, places])?;
    let size_term = own::from_median(&mut b, size)?;
    let mut terms = Vec::new();
    for term in [texture_term, size_term] {
        terms.push(b.reshape(term, &[rows, places, 1.into()])?);
    }
    let named = [
        Term::new("texture", "a place is unlike the other places of the picture"),
        Term::new(
            "size",
            "a place is far more or less like photographs than the rest of the picture",
        ),
    ];
    let mut statistic = statistic(job, pixels, &terms, &named)?;
    statistic.facts["kind"] = json!("zero-shot");
    Ok(statistic.into())
}

/// A term of the evidence.
#[derive(Clone, Debug)]
struct Term {
    name: String,
    about: String,
}

impl Term {
    fn new(name: &str, about: &str) -> Self {
        Self { name: name.to_owned(), about: about.to_owned() }
    }
}

/// The score, its terms and the map, of terms at every place (each N × P × 1).
fn statistic(
    job: &mut Job<'_>,
    pixels: &Pixels,
    terms: &[Id],
    named: &[Term],
) -> Result<Statistic, Error> {
    let (rows, grid) = (job.draft.rows(), pixels.grid());
    let [height, width] = grid.size().map(Dim::from);
    let each = Dim::from(named.len());
    let mut b = job.draft.build();
    let mut planes = Vec::new();
    for &term in terms {
        planes.push(b.reshape(term, &[rows, 1.into(), height, width])?);
    }
    let planes = functions::concat(&mut b, &planes, 1)?;
    let spread = grid.spread().apply(&mut b, planes)?;
    let map = b.sum(spread, &[1])?;
    let (flat, evidence) = {
        let pixels = Dim::from(grid.image.iter().product::<usize>());
        (b.reshape(map, &[rows, pixels])?, b.reshape(spread, &[rows, each, pixels])?)
    };
    let largest = functions::first_max(&mut b, flat, 1)?;
    let shape = [rows, b.fact(flat).shape[1], 1.into()];
    let largest = b.reshape(largest, &shape)?;
    let evidence = functions::matmul(&mut b, evidence, largest)?;
    let evidence = b.reshape(evidence, &[rows, each])?;
    let score = b.sum(evidence, &[1])?;
    let mut statistic = Statistic::new(b.reshape(score, &[rows])?);
    let id = pixels.as_sample(&mut b, map)?;
    statistic.map = Some(Map { id, means: Vec::new(), deviations: Vec::new(), one_sided: true });
    statistic.parts.push(Part {
        name: "evidence".to_owned(),
        id: evidence,
        columns: named.iter().map(|t| t.name.clone()).collect(),
        role: Role::Evidence,
        baseline: None,
    });
    statistic.facts = json!({
        "evidence": named.iter().map(|t| json!({ "name": t.name, "about": t.about })).collect::<Vec<_>>(),
        "places": grid.size(),
        "smoothing": grid.step,
        "score_model": "dct:generic",
    });
    Ok(statistic)
}

/// What is worth saying of the pictures that densities were fitted to.
fn few_pictures(fitted: usize) -> Option<Finding> {
    const ENOUGH: usize = 40;
    (fitted < ENOUGH).then(|| {
        finding(
            "pictures",
            Level::Note,
            fitted as f64,
            format!(
                "The densities come from {fitted} pictures; from {ENOUGH} on they are known to be of use. With fewer, \
                 compare evidence-map:zero-shot, which needs none."
            ),
        )
    })
}
