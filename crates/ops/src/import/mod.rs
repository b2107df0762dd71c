//! From an ONNX file to a graph.

mod carried;
mod error;
mod order;

use std::{
    collections::{HashMap, HashSet},
    ops::RangeInclusive,
};

use taste_graph::{Build, DType, Dim, Fact, Graph, Id, OpError, Tensor};
use taste_onnx::{
    ElemType, Model,
    proto::{FunctionProto, GraphProto, NodeProto, TensorProto, ValueInfoProto, type_proto},
};

use crate::{
    Reader, Words,
    carry::{Carried, Slot, Yield},
    declare::{declared_shape, declares_words, decode_words, input_fact},
    find,
};
pub(crate) use error::shown;
pub use error::{ImportError, Problem};
use error::{shown_reason, twice};
use order::{needed, own_names, uses};

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
    /// The words that the model knows, and the inputs that take their codes.
    pub words: Words,
    /// The inputs that take words, by name.
    pub word_inputs: Vec<String>,
}

/// The versions of the standard operators that are read.
const OPSETS: RangeInclusive<i64> = 7..=28;
/// Operators whose results have as many rows as values decide.
const SIZED_BY_VALUES: [&str; 3] = ["Compress", "NonMaxSuppression", "Unique"];
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
    let (graph, words) = (importer.graph, importer.words);
    let holds_words = |(name, id): &(String, Id)| words.holds(*id).then(|| name.clone());
    let word_inputs = inputs.iter().filter_map(holds_words).collect();
    Ok(Imported { graph, inputs, outputs: ends, values, words, word_inputs })
}

/// Fails if the version of the standard operators is not one that is read, or is not said although they are used.
fn check_opset(
    proto: &taste_onnx::proto::ModelProto,
    opset: Option<i64>,
) -> Result<(), ImportError> {
    let (first, last) = (OPSETS.start(), OPSETS.end());
    let Some(opset) = opset else {
        let mut nodes = proto.graph.iter().flat_map(|g| &g.node);
        return match nodes.find(|n| norm(&n.domain).is_empty()) {
            None => Ok(()),
            Some(node) => Err(ImportError::Model(format!(
                "the file does not say which version of the standard operators it uses, and node {:?} is one of \
                 them ({}): add the version to opset_import",
                shown(label(node)),
                shown(&node.op_type)
            ))),
        };
    };
    if OPSETS.contains(&opset) {
        return Ok(());
    }
    Err(ImportError::Model(format!(
        "opset {opset} is outside the supported range {first} to {last}: export the model again, or convert it with \
         onnx.version_converter"
    )))
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
    /// What the file declares of values in between.
    declared: HashMap<&'a str, &'a ValueInfoProto>,
    /// The size of the first axis of the inputs in the file, and what it is here.
    rows: (Option<i64>, Dim),
    words: Words,
    problems: Vec<Problem>,
    /// Nodes seen so far, those of functions once for every call.
    visited: usize,
}

