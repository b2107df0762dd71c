//! From an ONNX file to a graph.

use std::{
    collections::{HashMap, HashSet},
    fmt,
    ops::RangeInclusive,
};

use taste_graph::{Build, Dim, Fact, Graph, Id, OpError, Tensor};
use taste_onnx::{
    Model,
    proto::{FunctionProto, GraphProto, NodeProto, TensorProto},
};

use crate::{
    Reader,
    declare::{decode, input_fact},
    find,
};

/// A model as a graph.
#[derive(Debug)]
pub struct Imported {
    /// The graph.
    pub graph: Graph,
    /// The inputs by name.
    pub inputs: Vec<(String, Id)>,
    /// The outputs by name.
    pub outputs: Vec<(String, Id)>,
    /// The inputs and the results of the file's own nodes by name, in the order of the file; those that no output needs
    /// are left out.
    pub values: Vec<(String, Id)>,
}

/// A node that can't be imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The name of the node, or of its first result.
    pub node: String,
    /// The operator.
    pub op: String,
    /// What is wrong.
    pub reason: String,
}

/// Why a model can't be imported.
#[derive(Debug)]
#[non_exhaustive]
pub enum ImportError {
    /// Something is wrong with the model as a whole.
    Model(String),
    /// An input leaves sizes open beside its first axis, and nobody gave them.
    OpenShape {
        /// The input.
        input: String,
        /// The axis of open size; absent if not even the number of axes is known.
        axis: Option<usize>,
    },
    /// Some nodes are not supported; all of them are listed.
    Nodes(Vec<Problem>),
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model(message) => f.write_str(message),
            Self::OpenShape { input, axis: Some(axis) } => {
                write!(f, "input {input:?} leaves the size of axis {axis} open: give its shape")
            }
            Self::OpenShape { input, axis: None } => {
                write!(f, "input {input:?} declares no shape: give one")
            }
            Self::Nodes(problems) => {
                let width = |column: fn(&Problem) -> &str, head: &str| {
                    let longest = problems.iter().map(|p| column(p).chars().count()).max();
                    longest.unwrap_or(0).max(head.len())
                };
                let (a, b) = (width(|p| &p.node, "node"), width(|p| &p.op, "operator"));
                let count = problems.len();
                writeln!(
                    f,
                    "{count} node{} not supported:",
                    if count == 1 { " is" } else { "s are" }
                )?;
                write!(f, "  {:a$}  {:b$}  reason", "node", "operator")?;
                for p in problems {
                    write!(f, "\n  {:a$}  {:b$}  {}", p.node, p.op, p.reason)?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for ImportError {}

impl From<OpError> for ImportError {
    fn from(cause: OpError) -> Self {
        Self::Model(cause.to_string())
    }
}

/// The versions of the standard operators that are read.
const OPSETS: RangeInclusive<i64> = 7..=28;
/// Functions may call functions, and branches hold branches, this deep.
const CALL_DEPTH: usize = 16;
/// A graph may have this many nodes once functions are written out.
const NODE_LIMIT: usize = 1_000_000;
/// No value of a network has more elements for one sample, and no network more weights.
const ELEMENT_LIMIT: usize = 1 << 31;
/// The same for the other axes of a tensor with an axis of size 0.
const EMPTY_LIMIT: usize = 1 << 24;
/// No value of a network has more axes.
pub(crate) const AXIS_LIMIT: usize = 64;
/// How much of a name or a reason a message shows.
const SHOWN: usize = 120;

/// Text of a file, short enough for a message and on one line.
pub(crate) fn shown(text: &str) -> String {
    let mut line: String =
        text.chars().take(SHOWN).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(SHOWN).is_some() {
        line.push('…');
    }
    line
}

/// Fails if a value is larger than any network's.
pub(crate) fn check_size(fact: &Fact) -> Result<(), OpError> {
    // Axes of size 0 do not excuse the others: loops over those would do nothing, for long.
    let sizes = fact.at(1).shape;
    let most = if sizes.contains(&0) { EMPTY_LIMIT } else { ELEMENT_LIMIT };
    let count = sizes.iter().filter(|d| **d > 0).fold(1usize, |n, &d| n.saturating_mul(d));
    if fact.rank() > AXIS_LIMIT {
        return Err(OpError::unsupported("a tensor with this many axes", fact.rank()));
    }
    if count > most {
        return Err(OpError::invalid(format!(
            "its shape {} is absurd: more than {most} elements for one sample",
            shown(&fact.to_string())
        )));
    }
    Ok(())
}

/// Imports what `outputs` need, or every output if none are named. `shapes` fixes the shape of an input by name,
/// where the file leaves more open than the first axis.
pub fn import(
    model: &Model,
    outputs: &[String],
    shapes: &HashMap<String, Vec<Dim>>,
) -> Result<Imported, ImportError> {
    let proto = model
        .proto
        .graph
        .as_ref()
        .ok_or_else(|| ImportError::Model("the model has no graph".into()))?;
    let mut importer = Importer::new(model)?;
    let mut scope = Scope::default();
    let inputs = importer.inputs(proto, shapes, &mut scope)?;
    let wanted = wanted(proto, outputs)?;
    importer.nodes(&proto.node, &wanted, &mut scope, 0)?;
    let mut ends = Vec::new();
    for name in wanted {
        match importer.value(&name, &mut scope)? {
            Some(id) => ends.push((name, id)),
            None if importer.problems.is_empty() => {
                return Err(ImportError::Model(format!(
                    "nothing computes output {:?}",
                    shown(&name)
                )));
            }
            None => {}
        }
    }
    if !importer.problems.is_empty() {
        return Err(ImportError::Nodes(importer.problems));
    }
    let results = proto.node.iter().flat_map(|n| &n.output);
    let computed = results.filter_map(|name| Some((name.clone(), (*scope.values.get(name)?)?)));
    let values = inputs.iter().cloned().chain(computed).collect();
    Ok(Imported { graph: importer.graph, inputs, outputs: ends, values })
}

/// The names of the outputs asked for, or of all if none are.
fn wanted(proto: &GraphProto, outputs: &[String]) -> Result<Vec<String>, ImportError> {
    let names: Vec<&str> = proto.output.iter().map(|o| o.name.as_str()).collect();
    if let Some(missing) = outputs.iter().find(|w| !names.contains(&w.as_str())) {
        return Err(ImportError::Model(format!(
            "no output {:?}; the model has {}",
            shown(missing),
            shown(&names.join(", "))
        )));
    }
    match (outputs, &names[..]) {
        ([], []) => Err(ImportError::Model("the model has no outputs".into())),
        ([], all) => Ok(all.iter().map(|&n| n.to_owned()).collect()),
        (some, _) => Ok(some.to_vec()),
    }
}

fn twice(name: &str) -> ImportError {
    ImportError::Model(format!("value {:?} is computed twice", shown(name)))
}

fn norm(domain: &str) -> &str {
    if domain == "ai.onnx" { "" } else { domain }
}

/// Names in reach. An absent value is the result of a node that could not be imported.
#[derive(Default)]
struct Scope<'a> {
    values: HashMap<String, Option<Id>>,
    tensors: HashMap<&'a str, &'a TensorProto>,
}

struct Importer<'a> {
    model: &'a Model,
    graph: Graph,
    opsets: HashMap<String, i64>,
    functions: HashMap<(&'a str, &'a str), &'a FunctionProto>,
    problems: Vec<Problem>,
    /// Nodes seen so far, those of functions once for every call.
    visited: usize,
}

impl<'a> Importer<'a> {
    fn new(model: &'a Model) -> Result<Self, ImportError> {
        let proto = &model.proto;
        let opsets: HashMap<String, i64> =
            proto.opset_import.iter().map(|o| (norm(&o.domain).to_owned(), o.version)).collect();
        let opset = opsets.get("").copied().unwrap_or(1);
        if !OPSETS.contains(&opset) {
            let (first, last) = (OPSETS.start(), OPSETS.end());
            return Err(ImportError::Model(format!(
                "opset {opset} is outside the supported range {first} to {last}"
            )));
        }
        let functions =
            proto.functions.iter().map(|f| ((norm(&f.domain), f.name.as_str()), f)).collect();
        let (graph, problems) = (Graph::new(), Vec::new());
        Ok(Self { model, graph, opsets, functions, problems, visited: 0 })
    }

