//! A model's graph to build upon: several targets, fields that are part of the graph, results of one's own.

use taste_graph::{Build, Dim, Graph, Id};

use crate::{
    Batch, Error, How, LaplacianMethod, Metric, Model, Parts, Request, Target, Wants,
    answer::{Ending, Known},
    derive::{Derivation, Job, Problem, Signs},
    error::request,
    front::Part,
    memory,
    model::Opened,
    names,
    target::Head,
};

/// A graph that holds a model, and grows.
#[derive(Clone, Debug)]
pub struct Draft {
    graph: Graph,
    input: (String, Id),
    output: (String, Id),
    pub(crate) head: Head,
    /// The head before it was taken for anything.
    pub(crate) as_found: Head,
    pub(crate) known: Known,
    /// The sizes of the output's axes behind the samples, as far as they are more than one.
    pub(crate) places: Vec<usize>,
    dimension: usize,
    batch: Batch,
    laplacian_method: LaplacianMethod,
    metric: Metric,
    seed: u64,
    memory: usize,
    /// The model's values by the names that they have in the file.
    pub(crate) values: Vec<(String, Id)>,
    /// The inputs of the file that samples are spread over, if there are several.
    parts: Vec<Part>,
    /// The samples as they are fed, if missing values are filled in.
    filled: Option<Id>,
    /// Whether entries may be missing.
    may_miss: bool,
    /// Where entries are missing that the model itself takes as such, and which entries can be.
    missing: Option<(Id, Vec<bool>)>,
    /// The samples as they are fed, and which entries are ids that the model may not know.
    ids: Option<(Id, Vec<bool>)>,
    /// Whether what stands in for what is missing was given.
    has_fill: bool,
    /// The samples as they are fed, if that is not what everything is a function of.
    sample_shape: Option<Vec<usize>>,
}

