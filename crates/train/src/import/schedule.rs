//! How the noise of a diffusion model grows, as diffusers writes it.

use serde::{Deserialize, Serialize};

/// The variances β of all steps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Schedule {
    /// `linear`, `scaled-linear` or `cosine`.
    pub name: &'static str,
    /// How many steps.
    pub steps: usize,
    /// β at the first step.
    pub beta_start: f64,
    /// β at the last step.
    pub beta_end: f64,
}

/// The keys of `scheduler_config.json` that matter to a score; where one is missing, diffusers has the same default.
#[derive(Deserialize)]
#[serde(default)]
pub(super) struct Config {
    beta_schedule: String,
    beta_start: f64,
    beta_end: f64,
    num_train_timesteps: usize,
    prediction_type: String,
    trained_betas: Option<serde_json::Value>,
    rescale_betas_zero_snr: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            beta_schedule: "linear".to_owned(),
            beta_start: 1e-4,
            beta_end: 0.02,
            num_train_timesteps: 1000,
            prediction_type: "epsilon".to_owned(),
            trained_betas: None,
            rescale_betas_zero_snr: false,
        }
    }
}

impl Config {
    pub(super) fn schedule(&self) -> Result<Schedule, String> {
        if self.prediction_type != "epsilon" {
            return Err(format!(
                "the network predicts {:?} (prediction_type), and a score comes of one that predicts the noise, \"epsilon\"",
                self.prediction_type
            ));
        }
        if self.trained_betas.is_some() || self.rescale_betas_zero_snr {
            return Err("its noise follows trained_betas or rescale_betas_zero_snr, which are not supported".to_owned());
        }
        let name = match self.beta_schedule.as_str() {
            "linear" => "linear",
            "scaled_linear" => "scaled-linear",
            "squaredcos_cap_v2" => "cosine",
            other => {
                return Err(format!(
                    "beta_schedule {other:?} is not supported; linear, scaled_linear and squaredcos_cap_v2 are"
                ));
            }
        };
        let (beta_start, beta_end) = (self.beta_start, self.beta_end);
        Ok(Schedule { name, steps: self.num_train_timesteps, beta_start, beta_end })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Schedule, String> {
        serde_json::from_str::<Config>(text).map_err(|e| e.to_string())?.schedule()
    }

    #[test]
    fn what_is_missing_has_the_default_of_diffusers() {
        let linear = Schedule { name: "linear", steps: 1000, beta_start: 1e-4, beta_end: 0.02 };
        assert_eq!(read("{}"), Ok(linear));
        let other = r#"{"beta_schedule": "squaredcos_cap_v2", "num_train_timesteps": 50, "_class_name": "DDIMScheduler"}"#;
        assert_eq!(read(other), Ok(Schedule { name: "cosine", steps: 50, ..linear }));
        let scaled = r#"{"beta_schedule": "scaled_linear", "beta_start": 0.00085, "beta_end": 0.012, "trained_betas": null}"#;
        let want =
            Schedule { name: "scaled-linear", beta_start: 0.000_85, beta_end: 0.012, ..linear };
        assert_eq!(read(scaled), Ok(want));
    }

    #[test]
    fn what_gives_no_score_is_named() {
        for (text, part) in [
            (r#"{"prediction_type": "v_prediction"}"#, "v_prediction"),
            (r#"{"beta_schedule": "sigmoid"}"#, "sigmoid"),
            (r#"{"trained_betas": [0.1]}"#, "trained_betas"),
        ] {
            let message = read(text).expect_err(text);
            assert!(message.contains(part), "{message}");
        }
    }
}