    /// Brings the model's tensors and inputs into scope, and checks that no node computes one of them.
    fn inputs(
        &mut self,
        proto: &'a GraphProto,
        shapes: &HashMap<String, Vec<Dim>>,
        scope: &mut Scope<'a>,
    ) -> Result<Vec<(String, Id)>, ImportError> {
        for tensor in &proto.initializer {
            if scope.tensors.insert(&tensor.name, tensor).is_some() {
                return Err(twice(&tensor.name));
            }
        }
        let mut inputs = Vec::new();
        for info in proto.input.iter().filter(|i| !scope.tensors.contains_key(i.name.as_str())) {
            let fact = input_fact(info, shapes.get(&info.name))?;
            let id = self.graph.input(&info.name, fact);
            if scope.values.insert(info.name.clone(), Some(id)).is_some() {
                return Err(twice(&info.name));
            }
            inputs.push((info.name.clone(), id));
        }
        let given =
            |name: &str| scope.values.contains_key(name) || scope.tensors.contains_key(name);
        let mut results = proto.node.iter().flat_map(|n| &n.output);
        match results.find(|o| !o.is_empty() && given(o)) {
            Some(name) => Err(twice(name)),
            None => Ok(inputs),
        }
    }

    fn value(&mut self, name: &str, scope: &mut Scope<'a>) -> Result<Option<Id>, ImportError> {
        if let Some(id) = scope.values.get(name) {
            return Ok(*id);
        }
        let Some(tensor) = scope.tensors.get(name) else {
            return Err(ImportError::Model(format!("nothing computes value {:?}", shown(name))));
        };
        let tensor = decode(self.model, tensor)?;
        let id = self.graph.stored(tensor);
        scope.values.insert(name.to_owned(), Some(id));
        Ok(Some(id))
    }

