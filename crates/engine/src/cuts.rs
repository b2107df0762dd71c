//! Where a model can be cut: tensors that all of its answer goes through.

use taste_graph::{
    Build, Calculus, DType, Dim, Fact, Graph, Id,
    diff::{Structure, structure},
};

use crate::{Backend, Draft, Error, Feature, error::request, features::varying};

/// Rows that go through a head at once while its weights are read off.
const AT_ONCE: usize = 256;

/// A linear head: values = features · weights + bias.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearHead {
    /// One row a feature, one column a class.
    pub weights: ndarray::Array2<f64>,
    /// What the values are without features, one a class.
    pub bias: ndarray::Array1<f64>,
}

/// A tensor with two spatial axes that everything goes through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planes {
    /// N × channels × height × width.
    pub id: Id,
    /// Its name in the file.
    pub name: String,
    /// How many channels it has.
    pub channels: usize,
    /// Height and width.
    pub size: [usize; 2],
}

/// A tensor that everything goes through.
#[derive(Clone, Copy, Debug)]
struct Waist {
    id: Id,
    /// Its sizes behind samples and channels; none for a row.
    spatial: Option<[usize; 2]>,
}

impl Draft {
    /// The features of the last linear layer and, before them, up to two earlier cuts; all with one row for every sample,
    /// from the input to the output.
    ///
    /// Earlier cuts are the last tensors of the two spatial sizes before the last, averaged over space. Where no size
    /// changes they are the inputs of the linear layers at one and two thirds of the depth.
    pub fn cuts(&mut self, features: Option<&str>) -> Result<Vec<Feature>, Error> {
        let last = self.pooled_features(features)?;
        let waists = self.waists();
        let earlier = match Self::spatial_cuts(&waists) {
            found if found.is_empty() => self.layer_cuts(&waists)?,
            found => found,
        };
        let mut cuts = Vec::new();
        for id in earlier {
            let feature = self.pooled(id)?;
            if feature.id != last.id && cuts.iter().all(|c: &Feature| c.id != feature.id) {
                cuts.push(feature);
            }
        }
        cuts.push(last);
        Ok(cuts)
    }

    /// The features of the last linear layer, or those named, averaged over space.
    fn pooled_features(&mut self, name: Option<&str>) -> Result<Feature, Error> {
        let feature = self.features(name)?;
        let spatial = |id: Id| self.graph().fact(id).rank() == 4;
        match self.values.iter().find(|(known, id)| *known == feature.name && spatial(*id)) {
            Some(&(_, id)) => self.pooled(id),
            None => Ok(feature),
        }
    }

    /// The values that every path from the input to the logits goes through, in order.
    fn waists(&self) -> Vec<Waist> {
        let graph = self.graph();
        let (x, logits) = (self.input(), self.logits());
        let varies = varying(graph, x);
        let nodes = graph.ancestors(&[logits], &[]);
        let mut last_use = vec![0; varies.len()];
        for &n in &nodes {
            for arg in &graph.nodes()[n].args {
                last_use[arg.index()] = last_use[arg.index()].max(n);
            }
        }
        // A value is one that all goes through if nothing from before it is used after it.
        let (mut waists, mut furthest) = (Vec::new(), last_use[x.index()]);
        for &n in &nodes {
            let node = &graph.nodes()[n];
            let outs: Vec<Id> = node.outs.iter().copied().filter(|o| varies[o.index()]).collect();
            if let [id] = outs[..]
                && id != x
                && furthest <= n
                && graph.fact(id).dtype == DType::Float
            {
                waists.push(Waist { id, spatial: spatial(graph, id) });
            }
            furthest = outs.iter().fold(furthest, |f, o| f.max(last_use[o.index()]));
        }
        waists
    }

