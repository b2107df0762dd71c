//! Deep nearest neighbours (Sun, Ming, Zhu and Li 2022): the distance of a sample's feature, brought to length one, to
//! the k-th nearest feature of training samples. Those features stay in the file.

use std::sync::Arc;

use ndarray::Axis;
use serde_json::json;
use taste_choice::{Arguments, Choice, Entry};
use taste_detector::{
    About, Error, Family, Job, KeptRows, Method, Named, Needs, Split, Statistic, Step,
    passes::{Gather, Watch},
    refused,
};
use taste_ops::functions;

use super::shared::{MOST_ENTRIES, count, stored_matrix, stored_row, unit_length};

pub(super) const FAMILY: &dyn Family = &Knn { k: 50, most: 50_000 };

const CHOICE: Choice = Choice {
    name: "knn",
    usage: "knn[:k=50][,most=50000] | knn:paper",
    about: "distance to the k-th nearest feature of at most so many training samples, which stay in the file; paper: \
            k=1, as the authors of TASTE ran it",
};

/// The distance to the k-th nearest neighbour.
#[derive(Clone, Copy, Debug)]
struct Knn {
    k: usize,
    /// Training rows that are kept at most: a uniform draw of them.
    most: usize,
}

impl Entry for Knn {
    fn choice(&self) -> &Choice {
        &CHOICE
    }
}

impl Family for Knn {
    fn about(&self) -> About {
        About {
            paper: "Sun, Ming, Zhu and Li 2022",
            fit: "1",
            score: "1, and products with the rows",
        }
    }

    fn read(&self, arguments: &mut Arguments<'_>, _: &Named) -> Result<Arc<dyn Method>, Error> {
        let k =
            if arguments.flag("paper") { Some(1) } else { count(arguments, "k", "neighbours")? };
        let most = count(arguments, "most", "rows")?;
        let found = Self { k: k.unwrap_or(self.k), most: most.unwrap_or(self.most) };
        if found.k > found.most {
            return Err(refused(format!(
                "the {} nearest of {} rows are too many",
                found.k, found.most
            )));
        }
        Ok(Arc::new(found))
    }
}

impl Method for Knn {
    fn name(&self) -> &str {
        CHOICE.name
    }

    fn written(&self) -> String {
        format!("{}:k={},most={}", CHOICE.name, self.k, self.most)
    }

    fn needs(&self) -> Needs {
        Needs {
            learns: true,
            features: true,
            keeps: Some("features of training samples"),
            ..Needs::default()
        }
    }

    fn begin(&self, job: &mut Job<'_>) -> Result<Step, Error> {
        let feature = job.draft.features(job.settings.features.as_deref())?;
        let mut b = job.draft.build();
        let unit = unit_length(&mut b, feature.id)?;
        let most = self.most.min(MOST_ENTRIES / feature.width.max(1)).max(1);
        let bank = Gather::Rows { most, seed: job.settings.seed, whole: false };
        let watches = vec![Watch::value("bank", unit, bank)];
        let (k, tensor) = (self.k, feature.name);
        Ok(Step::pass(
            "training samples for the neighbours",
            Split::Fit,
            watches,
            move |job, seen| {
                let bank = &seen.rows("bank")?.values;
                let (count, width) = bank.dim();
                if k > count {
                    return Err(refused(format!(
                        "the method knn wants the {k} nearest training samples, and {count} have finite features"
                    )));
                }
                let rows = job.draft.rows();
                let mut b = job.draft.build();
                // About the mean of the bank, numbers are no larger than distances, and their differences keep their digits.
                let bank = bank.mapv(f64::from);
                let mean = bank.mean_axis(Axis(0)).unwrap_or_default();
                let bank = bank - &mean;
                let squares = bank.map_axis(Axis(1), |row| row.dot(&row));
                let mean = stored_row(&mut b, &mean.to_vec())?;
                let turned = stored_matrix(&mut b, &bank.t())?;
                let squares = stored_row(&mut b, &squares.to_vec())?;
                // ‖x − y‖² = ‖x‖² + ‖y‖² − 2x·y, and ‖x‖² is the same for every y.
                let x = b.sub(unit, mean)?;
                let products = functions::matmul(&mut b, x, turned)?;
                let relative = b.formula([products, squares], |[p, squares]| squares - 2.0 * p)?;
                let [nearest, _] = functions::bottom_k(&mut b, relative, 1, k)?;
                let kth = functions::slice(&mut b, nearest, 1, k - 1, 1)?;
                let own = functions::square_sum(&mut b, x, 1)?;
                let square = b.add(kth, own)?;
                let square = functions::relu(&mut b, square)?;
                let distance = functions::sqrt(&mut b, square)?;
                let mut statistic = Statistic::new(b.reshape(distance, &[rows])?);
                statistic.facts = json!({ "features": tensor, "neighbours": k });
                let what = "features of training samples, brought to length one".to_owned();
                statistic.rows.push(KeptRows { what, count, width });
                Ok(statistic.into())
            },
        ))
    }
}
