//! `GradNorm` (Huang, Geng and Li 2021): minus the sum of the sizes of derivatives, by the weights of the last layer,
//! of the cross-entropy of the class probabilities to equal ones. The derivative by the weight from a feature f to a
//! class with probability p of K is f·(p − 1/K)/T: an outer product, so that no backward pass is needed.

use std::sync::Arc;

use taste_choice::{Arguments, Choice, Entry};
use taste_detector::{About, Error, Family, Job, Method, Named, Needs, Statistic, Step};
use taste_ops::functions;

use super::shared::{Head, temperature};

pub(super) const FAMILY: &dyn Family = &GradNorm { temperature: 1.0 };

const CHOICE: Choice = Choice {
    name: "gradnorm",
    usage: "gradnorm[:t=1]",
    about: "minus the size of the gradient, by the weights of the last linear layer, of the divergence from equal \
            probabilities",
};

/// −Σ|f|·Σ|p − 1/K|/T.
#[derive(Clone, Copy, Debug)]
struct GradNorm {
    temperature: f64,
}

impl Entry for GradNorm {
    fn choice(&self) -> &Choice {
        &CHOICE
    }
}

impl Family for GradNorm {
    fn about(&self) -> About {
        About { paper: "Huang, Geng and Li 2021", fit: "0", score: "1" }
    }

    fn read(&self, arguments: &mut Arguments<'_>, _: &Named) -> Result<Arc<dyn Method>, Error> {
        let temperature = temperature(arguments)?.unwrap_or(self.temperature);
        Ok(Arc::new(Self { temperature }))
    }
}

impl Method for GradNorm {
    fn name(&self) -> &str {
        CHOICE.name
    }

    fn written(&self) -> String {
        format!("{}:t={}", CHOICE.name, self.temperature)
    }

    fn needs(&self) -> Needs {
        Needs { classes: true, features: true, ..Needs::default() }
    }

    fn begin(&self, job: &mut Job<'_>) -> Result<Step, Error> {
        let Head { logits, feature, .. } = Head::of(job, CHOICE.name)?;
        let rows = job.draft.rows();
        let mut b = job.draft.build();
        let cooled = b.scale(logits.id, 1.0 / self.temperature)?;
        let p = functions::softmax(&mut b, cooled, 1)?;
        let unequal = b.offset(p, -1.0 / logits.classes as f64)?;
        let [by_class, by_feature] =
            [functions::abs(&mut b, unequal)?, functions::abs(&mut b, feature.id)?];
        let score = b.formula([by_class, by_feature], |[by_class, by_feature]| {
            (-1.0 / self.temperature) * by_class.sum(&[1]) * by_feature.sum(&[1])
        })?;
        Ok(Statistic::new(b.reshape(score, &[rows])?).into())
    }
}