    /// For every spatial size of a tensor that everything goes through, the last one: from the input to the output. Layers
    /// that widen what goes through them for a moment do not count: none is more than twice as wide as the narrowest of
    /// its size.
    pub fn planes(&self) -> Vec<Planes> {
        let channels = |id: Id| self.graph().fact(id).shape[1].at(1);
        let waists: Vec<(Id, [usize; 2])> =
            self.waists().iter().filter_map(|w| Some((w.id, w.spatial?))).collect();
        let mut found: Vec<Planes> = Vec::new();
        for &(id, size) in &waists {
            let same = waists.iter().filter(|w| w.1 == size);
            let narrowest = same.map(|w| channels(w.0)).min().unwrap_or(0);
            if channels(id) > 2 * narrowest {
                continue;
            }
            found.retain(|known| known.size != size);
            found.push(Planes { id, name: self.name_of(id), channels: channels(id), size });
        }
        found
    }

    fn name_of(&self, id: Id) -> String {
        let name = self.values.iter().find(|(_, value)| *value == id).map(|(name, _)| name.clone());
        name.unwrap_or_else(|| "a tensor without a name".to_owned())
    }

    /// The last tensors of the two spatial sizes before the last.
    fn spatial_cuts(waists: &[Waist]) -> Vec<Id> {
        let mut sizes: Vec<([usize; 2], Id)> = Vec::new();
        for waist in waists {
            // A single place is what pooling leaves.
            let Some(size) = waist.spatial.filter(|s| *s != [1, 1]) else { continue };
            match sizes.last_mut() {
                Some((known, id)) if *known == size => *id = waist.id,
                _ => sizes.push((size, waist.id)),
            }
        }
        sizes.pop();
        let first = sizes.len().saturating_sub(2);
        sizes[first..].iter().map(|s| s.1).collect()
    }

    /// The inputs of the linear layers at one and two thirds of the depth.
    fn layer_cuts(&self, waists: &[Waist]) -> Result<Vec<Id>, Error> {
        let graph = self.graph();
        let shapes = structure(graph, &[self.logits()], self.input())?;
        // Before the first layer there is the sample, if in other units.
        let is_hidden = |id: Id| shapes.get(id.index()).is_some_and(|s| *s > Structure::Affine);
        let varies = varying(graph, self.input());
        let layers: Vec<Id> = graph
            .ancestors(&[self.logits()], &[])
            .into_iter()
            .map(|n| &graph.nodes()[n])
            .filter(|node| {
                let is_product = matches!(node.op.calculus(), Calculus::Bilinear(_));
                is_product && !node.op.is_elementwise()
            })
            .filter_map(|node| {
                let varying: Vec<Id> =
                    node.args.iter().copied().filter(|a| varies[a.index()]).collect();
                if varying.len() == 1 { varying.first().copied() } else { None }
            })
            .filter(|id| is_hidden(*id) && waists.iter().any(|w| w.id == *id))
            .collect();
        let at = |thirds: usize| (layers.len() * thirds).div_ceil(3).checked_sub(1);
        let places = [at(1), at(2)].into_iter().flatten();
        // The input of the last layer is a cut of its own.
        Ok(places.filter(|i| i + 1 < layers.len()).map(|i| layers[i]).collect())
    }

    /// What a pooling over all places makes the features of, if one does: N × channels × height × width.
    pub fn before_pooling(&self, feature: &Feature) -> Option<Id> {
        let before = self.waists().into_iter().rfind(|w| w.spatial.is_some_and(|s| s != [1, 1]))?;
        let graph = self.graph();
        let channels = graph.fact(before.id).shape[1].as_fixed()?;
        let is_before = graph.node_index(before.id) < graph.node_index(feature.raw);
        (is_before && usize::try_from(channels) == Ok(feature.width)).then_some(before.id)
    }

    /// What a value would be if a tensor that it was made of were another one of the same shape.
    pub fn instead(&mut self, tensor: Id, other: Id, value: Id) -> Result<Id, Error> {
        let graph = self.graph().clone();
        let mut bind = self.bound(self.input());
        bind.push((tensor, other));
        Ok(self.build().graph_mut().absorb(&graph, &bind, &[value])?[0])
    }