    fn nodes(
        &mut self,
        nodes: &'a [NodeProto],
        wanted: &[String],
        scope: &mut Scope<'a>,
        depth: usize,
    ) -> Result<(), ImportError> {
        self.visited = self.visited.saturating_add(nodes.len());
        if self.visited > NODE_LIMIT {
            return Err(ImportError::Model(format!("the graph has more than {NODE_LIMIT} nodes")));
        }
        let uses: Vec<Vec<&str>> = nodes.iter().map(uses).collect();
        let used: HashSet<&str> =
            uses.iter().flatten().copied().chain(wanted.iter().map(String::as_str)).collect();
        for &n in &needed(nodes, &uses, wanted)? {
            let node = &nodes[n];
            if self.graph.stored_len() > ELEMENT_LIMIT {
                return Err(ImportError::Model(format!(
                    "the model's tensors have more than {ELEMENT_LIMIT} elements together"
                )));
            }
            self.graph.check_made()?;
            let mut args = Vec::with_capacity(node.input.len());
            let mut broken = false;
            for name in &node.input {
                if name.is_empty() {
                    args.push(None);
                    continue;
                }
                let id = self.value(name, scope)?;
                broken |= id.is_none();
                args.push(id);
            }
            let results = if broken {
                // An earlier problem: say only whether this operator has a rule at all.
                if !is_if(node)
                    && find(&node.domain, &node.op_type).is_none()
                    && self.function(node).is_none()
                {
                    self.report(node, "no rule for this operator");
                }
                None
            } else if is_if(node) {
                self.choose(node, &args, scope, depth)?
            } else {
                self.node(node, args, depth)?
            };
            for (i, name) in node.output.iter().enumerate().filter(|(_, n)| !n.is_empty()) {
                let id = match &results {
                    Some(ids) => ids.get(i).copied(),
                    None => None,
                };
                if results.is_some() && id.is_none() && used.contains(name.as_str()) {
                    self.report(node, &format!("its result {i} is not supported"));
                }
                scope.values.insert(name.clone(), id);
            }
        }
        Ok(())
    }

