//! What a model is made of, and what can be asked of it.

use std::{
    collections::{BTreeMap, HashSet},
    fmt,
};

use taste_graph::{Build, Calculus, DType, Dim, Fact, Graph, Id, Node, diff};
use taste_onnx::{
    ElemType,
    proto::{NodeProto, ValueInfoProto, tensor_shape_proto::dimension, type_proto},
};
use taste_ops::{Argument, Entry, Reader, Words};

use crate::{
    Batch, Error, LAPLACIAN_METHODS, LaplacianMethod, Model, Request, Target, Wants,
    derive::{Job, Problem, Signs},
    error::request,
    memory,
    model::Opened,
};

/// An input or output as the file declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Its name.
    pub name: String,
    /// The element type's name; empty if there is none.
    pub elem_type: String,
    /// The size of every axis, or the name of one that is open; absent if the rank is open.
    pub shape: Option<Vec<Result<usize, String>>>,
    /// Whether it holds floats.
    pub is_float: bool,
    /// Whether it is declared to be a tensor.
    pub is_tensor: bool,
}

impl Port {
    /// How many entries of a sample it takes, if it takes one number or one row of a known size.
    pub fn row_width(&self) -> Option<usize> {
        match self.shape.as_deref()? {
            [_] => Some(1),
            [_, width] => width.clone().ok(),
            _ => None,
        }
    }

    /// Whether it holds whole numbers.
    pub fn is_whole(&self) -> bool {
        let name = self.elem_type.trim_start_matches('u');
        name.strip_prefix("int").is_some_and(|bits| bits.parse::<u8>().is_ok())
    }

    fn of(info: &ValueInfoProto) -> Self {
        use type_proto::Value as Type;
        let declared = info.r#type.as_ref().and_then(|t| t.value.as_ref());
        let tensor = match declared {
            Some(Type::TensorType(tensor)) => Some(tensor),
            _ => None,
        };
        let elem_type = match declared {
            Some(Type::TensorType(t)) => match ElemType::from_code(t.elem_type) {
                Some(known) => known.to_string(),
                None => format!("type {}", t.elem_type),
            },
            Some(Type::OpaqueType(_)) => "opaque type".to_owned(),
            Some(Type::SequenceType(_)) => "sequence".to_owned(),
            Some(Type::MapType(_)) => "map".to_owned(),
            Some(Type::OptionalType(_)) => "optional".to_owned(),
            Some(Type::SparseTensorType(_)) => "sparse tensor".to_owned(),
            None => "undeclared".to_owned(),
        };
        let size = |d: Option<&dimension::Value>| match d {
            Some(dimension::Value::DimValue(size)) => {
                usize::try_from(*size).map_err(|_| "?".to_owned())
            }
            Some(dimension::Value::DimParam(name)) if !name.is_empty() => Err(name.clone()),
            _ => Err("?".to_owned()),
        };
        let shape = tensor.and_then(|t| t.shape.as_ref());
        Self {
            name: info.name.clone(),
            elem_type,
            shape: shape.map(|s| s.dim.iter().map(|d| size(d.value.as_ref())).collect()),
            is_float: taste_ops::declares_floats(info),
            is_tensor: tensor.is_some(),
        }
    }
}

/// How an operator differentiates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Nothing flows through.
    Constant,
    /// Its derivative is itself.
    Linear,
    /// Linear in each of two arguments.
    Bilinear,
    /// Element by element, with kinks and no curvature.
    PiecewiseLinear,
    /// Element by element, with curvature.
    Pointwise,
    /// Made of others.
    Composite,
    /// Left to the engine as it is: nothing is known of derivatives.
    Carried,
}

impl Class {
    /// The class of a node whose arguments at `varying` carry derivatives.
    fn of(graph: &Graph, node: &Node, varying: impl Fn(Id) -> bool) -> Self {
        let masked = || node.args.iter().any(|&a| !varying(a) && graph.as_constant(a).is_none());
        match node.op.calculus() {
            Calculus::Constant => Self::Constant,
            Calculus::Bilinear(_) if node.args.iter().all(|&a| varying(a)) => Self::Bilinear,
            Calculus::Bilinear(_) if masked() => Self::PiecewiseLinear,
            Calculus::Linear(_) | Calculus::Bilinear(_) => Self::Linear,
            Calculus::Pointwise(_) => match diff::is_curved(&node.op, graph.fact(node.args[0])) {
                Ok(false) => Self::PiecewiseLinear,
                _ => Self::Pointwise,
            },
            Calculus::Composite(_) => Self::Composite,
            Calculus::Unknown => Self::Carried,
        }
    }

