//! What a fit finds out about itself, in words.

use crate::{
    Operator,
    fit::passes::{Calibrated, HeldOut},
    manifest::{Finding, Level},
};

/// A column with this share of the variation is named.
const ONE_COLUMN: f64 = 0.9;

/// What the findings are drawn from.
pub(crate) struct Evidence<'a> {
    pub(crate) held_out: &'a HeldOut,
    pub(crate) calibrated: &'a Calibrated,
    pub(crate) operator: &'a Operator,
    pub(crate) columns: Option<&'a [String]>,
    /// The median distance of exact and estimated Laplacian, in standard errors.
    pub(crate) laplacian: Option<f64>,
    pub(crate) flat: bool,
    /// Whether the model has kinks, whose curvature no Laplacian taken point by point sees.
    pub(crate) kinked: bool,
    pub(crate) calibration_given: bool,
    /// Samples that the score model was fitted to, and those left out as they have entries that are not finite.
    pub(crate) fitted: (usize, usize),
}

/// All findings.
pub(crate) fn findings(of: &Evidence<'_>) -> Vec<Finding> {
    let checks = [
        stein_identity(of),
        left_out(of),
        Some(not_finite(of)),
        saturation(of),
        flat(of),
        laplacian(of),
        constant_entries(of),
        one_column(of),
        ties(of),
        independence(of),
    ];
    checks.into_iter().flatten().collect()
}

fn finding(check: &str, level: Level, value: f64, message: String) -> Finding {
    Finding { check: check.to_owned(), level, value, message }
}

/// With the right score, mean residuals are zero: |`D_f`|/SE.
fn stein_identity(of: &Evidence<'_>) -> Option<Finding> {
    if !of.operator.is_stein() {
        return None;
    }
    let components = &of.held_out.components;
    let (means, errors) = (&components.means, &components.errors);
    let ratios = means.iter().zip(errors.iter()).map(|(m, e)| (m / e).abs());
    let (worst, ratio) =
        ratios.enumerate().filter(|(_, z)| z.is_finite()).max_by(|a, b| a.1.total_cmp(&b.1))?;
    // Of many components the largest ratio is larger by chance alone: √(2 log C) is about its size.
    let expected = (2.0 * (means.len() as f64).ln()).sqrt();
    let spread = components.deviations[worst];
    let share = (means[worst] / spread).abs();
    let name = if means.len() == 1 {
        "The mean residual".to_owned()
    } else {
        format!("The mean residual of class {worst}")
    };
    let (level, verdict) = if ratio < 3.0 + expected {
        (Level::Good, "as a score model that fits the data makes it")
    } else if of.kinked {
        (
            Level::Note,
            "which a function with kinks (ReLU, max, the likeliest class) has even with the right score, as their curvature shows at no sample; \
             the adjustment takes the mean off",
        )
    } else if share < 0.25 {
        (Level::Note, "so the score model is a little off; the adjustment takes the mean off")
    } else {
        (
            Level::Warning,
            "so the score model does not fit the data here; the adjustment takes the mean off, but a better score \
             model would see more",
        )
    };
    let message = format!(
        "{name} is {ratio:.1} standard errors from zero ({share:.2} standard deviations), {verdict}."
    );
    Some(finding("stein identity", level, ratio, message))
}

fn left_out(of: &Evidence<'_>) -> Option<Finding> {
    let (fitted, bad) = of.fitted;
    if bad == 0 {
        return None;
    }
    let share = bad as f64 / (fitted + bad) as f64;
    let level = if share > 0.01 { Level::Warning } else { Level::Note };
    let message = format!(
        "{bad} of {} samples for the score model have NaN or infinite entries; it was fitted without them.",
        fitted + bad
    );
    Some(finding("finite samples", level, share, message))
}

fn not_finite(of: &Evidence<'_>) -> Finding {
    let (held_out, scores) = (of.held_out, &of.calibrated.scores);
    let bad = held_out.not_finite() + of.calibrated.not_finite;
    let all = held_out.count() + scores.len();
    let share = bad as f64 / all.max(1) as f64;
    if bad == 0 {
        return finding(
            "finite residuals",
            Level::Good,
            0.0,
            format!("All {all} held-out samples have finite residuals."),
        );
    }
    let level = if share > 0.01 { Level::Warning } else { Level::Note };
    let message = format!(
        "{bad} of {all} held-out samples have no finite residual ({} of those for the baseline have NaN or infinite \
         entries, {} make the model or the score overflow); such samples are always flagged.",
        held_out.bad_inputs, held_out.bad_residuals
    );
    finding("finite residuals", level, share, message)
}