impl Model {
    /// The model as a graph to build upon. The target and the wants of the request do not matter yet.
    pub fn draft(&self, asked: &Request) -> Result<Draft, Error> {
        let Opened { problem, batch, values, front } =
            self.opened(&Request { target: None, reading: None, ..asked.clone() }, true)?;
        let x = problem.x;
        let name = match &front {
            Some(front) => {
                front.parts.iter().map(|p| p.name.as_str()).collect::<Vec<_>>().join(", ")
            }
            None => problem.wrt(),
        };
        let filled = front.as_ref().filter(|f| f.fed != f.x).map(|f| f.fed);
        let may_miss = front.as_ref().is_some_and(|f| f.may_miss);
        let missing = front.as_ref().and_then(|f| f.missing.clone());
        let ids = front.as_ref().filter(|f| f.ids.contains(&true)).map(|f| (f.fed, f.ids.clone()));
        let parts = front.map_or_else(Vec::new, |f| f.parts);
        let others = problem.graph.inputs().into_iter().map(|i| i.0).filter(|n| *n != name);
        let others: Vec<String> = others.filter(|_| parts.is_empty()).collect();
        if !others.is_empty() {
            return Err(request(format!(
                "{}: besides {name:?} the model wants the input{} {}, which would have no values: leave the choice of \
                 an input out, so that samples are spread over all of them",
                self.name(),
                if others.len() == 1 { "" } else { "s" },
                others.join(", ")
            )));
        }
        let output = problem.output.clone();
        let graph = &problem.graph;
        let known = Known {
            entries: problem.head.entries,
            ending: Ending::of(graph, &problem.head),
            hint: self.hint(&output),
            asked: asked.answer,
            seen: None,
            found: asked.reading,
        };
        let shape = values.iter().find(|v| v.0 == output).map(|v| &graph.fact(v.1).shape);
        let places = shape.into_iter().flat_map(|s| s.iter().skip(1)).map(|d| d.at(1));
        let places = places.filter(|d| *d > 1).collect();
        let mut draft = Draft {
            input: (name, x),
            output: (output, problem.head.output),
            head: problem.head,
            as_found: problem.head,
            known,
            places,
            dimension: problem.dimension,
            graph: problem.graph,
            metric: problem.metric,
            batch,
            laplacian_method: asked.laplacian_method,
            seed: asked.seed,
            memory: asked.memory,
            values,
            parts,
            filled,
            may_miss,
            missing,
            ids,
            has_fill: asked.fill.as_ref().is_none_or(|fill| !fill.is_empty()),
            sample_shape: None,
        };
        draft.read()?;
        Ok(draft)
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

    /// The name of the input: that in the model's file, unless it had to make way by [`Self::reserve`].
    pub fn input_name(&self) -> &str {
        &self.input.0
    }

    /// The output that targets are functions of.
    pub fn output(&self) -> Id {
        self.output.1
    }

    /// Keeps names free for outputs: an input `score` that has one of them is called `model_score` from now on.
    pub fn reserve(&mut self, outputs: &[&str]) {
        names::make_way(&mut self.graph, outputs);
        let inputs = self.graph.inputs();
        if self.parts.is_empty() {
            let own = inputs.iter().find(|i| i.1 == self.input.1);
            self.input.0 = own.map_or_else(|| inputs[0].0.clone(), |i| i.0.clone());
        }
        for (part, (name, _)) in self.parts.iter_mut().zip(inputs) {
            part.name = name;
        }
    }

    /// A tensor of the model by its name in the file.
    pub fn value(&self, name: &str) -> Option<Id> {
        self.values.iter().find(|(known, _)| known == name).map(|(_, id)| *id)
    }

    /// The name of the output that targets are functions of.
    pub fn output_name(&self) -> &str {
        &self.output.0
    }

    /// The sizes of one sample as it is fed.
    pub fn sample_shape(&self) -> Vec<usize> {
        self.sample_shape.clone().unwrap_or_else(|| self.shape())
    }

    /// The sizes of one row of [`Self::input`]: those of a sample, unless the graph was cut.
    pub fn shape(&self) -> Vec<usize> {
        self.graph.fact(self.input.1).shape[1..].iter().map(|d| d.at(0)).collect()
    }

    /// The inputs of the file, in the order in which samples are spread over them.
    pub fn inputs(&self) -> Vec<String> {
        if self.parts.is_empty() {
            return vec![self.input.0.clone()];
        }
        self.parts.iter().map(|p| p.name.clone()).collect()
    }

    /// The inputs that samples are spread over, if there are several, or they take whole numbers.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Whether entries may be missing: the model fills them in, or takes them as missing.
    pub fn may_miss(&self) -> bool {
        self.may_miss
    }

    /// Which entries of a sample may be missing as the model takes them as such; none if there are no such entries.
    pub fn taken_as_missing(&self) -> &[bool] {
        self.missing.as_ref().map_or(&[], |(_, entries)| entries)
    }

    /// The samples as they are fed, and which of their entries are ids: missing where the model does not know them, while it
    /// answers as if the first one stood there.
    pub fn ids(&self) -> Option<(Id, &[bool])> {
        self.ids.as_ref().map(|(fed, entries)| (*fed, entries.as_slice()))
    }

    /// Whether it should be said what stands in for entries that the model takes as missing ([`Request::fill`]).
    pub fn wants_fill(&self) -> bool {
        self.missing.is_some() && !self.has_fill
    }

    /// What a graph is a function of, each with what it is for other samples: `samples` in place of [`Self::input`], while
    /// what is missing stays missing.
    pub(crate) fn bound(&self, samples: Id) -> Vec<(Id, Id)> {
        let missing = self.missing.iter().map(|(mask, _)| (*mask, *mask));
        std::iter::once((self.input.1, samples)).chain(missing).collect()
    }

    /// The samples as they are fed, with what is missing, if missing values are filled in: N × entries.
    pub fn filled(&self) -> Option<Id> {
        self.filled
    }

    /// Whether [`Self::input`] is the samples as they are fed.
    pub fn is_fed(&self) -> bool {
        self.filled.is_none() && self.sample_shape.is_none()
    }

    /// Whether everything is a function of a value within the model in place of the samples.
    pub fn is_cut(&self) -> bool {
        self.sample_shape.is_some()
    }

    /// From now on everything is a function of this value in place of the samples.
    pub(crate) fn stand_at(&mut self, id: Id, dimension: usize) {
        self.sample_shape = Some(self.sample_shape());
        self.input.1 = id;
        self.dimension = dimension;
    }

    /// Entries of one row of [`Self::input`].
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

    /// Entries of the logits: classes of a classifier.
    pub fn width(&self) -> usize {
        self.head.width
    }

    /// Entries of the output.
    pub fn entries(&self) -> usize {
        self.head.entries
    }

    /// Whether the output is class probabilities already.
    pub fn ends_in_softmax(&self) -> bool {
        self.head.softmax_inside
    }

    /// What the answer is read from: logits of classes, which softmax is or would be applied to, logits of labels, or the
    /// numbers of a regressor. N × K.
    pub fn logits(&self) -> Id {
        self.head.logits
    }

    /// Class probabilities: N × K.
    pub fn probabilities(&mut self) -> Result<Id, Error> {
        let head = self.head;
        Ok(head.probabilities(&mut Build::new(&mut self.graph))?)
    }

    /// Adds derivatives of a target; `field` is what the drift goes along. Random signs become part of the
    /// graph, the same for every sample. Says where they are, and how second derivatives are computed.
    pub fn derive(
        &mut self,
        target: Target,
        wants: Wants,
        field: Option<Id>,
    ) -> Result<(Parts, How), Error> {
        let (output, x) = ((self.output.0.as_str(), self.output.1), self.input.1);
        let graph = self.graph.clone();
        let mut problem =
            Problem::with_head(graph, x, output, self.head, Some(target), self.dimension)?;
        problem.metric = self.metric.clone();
        let job = Job {
            wants,
            signs: Signs::Baked(self.seed),
            lanes: memory::lanes(&problem.graph, problem.f, self.memory),
            field,
        };
        let Derivation { graph, parts, how, .. } = problem.derive(self.laplacian_method, &job)?;
        self.graph = graph;
        Ok((parts, how))
    }

    /// How second derivatives are computed from now on.
    pub fn set_laplacian_method(&mut self, method: LaplacianMethod) {
        self.laplacian_method = method;
    }

    /// What second derivatives are weighed with from now on.
    pub fn set_metric(&mut self, metric: Metric) -> Result<(), Error> {
        metric.check(self.dimension)?;
        self.metric = metric;
        Ok(())
    }

    /// What second derivatives are weighed with.
    pub fn metric(&self) -> &Metric {
        &self.metric
    }

    /// How many samples at once stay within the memory asked for.
    pub fn chunk(&self, outputs: &[(String, Id)]) -> usize {
        match self.batch {
            Batch::Fixed(rows) => rows,
            Batch::Open => memory::useful(&self.graph, outputs, self.memory),
        }
    }
}