    /// The class of one ONNX node from the nodes that it became.
    fn together(parts: impl Iterator<Item = Self>) -> Option<Self> {
        parts.reduce(|a, b| match a.max(b) {
            widest if widest == Self::Carried || a.min(b) <= Self::Linear => widest,
            _ => Self::Composite,
        })
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Constant => "constant",
            Self::Linear => "linear",
            Self::Bilinear => "bilinear",
            Self::PiecewiseLinear => "piecewise linear",
            Self::Pointwise => "pointwise",
            Self::Composite => "composite",
            Self::Carried => "carried as it is",
        })
    }
}

/// An operator that can be differentiated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operator {
    /// The ONNX spelling, after the domain and a dot if it has one.
    pub name: String,
    /// How it differentiates; absent if there is no rule for it.
    pub class: Option<Class>,
}

/// Every operator, in order of names.
pub fn operators() -> Vec<Operator> {
    let mut all: Vec<Operator> = taste_ops::operators()
        .map(|entry| Operator { name: full_name(entry.domain, entry.name), class: class_of(entry) })
        .collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

fn full_name(domain: &str, name: &str) -> String {
    match domain {
        "" | "ai.onnx" => name.to_owned(),
        domain => format!("{domain}.{name}"),
    }
}

/// The class of an operator, the widest of its samples.
fn class_of(entry: &Entry) -> Option<Class> {
    let classes = (entry.samples)().into_iter().filter_map(|sample| {
        let mut graph = Graph::new();
        let mut args = Vec::new();
        for (i, argument) in sample.arguments.iter().enumerate() {
            args.push(match argument {
                Argument::Omitted => None,
                Argument::Fixed(tensor) => Some(graph.constant(tensor.clone())),
                Argument::Active(tensor) => {
                    let shape = tensor.shape().iter().map(|&d| Dim::from(d)).collect();
                    Some(graph.input(&format!("x{i}"), Fact { dtype: tensor.dtype(), shape }))
                }
            });
        }
        let names: Vec<String> = (0..sample.results).map(|i| format!("y{i}")).collect();
        let mut node = NodeProto {
            op_type: entry.name.to_owned(),
            domain: entry.domain.to_owned(),
            output: names,
            attribute: sample.attributes.clone(),
            ..NodeProto::default()
        };
        node.input = args
            .iter()
            .enumerate()
            .map(|(i, a)| a.map_or(String::new(), |_| format!("x{i}")))
            .collect();
        let fed: Vec<Id> = args.iter().flatten().copied().collect();
        let model = taste_onnx::Model::new(taste_onnx::proto::ModelProto::default());
        let mut words = Words::default();
        let (b, source) = (Build::new(&mut graph), (&node, &model));
        let mut reader = Reader::new(b, &mut words, source, args, sample.opset);
        let outs = (entry.read)(&mut reader).ok()?;
        let floats =
            |id: &Id| graph.fact(*id).dtype == DType::Float && graph.as_constant(*id).is_none();
        let wrt: Vec<Id> = fed.into_iter().filter(floats).collect();
        let nodes = graph.ancestors(&outs, &[]);
        let active = graph.active(&nodes, &wrt);
        if !outs.iter().any(|o| active[o.index()]) {
            return Some(Class::Constant);
        }
        let flows = nodes
            .iter()
            .map(|&n| &graph.nodes()[n])
            .filter(|n| !n.args.is_empty() && n.outs.iter().any(|o| active[o.index()]));
        let class = Class::together(flows.map(|n| Class::of(&graph, n, |id| active[id.index()])));
        Some(class.unwrap_or(Class::Linear))
    });
    classes.max()
}

/// A file, without judgement.
#[derive(Clone, Debug)]
pub struct Overview {
    /// The program that wrote it, with its version; may be empty.
    pub producer: String,
    /// The version of the file format.
    pub ir_version: i64,
    /// Versions of operator sets by domain; the standard one has the empty domain.
    pub opsets: Vec<(String, i64)>,
    /// The inputs, without weights.
    pub inputs: Vec<Port>,
    /// The outputs.
    pub outputs: Vec<Port>,
    /// Entries of the weights that are floats.
    pub parameters: u64,
    /// How often each operator occurs, the most frequent first.
    pub operators: Vec<(Operator, usize)>,
}

/// Whether a Laplacian method applies to a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applicability {
    /// The method.
    pub method: LaplacianMethod,
    /// Why not; absent if it does.
    pub obstacle: Option<String>,
    /// What it costs, in words.
    pub cost: String,
}

