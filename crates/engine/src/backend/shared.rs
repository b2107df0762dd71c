//! Sharing the samples of a batch out among threads.
//!
//! An engine that splits every operator among threads waits for the slowest of them at each, and runs some operators on one
//! thread alone. Where samples do not depend on each other, every thread may as well run the whole graph for samples of its own;
//! small parts also keep more of what one operator leaves for the next in the cache.

use std::{
    collections::HashMap,
    panic,
    sync::Arc,
    thread::{self, ScopedJoinHandle},
};

use rayon::prelude::*;
use taste_graph::{Dim, Fact, Graph, Id};

use super::{Instance, Loaded};
use crate::{Error, Value, View};

/// A part's inputs take about this many bytes: a network's widest layer is some times wider, and the cache a few times larger.
const PART: usize = 192 << 10;
/// Layers over images are wider by this factor than layers over rows of numbers.
const IMAGE: usize = 4;
/// Fewer samples would read the weights too often.
const FEWEST: usize = 8;

/// The most bytes that weights may take which every thread has for itself.
const COPIES: usize = 1 << 30;

/// Where the samples are in what goes in and what comes out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Samples {
    /// The axis of the samples, by input; inputs that are not here are the same for all samples.
    feeds: HashMap<String, usize>,
    outputs: Vec<Output>,
}

/// What to do with an output of several parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Output {
    /// One after the other along an axis.
    Joined(usize),
    /// Added up.
    Summed,
}

impl Samples {
    /// The samples of a graph whose outputs belong to one sample each or, if `sums`, are sums over samples; nothing if an input
    /// or output can't be taken apart so.
    pub(crate) fn of(graph: &Graph, outputs: &[(String, Id)], sums: bool) -> Option<Self> {
        let mut feeds = HashMap::new();
        for (name, id) in graph.inputs() {
            if let Some(axis) = axis(graph.fact(id)).ok()? {
                feeds.insert(name, axis);
            }
        }
        let outputs = outputs.iter().map(|(_, id)| match axis(graph.fact(*id)).ok()? {
            Some(axis) => Some(Output::Joined(axis)),
            None => sums.then_some(Output::Summed),
        });
        let outputs = outputs.collect::<Option<_>>()?;
        (!feeds.is_empty()).then_some(Self { feeds, outputs })
    }

