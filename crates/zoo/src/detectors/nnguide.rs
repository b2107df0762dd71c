//! Nearest-neighbour guidance (Park, Jung and Teoh 2023): minus the energy of a sample times the mean similarity of its
//! features to those of the k training samples that guide it most. Similarities are cosines times the energy of the
//! training sample.

use std::sync::Arc;

use serde_json::json;
use taste_choice::{Arguments, Choice, Entry};
use taste_detector::{
    About, Error, Family, Job, KeptRows, Method, Named, Needs, Split, Statistic, Step,
    passes::{Gather, Watch},
    refused,
};
use taste_ops::functions;

use super::shared::{Logits, MOST_ENTRIES, count, stored_matrix, unit_length};

pub(super) const FAMILY: &dyn Family = &NnGuide { k: 10, most: 50_000 };

const CHOICE: Choice = Choice {
    name: "nnguide",
    usage: "nnguide[:k=10][,most=50000]",
    about: "the energy score times the mean similarity to the k nearest of at most so many training samples, whose \
            features stay in the file",
};

/// −log Σ exp(z) · mean of the k largest similarities.
#[derive(Clone, Copy, Debug)]
struct NnGuide {
    k: usize,
    /// Training rows that are kept at most: a uniform draw of them.
    most: usize,
}

impl Entry for NnGuide {
    fn choice(&self) -> &Choice {
        &CHOICE
    }
}

impl Family for NnGuide {
    fn about(&self) -> About {
        About {
            paper: "Park, Jung and Teoh 2023",
            fit: "1",
            score: "1, and products with the rows",
        }
    }

    fn read(&self, arguments: &mut Arguments<'_>, _: &Named) -> Result<Arc<dyn Method>, Error> {
        let k = count(arguments, "k", "neighbours")?.unwrap_or(self.k);
        let most = count(arguments, "most", "rows")?.unwrap_or(self.most);
        if k > most {
            return Err(refused(format!("the {k} nearest of {most} rows are too many")));
        }
        Ok(Arc::new(Self { k, most }))
    }
}

impl Method for NnGuide {
    fn name(&self) -> &str {
        CHOICE.name
    }

    fn written(&self) -> String {
        format!("{}:k={},most={}", CHOICE.name, self.k, self.most)
    }

    fn needs(&self) -> Needs {
        Needs {
            classes: true,
            learns: true,
            features: true,
            keeps: Some("features of training samples"),
            ..Needs::default()
        }
    }

    fn begin(&self, job: &mut Job<'_>) -> Result<Step, Error> {
        let logits = Logits::of(job);
        let feature = job.draft.features(job.settings.features.as_deref())?;
        let mut b = job.draft.build();
        let unit = unit_length(&mut b, feature.id)?;
        let level = functions::log_sum_exp(&mut b, logits.id, 1)?;
        let guide = b.mul(unit, level)?;
        let most = self.most.min(MOST_ENTRIES / feature.width.max(1)).max(1);
        let bank = Gather::Rows { most, seed: job.settings.seed, whole: false };
        let watches = vec![Watch::value("bank", guide, bank)];
        let (k, tensor) = (self.k, feature.name);
        let purpose = "training samples for the neighbours";
        Ok(Step::pass(purpose, Split::Fit, watches, move |job, seen| {
            let bank = &seen.rows("bank")?.values;
            let (count, width) = bank.dim();
            if k > count {
                return Err(refused(format!(
                    "the method nnguide wants the {k} nearest training samples, and {count} have finite features"
                )));
            }
            let rows = job.draft.rows();
            let mut b = job.draft.build();
            let turned = stored_matrix(&mut b, &bank.mapv(f64::from).t())?;
            let similar = functions::matmul(&mut b, unit, turned)?;
            let [largest, _] = functions::top_k(&mut b, similar, 1, k)?;
            let score = b.formula([largest, level], |[similar, level]| {
                (-1.0 / k as f64) * similar.sum(&[1]) * level
            })?;
            let mut statistic = Statistic::new(b.reshape(score, &[rows])?);
            statistic.facts = json!({ "features": tensor, "neighbours": k });
            let what =
                "features of training samples, brought to the length of their energy".to_owned();
            statistic.rows.push(KeptRows { what, count, width });
            Ok(statistic.into())
        }))
    }
}
