//! What the fit of a Stein detector finds out about itself, in words.

use taste_detector::{Baseline, Finding, Level, finding};

use crate::{Centre, Precondition};

/// A column with this share of the variation is named.
const ONE_COLUMN: f64 = 0.9;
/// Mean residuals of more standard deviations make one look at the score, which kinks of the model do not spoil.
const KINKS: f64 = 0.5;
/// A mean score of more standard deviations is that of a score model which does not fit, whatever the mean residual is.
const OFF: f64 = 0.5;
/// A probability within this of 1 leaves single precision no residual.
pub(crate) const SATURATED: f32 = 1e-6;

/// What the findings are drawn from.
pub(crate) struct Evidence<'a> {
    /// Residuals of every component, and by entry of the sample.
    pub(crate) components: &'a Baseline,
    pub(crate) map: Option<&'a Baseline>,
    /// Whether mean residuals vanish if the field is right.
    pub(crate) is_stein: bool,
    pub(crate) columns: Option<&'a [String]>,
    pub(crate) precondition: Precondition,
    /// The score itself by entry of what residuals are functions of, where mean residuals vanish if the field is right.
    pub(crate) score: Option<&'a Baseline>,
    /// What residuals are functions of, if it is not the sample.
    pub(crate) at: Option<&'a str>,
    /// What is taken off residuals.
    pub(crate) centre: Centre,
    /// The smallest and the largest value of every entry.
    pub(crate) ranges: &'a [(f32, f32)],
    /// The largest probability of some samples, if there are classes.
    pub(crate) confidence: Option<Vec<f32>>,
    /// The median distance of exact and estimated Laplacian, in standard errors.
    pub(crate) laplacian: Option<f64>,
    /// The median standard error of an estimated Laplacian, relative to the spread of residuals.
    pub(crate) estimate_error: Option<f64>,
    pub(crate) is_flat: bool,
    /// Whether the model has kinks, whose curvature no Laplacian taken point by point sees.
    pub(crate) has_kinks: bool,
}

