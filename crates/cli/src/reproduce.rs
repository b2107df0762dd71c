//! `taste reproduce`.

use std::ops::ControlFlow;

use anyhow::{Result, bail};
use taste_lab::{
    EXPERIMENTS, Effort, Event, Experiment, Page, Run, experiment, reproduce, summarise,
};

use crate::{args::ReproduceArgs, duration, print, progress::Bars, table::Table, tell};

pub(crate) fn run(args: &ReproduceArgs) -> Result<()> {
    let chosen: Vec<&'static Experiment> = match args.experiment.as_str() {
        "all" => EXPERIMENTS.iter().collect(),
        name => vec![experiment(name)?],
    };
    for (flag, folder) in [("--data", &args.data), ("--models", &args.models)] {
        if let Some(folder) = folder.as_ref().filter(|folder| !folder.is_dir()) {
            bail!("{flag} {}: there is no such folder", folder.display());
        }
    }
    let quiet = args.engine.quiet;
    let bars = Bars::new(quiet);
    let watch = |event: Event<'_>| hear(&bars, quiet, event);
    let mut run = Run::new(&args.out)
        .seed(args.seed)
        .engine(args.engine.engine()?)
        .effort(effort(args))
        .watch(&watch);
    if let Some(folder) = &args.data {
        run = run.data(folder);
    }
    if let Some(folder) = &args.models {
        run = run.models(folder);
    }
    for experiment in chosen {
        let page = reproduce(experiment, &run)?;
        bars.clear();
        print(&render(&page))?;
        if !quiet {
            tell(&format!(
                "wrote {}",
                args.out.join(format!("{}.md", experiment.choice.name)).display()
            ));
        }
    }
    if let Some(path) = summarise(&args.out)?.filter(|_| !quiet) {
        tell(&format!("wrote {}", path.display()));
    }
    Ok(())
}

fn effort(args: &ReproduceArgs) -> Effort {
    match (args.quick, args.fast) {
        (_, true) => Effort::Least,
        (true, _) => Effort::Quick,
        _ => Effort::Full,
    }
}

fn hear(bars: &Bars, quiet: bool, event: Event<'_>) -> ControlFlow<()> {
    match event {
        Event::Stage(stage) => bars.progress()(stage),
        Event::Step { number: (step, of), name, is_kept, left, .. } => {
            bars.clear();
            if !quiet {
                let rest = match (is_kept, left) {
                    (true, _) => " (kept from an earlier run)".to_owned(),
                    (_, Some(left)) => format!(", about {} left", duration::time(left)),
                    _ => String::new(),
                };
                tell(&format!("step {step} of {of}: {name}{rest}"));
            }
            ControlFlow::Continue(())
        }
    }
}

/// What was found, claim by claim.
fn render(page: &Page) -> String {
    let mut rows = Table::default();
    for claim in page.claims() {
        rows.row([claim.verdict.words(), &claim.claim]);
        rows.row(["", &claim.seen]);
    }
    rows.render(0)
}