/// What can be derived of a model.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// The output that is looked at.
    pub output: String,
    /// Entries of one row of the output.
    pub width: usize,
    /// The function of it.
    pub target: Target,
    /// The input that is differentiated by.
    pub wrt: String,
    /// Entries of one sample of it.
    pub dimension: usize,
    /// Whether the target is piecewise affine in the input, so that second derivatives are zero almost
    /// everywhere.
    pub is_flat: bool,
    /// How many samples the file takes at once.
    pub batch: Batch,
    /// How many samples are computed at once.
    pub chunk: usize,
    /// Operators of the graph that computes value, gradient and Laplacian.
    pub nodes: usize,
    /// The Laplacian method that `auto` picks, or the one asked for.
    pub method: LaplacianMethod,
    /// Why.
    pub reason: String,
    /// The others.
    pub methods: Vec<Applicability>,
    /// How each operator of the file differentiates in this model, by its full name.
    pub classes: BTreeMap<String, Class>,
}

/// Which Laplacian methods apply to a model.
fn laplacian_methods(problem: &Problem, job: &Job) -> Vec<Applicability> {
    let width = problem.head.width;
    let all = LAPLACIAN_METHODS.iter().flat_map(|kind| {
        let examples = kind.rule.examples(width).into_iter();
        examples.map(|count| LaplacianMethod::new(kind, count))
    });
    all.map(|method| Applicability {
        method,
        obstacle: problem.clone().derive(method, job).err().map(|e| match e {
            Error::LaplacianMethod { reason, .. } => reason,
            other => other.to_string(),
        }),
        cost: method.kind().rule.cost(problem, method.count()),
    })
    .collect()
}

impl Model {
    /// The input of a name or, without one, the input that samples go to: the first that holds floats and has an axis
    /// beside that of the samples, or else the first that holds floats.
    pub fn input(&self, name: Option<&str>) -> Result<Port, Error> {
        let ports = self.inputs();
        let names = || ports.iter().map(|p| p.name.as_str()).collect::<Vec<_>>().join(", ");
        let has_axes = |p: &&Port| p.shape.as_ref().is_none_or(|s| s.len() > 1);
        let floats = || ports.iter().filter(|p| p.is_float);
        let found = match name {
            Some(name) => ports.iter().find(|p| p.name == name),
            None => floats().find(has_axes).or_else(|| floats().next()),
        };
        match (found, name) {
            (Some(port), _) if port.is_float => Ok(port.clone()),
            (Some(port), _) => {
                Err(request(format!("{}: input {:?} holds no floats", self.name(), port.name)))
            }
            (None, Some(name)) => Err(request(format!(
                "{}: no input {name:?}; the model has {}",
                self.name(),
                names()
            ))),
            (None, None) => Err(request(format!(
                "{}: no input that holds floats; the model has {}",
                self.name(),
                if ports.is_empty() { "no inputs".to_owned() } else { names() }
            ))),
        }
    }

    /// The inputs that the file declares, without weights.
    pub fn inputs(&self) -> Vec<Port> {
        let Some(graph) = &self.onnx().proto.graph else { return Vec::new() };
        let weights: HashSet<&str> = graph.initializer.iter().map(|t| t.name.as_str()).collect();
        graph.input.iter().filter(|i| !weights.contains(i.name.as_str())).map(Port::of).collect()
    }

    /// The outputs that the file declares.
    pub fn outputs(&self) -> Vec<Port> {
        self.onnx().proto.graph.iter().flat_map(|g| &g.output).map(Port::of).collect()
    }

