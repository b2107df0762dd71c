//! Tensors inside a model: the features that its last layer sees, or any by name.

use taste_graph::{
    Calculus, DType, Dim, Graph, Id,
    diff::{Structure, structure},
};

use crate::{Draft, Error};

/// A tensor of a model, with one row for every sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feature {
    /// Where it is in the graph: N × width.
    pub id: Id,
    /// The same as the model has it, in the shape that it has there, or what it was averaged from.
    pub raw: Id,
    /// Its name in the model's file, or whose argument it is.
    pub name: String,
    /// Entries of one row.
    pub width: usize,
}

/// How many names a message lists.
const LISTED: usize = 12;

impl Draft {
    /// A tensor of the model by its name in the file. Without a name, what the last linear layer before the logits is
    /// applied to.
    pub fn features(&mut self, name: Option<&str>) -> Result<Feature, Error> {
        let (name, id) = match name {
            Some(name) => {
                let found = self.values.iter().find(|(known, _)| known == name);
                found.cloned().ok_or_else(|| self.no_tensor(name))?
            }
            None => self.last_linear().ok_or_else(|| self.no_linear_layer())?,
        };
        let Some(width) = self.row_width(id) else {
            return Err(Error::Tensor(format!(
                "tensor {name:?} is {}, which is not one row of floats for every sample; {}",
                self.graph().fact(id),
                self.there_are()
            )));
        };
        let shape = [self.rows(), Dim::from(width)];
        Ok(Feature { id: self.build().reshape(id, &shape)?, raw: id, name, width })
    }

    /// Why the answer has no derivative by [`Self::input`] that tells anything, if so: a node in between has no rule, or all of
    /// them are steps.
    pub fn obstacle(&self) -> Result<Option<String>, Error> {
        let (graph, x, logits) = (self.graph(), self.input(), self.logits());
        let varies = varying(graph, x);
        let nodes = graph.ancestors(&[logits], &[x]);
        let reached = nodes.iter().map(|&n| &graph.nodes()[n]);
        let mut reached = reached.filter(|n| n.args.iter().any(|a| varies[a.index()]));
        let found = reached.find_map(|n| {
            let operator = taste_ops::carried(&*n.op)?;
            let name = n.label.as_deref().unwrap_or_default();
            Some(format!(
                "node {name:?} ({operator}) has no derivative, as there is no rule for it"
            ))
        });
        if found.is_some() {
            return Ok(found);
        }
        let shapes = structure(graph, &[logits], x)?;
        let flat = shapes.get(logits.index()).is_none_or(|s| *s == Structure::Independent);
        Ok(flat.then(|| {
            "the answer is constant between steps (thresholds of trees, categories, rounding), so its gradient is zero"
                .to_owned()
        }))
    }

    /// Cuts the model at a tensor, by its name in the file, or at what the last linear layer is applied to: from now on
    /// [`Self::input`] is that tensor, in the shape that it has. Fails unless all of the answer goes through it.
    pub fn cut_at(&mut self, name: Option<&str>) -> Result<Feature, Error> {
        let feature = self.features(name)?;
        let named = self.values.iter().find(|(known, _)| *known == feature.name).map(|v| v.1);
        let id = named.or_else(|| self.last_linear().map(|l| l.1)).unwrap_or(feature.id);
        let mut apart = Graph::new();
        let stand_in = apart.input("features", self.graph().fact(id).clone());
        // Where the last layer is the only one, nothing is before the cut.
        if id == self.input() {
            return Ok(Feature { id, ..feature });
        }
        if apart.absorb(self.graph(), &[(id, stand_in)], &[self.logits()]).is_err() {
            return Err(Error::Tensor(format!(
                "the answer of the model does not go through tensor {:?} alone, so it is no function of it; {}",
                feature.name,
                self.there_are()
            )));
        }
        self.stand_at(id, feature.width);
        Ok(Feature { id, ..feature })
    }

    /// The tensors that have one row of floats for every sample and depend on the input: names in the order of the file,
    /// each with its width.
    pub fn tensors(&self) -> Vec<(&str, usize)> {
        let varies = varying(self.graph(), self.input());
        let values = self.values.iter().filter(|(_, id)| varies[id.index()]);
        values.filter_map(|(name, id)| Some((name.as_str(), self.row_width(*id)?))).collect()
    }

    /// Entries of a row, if a value has one of floats for every sample.
    fn row_width(&self, id: Id) -> Option<usize> {
        let fact = self.graph().fact(id);
        let (first, rest) = fact.shape.split_first()?;
        let width = rest
            .iter()
            .try_fold(1usize, |n, d| n.checked_mul(usize::try_from(d.as_fixed()?).ok()?))?;
        (fact.dtype == DType::Float && *first == self.rows() && width > 0).then_some(width)
    }

    /// What the last product of values that depend on the input with weights is applied to. Products entry by entry, as
    /// scales are, are no layers.
    pub(crate) fn last_linear(&self) -> Option<(String, Id)> {
        let graph = self.graph();
        let varies = varying(graph, self.input());
        let nodes = graph.ancestors(&[self.logits()], &[]);
        let (label, id) = nodes.iter().rev().map(|&n| &graph.nodes()[n]).find_map(|node| {
            let is_product = matches!(node.op.calculus(), Calculus::Bilinear(_));
            if !is_product || node.op.is_elementwise() {
                return None;
            }
            match node.args[..] {
                [a, b] if varies[a.index()] && !varies[b.index()] => Some((&node.label, a)),
                [a, b] if varies[b.index()] && !varies[a.index()] => Some((&node.label, b)),
                _ => None,
            }
        })?;
        let named =
            self.values.iter().find(|(_, value)| *value == id).map(|(name, _)| name.clone());
        let place = || format!("the argument of {}", label.as_deref().unwrap_or("a layer"));
        Some((named.unwrap_or_else(place), id))
    }

    fn no_tensor(&self, name: &str) -> Error {
        let known = self.tensors();
        let suggestion = taste_choice::suggestion(known.iter().map(|t| t.0), name)
            .map_or_else(String::new, |near| format!("did you mean {near}? "));
        Error::Tensor(format!("the model has no tensor {name:?}; {suggestion}{}", self.there_are()))
    }

    fn no_linear_layer(&self) -> Error {
        Error::Tensor(format!(
            "no linear layer leads to output {:?}, so there are no features before it; {}",
            self.output_name(),
            self.there_are()
        ))
    }

    /// The tensors to choose from, the last ones if there are many.
    fn there_are(&self) -> String {
        let all = self.tensors();
        let last = &all[all.len().saturating_sub(LISTED)..];
        let names: Vec<&str> = last.iter().map(|t| t.0).collect();
        match all.len() - last.len() {
            0 => format!("there are {}", names.join(", ")),
            more => format!("there are {}, and {more} before them", names.join(", ")),
        }
    }
}

/// Whether values, by their index, change with x.
pub(crate) fn varying(graph: &Graph, x: Id) -> Vec<bool> {
    let values = graph.nodes().iter().flat_map(|n| &n.outs);
    let mut varies = vec![false; values.map(|id| id.index() + 1).max().unwrap_or(0)];
    varies[x.index()] = true;
    for node in graph.nodes() {
        // Sizes are the same whatever a sample holds.
        let reached = node.args.iter().any(|a| varies[a.index()]);
        for &out in node.outs.iter().filter(|&&o| reached && graph.known_ints(o).is_none()) {
            varies[out.index()] = true;
        }
    }
    varies
}
