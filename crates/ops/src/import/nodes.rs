//! Nodes of a file as operators of a graph.

use std::collections::{HashMap, HashSet};

use taste_graph::{Build, Graph, Id, Tensor};
use taste_onnx::{
    Model,
    proto::{FunctionProto, NodeProto, TensorProto},
};

use super::{
    declared::{ELEMENT_LIMIT, check_size, decode},
    error::{ImportError, Problem, shown, shown_reason},
    order::{label, needed, own_names, uses},
};
use crate::{Reader, find};

/// Functions may call functions, and branches hold branches, this deep.
const CALL_DEPTH: usize = 16;
/// A graph may have this many nodes once functions are written out.
const NODE_LIMIT: usize = 1_000_000;

/// The standard domain has two names.
fn norm(domain: &str) -> &str {
    if domain == "ai.onnx" { "" } else { domain }
}

/// Names in reach. An absent value is the result of a node that could not be imported.
#[derive(Default)]
pub(super) struct Scope<'a> {
    pub(super) values: HashMap<String, Option<Id>>,
    pub(super) tensors: HashMap<&'a str, &'a TensorProto>,
}

/// A graph that grows by the nodes of a file.
pub(super) struct Importer<'a> {
    model: &'a Model,
    pub(super) graph: Graph,
    opsets: HashMap<String, i64>,
    functions: HashMap<(&'a str, &'a str), &'a FunctionProto>,
    /// Nodes that could not be imported.
    pub(super) problems: Vec<Problem>,
    /// Nodes seen so far, those of functions once for every call.
    visited: usize,
}

impl<'a> Importer<'a> {
    pub(super) fn new(model: &'a Model) -> Self {
        let opsets = model.proto.opset_import.iter();
        let functions = model.proto.functions.iter();
        Self {
            model,
            graph: Graph::new(),
            opsets: opsets.map(|o| (norm(&o.domain).to_owned(), o.version)).collect(),
            functions: functions.map(|f| ((norm(&f.domain), f.name.as_str()), f)).collect(),
            problems: Vec::new(),
            visited: 0,
        }
    }

    /// The version of the operators of a domain.
    pub(super) fn opset(&self, domain: &str) -> i64 {
        self.opsets.get(norm(domain)).copied().unwrap_or(1)
    }

    /// A value by name; nothing if its node could not be imported.
    pub(super) fn value(
        &mut self,
        name: &str,
        scope: &mut Scope<'a>,
    ) -> Result<Option<Id>, ImportError> {
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

    /// Imports the nodes that `wanted` need.
    pub(super) fn nodes(
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
            let results = match self.args(node, scope)? {
                None => {
                    // An earlier problem: say only whether this operator has a rule at all.
                    if !is_if(node)
                        && find(&node.domain, &node.op_type).is_none()
                        && self.function(node).is_none()
                    {
                        self.report(node, "no rule for this operator");
                    }
                    None
                }
                Some(args) if is_if(node) => self.choose(node, &args, scope, depth)?,
                Some(args) => self.node(node, args, depth)?,
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

    /// The arguments of a node, of which some may be left out; nothing if one could not be imported.
    fn args(
        &mut self,
        node: &NodeProto,
        scope: &mut Scope<'a>,
    ) -> Result<Option<Vec<Option<Id>>>, ImportError> {
        let mut args = Some(Vec::with_capacity(node.input.len()));
        for name in &node.input {
            let arg = if name.is_empty() { Some(None) } else { self.value(name, scope)?.map(Some) };
            args = args.zip(arg).map(|(mut args, arg)| {
                args.push(arg);
                args
            });
        }
        Ok(args)
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
        let opset = self.opset(&node.domain);
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

fn is_if(node: &NodeProto) -> bool {
    norm(&node.domain).is_empty() && node.op_type == "If"
}