    /// What the file says of itself.
    pub fn overview(&self) -> Overview {
        let proto = &self.onnx().proto;
        let graph = proto.graph.as_ref();
        let weights = graph.map(|g| &g.initializer[..]).unwrap_or_default();
        let entries = |t: &taste_onnx::proto::TensorProto| {
            let sizes = t.dims.iter().map(|&d| u64::try_from(d).unwrap_or(0));
            sizes.fold(1, u64::saturating_mul)
        };
        let floats = weights.iter().filter(|t| {
            let elem_type = ElemType::from_code(t.data_type);
            matches!(
                elem_type,
                Some(ElemType::F32 | ElemType::F64 | ElemType::F16 | ElemType::Bf16)
            )
        });
        let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for node in graph.map(|g| &g.node[..]).unwrap_or_default() {
            *counts.entry((&node.domain, &node.op_type)).or_default() += 1;
        }
        let mut operators: Vec<(Operator, usize)> = counts
            .into_iter()
            .map(|((domain, name), count)| {
                let own = proto.functions.iter().any(|f| f.domain == domain && f.name == name);
                let class = match taste_ops::find(domain, name) {
                    _ if own => Some(Class::Composite),
                    Some(entry) => class_of(entry),
                    None => None,
                };
                (Operator { name: full_name(domain, name), class }, count)
            })
            .collect();
        operators.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        // Coefficients, thresholds and leaves of ONNX-ML are lists within nodes.
        let classical = graph.iter().flat_map(|g| &g.node).filter(|n| n.domain == "ai.onnx.ml");
        let lists = classical.flat_map(|n| &n.attribute).map(|a| a.floats.len() as u64);
        Overview {
            producer: format!("{} {}", proto.producer_name, proto.producer_version)
                .trim()
                .to_owned(),
            ir_version: proto.ir_version,
            opsets: proto.opset_import.iter().map(|o| (o.domain.clone(), o.version)).collect(),
            inputs: self.inputs(),
            outputs: self.outputs(),
            parameters: floats.map(entries).chain(lists).fold(0, u64::saturating_add),
            operators,
        }
    }

    /// What can be derived, and how; what is wanted beside the value is set to gradient and Laplacian.
    pub fn analyse(&self, asked: &Request) -> Result<Analysis, Error> {
        let Opened { problem, batch, .. } = self.problem(asked)?;
        let job = Job {
            wants: Wants { gradient: true, laplacian: true, ..Wants::NONE },
            signs: Signs::Fed,
            lanes: memory::lanes(&problem.graph, problem.f, asked.memory),
            field: None,
        };
        let chosen = problem.clone().derive(asked.laplacian_method, &job)?;
        let ends = chosen.ends();
        let chunk = match batch {
            Batch::Fixed(rows) => rows,
            Batch::Open => memory::chunk(&chosen.graph, &ends, asked.memory),
        };
        let ends: Vec<_> = ends.into_iter().map(|end| end.1).collect();
        Ok(Analysis {
            output: problem.output.clone(),
            width: problem.head.width,
            target: problem.target,
            wrt: problem.wrt(),
            dimension: problem.dimension,
            is_flat: chosen.how.is_flat,
            batch,
            chunk,
            nodes: chosen.graph.ancestors(&ends, &[]).len(),
            method: chosen.how.method,
            reason: chosen.how.reason,
            methods: laplacian_methods(&problem, &job),
            classes: self.classes(&problem),
        })
    }

    /// The class of each operator from the nodes that carry the name of one of its nodes.
    fn classes(&self, problem: &Problem) -> BTreeMap<String, Class> {
        let graph = &problem.graph;
        let nodes = graph.ancestors(&[problem.f], &[]);
        let active = graph.active(&nodes, &[problem.x]);
        // Weights count as arguments, factors that an operator brings along do not.
        let varying = |id: Id| graph.as_constant(id).is_none_or(|t| t.len() > 1);
        let mut by_label: BTreeMap<&str, Vec<Class>> = BTreeMap::new();
        for node in nodes.iter().map(|&n| &graph.nodes()[n]).filter(|n| !n.args.is_empty()) {
            let Some(label) = &node.label else { continue };
            let flows = node.outs.iter().any(|o| active[o.index()]);
            let class = if flows { Class::of(graph, node, varying) } else { Class::Constant };
            by_label.entry(label).or_default().push(class);
        }
        let mut classes = BTreeMap::new();
        for node in self.onnx().proto.graph.iter().flat_map(|g| &g.node) {
            let first = node.output.first().map_or("", String::as_str);
            let label = if node.name.is_empty() { first } else { &node.name };
            let made = by_label.get(label).into_iter().flatten().copied();
            if let Some(class) = Class::together(made) {
                let widest = classes.entry(full_name(&node.domain, &node.op_type)).or_insert(class);
                *widest = class.max(*widest);
            }
        }
        classes
    }
}