/// A probability that is 1 in single precision has no gradient left.
fn saturation(of: &Evidence<'_>) -> Option<Finding> {
    if !of.held_out.has_probabilities {
        return None;
    }
    let share = of.held_out.saturated as f64 / of.held_out.used.max(1) as f64;
    let percent = 100.0 * share;
    let (level, verdict) = if share > 0.5 {
        (
            Level::Warning,
            "Residuals of probabilities vanish there; --target logit, margin or energy, or --aggregate profile, still see \
             something.",
        )
    } else if share > 0.1 {
        (Level::Note, "Residuals of probabilities vanish there.")
    } else {
        (Level::Good, "Residuals of probabilities have room.")
    };
    let message = format!(
        "The softmax is saturated (largest probability above 0.999999) for {percent:.1} % of held-out samples. {verdict}"
    );
    Some(finding("softmax saturation", level, share, message))
}

fn flat(of: &Evidence<'_>) -> Option<Finding> {
    if !of.flat {
        return None;
    }
    let message = "The target is piecewise affine in the input: its Laplacian is zero almost everywhere, which is known \
        and not measured, so the residual is the drift s·∇f alone."
        .to_owned();
    Some(finding("laplacian", Level::Note, 0.0, message))
}

fn laplacian(of: &Evidence<'_>) -> Option<Finding> {
    if let Some(apart) = of.laplacian {
        let (level, verdict) = if apart < 3.0 {
            (Level::Good, "they agree")
        } else {
            (Level::Warning, "they do not agree: please report the model")
        };
        let message = format!(
            "The exact Laplacian and an unbiased estimate of it lie {apart:.1} standard errors apart in the median: {verdict}."
        );
        return Some(finding("laplacian agreement", level, apart, message));
    }
    let error = of.held_out.estimate_error?;
    let (level, verdict) = if error > 0.5 {
        (Level::Warning, "more probes (--method hutchinson:M with a larger M) would help")
    } else {
        (Level::Good, "small beside the residuals")
    };
    let message = format!(
        "The Laplacian is an estimate; its standard error is {error:.2} of the spread of residuals in the median: {verdict}."
    );
    Some(finding("laplacian estimate", level, error, message))
}

/// Where the data never vary, no score is known.
fn constant_entries(of: &Evidence<'_>) -> Option<Finding> {
    let constant: Vec<usize> = (0..of.held_out.ranges.len())
        .filter(|&i| of.held_out.ranges[i].0 >= of.held_out.ranges[i].1)
        .collect();
    if constant.is_empty() {
        return None;
    }
    let (count, all) = (constant.len(), of.held_out.ranges.len());
    let names = of.columns.map_or_else(String::new, |columns| {
        let named = constant.iter().take(5).filter_map(|&i| columns.get(i));
        let list: Vec<&str> = named.map(String::as_str).collect();
        format!(" ({}{})", list.join(", "), if count > 5 { ", …" } else { "" })
    });
    let message = format!(
        "{count} of {all} entries of a sample{names} have one value in all held-out samples: how the model reacts to a \
         change there rests on the score model's guess."
    );
    Some(finding("constant entries", Level::Note, count as f64, message))
}

/// The residual is no pure number: a column in small units has large derivatives, and may drown the others.
fn one_column(of: &Evidence<'_>) -> Option<Finding> {
    let (columns, map) = (of.columns?, of.held_out.map.as_ref()?);
    let squares = || map.deviations.iter().map(|d| d * d);
    let (largest, square) = squares().enumerate().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let share = square / squares().sum::<f64>();
    if columns.len() < 2 || share.is_nan() || share < ONE_COLUMN {
        return None;
    }
    let (low, high) = of.held_out.ranges.get(largest)?;
    let message = format!(
        "{:.0} % of the variation of the residual's parts comes from the column {} (from {low} to {high}), so shifts of other columns \
         hardly show. If that is a matter of units, fit a model that takes standardised columns.",
        100.0 * share,
        columns.get(largest)?
    );
    Some(finding("one column", Level::Note, share, message))
}

/// Equal scores make p-values coarse.
fn ties(of: &Evidence<'_>) -> Option<Finding> {
    let mut sorted: Vec<f32> = of.calibrated.scores.clone();
    sorted.sort_by(f32::total_cmp);
    sorted.dedup();
    let (distinct, all) = (sorted.len(), of.calibrated.scores.len());
    if distinct * 2 > all {
        return None;
    }
    let message = format!(
        "The {all} calibration scores take only {distinct} values, so many samples look the same to this detector."
    );
    Some(finding("distinct scores", Level::Warning, distinct as f64 / all as f64, message))
}

fn independence(of: &Evidence<'_>) -> Option<Finding> {
    if of.calibration_given {
        return None;
    }
    let message = "Calibration samples were held out from the training data. If the model was trained on these, it knows \
        them better than new data, and false alarms can be more frequent than alpha: --calibration takes samples that it \
        has not seen."
        .to_owned();
    Some(finding("calibration data", Level::Note, 0.0, message))
}
