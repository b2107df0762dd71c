//! `taste bench`.

mod data;
mod plan;
mod sheet;
pub(crate) mod text;

use std::sync::Arc;

use anyhow::{Result, bail};
use taste_data::First;
use taste_detector::{Method, Named, Settings};
use taste_engine::Request;
use taste_zoo::{
    attacks::{self, Victim},
    benchmark::{Benchmark, Benchmarked, Folder, Made, Plan, attacked, corrupted},
    corruptions::recipes,
};

use crate::{args::BenchArgs, files, pages, print, print_json, progress::Bars, tell};
use data::Data;

pub(crate) fn run(args: &BenchArgs) -> Result<()> {
    let plan = plan::of(args)?;
    let quiet = args.run.quiet();
    let methods = methods(&plan)?;
    let data = Data::open(args, &plan)?;
    // What is wrong with files or labels is said before hours go into sets.
    data.open_sets(args, &plan, &[])?;
    let folder = args.out.as_deref().map(Folder::open).transpose()?;
    let made = made(args, &plan, &data, folder.as_ref())?;
    let found = judge(args, &plan, &data, &made, &methods, folder.as_ref())?;
    if let Some(folder) = &folder {
        sheet::write(&folder.path().join("table.csv"), &found)?;
        let json = serde_json::to_vec_pretty(&found)?;
        files::write(&folder.path().join("bench.json"), &json)?;
        pages::put(&folder.path().join("bench.html"), pages::bench(&found, data.id_path()))?;
    }
    if args.json {
        print_json(&found)?;
    } else {
        print(&text::render(&found))?;
    }
    if let (Some(folder), false) = (&folder, quiet) {
        for file in ["table.csv", "bench.json", "bench.html"] {
            tell(&format!("wrote {}", folder.path().join(file).display()));
        }
    }
    match (&found.methods[..], found.failed.first()) {
        ([], Some(first)) => bail!("no method could be fitted: {}: {}", first.method, first.reason),
        _ => Ok(()),
    }
}

/// The methods that are meant.
fn methods(plan: &Plan) -> Result<Vec<Arc<dyn Method>>> {
    let mut names: Vec<String> = Vec::new();
    for text in &plan.methods {
        match text.as_str() {
            "all" => {
                names.extend(taste_catalog::methods().iter().map(|m| m.choice().name.to_owned()));
            }
            other => names.push(other.to_owned()),
        }
    }
    names.iter().map(|name| Ok(taste_catalog::method(name, &Named::new())?)).collect()
}

/// Sets that are made of the clean samples.
fn made(args: &BenchArgs, plan: &Plan, data: &Data, folder: Option<&Folder>) -> Result<Vec<Made>> {
    let seed = plan.seed.unwrap_or(0);
    let corruptions = recipes(&plan.corruptions)?;
    let corruptions: Vec<_> = corruptions.into_iter().map(|r| r.with_seed(seed)).collect();
    let attacks = attacks::recipes(&plan.attacks)?;
    if corruptions.is_empty() && attacks.is_empty() {
        return Ok(Vec::new());
    }
    let Some(folder) = folder else {
        bail!("corrupted and attacked samples are kept in a folder: name one with --out");
    };
    let bars = Bars::new(args.run.quiet());
    let (path, options) = (data.id_path(), data.options());
    let mut made = corrupted(folder, path, options, &corruptions, plan.samples, &bars.progress())?;
    if attacks.is_empty() {
        return Ok(made);
    }
    let clean = data.to_attack()?;
    let [mean, std] = clean.normalisation;
    let victim = Victim::new(data.model(), &Request::default(), &args.run.engine()?)?;
    let victim = victim.with_normalisation(mean, std)?;
    let first = First::new(&clean.data, plan.samples.unwrap_or(usize::MAX));
    made.extend(attacked(
        folder,
        &victim,
        &first,
        &clean.bounds,
        (&attacks, seed),
        &clean.options,
        &bars.progress(),
    )?);
    Ok(made)
}

fn judge(
    args: &BenchArgs,
    plan: &Plan,
    data: &Data,
    made: &[Made],
    methods: &[Arc<dyn Method>],
    folder: Option<&Folder>,
) -> Result<Benchmarked> {
    let defaults = Settings::default();
    let settings = Settings {
        alpha: plan.alpha.unwrap_or(defaults.alpha),
        held_out: plan.held_out.unwrap_or(defaults.held_out),
        features: plan.features.clone(),
        seed: plan.seed.unwrap_or(0),
        batch: args.run.batch(),
        map: Some(false),
        ..defaults
    };
    let sets = data.open_sets(args, plan, made)?;
    let views = sets.views(plan.samples);
    let benchmark = Benchmark {
        model: data.model(),
        settings,
        engine: args.run.engine()?,
        reading: (data.options().clone(), data.holds_bytes()),
        train: data.train(),
        calibration: data.calibration(),
        id: views.id(),
        sets: views.shifted(),
    };
    let bars = Bars::new(args.run.quiet());
    let found = benchmark.run(methods, folder, &bars.progress())?;
    drop(bars);
    if !args.run.quiet() {
        for failed in &found.failed {
            tell(&format!("note: left out {}: {}", failed.method, failed.reason));
        }
    }
    Ok(found)
}
