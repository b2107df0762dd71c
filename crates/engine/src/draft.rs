//! A model's graph to build upon: several targets, fields that are part of the graph, results of one's own.

use taste_graph::{Build, Dim, Graph, Id};

use crate::{
    Batch, Error, Method, Model, Request, Target, Wants,
    derive::{Cut, Derivation, Problem, Signs},
    error::request,
    memory,
    target::Head,
};

/// A graph that holds a model, and grows.
#[derive(Clone, Debug)]
pub struct Draft {
    graph: Graph,
    input: (String, Id),
    output: (String, Id),
    head: Head,
    dimension: usize,
    batch: Batch,
    method: Method,
    seed: u64,
    memory: usize,
}

/// What was added to a [`Draft`]; what was not asked for is absent.
#[derive(Clone, Debug)]
pub struct Parts {
    /// f: N, or N × K for every class.
    pub value: Id,
    /// ∇f.
    pub gradient: Option<Id>,
    /// Δf, like the value.
    pub laplacian: Option<Id>,
    /// The standard error of a stochastic Δf.
    pub stderr: Option<Id>,
    /// ∂²f/∂xᵢ².
    pub diagonal: Option<Id>,
    /// s·∇f, like the value.
    pub drift: Option<Id>,
    /// ∂z/∂x for every logit: N × K × entries of x.
    pub jacobian: Option<Id>,
    /// How second derivatives are computed.
    pub method: Method,
    /// Why this method, in words.
    pub reason: String,
    /// Whether f is piecewise affine, so that Δf is zero almost everywhere.
    pub is_flat: bool,
}

impl Model {
    /// The model as a graph to build upon. The target and the wants of the request do not matter yet.
    pub fn draft(&self, asked: &Request) -> Result<Draft, Error> {
        let (problem, batch) = self.problem(&Request { target: None, ..asked.clone() })?;
        let (name, x) = (problem.wrt(), problem.x);
        let others: Vec<String> =
            problem.graph.inputs().into_iter().map(|i| i.0).filter(|n| *n != name).collect();
        if !others.is_empty() {
            return Err(request(format!(
                "{}: besides {name:?} the model wants the input{} {}, and a graph that stands alone has \
                 nothing to feed there",
                self.name(),
                if others.len() == 1 { "" } else { "s" },
                others.join(", ")
            )));
        }
        Ok(Draft {
            input: (name, x),
            output: (problem.output.clone(), problem.head.output),
            head: problem.head,
            dimension: problem.dimension,
            graph: problem.graph,
            batch,
            method: asked.method,
            seed: asked.seed,
            memory: asked.memory,
        })
    }
}

impl Draft {
    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// A scope in which to add to the graph.
    pub fn build(&mut self) -> Build<'_> {
        Build::new(&mut self.graph)
    }

    /// The input: samples along the first axis.
    pub fn input(&self) -> Id {
        self.input.1
    }

    /// The name of the input.
    pub fn input_name(&self) -> &str {
        &self.input.0
    }

    /// The output that targets are functions of.
    pub fn output(&self) -> Id {
        self.output.1
    }

    /// The name of the output that targets are functions of.
    pub fn output_name(&self) -> &str {
        &self.output.0
    }

    /// The sizes of one sample.
    pub fn sample_shape(&self) -> Vec<usize> {
        self.graph.fact(self.input.1).shape[1..].iter().map(|d| d.at(0)).collect()
    }

    /// Entries of one sample.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// How many samples the graph takes at once.
    pub fn batch(&self) -> Batch {
        self.batch
    }

    /// The number of samples, as a size in the graph.
    pub fn rows(&self) -> Dim {
        self.graph.fact(self.input.1).shape[0]
    }

    /// Entries of the output: classes of a classifier.
    pub fn width(&self) -> usize {
        self.head.width
    }

    /// Whether the output is class probabilities already.
    pub fn ends_in_softmax(&self) -> bool {
        self.head.softmax_inside
    }

    /// What softmax is or would be applied to: N × K.
    pub fn logits(&self) -> Id {
        self.head.logits
    }

    /// Class probabilities: N × K.
    pub fn probabilities(&mut self) -> Result<Id, Error> {
        let head = self.head;
        Ok(head.probabilities(&mut Build::new(&mut self.graph))?)
    }

    /// Adds derivatives of a target; `field` is what the drift goes along. Random signs become part of the
    /// graph, the same for every sample.
    pub fn derive(
        &mut self,
        target: Target,
        wants: Wants,
        field: Option<Id>,
    ) -> Result<Parts, Error> {
        let graph = std::mem::take(&mut self.graph);
        let kept = graph.clone();
        match self.derive_on(graph, target, wants, field) {
            Ok((graph, parts)) => {
                self.graph = graph;
                Ok(parts)
            }
            Err(e) => {
                self.graph = kept;
                Err(e)
            }
        }
    }

    fn derive_on(
        &self,
        graph: Graph,
        target: Target,
        wants: Wants,
        field: Option<Id>,
    ) -> Result<(Graph, Parts), Error> {
        let output = (self.output.0.as_str(), self.output.1);
        let problem = Problem::with_head(
            graph,
            self.input.1,
            output,
            self.head,
            Some(target),
            self.dimension,
        )?;
        let is_flat = matches!(problem.cut, Cut::Flat);
        let lanes = memory::lanes(&problem.graph, problem.f, self.memory);
        let signs = Signs::Baked(self.seed);
        let Derivation { graph, outputs, method, reason, .. } =
            problem.derive(self.method, wants, signs, lanes, field)?;
        let find = |name: &str| outputs.iter().find(|o| o.0 == name).map(|o| o.1);
        let value = find("value").ok_or_else(|| request("the derivative has no value"))?;
        let parts = Parts {
            value,
            gradient: find("gradient"),
            laplacian: find("laplacian"),
            stderr: find("stderr"),
            diagonal: find("diagonal"),
            drift: find("drift"),
            jacobian: find("jacobian"),
            method,
            reason,
            is_flat,
        };
        Ok((graph, parts))
    }

    /// How second derivatives are computed from now on.
    pub fn set_laplacian_method(&mut self, method: Method) {
        self.method = method;
    }

    /// How many samples at once stay within the memory asked for.
    pub fn chunk(&self, outputs: &[(String, Id)]) -> usize {
        match self.batch {
            Batch::Fixed(rows) => rows,
            Batch::Open => memory::chunk(&self.graph, outputs, self.memory),
        }
    }
}
