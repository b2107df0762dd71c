//! A graph as steps, and the values between them.

use std::collections::{HashMap, HashSet};

use rten::{Value, ValueOrView};

use super::{
    Spare, Workers,
    convolution::{self, Convolution},
    cut::{Group, groups},
    failed,
    piece::{self, Piece},
};
use crate::Error;

/// A graph that runs step by step. Every value has a place.
pub(super) struct Steps {
    inputs: HashMap<String, usize>,
    steps: Vec<Step>,
    outputs: Vec<usize>,
    places: usize,
}

struct Step {
    work: Work,
    reads: Vec<usize>,
    /// Whether nothing reads the value afterwards, for each of `reads`.
    last: Vec<bool>,
    writes: Vec<usize>,
}

enum Work {
    Piece(Piece),
    Convolution(Box<Convolution>),
}

impl Steps {
    pub(super) fn new(file: &taste_onnx::Model, outputs: &[String]) -> Result<Self, Error> {
        let graph = file.proto.graph.as_ref().ok_or_else(|| failed("a file without a graph"))?;
        let constants: HashMap<&str, _> =
            graph.initializer.iter().map(|w| (w.name.as_str(), w)).collect();
        let groups = groups(graph, outputs, convolution::may_run);
        let made: HashSet<&str> =
            graph.node.iter().flat_map(|n| &n.output).map(String::as_str).collect();
        let fed: Vec<&str> = graph.input.iter().map(|i| i.name.as_str()).collect();
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut place = |name: &str| {
            let next = places.len();
            *places.entry(name.to_owned()).or_insert(next)
        };
        let inputs = fed
            .iter()
            .filter(|n| !constants.contains_key(*n))
            .map(|n| ((*n).to_owned(), place(n)))
            .collect();
        let mut steps = Vec::new();
        for (index, group) in groups.iter().enumerate() {
            let nodes = || group.nodes().iter().map(|&n| &graph.node[n]);
            let own: HashSet<&str> = nodes().flat_map(|n| &n.output).map(String::as_str).collect();
            let outside = |name: &&str| {
                !name.is_empty() && !own.contains(name) && !constants.contains_key(name)
            };
            let mut reads: Vec<String> = Vec::new();
            for name in nodes().flat_map(|n| &n.input).map(String::as_str).filter(outside) {
                if !made.contains(name) && !fed.contains(&name) {
                    return Err(failed(format!("nothing computes {name:?}")));
                }
                if !reads.iter().any(|r| r == name) {
                    reads.push(name.to_owned());
                }
            }
            let wanted: HashSet<&str> = groups
                .iter()
                .enumerate()
                .filter(|(i, _)| *i != index)
                .flat_map(|(_, g)| g.nodes().iter().flat_map(|&n| &graph.node[n].input))
                .chain(outputs)
                .map(String::as_str)
                .collect();
            let writes: Vec<String> = nodes()
                .flat_map(|n| &n.output)
                .filter(|o| wanted.contains(o.as_str()))
                .cloned()
                .collect();
            let (nodes, reads_at) = (nodes().cloned().collect(), reads.iter().map(|r| place(r)));
            let reads_at: Vec<usize> = reads_at.collect();
            let work = match group {
                Group::Piece(_) => {
                    let part = piece::file(&file.proto, nodes, &reads, &writes);
                    Work::Piece(Piece::load(part, &reads, &writes)?)
                }
                Group::Convolution(_) => {
                    Work::Convolution(Box::new(Convolution::new(file, nodes, &reads, &writes)?))
                }
            };
            let writes = writes.iter().map(|w| place(w)).collect();
            steps.push(Step { work, last: vec![false; reads_at.len()], reads: reads_at, writes });
        }
        let outputs: Vec<usize> = outputs.iter().map(|o| place(o)).collect();
        let places = places.len();
        let mut read: HashSet<usize> = outputs.iter().copied().collect();
        for step in steps.iter_mut().rev() {
            step.last = step.reads.iter().map(|r| read.insert(*r)).collect();
        }
        Ok(Self { inputs, steps, outputs, places })
    }

    pub(super) fn run(
        &self,
        feeds: Vec<(&str, ValueOrView<'_>)>,
        workers: &Workers,
        spare: &mut Spare,
    ) -> Result<Vec<Value>, Error> {
        let mut values: Vec<Option<ValueOrView<'_>>> = (0..self.places).map(|_| None).collect();
        for (name, value) in feeds {
            if let Some(&place) = self.inputs.get(name) {
                values[place] = Some(value);
            }
        }
        for step in &self.steps {
            let missing = || failed("an input of the graph was not given");
            let mut given = Vec::with_capacity(step.reads.len());
            let mut taken: Vec<Option<ValueOrView<'_>>> = Vec::with_capacity(step.reads.len());
            for (&place, &last) in step.reads.iter().zip(&step.last) {
                taken.push(if last { values[place].take() } else { None });
            }
            for (slot, &place) in taken.iter().zip(&step.reads) {
                let value = slot.as_ref().or(values[place].as_ref()).ok_or_else(missing)?;
                given.push(value.as_view());
            }
            let results = match &step.work {
                Work::Piece(piece) => {
                    let given = given.into_iter().map(ValueOrView::View).collect();
                    piece.run(given, workers)?
                }
                Work::Convolution(convolution) => convolution.run(given, workers, spare)?,
            };
            for value in taken.into_iter().flatten() {
                if let ValueOrView::Value(value) = value {
                    spare.keep(value);
                }
            }
            for (&place, value) in step.writes.iter().zip(results) {
                values[place] = Some(ValueOrView::Value(value));
            }
        }
        let mut results = Vec::with_capacity(self.outputs.len());
        for (i, &place) in self.outputs.iter().enumerate() {
            let again = self.outputs[i + 1..].contains(&place);
            let value = if again {
                values[place].as_ref().map(ValueOrView::to_owned)
            } else {
                values[place].take().map(ValueOrView::into_owned)
            };
            results.push(value.ok_or_else(|| failed("an output was not computed"))?);
        }
        Ok(results)
    }
}
