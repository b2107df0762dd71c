//! Writing a graph as ONNX.

use std::collections::{BTreeMap, HashMap, HashSet};

use taste_onnx::{
    DimSpec, ElemType, builders,
    proto::{
        AttributeProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto,
        ValueInfoProto,
    },
};

use crate::{DType, Dim, Fact, Graph, Id, OpError, Tensor};

/// The opset of written files: the first with `Gelu`, and known to every engine of the last years.
pub const OPSET: i64 = 20;

/// Constants of up to so many elements are written once, however often they are asked for.
const SMALL: usize = 64;

/// Collects ONNX nodes. An operator receives the names of its arguments and returns those of its
/// results.
pub struct Emitter<'g> {
    graph: &'g Graph,
    nodes: Vec<NodeProto>,
    tensors: Vec<TensorProto>,
    consed: HashMap<String, String>,
    /// Names of small constants, by a hash of their elements.
    small: HashMap<u64, Vec<(Tensor, String)>>,
    /// A value whose first axis is the batch, to read N from.
    batch_source: Option<String>,
    current: usize,
    fresh: usize,
    /// Names that the model's inputs and outputs have.
    taken: HashSet<String>,
    /// Versions of operator sets beside the standard one.
    domains: BTreeMap<String, i64>,
    /// What is known of results that engines can't know.
    declared: Vec<ValueInfoProto>,
}

/// Operators behind which ONNX Runtime no longer knows that a size is the batch: every result then has a size of its own
/// there, and its plan of memory, which compares each with all others, takes most of the time to load.
const FORGET_THE_BATCH: [&str; 2] = ["Reshape", "Expand"];