    /// A tensor as one row a sample: averaged over space, or over the places of a sequence.
    fn pooled(&mut self, id: Id) -> Result<Feature, Error> {
        let name = self.name_of(id);
        let shape = self.graph().fact(id).shape.clone();
        let axes: Vec<usize> = match shape.len() {
            0 | 1 => return Err(request(format!("tensor {name:?} has no row for every sample"))),
            2 => vec![],
            3 => vec![1],
            rank => (2..rank).collect(),
        };
        let rows = self.rows();
        let sizes = |keep: bool| {
            let kept = (1..shape.len()).filter(|a| axes.contains(a) != keep);
            kept.map(|a| shape[a].at(1)).product::<usize>()
        };
        let (width, places) = (sizes(true), sizes(false));
        let mut b = self.build();
        let mut value = id;
        if !axes.is_empty() {
            let sum = b.sum(id, &axes)?;
            value = b.scale(sum, 1.0 / places as f64)?;
        }
        Ok(Feature { id: b.reshape(value, &[rows, Dim::from(width)])?, raw: id, name, width })
    }

    /// Values behind the features, such as logits, as a linear function of these, if they are one. It is tried, not read off the operators, so that
    /// it does not matter how a layer is written.
    pub fn linear_head(
        &self,
        feature: &Feature,
        values: Id,
        backend: &Backend,
        threads: usize,
    ) -> Result<Option<LinearHead>, Error> {
        let Some((graph, logits)) = self.behind(feature, values)? else { return Ok(None) };
        let session = backend.compile(&graph, &[("logits".to_owned(), logits)], threads)?;
        let session = session.with_batch(self.batch());
        let run = |rows: ndarray::Array2<f32>| -> Result<ndarray::Array2<f64>, Error> {
            let count = rows.nrows();
            let values = session.run(&[("features", rows.into_dyn().view())])?;
            let values: Vec<f64> = values[0].to_f64().into_iter().collect();
            let width = values.len() / count.max(1);
            ndarray::Array2::from_shape_vec((count, width), values)
                .map_err(|e| request(e.to_string()))
        };
        let width = feature.width;
        let bias = run(ndarray::Array2::zeros((1, width)))?;
        let mut weights = ndarray::Array2::zeros((width, bias.ncols()));
        for first in (0..width).step_by(AT_ONCE) {
            let count = AT_ONCE.min(width - first);
            let unit = |(i, j): (usize, usize)| f32::from(u8::from(first + i == j));
            let values = run(ndarray::Array2::from_shape_fn((count, width), unit))? - &bias;
            weights.slice_mut(ndarray::s![first..first + count, ..]).assign(&values);
        }
        // Two points that no layer was made for.
        let tried = ndarray::Array2::from_shape_fn((2, width), |(i, j)| {
            [2.5f32, -1.5][i] * (((j * 7 + i * 3) % 11) as f32 / 5.0 - 1.0)
        });
        let want = tried.mapv(f64::from).dot(&weights) + &bias;
        let got = run(tried)?;
        let size = want.iter().fold(1e-3f64, |m, v| m.max(v.abs()));
        let is_linear = (&got - &want).iter().all(|d| d.abs() <= 1e-3 * size);
        let bias = bias.row(0).to_owned();
        Ok(is_linear.then_some(LinearHead { weights, bias }))
    }

    /// What comes after some features, as a graph of its own; nothing if the values depend on more than these.
    fn behind(&self, feature: &Feature, values: Id) -> Result<Option<(Graph, Id)>, Error> {
        let raw = feature.raw;
        let shape = &self.graph().fact(raw).shape;
        let entries: usize = shape.iter().skip(1).map(|d| d.at(1)).product();
        if entries != feature.width || raw == values {
            return Ok(None);
        }
        let mut graph = Graph::new();
        let width = Dim::from(feature.width);
        let h = graph.input("features", Fact::float(vec![self.rows(), width]));
        let h = Build::new(&mut graph).reshape(h, shape)?;
        // Fails where the values depend on the input by another way as well.
        let found = graph.absorb(self.graph(), &[(raw, h)], &[values]);
        Ok(found.ok().map(|ids| (graph, ids[0])))
    }
}

/// Sizes behind samples and channels of a tensor with four axes.
fn spatial(graph: &Graph, id: Id) -> Option<[usize; 2]> {
    match graph.fact(id).shape[..] {
        [_, _, h, w] => Some([h.at(1), w.at(1)]),
        _ => None,
    }
}