    fn function(&self, node: &NodeProto) -> Option<&'a FunctionProto> {
        self.functions.get(&(norm(&node.domain), node.op_type.as_str())).copied()
    }

    fn node(
        &mut self,
        node: &'a NodeProto,
        args: Vec<Option<Id>>,
        depth: usize,
    ) -> Result<Option<Vec<Id>>, ImportError> {
        if let Some(function) = self.function(node) {
            return self.call(node, function, args, depth);
        }
        let Some(entry) = find(&node.domain, &node.op_type) else {
            self.report(node, "no rule for this operator");
            return Ok(None);
        };
        let opset = self.opsets.get(norm(&node.domain)).copied().unwrap_or(1);
        self.graph.set_label(Some(label(node)));
        let mut reader = Reader::new(Build::new(&mut self.graph), node, self.model, args, opset);
        let results = (entry.read)(&mut reader).and_then(|ids| {
            reader.finish()?;
            ids.iter().try_for_each(|&id| check_size(reader.fact(id)))?;
            Ok(ids)
        });
        self.graph.set_label(None);
        match results {
            Ok(ids) => Ok(Some(ids)),
            Err(cause) => {
                self.report(node, &cause.to_string());
                Ok(None)
            }
        }
    }

    /// A call of a function that the model defines itself. Attributes passed to functions are not
    /// supported: exporters write them out.
    fn call(
        &mut self,
        node: &'a NodeProto,
        function: &'a FunctionProto,
        args: Vec<Option<Id>>,
        depth: usize,
    ) -> Result<Option<Vec<Id>>, ImportError> {
        if depth >= CALL_DEPTH {
            return Err(ImportError::Model(format!("functions nest deeper than {CALL_DEPTH}")));
        }
        if !node.attribute.is_empty() && !function.attribute.is_empty() {
            self.report(node, "a model's own function with attributes");
            return Ok(None);
        }
        let mut scope = Scope::default();
        for (name, arg) in function.input.iter().zip(args) {
            scope.values.insert(name.clone(), arg);
        }
        self.nodes(&function.node, &function.output, &mut scope, depth + 1)?;
        let mut results = Vec::new();
        for name in &function.output {
            match self.value(name, &mut scope)? {
                Some(id) => results.push(id),
                None => return Ok(None),
            }
        }
        Ok(Some(results))
    }

    /// The results of the branch that a condition picks, if it is known. The branch sees the names around it;
    /// its own are forgotten behind it.
    fn choose(
        &mut self,
        node: &'a NodeProto,
        args: &[Option<Id>],
        scope: &mut Scope<'a>,
        depth: usize,
    ) -> Result<Option<Vec<Id>>, ImportError> {
        if depth >= CALL_DEPTH {
            return Err(ImportError::Model(format!("branches nest deeper than {CALL_DEPTH}")));
        }
        let condition = match args {
            [Some(id)] => self.graph.as_constant(*id),
            _ => None,
        };
        let name = match condition {
            Some(Tensor::Bool(a)) if a.len() == 1 && a.iter().all(|&c| c) => "then_branch",
            Some(Tensor::Bool(a)) if a.len() == 1 => "else_branch",
            _ => {
                self.report(
                    node,
                    "its condition is not known for every input and every batch size",
                );
                return Ok(None);
            }
        };
        let attribute = node.attribute.iter().find(|a| a.name == name);
        let Some(branch) = attribute.and_then(|a| a.g.as_deref()) else {
            self.report(node, &format!("it has no {name}"));
            return Ok(None);
        };
        let own: HashSet<&'a str> = own_names(branch).collect();
        let hidden: Vec<_> =
            own.iter().map(|n| (scope.values.remove(*n), scope.tensors.remove(*n))).collect();
        for tensor in &branch.initializer {
            scope.tensors.insert(&tensor.name, tensor);
        }
        let wanted: Vec<String> = branch.output.iter().map(|o| o.name.clone()).collect();
        self.nodes(&branch.node, &wanted, scope, depth + 1)?;
        let mut results = Some(Vec::new());
        for name in &wanted {
            let id = self.value(name, scope)?;
            results = results.zip(id).map(|(mut all, id)| {
                all.push(id);
                all
            });
        }
        for (name, (value, tensor)) in own.into_iter().zip(hidden) {
            scope.values.remove(name);
            scope.tensors.remove(name);
            scope.values.extend(value.map(|v| (name.to_owned(), v)));
            scope.tensors.extend(tensor.map(|t| (name, t)));
        }
        Ok(results)
    }

