//! DICE (Sun and Li 2022): the energy score with only those weights of the last layer that contribute most on training
//! samples.

use std::sync::Arc;

use taste_choice::{Arguments, Choice, Entry};
use taste_detector::{
    About, Error, Family, Job, Method, Named, Needs, Split, Statistic, Step,
    passes::{Gather, Watch},
    refused,
};
use taste_ops::functions;
use taste_stats::quantile::Quantile;

use super::shared::{Head, energy, share, stored_matrix, stored_row};

pub(super) const FAMILY: &dyn Family = &Dice { p: 0.7 };

const CHOICE: Choice = Choice {
    name: "dice",
    usage: "dice[:p=0.7]",
    about: "the energy score with a share p of the weights of the last layer left out, those that contribute least on \
            training samples",
};

/// The energy behind a sparse last layer.
#[derive(Clone, Copy, Debug)]
struct Dice {
    p: f64,
}

impl Entry for Dice {
    fn choice(&self) -> &Choice {
        &CHOICE
    }
}

impl Family for Dice {
    fn about(&self) -> About {
        About { paper: "Sun and Li 2022", fit: "1", score: "1" }
    }

    fn read(&self, arguments: &mut Arguments<'_>, _: &Named) -> Result<Arc<dyn Method>, Error> {
        Ok(Arc::new(Self { p: share(arguments, "p")?.unwrap_or(self.p) }))
    }
}

impl Method for Dice {
    fn name(&self) -> &str {
        CHOICE.name
    }

    fn written(&self) -> String {
        format!("{}:p={}", CHOICE.name, self.p)
    }

    fn needs(&self) -> Needs {
        Needs { classes: true, learns: true, features: true, ..Needs::default() }
    }

    fn begin(&self, job: &mut Job<'_>) -> Result<Step, Error> {
        let Head { feature, mut weights, bias, .. } = Head::of(job, CHOICE.name)?;
        let watches = vec![Watch::value("features", feature.id, Gather::Moments)];
        let p = self.p;
        let purpose = "training samples for the mean features";
        Ok(Step::pass(purpose, Split::Fit, watches, move |job, seen| {
            let mean = seen.moments("features")?.mean();
            let mean = mean.ok_or_else(|| refused("no training sample has finite features"))?;
            let contribution = |i: usize, weight: f64| mean[i] * weight;
            let all: Vec<f64> =
                weights.indexed_iter().map(|((i, _), w)| contribution(i, *w)).collect();
            let threshold = Quantile::Linear.of(&all, p).unwrap_or(f64::INFINITY);
            for ((i, _), weight) in weights.indexed_iter_mut() {
                if contribution(i, *weight) <= threshold {
                    *weight = 0.0;
                }
            }
            let rows = job.draft.rows();
            let mut b = job.draft.build();
            let weights = stored_matrix(&mut b, &weights)?;
            let bias = stored_row(&mut b, &bias.to_vec())?;
            let product = functions::matmul(&mut b, feature.id, weights)?;
            let logits = b.add(product, bias)?;
            let score = energy(&mut b, logits)?;
            Ok(Statistic::new(b.reshape(score, &[rows])?).into())
        }))
    }
}
