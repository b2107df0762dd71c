//! Where a model can be cut, and which methods apply to it.

use serde::Serialize;
use taste_detector::Named;
use taste_engine::{Draft, Error, Model, Request};

use crate::table::Table;

/// A method at a place of the model.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Verdict {
    pub(crate) method: &'static str,
    /// The tensor that it looks at: `input`, or one of the model's.
    pub(crate) at: String,
    pub(crate) applies: bool,
    /// What it uses, or why it does not apply.
    pub(crate) why: String,
}

/// What the methods that derive and those that do not can make of a model.
pub(crate) fn methods(model: &Model, asked: &Request) -> Result<Vec<Verdict>, Error> {
    let mut draft = model.draft(asked)?;
    let mut found = Vec::new();
    let cuts = draft.cuts(None).unwrap_or_default();
    let listed: Vec<String> = cuts.iter().map(|c| format!("{} ({})", c.name, c.width)).collect();
    found.push(Verdict {
        method: "taste",
        at: "input".to_owned(),
        applies: true,
        why: if cuts.is_empty() {
            "by its answers and the samples alone, as no linear layer leads to the output"
                .to_owned()
        } else {
            format!("features {}", listed.join(", "))
        },
    });
    found.push(stein("input", draft.obstacle()?));
    for cut in &cuts {
        found.push(at_cut(&draft, &cut.name)?);
    }
    let shape = draft.sample_shape();
    let is_image = shape.len() == 3 || (shape.len() == 2 && shape.iter().all(|side| *side > 1));
    found.extend(others(listed.last(), is_image));
    Ok(found)
}

/// The methods of the field: they need an answer, or features.
fn others(features: Option<&String>, is_image: bool) -> Vec<Verdict> {
    let known: Vec<&str> = vec!["taste", "stein"];
    let names = taste_catalog::methods().into_iter().map(|family| family.choice().name);
    let of = |name: &'static str| {
        let needs = taste_catalog::method(name, &Named::new()).ok()?.needs();
        let why = match (needs.features, features) {
            (false, _) => "by its answers alone".to_owned(),
            (true, Some(features)) => format!("features {features}"),
            (true, None) => {
                "no linear layer leads to the output, so there are no features".to_owned()
            }
        };
        let applies = (!needs.features || features.is_some()) && (!needs.images || is_image);
        let why = match (needs.images, is_image) {
            (true, true) => "by pixels and layers of places".to_owned(),
            (true, false) => "its samples are no images".to_owned(),
            (false, _) => why,
        };
        Some(Verdict { method: name, at: "input".to_owned(), applies, why })
    };
    names.filter(|name| !known.contains(name)).filter_map(of).collect()
}

fn stein(at: &str, obstacle: Option<String>) -> Verdict {
    let applies = obstacle.is_none();
    Verdict { method: "stein", at: at.to_owned(), applies, why: obstacle.unwrap_or_default() }
}

fn at_cut(draft: &Draft, name: &str) -> Result<Verdict, Error> {
    let mut draft = draft.clone();
    let named = draft.value(name).map(|_| name);
    match draft.cut_at(named) {
        Ok(_) => Ok(stein(name, draft.obstacle()?)),
        Err(error) => Ok(stein(name, Some(error.to_string()))),
    }
}

pub(crate) fn render(methods: &[Verdict]) -> String {
    let mut table = Table::default();
    table.row(["method", "at", "applies", ""]);
    for m in methods {
        let applies = if m.applies { "yes" } else { "no" };
        table.row([m.method, m.at.as_str(), applies, m.why.as_str()]);
    }
    format!("\n{}", table.render(0))
}
