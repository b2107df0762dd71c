//! Generalised entropy (Liu, Lochman and Zach 2023): the mean of pᵞ(1 − p)ᵞ over classes, or over the M likeliest.

use std::sync::Arc;

use taste_choice::{Arguments, Choice, Entry};
use taste_detector::{About, Error, Family, Job, Method, Named, Needs, Statistic, Step};
use taste_ops::functions;

use super::shared::{Logits, count};

pub(super) const FAMILY: &dyn Family = &Gen { gamma: 0.1, most: None };

const CHOICE: Choice = Choice {
    name: "gen",
    usage: "gen[:gamma=0.1][,m=M]",
    about: "generalised entropy: the mean of pᵞ(1 − p)ᵞ over all classes, or over the m likeliest",
};

/// The mean of pᵞ(1 − p)ᵞ.
#[derive(Clone, Copy, Debug)]
struct Gen {
    gamma: f64,
    /// How many of the likeliest classes count; all by default.
    most: Option<usize>,
}

impl Entry for Gen {
    fn choice(&self) -> &Choice {
        &CHOICE
    }
}

impl Family for Gen {
    fn about(&self) -> About {
        About { paper: "Liu, Lochman and Zach 2023", fit: "0", score: "1" }
    }

    fn read(&self, arguments: &mut Arguments<'_>, _: &Named) -> Result<Arc<dyn Method>, Error> {
        let fits = |g: &f64| *g > 0.0 && g.is_finite();
        let gamma = arguments.number("gamma", "a power above 0", fits)?.unwrap_or(self.gamma);
        Ok(Arc::new(Self { gamma, most: count(arguments, "m", "classes")? }))
    }
}

impl Method for Gen {
    fn name(&self) -> &str {
        CHOICE.name
    }

    fn written(&self) -> String {
        let most = self.most.map_or_else(String::new, |m| format!(",m={m}"));
        format!("{}:gamma={}{most}", CHOICE.name, self.gamma)
    }

    fn needs(&self) -> Needs {
        Needs { classes: true, ..Needs::default() }
    }

    fn begin(&self, job: &mut Job<'_>) -> Result<Step, Error> {
        let logits = Logits::of(job);
        let rows = job.draft.rows();
        let mut b = job.draft.build();
        let p = functions::softmax(&mut b, logits.id, 1)?;
        let first = functions::first_max(&mut b, logits.id, 1)?;
        // 1 − p of the likeliest class is the sum of the others, which keeps its digits where p is all but one.
        let rest = b.formula([p, first], |[p, first]| {
            let others = (p - p * first).sum(&[1]);
            (1.0 - p) * (1.0 - first) + others * first
        })?;
        let most = self.most.unwrap_or(logits.classes).min(logits.classes);
        let [p, rest] = if most < logits.classes {
            let [likeliest, places] = functions::top_k(&mut b, p, 1, most)?;
            [likeliest, functions::select(&mut b, rest, places, 1)?]
        } else {
            [p, rest]
        };
        let mut power = |x| {
            let floored = functions::at_least(&mut b, x, LEAST)?;
            functions::power(&mut b, floored, self.gamma)
        };
        let [p, rest] = [power(p)?, power(rest)?];
        let score = b.formula([p, rest], |[p, rest]| (1.0 / most as f64) * (p * rest).sum(&[1]))?;
        Ok(Statistic::new(b.reshape(score, &[rows])?).into())
    }
}

/// Probabilities, and what they leave to others, are at least this.
const LEAST: f64 = 1e-7;
