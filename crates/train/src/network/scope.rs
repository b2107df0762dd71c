//! Where a layer's weights come from.

use ndarray::ArrayD;
use taste_graph::{Build, Dim, Fact, Id, OpError};

use crate::{Parameters, parameters::Declaration};

/// How a weight starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Start {
    /// All zero.
    Zeros,
    /// All one.
    Ones,
    /// Normal with variance 2 / inputs, for what a `ReLU` follows (He and others 2015).
    He {
        /// How many entries each result is a sum over.
        inputs: usize,
    },
    /// Normal with variance 2 / (inputs + outputs) (Glorot and Bengio 2010).
    Glorot {
        /// How many entries each result is a sum over.
        inputs: usize,
        /// How many results each entry enters.
        outputs: usize,
    },
}

/// Gives the weight of a name.
pub(crate) type Fetch<'p> = dyn Fn(&str) -> Result<ArrayD<f32>, OpError> + 'p;

enum Source<'p> {
    /// Inputs of the graph, declared as they are asked for.
    Inputs,
    /// Constants.
    Fixed(&'p Parameters),
    /// Constants that are fetched one by one.
    Fetched(&'p Fetch<'p>),
}

/// Hands out weights by name.
pub struct Scope<'p> {
    source: Source<'p>,
    path: Vec<String>,
    declared: Vec<Declaration>,
    ids: Vec<Id>,
    condition: Option<Id>,
}

impl<'p> Scope<'p> {
    fn new(source: Source<'p>) -> Self {
        Self { source, path: Vec::new(), declared: Vec::new(), ids: Vec::new(), condition: None }
    }

    /// Weights become inputs of the graph.
    pub(crate) fn declaring() -> Self {
        Self::new(Source::Inputs)
    }

    /// Weights become constants.
    pub(crate) fn fixed(parameters: &'p Parameters) -> Self {
        Self::new(Source::Fixed(parameters))
    }

    /// Weights become constants, fetched when they are asked for.
    pub(crate) fn fetching(fetch: &'p Fetch<'p>) -> Self {
        Self::new(Source::Fetched(fetch))
    }

    /// What was asked for, in order.
    pub(crate) fn declared(&self) -> &[Declaration] {
        &self.declared
    }

    /// The weights in the graph, in order.
    pub(crate) fn ids(&self) -> &[Id] {
        &self.ids
    }

    /// The features of the noise level, where the network is conditioned on one: N × their number.
    pub fn condition(&self) -> Option<Id> {
        self.condition
    }

    pub(super) fn set_condition(&mut self, features: Id) {
        self.condition = Some(features);
    }

    /// The names of weights within start with `name`.
    pub fn inside<T>(&mut self, name: &str, build: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(name.to_owned());
        let result = build(self);
        self.path.pop();
        result
    }

    /// A weight of this shape.
    pub fn weight(
        &mut self,
        b: &mut Build<'_>,
        name: &str,
        shape: &[usize],
        start: Start,
    ) -> Result<Id, OpError> {
        let mut name_parts = self.path.clone();
        name_parts.push(name.to_owned());
        let name = name_parts.join(".");
        if shape.contains(&0) {
            return Err(OpError::invalid(format!("the weight {name} of shape {shape:?} is empty")));
        }
        let misfit = || OpError::invalid(format!("there is no weight {name} of shape {shape:?}"));
        let id = match self.source {
            Source::Inputs => {
                let fact = Fact::float(shape.iter().map(|&d| Dim::from(d)).collect());
                b.graph_mut().input(&name, fact)
            }
            Source::Fixed(parameters) => {
                let values = parameters.get(&name).filter(|v| v.shape() == shape);
                b.graph_mut().stored(values.ok_or_else(misfit)?.mapv(f64::from).into())
            }
            Source::Fetched(fetch) => {
                let values = Some(fetch(&name)?).filter(|v| v.shape() == shape);
                b.graph_mut().stored(values.ok_or_else(misfit)?.mapv(f64::from).into())
            }
        };
        self.declared.push(Declaration { name, shape: shape.to_vec(), start });
        self.ids.push(id);
        Ok(id)
    }
}