impl<'a> Importer<'a> {
    fn new(model: &'a Model) -> Result<Self, ImportError> {
        let proto = &model.proto;
        let opsets: HashMap<String, i64> =
            proto.opset_import.iter().map(|o| (norm(&o.domain).to_owned(), o.version)).collect();
        check_opset(proto, opsets.get("").copied())?;
        let functions =
            proto.functions.iter().map(|f| ((norm(&f.domain), f.name.as_str()), f)).collect();
        let infos = proto.graph.iter().flat_map(|g| &g.value_info);
        Ok(Self {
            model,
            graph: Graph::new(),
            opsets,
            functions,
            declared: infos.map(|i| (i.name.as_str(), i)).collect(),
            rows: (None, Dim::BATCH),
            words: Words::default(),
            problems: Vec::new(),
            visited: 0,
        })
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
            let first = declared_shape(info).and_then(|s| s.first().copied().flatten());
            if let Some(&rows) = fact.shape.first().filter(|_| inputs.is_empty()) {
                self.rows = (first.and_then(|f| i64::try_from(f).ok()), rows);
            }
            let id = self.graph.input(&info.name, fact);
            if declares_words(info) {
                self.words.mark(id);
            }
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
        let tensor = decode_words(self.model, tensor, &mut self.words)?;
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
            let has_rule = is_if(node)
                || find(&node.domain, &node.op_type).is_some()
                || self.function(node).is_some();
            let mut args = Vec::with_capacity(node.input.len());
            let mut broken = false;
            for name in &node.input {
                // Tensors of types that only the engine knows go with the node.
                if name.is_empty() || (!has_rule && Self::is_foreign(name, scope)) {
                    args.push(None);
                    continue;
                }
                let id = self.value(name, scope)?;
                broken |= id.is_none();
                args.push(id);
            }
            let results = if broken {
                // An earlier problem: say only whether this operator has a rule at all.
                if !has_rule {
                    self.report(node, "no rule for this operator");
                }
                None
            } else if is_if(node) {
                self.choose(node, &args, scope, depth)?
            } else {
                self.node_or_carried(node, args, scope, depth)?
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

    /// The results of a node by its rule or, without one that fits, as it is.
    fn node_or_carried(
        &mut self,
        node: &'a NodeProto,
        args: Vec<Option<Id>>,
        scope: &Scope<'a>,
        depth: usize,
    ) -> Result<Option<Vec<Id>>, ImportError> {
        if let Some(function) = self.function(node) {
            return self.call(node, function, args, depth);
        }
        let holds_words = args.iter().flatten().any(|id| self.words.holds(*id));
        let words = match Words::through(&node.op_type) {
            _ if !holds_words => Some(false),
            known => known,
        };
        let Some(words) = words else {
            self.report(node, "it is applied to words, which go through the graph as codes");
            return Ok(None);
        };
        let problem = match find(&node.domain, &node.op_type) {
            None => "no rule for this operator".to_owned(),
            Some(_) => match self.node(node, args.clone()) {
                Ok(ids) => {
                    ids.iter().filter(|_| words).for_each(|id| self.words.mark(*id));
                    return Ok(Some(ids));
                }
                Err(cause) => cause.to_string(),
            },
        };
        // A rule of a standard operator that does not fit says what is wrong with the node.
        if norm(&node.domain).is_empty() && find("", &node.op_type).is_some() {
            self.report(node, &problem);
            return Ok(None);
        }
        match self.carry(node, &args, scope) {
            Ok(ids) => Ok(Some(ids)),
            Err(why) => {
                let why = if holds_words { "it is applied to words".to_owned() } else { why };
                let reason = if why.is_empty() { problem } else { format!("{problem}; {why}") };
                self.report(node, &reason);
                Ok(None)
            }
        }
    }

    /// Whether a name is a tensor of the file with elements that have no type here.
    fn is_foreign(name: &str, scope: &Scope<'a>) -> bool {
        let Some(tensor) = scope.tensors.get(name) else { return false };
        let known = [ElemType::F32, ElemType::I64, ElemType::Bool, ElemType::F64, ElemType::F16];
        !ElemType::from_code(tensor.data_type).is_some_and(|t| known.contains(&t))
    }

    /// The results of a node that stays as it is; or why it can't.
    fn carry(
        &mut self,
        node: &'a NodeProto,
        args: &[Option<Id>],
        scope: &Scope<'a>,
    ) -> Result<Vec<Id>, String> {
        let has_graph = |a: &taste_onnx::proto::AttributeProto| {
            a.g.is_some()
                || !a.graphs.is_empty()
                || a.t.as_ref().is_some_and(|t| !t.external_data.is_empty())
        };
        if node.attribute.iter().any(has_graph) {
            return Err("it holds a graph of its own".to_owned());
        }
        if args.iter().flatten().any(|id| self.words.holds(*id)) {
            return Err(String::new());
        }
        let yields = self.yields(node, args)?;
        let mut slots = Vec::with_capacity(args.len());
        for (name, arg) in node.input.iter().zip(args) {
            slots.push(match (arg, scope.tensors.get(name.as_str())) {
                (None, Some(tensor)) => {
                    let data = self.model.tensor(tensor).map_err(|e| e.to_string())?;
                    Slot::Stored(Box::new(data.to_proto("")))
                }
                (None, None) => Slot::Omitted,
                (Some(id), _) => Slot::Value(self.element(name, *id)),
            });
        }
        let version = self.opsets.get(norm(&node.domain)).copied().unwrap_or(1);
        let op = std::sync::Arc::new(Carried::new(node, version, slots, yields.clone()));
        let args: Vec<Id> = args.iter().flatten().copied().collect();
        self.graph.set_label(Some(label(node)));
        let ids = self.graph.push(op, &args);
        self.graph.set_label(None);
        let ids = ids.map_err(|e| e.to_string())?;
        for &id in &ids {
            check_size(self.graph.fact(id)).map_err(|e| e.to_string())?;
        }
        Ok(ids)
    }

    /// What a node without a rule yields, by its operator or as the file declares it: all results up to the last.
    fn yields(&self, node: &NodeProto, args: &[Option<Id>]) -> Result<Vec<Yield>, String> {
        if let Some(found) = carried::by_rule(&self.graph, node, args) {
            return Ok(found);
        }
        if SIZED_BY_VALUES.contains(&node.op_type.as_str()) {
            return Err("the size of its result depends on values, so samples do not go through it each by itself: export the \
                        model from behind it, and prepare the data before"
                .to_owned());
        }
        let (exported, rows) = self.rows;
        let of = |(place, name): (usize, &String)| {
            let info = self.declared.get(name.as_str());
            info.and_then(|i| carried::declared(i, place, exported, rows)).ok_or_else(|| {
                format!(
                    "the shape of its result {:?} is not known, so it can't stay as it is either: run \
                     onnx.shape_inference on the file",
                    shown(name)
                )
            })
        };
        node.output.iter().enumerate().map(of).collect()
    }

    /// The element type that a carried node wants of an argument: the file's, if it says so, but single precision for all
    /// floats.
    fn element(&self, name: &str, id: Id) -> ElemType {
        match self.graph.fact(id).dtype {
            DType::Float => ElemType::F32,
            DType::Bool => ElemType::Bool,
            DType::Int => {
                let proto = self.model.proto.graph.as_ref();
                let inputs = proto.into_iter().flat_map(|g| &g.input);
                let info = inputs.chain(self.declared.get(name).copied()).find(|i| i.name == name);
                let declared = info.and_then(|i| i.r#type.as_ref()?.value.as_ref());
                match declared {
                    Some(type_proto::Value::TensorType(t)) => ElemType::from_code(t.elem_type),
                    _ => None,
                }
                .unwrap_or(ElemType::I64)
            }
        }
    }

    /// The results of a node by the rule of its operator.
    fn node(&mut self, node: &'a NodeProto, args: Vec<Option<Id>>) -> Result<Vec<Id>, OpError> {
        let entry = find(&node.domain, &node.op_type)
            .ok_or_else(|| OpError::unsupported("the operator", &node.op_type))?;
        let opset = self.opsets.get(norm(&node.domain)).copied().unwrap_or(1);
        self.graph.set_label(Some(label(node)));
        let (b, source) = (Build::new(&mut self.graph), (node, self.model));
        let mut reader = Reader::new(b, &mut self.words, source, args, opset);
        let results = (entry.read)(&mut reader).and_then(|ids| {
            reader.finish()?;
            ids.iter().try_for_each(|&id| check_size(reader.fact(id)))?;
            Ok(ids)
        });
        self.graph.set_label(None);
        results
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

fn label(node: &NodeProto) -> &str {
    let results = node.output.iter().find(|o| !o.is_empty());
    if node.name.is_empty() { results.map_or("", String::as_str) } else { &node.name }
}

fn is_if(node: &NodeProto) -> bool {
    norm(&node.domain).is_empty() && node.op_type == "If"
}