impl Emitter<'_> {
    /// Declares the shapes of results that depend on the batch, where the node that was written last would lose it.
    fn declare(&mut self, results: &[Id], names: &[String]) {
        let Some(last) = self.nodes.last() else { return };
        if !FORGET_THE_BATCH.contains(&last.op_type.as_str()) {
            return;
        }
        for (id, name) in results.iter().zip(names).filter(|(_, name)| last.output.contains(name)) {
            let fact = self.graph.fact(*id);
            if fact.shape.iter().any(|d| d.depends_on_batch()) {
                self.declared.push(info(name, fact));
            }
        }
    }

    fn fresh(&mut self, stem: &str) -> String {
        loop {
            self.fresh += 1;
            let name = format!("{stem}_{}", self.fresh);
            if !self.taken.contains(&name) {
                return name;
            }
        }
    }

    /// Adds a node with one result and returns its name.
    pub fn node(&mut self, op: &str, args: &[String], attrs: Vec<AttributeProto>) -> String {
        self.node_with(op, args, attrs, 1).swap_remove(0)
    }

    /// Adds a node with several results and returns their names.
    pub fn node_with(
        &mut self,
        op: &str,
        args: &[String],
        attrs: Vec<AttributeProto>,
        results: usize,
    ) -> Vec<String> {
        let outs: Vec<String> = (0..results).map(|_| self.fresh(op)).collect();
        let mut node = builders::node(op, args, &outs, outs.first().map_or(op, String::as_str));
        node.attribute = attrs;
        self.nodes.push(node);
        outs
    }

    /// Adds a node as another file has it, on inputs of these names. `results` are those that are used: their places, element
    /// types and shapes, which are declared. Returns their names.
    pub fn carry(
        &mut self,
        node: &NodeProto,
        version: i64,
        inputs: Vec<String>,
        results: &[(usize, ElemType, Fact)],
    ) -> Vec<String> {
        let mut outs = vec![String::new(); node.output.len()];
        for (place, elem, fact) in results {
            let name = self.fresh(&node.op_type);
            let dims: Vec<DimSpec> = fact.shape.iter().map(|&d| dim_spec(d)).collect();
            self.declared.push(builders::value_info(&name, *elem, &dims));
            outs[*place] = name;
        }
        let name = self.fresh(&node.op_type);
        if !["", "ai.onnx"].contains(&node.domain.as_str()) {
            self.domains.insert(node.domain.clone(), version);
        }
        let used = results.iter().map(|(place, ..)| outs[*place].clone()).collect();
        self.nodes.push(NodeProto { name, input: inputs, output: outs, ..node.clone() });
        used
    }

    /// A tensor as another file has it.
    pub fn stored(&mut self, tensor: &TensorProto) -> String {
        let name = self.fresh("constant");
        self.tensors.push(TensorProto { name: name.clone(), ..tensor.clone() });
        name
    }

    /// A constant.
    pub fn tensor(&mut self, tensor: &Tensor) -> String {
        let hash = (tensor.len() <= SMALL).then(|| tensor.hash());
        let mut written = hash.and_then(|h| self.small.get(&h)).into_iter().flatten();
        if let Some((_, name)) = written.find(|(other, _)| other.is_identical(tensor)) {
            return name.clone();
        }
        let name = self.fresh("constant");
        let dims = tensor.shape();
        self.tensors.push(match tensor {
            Tensor::Float(a) => {
                #[expect(clippy::cast_possible_truncation, reason = "files are single precision")]
                let values: Vec<f32> = a.iter().map(|&v| v as f32).collect();
                builders::tensor_f32(&name, dims, &values)
            }
            Tensor::Int(a) => {
                builders::tensor_i64(&name, dims, &a.iter().copied().collect::<Vec<_>>())
            }
            Tensor::Bool(a) => {
                builders::tensor_bool(&name, dims, &a.iter().copied().collect::<Vec<_>>())
            }
        });
        if let Some(hash) = hash {
            self.small.entry(hash).or_default().push((tensor.clone(), name.clone()));
        }
        name
    }

    /// A constant made from constant argument `i`, written once however often the same is made of it;
    /// nothing if the argument is computed.
    pub fn made_from(
        &mut self,
        i: usize,
        recipe: &str,
        make: impl FnOnce(&Tensor) -> Result<Tensor, OpError>,
    ) -> Result<Option<String>, OpError> {
        let id = self.graph.nodes()[self.current].args[i];
        let Some(source) = self.graph.as_constant(id) else { return Ok(None) };
        let key = format!("{recipe} of value {}", id.index());
        if let Some(name) = self.consed.get(&key) {
            return Ok(Some(name.clone()));
        }
        let made = make(source)?;
        let name = self.tensor(&made);
        self.consed.insert(key, name.clone());
        Ok(Some(name))
    }

    /// A vector of integers.
    pub fn ints(&mut self, values: &[i64]) -> String {
        self.tensor(&Tensor::ints(values))
    }

    /// A float of rank 0.
    pub fn scalar(&mut self, value: f64) -> String {
        self.tensor(&Tensor::scalar(value))
    }

    /// A vector of sizes, computed from the batch where they depend on it.
    pub fn dims(&mut self, dims: &[Dim]) -> String {
        let fixed: Vec<i64> = dims.iter().map(|d| d.fixed).collect();
        let fixed = self.ints(&fixed);
        let Some(source) =
            self.batch_source.clone().filter(|_| dims.iter().any(|d| d.depends_on_batch()))
        else {
            return fixed;
        };
        let batch = if let Some(name) = self.consed.get("batch") {
            name.clone()
        } else {
            let ends = vec![builders::attr_int("start", 0), builders::attr_int("end", 1)];
            let name = self.node("Shape", &[source], ends);
            self.consed.insert("batch".to_owned(), name.clone());
            name
        };
        let per_batch: Vec<i64> = dims.iter().map(|d| d.per_batch).collect();
        let per_batch = self.ints(&per_batch);
        let scaled = self.node("Mul", &[batch, per_batch], vec![]);
        if dims.iter().all(|d| d.fixed == 0) {
            return scaled;
        }
        self.node("Add", &[scaled, fixed], vec![])
    }

    /// The target of a `Reshape`: −1 where the batch enters, as long as that is one axis.
    pub fn reshape_target(&mut self, dims: &[Dim]) -> String {
        let empty = dims.iter().any(|d| d.per_batch == 0 && d.fixed == 0);
        if dims.iter().filter(|d| d.depends_on_batch()).count() == 1 && !empty {
            let target: Vec<i64> = dims.iter().map(|d| d.as_fixed().unwrap_or(-1)).collect();
            return self.ints(&target);
        }
        self.dims(dims)
    }

    /// `Reshape` of a value.
    pub fn reshape(&mut self, x: &str, dims: &[Dim]) -> String {
        let target = self.reshape_target(dims);
        // A size of 0 stands for the size of the argument there, unless the node says otherwise.
        let empty = dims.iter().any(|d| d.as_fixed() == Some(0));
        let attrs = if empty { vec![builders::attr_int("allowzero", 1)] } else { vec![] };
        self.node("Reshape", &[x.to_owned(), target], attrs)
    }

    /// `Pad` with zeros; `pads` as in ONNX, all the beginnings and then all the ends.
    pub fn pad_zeros(&mut self, x: &str, pads: &[i64]) -> String {
        // The value is left out, so that the elements may be of any type.
        let pads = self.ints(pads);
        self.node("Pad", &[x.to_owned(), pads], vec![])
    }

    /// The fact of argument `i` of the node being written.
    pub fn arg_fact(&self, i: usize) -> &Fact {
        self.graph.fact(self.graph.nodes()[self.current].args[i])
    }

    /// The tensor of argument `i` of the node being written, if it is a constant.
    pub fn arg_constant(&self, i: usize) -> Option<&Tensor> {
        self.graph.as_constant(self.graph.nodes()[self.current].args[i])
    }

    /// The fact of result `i` of the node being written.
    pub fn out_fact(&self, i: usize) -> &Fact {
        self.graph.fact(self.graph.nodes()[self.current].outs[i])
    }
}