/// All findings.
pub(crate) fn findings(of: &Evidence<'_>) -> Vec<Finding> {
    [
        stein_identity(of),
        saturation(of),
        flat(of),
        laplacian(of),
        constant_entries(of),
        one_column(of),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// With the right score, mean residuals are zero: |`D_f`|/SE.
fn stein_identity(of: &Evidence<'_>) -> Option<Finding> {
    if !of.is_stein {
        return None;
    }
    if let Some(found) = mean_score(of) {
        return Some(found);
    }
    let components = of.components;
    let means = &components.means;
    let (worst, ratio) = furthest(components)?;
    let spread = components.deviations[worst];
    let share = (means[worst] / spread).abs();
    let name = if means.len() == 1 {
        "the mean residual".to_owned()
    } else {
        format!("the mean residual of class {worst}, the largest,")
    };
    let (level, verdict) = if ratio < by_chance(means.len()) {
        (Level::Good, "The score model fits the data")
    } else if of.has_kinks && !(share > KINKS && of.score.is_some_and(is_off)) {
        (
            Level::Note,
            "Nothing to do: kinks of the model (ReLU, max, the likeliest class) move the mean residual even with the \
             right score model",
        )
    } else if share < 0.25 {
        (Level::Note, "The score model is a little off, too little to matter")
    } else {
        (
            Level::Warning,
            "The score model does not fit the data, and shifts will be missed: try another one (gmm:10, kde, train)",
        )
    };
    let taken = match of.centre {
        _ if level == Level::Good => "",
        Centre::None => "; nothing is taken off",
        Centre::Mean => "; the adjustment takes the mean off",
        Centre::Median => "; the adjustment takes the median off",
    };
    let message = format!(
        "{verdict}: {name} is {ratio:.1} standard errors from zero ({share:.2} standard deviations){taken}."
    );
    Some(finding("stein identity", level, ratio, message))
}

/// With the right score, its own mean is zero: that sees a wrong score which kinks or a saturated model hide.
fn mean_score(of: &Evidence<'_>) -> Option<Finding> {
    let score = of.score?;
    let chance = by_chance(score.means.len());
    let each = score.means.iter().zip(&score.deviations).zip(&score.errors).enumerate();
    // Where held-out samples do not vary, the score is what rounding makes it.
    let off = each.filter(|(_, ((mean, deviation), error))| {
        let far = mean.abs();
        **deviation > 1e-6 * far && far > OFF * **deviation && far >= chance * **error
    });
    let off: Vec<(usize, f64)> = off.map(|(i, ((m, d), _))| (i, (m / d).abs())).collect();
    let (worst, share) = *off.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let name = match (of.at, of.columns.and_then(|columns| columns.get(worst))) {
        (Some(tensor), _) => format!("entry {worst} of {tensor:?}"),
        (None, Some(column)) => format!("the column {column}"),
        (None, None) => format!("entry {worst}"),
    };
    let message = format!(
        "The score model does not fit the data, and shifts will be missed: its score is not zero in the mean, for {} of {} \
         entries; for {name} it is {share:.1} standard deviations off. Use a score model that is fitted to the data (gaussian, gmm:10, kde), or \
         give a ready one samples on the scale that it was made for (score-input).",
        off.len(),
        score.means.len(),
    );
    Some(finding("stein identity", Level::Warning, share, message))
}

/// The column whose mean is furthest from zero, in standard errors.
fn furthest(of: &Baseline) -> Option<(usize, f64)> {
    let ratios = of.means.iter().zip(&of.errors).map(|(m, e)| (m / e).abs());
    ratios.enumerate().filter(|(_, z)| z.is_finite()).max_by(|a, b| a.1.total_cmp(&b.1))
}

/// What the furthest of so many means stays below: of many the furthest is further by chance alone, about √(2 log C).
fn by_chance(columns: usize) -> f64 {
    3.0 + (2.0 * (columns.max(1) as f64).ln()).sqrt()
}

/// Whether some mean is not zero.
fn is_off(of: &Baseline) -> bool {
    furthest(of).is_some_and(|(_, ratio)| ratio >= by_chance(of.means.len()))
}

/// A probability that is 1 in single precision has no gradient left.
fn saturation(of: &Evidence<'_>) -> Option<Finding> {
    let confidence = of.confidence.as_ref()?;
    let saturated = confidence.iter().filter(|p| **p >= 1.0 - SATURATED).count();
    let share = saturated as f64 / confidence.len().max(1) as f64;
    let percent = 100.0 * share;
    let (level, verdict) = if share > 0.5 {
        (
            Level::Warning,
            "Residuals of probabilities vanish there; the targets logit, margin and energy, or the aggregate profile, \
             still see something.",
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
    if !of.is_flat {
        return None;
    }
    let message = "The target is piecewise affine in the input: its Laplacian is zero almost everywhere, which is known \
        and not measured, so the residual is the drift s·∇f alone.";
    Some(finding("laplacian", Level::Note, 0.0, message))
}

fn laplacian(of: &Evidence<'_>) -> Option<Finding> {
    if let Some(apart) = of.laplacian {
        let (level, verdict) = if apart < 3.0 {
            (Level::Good, "they agree")
        } else {
            (
                Level::Warning,
                "they do not agree. Are the samples on the scale that the model was trained on (0 to 1 or 0 to 255)? If \
                 they are, please report the model",
            )
        };
        let message = format!(
            "The exact Laplacian and an unbiased estimate of it lie {apart:.1} standard errors apart in the median: {verdict}."
        );
        return Some(finding("laplacian agreement", level, apart, message));
    }
    let error = of.estimate_error?;
    let (level, verdict) = if error > 0.5 {
        (
            Level::Warning,
            "more probes (the Laplacian method hutchinson:M with a larger M) would help",
        )
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
    let constant: Vec<usize> =
        (0..of.ranges.len()).filter(|&i| of.ranges[i].0 >= of.ranges[i].1).collect();
    if constant.is_empty() {
        return None;
    }
    let (count, all) = (constant.len(), of.ranges.len());
    let names = of.columns.map_or_else(String::new, |columns| {
        let named = constant.iter().take(5).filter_map(|&i| columns.get(i));
        let list: Vec<&str> = named.map(String::as_str).collect();
        format!(" ({}{})", list.join(", "), if count > 5 { ", …" } else { "" })
    });
    let verdict = if of.precondition == Precondition::None {
        "how the model reacts to a change there rests on the score model's guess"
    } else {
        "where training samples do not vary either, a change shows only in how the model reacts to the other entries"
    };
    let message = format!(
        "{count} of {all} entries of a sample{names} have one value in all held-out samples: {verdict}."
    );
    Some(finding("constant entries", Level::Note, count as f64, message))
}

/// Without a metric the residual is no pure number: a column in small units has large derivatives, and may drown the
/// others.
fn one_column(of: &Evidence<'_>) -> Option<Finding> {
    if of.precondition != Precondition::None {
        return None;
    }
    let (columns, map) = (of.columns?, of.map?);
    let squares = || map.deviations.iter().map(|d| d * d);
    let (largest, square) = squares().enumerate().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let share = square / squares().sum::<f64>();
    if columns.len() < 2 || share.is_nan() || share < ONE_COLUMN {
        return None;
    }
    let (low, high) = of.ranges.get(largest)?;
    let message = format!(
        "{:.0} % of the variation of the residual's parts comes from the column {} (from {low} to {high}), so shifts of \
         other columns hardly show. That may be a matter of units, which a \
         diagonal precondition takes out.",
        100.0 * share,
        columns.get(largest)?
    );
    Some(finding("one column", Level::Note, share, message))
}
