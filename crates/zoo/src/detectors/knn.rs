//! Deep nearest neighbours (Sun, Ming, Zhu and Li 2022): the distance of a sample's feature, brought to length one, to the
//! k-th nearest feature of training samples. Those features stay in the file.

use std::sync::Arc;

use ndarray::Axis;
use serde_json::json;
use taste_choice::{Arguments, Choice, Entry};
use taste_detector::{
    Error, Family, Job, KeptRows, Method, Named, Needs, Split, Statistic, Step,
    passes::{Gather, Watch},
    refused,
};
use taste_graph::{Build, Id, OpError, Tensor};
use taste_ops::functions;

pub(super) const FAMILY: &dyn Family = &Knn { k: 50, most: 50_000 };

const CHOICE: Choice = Choice {
    name: "knn",
    usage: "knn[:k=50][,most=50000]",
    about: "distance to the k-th nearest feature of at most so many training samples, which stay in the file",
};

/// Entries of the features that stay in the file, at most: 512 MiB.
const MOST_ENTRIES: usize = 1 << 27;
/// Lengths are at least this.
const TINY: f64 = 1e-12;

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
    fn read(&self, arguments: &mut Arguments<'_>, _: &Named) -> Result<Arc<dyn Method>, Error> {
        let k = arguments.number("k", "a number of neighbours from 1 on", |k| *k > 0)?;
        let most = arguments.number("most", "a number of rows from 1 on", |m| *m > 0)?;
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
                let mut stored = |shape: &[usize], values: Vec<f64>| -> Result<Id, OpError> {
                    Ok(b.graph_mut().stored(Tensor::floats(shape, values)?))
                };
                let mean = stored(&[1, width], mean.to_vec())?;
                let turned = stored(&[width, count], bank.t().iter().copied().collect())?;
                let squares = stored(&[1, count], squares.to_vec())?;
                // ‖x − y‖² = ‖x‖² + ‖y‖² − 2x·y, and ‖x‖² is the same for every y.
                let x = b.sub(unit, mean)?;
                let products = functions::matmul(&mut b, x, turned)?;
                let twice = b.scale(products, -2.0)?;
                let relative = b.add(twice, squares)?;
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

/// x/max(‖x‖, tiny) for every row.
fn unit_length(b: &mut Build<'_>, x: Id) -> Result<Id, OpError> {
    let square = functions::square_sum(b, x, 1)?;
    let floored = b.offset(square, TINY * TINY)?;
    let length = functions::sqrt(b, floored)?;
    let inverse = functions::reciprocal(b, length)?;
    b.mul(x, inverse)
}