    /// The number of samples in the feeds and the bytes that count for one, if the feeds agree on it.
    fn count(&self, feeds: &[(&str, View<'_>)]) -> Option<(usize, usize)> {
        let mut rows = None;
        let mut elements = 0;
        for (name, value) in feeds {
            if let Some(&axis) = self.feeds.get(*name) {
                let found = *value.shape().get(axis)?;
                if *rows.get_or_insert(found) != found {
                    return None;
                }
                let widened = if value.shape().len() > 2 { IMAGE } else { 1 };
                elements += widened * value.shape().iter().product::<usize>();
            }
        }
        let rows = rows?;
        Some((rows, elements * size_of::<f32>() / rows.max(1)))
    }
}

/// The axis along which the samples lie, if there is one; an error if the batch enters in another way.
fn axis(fact: &Fact) -> Result<Option<usize>, ()> {
    let mut open = fact.shape.iter().enumerate().filter(|(_, d)| d.depends_on_batch());
    match (open.next(), open.next()) {
        (None, _) => Ok(None),
        (Some((axis, &Dim::BATCH)), None) => Ok(Some(axis)),
        _ => Err(()),
    }
}

/// What shares samples out among threads if it is known where they are, and otherwise every operator.
pub(crate) fn instance(
    loaded: &Arc<dyn Loaded>,
    samples: Option<&Samples>,
    threads: usize,
) -> Result<Box<dyn Instance>, Error> {
    let heavy = loaded.weight_bytes().saturating_mul(threads) > COPIES;
    let samples = match samples {
        Some(samples) if !heavy => samples.clone(),
        _ => return loaded.instance(threads),
    };
    let workers = (0..threads).into_par_iter().map(|_| loaded.instance(1));
    let workers = taste_threads::within(|| workers.collect::<Result<_, _>>())?;
    Ok(Box::new(Shared { loaded: loaded.clone(), samples, workers, whole: None }))
}

/// An instance for every thread.
struct Shared {
    loaded: Arc<dyn Loaded>,
    samples: Samples,
    workers: Vec<Box<dyn Instance>>,
    /// With all threads, for fewer samples than threads and for feeds that don't fit together.
    whole: Option<Box<dyn Instance>>,
}

impl Shared {
    fn run_whole(&mut self, feeds: &[(&str, View<'_>)]) -> Result<Vec<Value>, Error> {
        let instance = match &mut self.whole {
            Some(instance) => instance,
            none => none.insert(self.loaded.instance(self.workers.len())?),
        };
        instance.run(feeds)
    }
}

/// The samples of each part: as many parts for every thread, of nearly equal size.
fn parts(rows: usize, bytes: usize, threads: usize) -> Vec<(usize, usize)> {
    let largest = (PART / bytes.max(1)).max(FEWEST);
    let each = rows.div_ceil(threads).div_ceil(largest);
    let size = rows.div_ceil(each * threads);
    (0..rows).step_by(size).map(|start| (start, rows.min(start + size))).collect()
}

impl Instance for Shared {
    fn run(&mut self, feeds: &[(&str, View<'_>)]) -> Result<Vec<Value>, Error> {
        let parts = match self.samples.count(feeds) {
            Some((rows, bytes)) if rows >= self.workers.len() => {
                // Sums are as long for a small part as for a large one.
                let sums = self.samples.outputs.contains(&Output::Summed);
                parts(rows, if sums { 0 } else { bytes }, self.workers.len())
            }
            _ => return self.run_whole(feeds),
        };
        // Which thread runs what does not depend on their pace, so that results don't either.
        let each = parts.len().div_ceil(self.workers.len());
        let samples = &self.samples;
        let results = match &mut self.workers[..] {
            [alone] => vec![run_parts(alone, samples, feeds, &parts)?],
            workers => run_beside_each_other(workers, samples, feeds, parts.chunks(each))?,
        };
        let mut results: Vec<_> = results.into_iter().flatten().map(Vec::into_iter).collect();
        let together = |how: &Output| {
            let parts: Vec<Value> = results.iter_mut().filter_map(Iterator::next).collect();
            match how {
                Output::Joined(axis) => Value::join_along(*axis, &parts.iter().collect::<Vec<_>>()),
                Output::Summed => Value::sum(parts),
            }
        };
        samples.outputs.iter().map(together).collect()
    }
}

/// Runs what each instance is given, on threads of their own: one of a pool that waits for an instance would take the work of
/// another in the meantime.
fn run_beside_each_other<'a>(
    instances: &mut [Box<dyn Instance>],
    samples: &Samples,
    feeds: &[(&str, View<'_>)],
    shares: impl Iterator<Item = &'a [(usize, usize)]>,
) -> Result<Vec<Vec<Vec<Value>>>, Error> {
    let results: Vec<_> = thread::scope(|scope| {
        let run =
            |(instance, parts)| scope.spawn(move || run_parts(instance, samples, feeds, parts));
        let running: Vec<_> = instances.iter_mut().zip(shares).map(run).collect();
        running.into_iter().map(ScopedJoinHandle::join).collect()
    });
    results.into_iter().map(|r| r.unwrap_or_else(|p| panic::resume_unwind(p))).collect()
}

fn run_parts(
    instance: &mut Box<dyn Instance>,
    samples: &Samples,
    feeds: &[(&str, View<'_>)],
    parts: &[(usize, usize)],
) -> Result<Vec<Vec<Value>>, Error> {
    let run = |&(start, end): &(usize, usize)| {
        let cut = feeds.iter().map(|(name, value)| match samples.feeds.get(*name) {
            Some(&axis) => (*name, value.part(axis, start..end)),
            None => (*name, value.view()),
        });
        instance.run(&cut.collect::<Vec<_>>())
    };
    parts.iter().map(run).collect()
}

#[cfg(test)]
mod tests {
    use proptest::{prop_assert, prop_assert_eq, proptest};
    use taste_graph::DType;

    use super::*;

    fn graph_of(shape: &[Dim]) -> (Graph, Vec<(String, Id)>) {
        let mut graph = Graph::default();
        let x = graph.input("x", Fact { dtype: DType::Float, shape: shape.to_vec() });
        (graph, vec![("y".to_owned(), x)])
    }

    #[test]
    fn samples_are_found_along_any_one_axis() {
        let (graph, outputs) = graph_of(&[3.into(), Dim::BATCH]);
        let found = Samples::of(&graph, &outputs, false).expect("samples");
        assert_eq!(found.feeds, HashMap::from([("x".to_owned(), 1)]));
        assert_eq!(found.outputs, [Output::Joined(1)]);
    }

    #[test]
    fn a_batch_that_is_not_one_axis_is_left_whole() {
        let twice = Dim { per_batch: 2, fixed: 0 };
        for shape in [&[twice][..], &[Dim::BATCH, Dim::BATCH], &[3.into()]] {
            let (graph, outputs) = graph_of(shape);
            assert_eq!(Samples::of(&graph, &outputs, true), None, "{shape:?}");
        }
    }

    #[test]
    fn feeds_that_disagree_have_no_count() {
        let feeds = HashMap::from([("x".to_owned(), 0), ("s".to_owned(), 1)]);
        let samples = Samples { feeds, outputs: vec![Output::Joined(0)] };
        let count = |feeds: &[(&'static str, &[usize])]| {
            let zeros = |shape: &[usize]| Value::F32(ndarray::ArrayD::zeros(shape));
            let values: Vec<_> = feeds.iter().map(|(name, shape)| (*name, zeros(shape))).collect();
            samples.count(&values.iter().map(|(name, v)| (*name, v.into())).collect::<Vec<_>>())
        };
        assert_eq!(count(&[("x", &[6, 5]), ("s", &[2, 6])]), Some((6, 28)));
        assert_eq!(count(&[("x", &[6, 5]), ("s", &[2, 7])]), None);
        assert_eq!(count(&[("s", &[6])]), None);
    }

    proptest! {
        #[test]
        fn parts_cover_every_sample_once(rows in 1usize..400, bytes in 1usize..(1 << 21), threads in 1usize..9) {
            let found = parts(rows, bytes, threads);
            prop_assert_eq!(found.first().map(|p| p.0), Some(0));
            prop_assert_eq!(found.last().map(|p| p.1), Some(rows));
            prop_assert!(found.windows(2).all(|w| w[0].1 == w[1].0));
            let most = found.iter().map(|p| p.1 - p.0).max().unwrap_or(0);
            prop_assert!(most * bytes <= PART || most <= FEWEST);
            prop_assert!(found.len() >= rows.min(threads).div_ceil(2), "threads stay idle");
        }
    }
}