/// Fails if a file would define a name twice. An output may be an input under its own name.
fn check_names(inputs: &[(String, Id)], outputs: &[(String, Id)]) -> Result<(), OpError> {
    let mut defined: HashMap<&str, Id> = HashMap::new();
    for (name, id) in inputs {
        if defined.insert(name, *id).is_some() {
            return Err(OpError::invalid(format!("two inputs have the name {name:?}")));
        }
    }
    let mut listed = HashSet::new();
    for (name, id) in outputs {
        if defined.get(name.as_str()).is_some_and(|input| input != id) {
            return Err(OpError::invalid(format!("output {name:?} has the name of an input")));
        }
        if !listed.insert(name) {
            return Err(OpError::invalid(format!("two outputs have the name {name:?}")));
        }
    }
    Ok(())
}

impl Graph {
    /// The graph as an ONNX model with these outputs, without what they do not need. Fails if two values would have the
    /// same name.
    pub fn to_onnx(&self, outputs: &[(String, Id)]) -> Result<ModelProto, OpError> {
        let order = self.ancestors(&outputs.iter().map(|o| o.1).collect::<Vec<_>>(), &[]);
        let mut inputs = self.inputs();
        let first = inputs.first().map(|i| i.1);
        inputs.retain(|(_, id)| {
            Some(*id) == first || order.binary_search(&self.node_index(*id)).is_ok()
        });
        check_names(&inputs, outputs)?;
        let has_batch = |id: Id| self.fact(id).shape.first() == Some(&Dim::BATCH);
        let batch_source = inputs.iter().find(|(_, id)| has_batch(*id)).map(|(n, _)| n.clone());
        let mut e = Emitter {
            graph: self,
            nodes: Vec::new(),
            tensors: Vec::new(),
            consed: HashMap::new(),
            small: HashMap::new(),
            batch_source,
            current: 0,
            fresh: 0,
            taken: inputs
                .iter()
                .map(|i| &i.0)
                .chain(outputs.iter().map(|o| &o.0))
                .cloned()
                .collect(),
            domains: BTreeMap::new(),
            declared: Vec::new(),
        };
        let mut names: HashMap<Id, String> = HashMap::new();
        for &n in &order {
            let node = &self.nodes()[n];
            let args: Vec<String> = node.args.iter().map(|a| names[a].clone()).collect();
            e.current = n;
            let before = e.nodes.len();
            let written = node.op.write(&mut e, &args)?;
            if e.nodes.len() > before {
                e.declare(&node.outs, &written);
            }
            names.extend(node.outs.iter().copied().zip(written));
        }
        for (name, id) in outputs.iter().filter(|(name, id)| names[id] != *name) {
            e.nodes.push(builders::node(
                "Identity",
                &[names[id].clone()],
                std::slice::from_ref(name),
                name,
            ));
        }
        // A constant may serve only what was made from it.
        let used: HashSet<&str> =
            e.nodes.iter().flat_map(|n| &n.input).map(String::as_str).collect();
        let initializer =
            e.tensors.into_iter().filter(|t| used.contains(t.name.as_str())).collect();
        let infos = |values: &[(String, Id)]| {
            values.iter().map(|(name, id)| info(name, self.fact(*id))).collect()
        };
        let graph = GraphProto {
            name: "taste".to_owned(),
            initializer,
            node: e.nodes,
            input: infos(&inputs),
            output: infos(outputs),
            value_info: e.declared,
            ..GraphProto::default()
        };
        let mut model = builders::model(graph, OPSET);
        let others = e.domains.into_iter();
        model
            .opset_import
            .extend(others.map(|(domain, version)| OperatorSetIdProto { domain, version }));
        Ok(model)
    }
}

