//! A graph as steps, and the values between them.

use std::collections::{BTreeSet, HashMap, HashSet};

use rten::{Value, ValueOrView};
use taste_onnx::proto::NodeProto;

use super::{
    Spare, Workers,
    constants::Constants,
    convolution::{self, Convolution, Filters},
    cut::{Group, groups},
    failed,
    piece::{self, Piece},
};
use crate::Error;

/// A constant of more bytes than this that several pieces read is kept once, for them all.
const LARGE: usize = 1 << 20;

/// A graph that runs step by step. Every value has a place.
pub(super) struct Steps {
    inputs: HashMap<String, usize>,
    constants: Vec<(usize, Value)>,
    order: Vec<Step>,
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
    Piece(Box<Piece>),
    Convolution(Box<Convolution>),
}

/// Places by name, in the order in which they are asked for.
#[derive(Default)]
struct Places<'a>(HashMap<&'a str, usize>);

impl<'a> Places<'a> {
    fn of(&mut self, name: &'a str) -> usize {
        let next = self.0.len();
        *self.0.entry(name).or_insert(next)
    }
}

impl Steps {
    pub(super) fn new(file: &taste_onnx::Model, outputs: &[String]) -> Result<Self, Error> {
        let graph = file.proto.graph.as_ref().ok_or_else(|| failed("a file without a graph"))?;
        let constants = Constants::of(file);
        let groups = groups(graph, outputs, convolution::may_run);
        let nodes = |group: &Group| -> Vec<&NodeProto> {
            group.nodes().iter().map(|&n| &graph.node[n]).collect()
        };
        let members: Vec<Vec<&NodeProto>> = groups.iter().map(nodes).collect();
        let mut made_by: HashMap<&str, usize> = HashMap::new();
        for (group, nodes) in members.iter().enumerate() {
            made_by.extend(nodes.iter().flat_map(|n| &n.output).map(|o| (o.as_str(), group)));
        }
        let mut places = Places::default();
        let fed = graph.input.iter().map(|i| i.name.as_str()).filter(|n| !constants.has(n));
        let inputs: HashMap<String, usize> = fed.map(|n| (n.to_owned(), places.of(n))).collect();
        let shared = shared_constants(&groups, &members, &constants);
        let known = |name: &str| {
            made_by.contains_key(name) || inputs.contains_key(name) || constants.has(name)
        };
        if let Some(missing) = outputs.iter().find(|o| !known(o)) {
            return Err(failed(format!("nothing computes the output {missing:?}")));
        }
        let plain = outputs.iter().map(String::as_str);
        let plain = plain.filter(|o| constants.has(o) && !made_by.contains_key(o));
        let mut kept = Vec::new();
        for name in shared.iter().copied().chain(plain) {
            kept.push((places.of(name), constants.value(name)?.into()));
        }
        let local = |group: usize, name: &str| {
            name.is_empty()
                || made_by.get(name) == Some(&group)
                || (constants.has(name) && !shared.contains(name))
        };
        let reads = reads_from_outside(&members, local);
        let given = |name: &str| {
            made_by.contains_key(name) || shared.contains(name) || inputs.contains_key(name)
        };
        if let Some(missing) = reads.iter().flatten().find(|name| !given(name)) {
            return Err(failed(format!("nothing computes {missing:?}")));
        }
        let leaving: HashSet<&str> =
            reads.iter().flatten().copied().chain(outputs.iter().map(String::as_str)).collect();
        let mut filters = Filters::default();
        let mut order = Vec::with_capacity(groups.len());
        for ((group, nodes), reads) in groups.iter().zip(&members).zip(&reads) {
            let written = nodes.iter().flat_map(|n| &n.output).map(String::as_str);
            let writes: Vec<&str> = written.filter(|o| leaving.contains(o)).collect();
            let part = piece::file(file, &constants, nodes, reads, &writes);
            let work = match group {
                Group::Piece(_) => Work::Piece(Box::new(Piece::load(&part, reads, &writes)?)),
                Group::Convolution(_) => {
                    let otherwise = piece::Later::new(part, reads, &writes);
                    let made = Convolution::new(nodes, reads, &constants, &mut filters, otherwise)?;
                    Work::Convolution(Box::new(made))
                }
            };
            let last = vec![false; reads.len()];
            let reads = reads.iter().map(|r| places.of(r)).collect();
            let writes = writes.iter().map(|w| places.of(w)).collect();
            order.push(Step { work, reads, last, writes });
        }
        let outputs: Vec<usize> = outputs.iter().map(|o| places.of(o)).collect();
        let held = outputs.iter().copied().chain(kept.iter().map(|k| k.0));
        note_last_reads(&mut order, held.collect());
        Ok(Self { inputs, constants: kept, order, outputs, places: places.0.len() })
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
        for (place, value) in &self.constants {
            values[*place] = Some(ValueOrView::View(value.as_view()));
        }
        for step in &self.order {
            let missing = || failed("an input of the graph was not given");
            let mut taken: Vec<Option<ValueOrView<'_>>> = Vec::with_capacity(step.reads.len());
            for (&place, &last) in step.reads.iter().zip(&step.last) {
                taken.push(if last { values[place].take() } else { None });
            }
            let mut given = Vec::with_capacity(step.reads.len());
            for (slot, &place) in taken.iter().zip(&step.reads) {
                let value = slot.as_ref().or(values[place].as_ref()).ok_or_else(missing)?;
                given.push(value.as_view());
            }
            let results = match &step.work {
                Work::Piece(piece) => piece.run(given, workers)?,
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

/// What each group reads that is not its own, once.
fn reads_from_outside<'a>(
    members: &[Vec<&'a NodeProto>],
    local: impl Fn(usize, &str) -> bool,
) -> Vec<Vec<&'a str>> {
    let of_group = |(group, nodes): (usize, &Vec<&'a NodeProto>)| {
        let mut seen = HashSet::new();
        let names = nodes.iter().flat_map(|n| &n.input).map(String::as_str);
        names.filter(|name| !local(group, name) && seen.insert(*name)).collect()
    };
    members.iter().enumerate().map(of_group).collect()
}

/// Notes which steps are the last to read a value; those in `held` are read for ever.
fn note_last_reads(order: &mut [Step], held: HashSet<usize>) {
    let mut read = held;
    for step in order.iter_mut().rev() {
        step.last = step.reads.iter().map(|r| read.insert(*r)).collect();
    }
}

/// Large constants that several pieces read.
fn shared_constants<'a>(
    groups: &[Group],
    members: &[Vec<&'a NodeProto>],
    constants: &Constants<'_>,
) -> BTreeSet<&'a str> {
    let mut readers: HashMap<&str, HashSet<usize>> = HashMap::new();
    for (index, (group, nodes)) in groups.iter().zip(members).enumerate() {
        if matches!(group, Group::Piece(_)) {
            for name in nodes.iter().flat_map(|n| &n.input) {
                if constants.bytes(name) > LARGE {
                    readers.entry(name).or_default().insert(index);
                }
            }
        }
    }
    readers.into_iter().filter(|(_, groups)| groups.len() > 1).map(|(name, _)| name).collect()
}