    fn report(&mut self, node: &NodeProto, reason: &str) {
        let op = match norm(&node.domain) {
            "" => node.op_type.clone(),
            domain => format!("{domain}.{}", node.op_type),
        };
        let (name, op) = (shown(label(node)), shown(&op));
        self.problems.push(Problem { node: name, op, reason: shown_reason(reason) });
    }
}

/// A reason on one line; the end of a long one says least.
fn shown_reason(reason: &str) -> String {
    let line: String = reason.chars().take(3 * SHOWN).collect();
    line.replace(['\n', '\r'], " ")
}

fn label(node: &NodeProto) -> &str {
    if node.name.is_empty() { node.output.first().map_or("", String::as_str) } else { &node.name }
}

fn is_if(node: &NodeProto) -> bool {
    norm(&node.domain).is_empty() && node.op_type == "If"
}

/// The values that a node uses, by its subgraphs too.
fn uses(node: &NodeProto) -> Vec<&str> {
    let mut names: Vec<&str> = node.input.iter().map(String::as_str).collect();
    for attribute in &node.attribute {
        for graph in attribute.g.as_deref().into_iter().chain(&attribute.graphs) {
            let own: HashSet<&str> = own_names(graph).collect();
            let inner = graph.node.iter().flat_map(uses);
            let ends = graph.output.iter().map(|o| o.name.as_str());
            names.extend(inner.chain(ends).filter(|n| !own.contains(n)));
        }
    }
    names
}

/// The names that a subgraph defines.
fn own_names(graph: &GraphProto) -> impl Iterator<Item = &str> {
    let results = graph.node.iter().flat_map(|n| &n.output).map(String::as_str);
    let inputs = graph.input.iter().map(|i| i.name.as_str());
    results.chain(inputs).chain(graph.initializer.iter().map(|t| t.name.as_str()))
}

/// The nodes that `wanted` depend on, each after the ones it uses.
fn needed(
    nodes: &[NodeProto],
    uses: &[Vec<&str>],
    wanted: &[String],
) -> Result<Vec<usize>, ImportError> {
    let mut producer: HashMap<&str, usize> = HashMap::new();
    for (n, node) in nodes.iter().enumerate() {
        for name in node.output.iter().filter(|n| !n.is_empty()) {
            if producer.insert(name, n).is_some() {
                return Err(twice(name));
            }
        }
    }
    // Depth first, without recursion: a node is entered once and listed when its arguments are.
    let mut order = Vec::new();
    let mut state = vec![0u8; nodes.len()];
    let mut stack: Vec<(usize, usize)> = Vec::new();
    for name in wanted {
        if let Some(&n) = producer.get(name.as_str())
            && state[n] == 0
        {
            state[n] = 1;
            stack.push((n, 0));
        }
        while let Some((n, i)) = stack.pop() {
            let Some(&input) = uses[n].get(i) else {
                state[n] = 2;
                order.push(n);
                continue;
            };
            stack.push((n, i + 1));
            if let Some(&p) = producer.get(input) {
                match state[p] {
                    0 => {
                        state[p] = 1;
                        stack.push((p, 0));
                    }
                    1 => {
                        return Err(ImportError::Model(format!(
                            "the graph is cyclic: node {:?} depends on itself",
                            shown(label(&nodes[p]))
                        )));
                    }
                    _ => {}
                }
            }
        }
    }
    Ok(order)
}
