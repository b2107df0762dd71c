//! What is asked for: a file, and flags that win over it.

use anyhow::{Result, bail};
use taste_zoo::benchmark::Plan;

use crate::{args::BenchArgs, evaluate::sets};

/// The whole benchmark.
pub(super) fn of(args: &BenchArgs) -> Result<Plan> {
    let mut plan = match &args.config {
        Some(path) => Plan::open(path)?,
        None => Plan::default(),
    };
    put(&mut plan.model, args.model.as_ref());
    put(&mut plan.train, args.train.as_ref());
    put(&mut plan.calibration, args.calibration.as_ref());
    put(&mut plan.id, args.id.as_ref());
    put(&mut plan.id_labels, args.id_labels.as_ref());
    put(&mut plan.samples, args.samples.as_ref());
    put(&mut plan.alpha, args.alpha.as_ref());
    put(&mut plan.held_out, args.held_out.as_ref());
    put(&mut plan.features, args.features.as_ref());
    put(&mut plan.seed, args.seed.as_ref());
    for (list, flag) in [
        (&mut plan.corruptions, &args.corruptions),
        (&mut plan.attacks, &args.attacks),
        (&mut plan.methods, &args.methods),
    ] {
        if !flag.is_empty() {
            list.clone_from(flag);
        }
    }
    if !args.ood.is_empty() {
        plan.ood = sets::named(&args.ood)?.into_iter().map(|set| (set.name, set.path)).collect();
    }
    let needed = [
        ("model", plan.model.is_none()),
        ("train", plan.train.is_none()),
        ("id", plan.id.is_none()),
    ];
    if let Some((flag, _)) = needed.iter().find(|(_, missing)| *missing) {
        bail!("what is compared is not said: --{flag}, or {flag} in the file of --config");
    }
    if plan.methods.is_empty() {
        bail!("no methods are named: --methods NAME…, or `all`; see taste list methods");
    }
    if plan.ood.is_empty() && plan.corruptions.is_empty() && plan.attacks.is_empty() {
        bail!("no shifted sets are named: --ood NAME=DATA…, --corruptions LIST or --attacks LIST");
    }
    if plan.samples == Some(0) {
        bail!("--samples 0: there must be some");
    }
    Ok(plan)
}

/// A flag wins.
fn put<T: Clone>(into: &mut Option<T>, flag: Option<&T>) {
    if let Some(flag) = flag {
        *into = Some(flag.clone());
    }
}