/// A value as a file declares it.
fn info(name: &str, fact: &Fact) -> ValueInfoProto {
    let dims: Vec<DimSpec> = fact.shape.iter().map(|&d| dim_spec(d)).collect();
    builders::value_info(name, elem_type(fact.dtype), &dims)
}

fn dim_spec(dim: Dim) -> DimSpec {
    match dim.as_fixed() {
        Some(size) => DimSpec::Fixed(size),
        None if dim == Dim::BATCH => DimSpec::Symbol("N".to_owned()),
        None => DimSpec::Symbol(dim.to_string().replace('·', "*")),
    }
}

fn elem_type(dtype: DType) -> ElemType {
    match dtype {
        DType::Float => ElemType::F32,
        DType::Int => ElemType::I64,
        DType::Bool => ElemType::Bool,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Build;

    /// −x for an input x of this name.
    fn negative(input: &str) -> (Graph, Id, Id) {
        let mut graph = Graph::new();
        let fact = Fact { dtype: DType::Float, shape: vec![Dim::BATCH, Dim::from(3)] };
        let x = graph.input(input, fact);
        let y = Build::new(&mut graph).neg(x).expect("a value");
        (graph, x, y)
    }

    fn refused(graph: &Graph, outputs: &[(&str, Id)]) -> String {
        let outputs: Vec<_> = outputs.iter().map(|(n, id)| ((*n).to_owned(), *id)).collect();
        graph.to_onnx(&outputs).expect_err("refused").to_string()
    }

    /// Every name that a file defines, as often as it does.
    fn defined(file: &ModelProto) -> Vec<&str> {
        let graph = file.graph.as_ref().expect("a graph");
        let inputs = graph.input.iter().map(|i| i.name.as_str());
        let tensors = graph.initializer.iter().map(|t| t.name.as_str());
        let results = graph.node.iter().flat_map(|n| &n.output).map(String::as_str);
        inputs.chain(tensors).chain(results).collect()
    }

    #[test]
    fn a_name_is_never_defined_twice() {
        let (graph, _, y) = negative("score");
        assert_eq!(refused(&graph, &[("score", y)]), "output \"score\" has the name of an input");
        assert_eq!(refused(&graph, &[("y", y), ("y", y)]), "two outputs have the name \"y\"");
        let (mut graph, x, y) = negative("score");
        graph.rename_input(x, "model_score");
        let file = graph.to_onnx(&[("score".to_owned(), y)]).expect("a file");
        let names = defined(&file);
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len(), "{names:?}");
        assert!(names.contains(&"model_score") && names.contains(&"score"));
    }

    #[test]
    fn the_batch_is_declared_where_it_would_be_lost() {
        let (mut graph, _, y) = negative("x");
        let turned = [Dim::BATCH, Dim::from(1), Dim::from(3)];
        let turned = Build::new(&mut graph).reshape(y, &turned).expect("a value");
        let z = Build::new(&mut graph).neg(turned).expect("a value");
        let file = graph.to_onnx(&[("z".to_owned(), z)]).expect("a file");
        let written = file.graph.expect("a graph");
        let reshape = written.node.iter().find(|n| n.op_type == "Reshape").expect("a node");
        let shape = [DimSpec::Symbol("N".to_owned()), DimSpec::Fixed(1), DimSpec::Fixed(3)];
        assert_eq!(
            written.value_info,
            [builders::value_info(&reshape.output[0], ElemType::F32, &shape)]
        );
    }

    #[test]
    fn two_inputs_of_one_name_are_refused() {
        let (mut graph, x, _) = negative("x");
        let other = graph.input("x", graph.fact(x).clone());
        let sum = Build::new(&mut graph).add(x, other).expect("a value");
        assert_eq!(refused(&graph, &[("sum", sum)]), "two inputs have the name \"x\"");
    }

    #[test]
    fn an_input_may_be_an_output_under_its_own_name() {
        let (graph, x, y) = negative("x");
        let file = graph.to_onnx(&[("x".to_owned(), x), ("y".to_owned(), y)]).expect("a file");
        let names = defined(&file);
        assert_eq!(names.iter().filter(|n| **n == "x").count(), 1, "{names:?}");
    }
}
