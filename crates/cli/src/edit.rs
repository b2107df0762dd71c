//! `taste edit`.

use anyhow::{Result, bail};
use taste_detector::{Decision, Detector};

use crate::{
    Outcome,
    args::EditArgs,
    print, print_json,
    table::{count, number},
    tell,
};

pub(crate) fn run(args: &EditArgs) -> Result<Outcome> {
    let mut detector = Detector::open(&args.detector)?;
    match (args.alpha, args.set_threshold) {
        (Some(alpha), _) => detector.set_alpha(alpha, args.threshold.unwrap_or_default())?,
        (None, Some(threshold)) => detector.set_threshold(threshold)?,
        (None, None) if args.out.is_some() => {
            bail!("nothing to change: give --alpha or --set-threshold")
        }
        (None, None) => {}
    }
    if args.alpha.is_some() || args.set_threshold.is_some() {
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
    Ok(Outcome::Fine)
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
