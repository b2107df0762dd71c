//! `taste edit`.

use anyhow::{Result, bail};
use taste_detector::{Decision, Detector, Finding, Level};

use crate::{
    Outcome,
    args::EditArgs,
    print, print_json,
    progress::Bars,
    table::{count, number},
    tell,
};

pub(crate) fn run(args: &EditArgs) -> Result<Outcome> {
    let mut detector = Detector::open(&args.detector)?;
    let (mut changed, estimated) = (false, detector.manifest().errors.is_some());
    if let Some(path) = &args.recalibrate {
        let engine = args.engine.engine()?;
        let data = detector.open_data(path, false)?;
        let bars = Bars::new(args.engine.quiet);
        let fresh = detector.recalibrate(&data, &engine, &bars.progress());
        drop(bars);
        detector = fresh?;
        changed = true;
    }
    let decision = &detector.manifest().decision;
    let (goal, rule) = (args.goal.unwrap_or(decision.goal), args.threshold.unwrap_or_default());
    match (args.alpha, args.set_threshold) {
        (Some(alpha), _) => detector.decide(goal, alpha, rule)?,
        (None, Some(threshold)) => detector.set_threshold(threshold)?,
        (None, None) if args.goal.is_some() => detector.set_goal(goal)?,
        (None, None) if args.out.is_some() && !changed => {
            bail!("nothing to change: give --alpha, --goal, --set-threshold or --recalibrate")
        }
        (None, None) => {}
    }
    if changed || args.alpha.is_some() || args.set_threshold.is_some() || args.goal.is_some() {
        let path = args.out.as_ref().unwrap_or(&args.detector);
        detector.save(path)?;
        tell(&format!("wrote {}", path.display()));
    }
    let decision = &detector.manifest().decision;
    if args.json {
        print_json(decision)?;
    } else {
        print(&format!("{}\n", sentence(decision, detector.calibration().len())))?;
    }
    if changed && !args.engine.quiet {
        for found in detector.manifest().findings.iter().filter(|f| is_of_calibration(f)) {
            tell(&format!("warning: {}", found.message));
        }
        if estimated {
            tell(
                "note: how often the model is right was learnt on the calibration samples of before, and is no longer \
                 estimated: taste fit --like with --calibration and --calibration-labels learns it again",
            );
        }
    }
    Ok(Outcome::Fine)
}

/// Whether something is wrong with calibration samples, which may be new.
fn is_of_calibration(found: &Finding) -> bool {
    found.level == Level::Warning
        && taste_detector::CALIBRATION_CHECKS.contains(&found.check.as_str())
}

/// When samples are flagged.
pub(crate) fn sentence(decision: &Decision, calibration: usize) -> String {
    let how = match decision.alpha {
        Some(alpha) => format!("alpha {alpha}, {}", decision.rule),
        None => "set by hand".to_owned(),
    };
    format!("{} is flagged ({how}; {})", beyond(decision), count(calibration, "calibration sample"))
}

/// What is flagged: `a score above 3.2`.
pub(crate) fn beyond(decision: &Decision) -> String {
    let above = |what: &str, threshold: Option<f64>| {
        threshold.map(|t| format!("a {what} above {}", number(t)))
    };
    let all = [above("score", decision.threshold), above("novelty", decision.novelty_threshold)];
    let all: Vec<String> = all.into_iter().flatten().collect();
    if all.is_empty() { "nothing".to_owned() } else { all.join(" or ") }
}
