//! What is said of a batch.

use serde::Serialize;

use super::Shift;

/// Whether a batch differs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Its samples are further out by more than chance explains, and by as much as was asked for.
    Shift,
    /// Further out by more than chance explains, and not surely by as much as was asked for.
    Negligible,
    /// Nothing that chance would not explain.
    #[default]
    None,
}

impl Verdict {
    /// Of a batch that has its adjusted p-value.
    pub(super) fn of(shift: &Shift, alpha: f64, least_effect: f64) -> Self {
        if shift.adjusted_p_value > alpha {
            Self::None
        } else if least_effect > 0.0 && shift.at_least < least_effect {
            Self::Negligible
        } else {
            Self::Shift
        }
    }
}

/// How large an effect is, in words (after Cohen 1988).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Size {
    /// Below 0.2 standard deviations.
    Negligible,
    /// Below 0.5.
    Small,
    /// Below 0.8.
    Medium,
    /// From 0.8 on.
    Large,
}

impl Size {
    /// Of an effect in standard deviations, whatever its sign.
    pub fn of(effect: f64) -> Self {
        match effect.abs() {
            e if e < 0.2 => Self::Negligible,
            e if e < 0.5 => Self::Small,
            e if e < 0.8 => Self::Medium,
            _ => Self::Large,
        }
    }

    /// The word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Negligible => "negligible",
            Self::Small => "small",
            Self::Medium => "medium",
            Self::Large => "large",
        }
    }
}

/// What is worth knowing beside the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Note {
    /// The samples are less far out than calibration samples by more than chance explains.
    MoreOrdinary,
    /// Far fewer samples are flagged one by one than of calibration samples.
    FewFlagged,
    /// The data differ from the calibration data, and the scores tell no harm.
    NewData,
    /// Samples repeat, while the p-value takes them for independent.
    Repeated,
    /// Some samples have no score; they count as furthest out.
    NoScore,
    /// There is a shift, and the detector is calibrated on samples that the model may have been trained on: it takes new
    /// data for shifted ones.
    SeenCalibration,
}
