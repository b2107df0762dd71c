//! The graph: operators applied to earlier values.

use std::{
    any::{Any, TypeId},
    collections::HashMap,
    sync::Arc,
};

use crate::{
    Calculus, Concrete, DType, Dim, Fact, Op, OpError, Tensor,
    algebra::{Add, Constant, Input, ShapeOf},
    dim::{ALL_WORLDS, WORLDS},
    op::fit_facts,
};

/// A value of a [`Graph`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(pub(crate) u32);

impl Id {
    /// The position among the values of the graph.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// An operator applied to values.
#[derive(Clone, Debug)]
pub struct Node {
    /// What is applied.
    pub op: Arc<dyn Op>,
    /// The arguments.
    pub args: Vec<Id>,
    /// The results.
    pub outs: Vec<Id>,
    /// The node of the file that this one came from, if any.
    pub label: Option<Arc<str>>,
}

#[derive(Clone, Debug)]
struct Value {
    node: usize,
    fact: Fact,
}

/// The type and the key of an operator, and its arguments.
type Application = (TypeId, String, Vec<Id>);

/// Operators in an order in which each one's arguments come before it. Nodes are only ever added, and
/// equal nodes exist once.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    nodes: Vec<Node>,
    values: Vec<Value>,
    /// The results of every operator on these arguments.
    consed: HashMap<Application, Vec<Id>>,
    /// Constants by a hash of their elements.
    constants: HashMap<u64, Vec<Id>>,
    /// Values that are known at every batch size, as they are at [`ALL_WORLDS`].
    known: HashMap<Id, [Tensor; 5]>,
    label: Option<Arc<str>>,
    /// Elements of constants that came with a file, and of all others.
    stored: usize,
    made: usize,
    /// Steps that folding took.
    steps: usize,
}

/// Constants folded into one that is larger than its sources stay below this many elements.
const FOLD_GROWTH: usize = 1 << 20;
/// Values that depend on the batch are tracked up to this many elements.
const KNOWN_LEN: usize = 4096;
/// Elements of all constants that no file holds, beside `MADE_FACTOR` for each that one does: a small file
/// must not fill the memory.
const MADE: usize = 1 << 25;
const MADE_FACTOR: usize = 16;
/// Folding one node takes at most this many steps, and all of it `FOLD_STEPS`, beside `STEPS_FACTOR` for each
/// element that a file holds.
const NODE_STEPS: usize = 1 << 28;
const FOLD_STEPS: usize = 1 << 30;
const STEPS_FACTOR: usize = 64;
/// Axes of an array without elements have at most this many places together where it is folded.
const EMPTY_STEPS: usize = 1 << 16;

impl Graph {
    /// A graph without nodes.
    pub fn new() -> Self {
        Self::default()
    }

    /// The nodes in order.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The node that computes a value.
    pub fn node_of(&self, id: Id) -> &Node {
        &self.nodes[self.node_index(id)]
    }

    /// The position of the node that computes a value.
    pub fn node_index(&self, id: Id) -> usize {
        self.values[id.index()].node
    }

    /// Element type and shape of a value.
    pub fn fact(&self, id: Id) -> &Fact {
        &self.values[id.index()].fact
    }

    /// Names the file's node that the following nodes come from.
    pub fn set_label(&mut self, label: Option<&str>) {
        self.label = label.map(Arc::from);
    }

    /// A value that is fed when the graph runs.
    pub fn input(&mut self, name: &str, fact: Fact) -> Id {
        let op = Input { name: name.to_owned(), fact: fact.clone() };
        self.append(Arc::new(op), &[], vec![fact])[0]
    }

    /// The inputs with their names, in order of creation.
    pub fn inputs(&self) -> Vec<(String, Id)> {
        self.nodes
            .iter()
            .filter_map(|n| downcast::<Input>(&*n.op).map(|i| (i.name.clone(), n.outs[0])))
            .collect()
    }

    /// Gives an input another name.
    pub fn rename_input(&mut self, id: Id, name: &str) {
        let node = self.node_index(id);
        if let Some(input) = downcast::<Input>(&*self.nodes[node].op) {
            let fact = input.fact.clone();
            self.nodes[node].op = Arc::new(Input { name: name.to_owned(), fact });
        }
    }

    /// A value that never changes and that a file holds.
    pub fn stored(&mut self, tensor: Tensor) -> Id {
        let (made, len) = (self.made, tensor.len());
        let id = self.constant(tensor);
        self.made = made;
        self.stored = self.stored.saturating_add(len);
        id
    }

    /// How many elements [`Graph::stored`] was given.
    pub fn stored_len(&self) -> usize {
        self.stored
    }

    /// Counts elements that another graph was given by [`Graph::stored`].
    pub(crate) fn count_stored(&mut self, elements: usize) {
        self.stored = self.stored.saturating_add(elements);
    }

    /// How many elements the constants that no file holds may have together.
    fn allowance(&self) -> usize {
        self.stored.saturating_mul(MADE_FACTOR).saturating_add(MADE)
    }

    /// Fails if the constants that no file holds have too many elements together.
    pub fn check_made(&self) -> Result<(), OpError> {
        if self.made > self.allowance() {
            return Err(OpError::invalid(format!(
                "constants computed from shapes take more than {} elements",
                self.allowance()
            )));
        }
        Ok(())
    }

    /// A value that never changes.
    pub fn constant(&mut self, tensor: Tensor) -> Id {
        let hash = tensor.hash();
        let same = |id: &&Id| self.as_constant(**id).is_some_and(|t| t.is_identical(&tensor));
        if let Some(&id) = self.constants.get(&hash).and_then(|ids| ids.iter().find(same)) {
            return id;
        }
        let (Concrete { dtype, shape }, len) = (tensor.concrete(), tensor.len());
        let fact = Fact { dtype, shape: shape.into_iter().map(Dim::from).collect() };
        self.made = self.made.saturating_add(len);
        let id = self.append(Arc::new(Constant(tensor)), &[], vec![fact])[0];
        self.constants.entry(hash).or_default().push(id);
        id
    }

    /// The tensor of a constant.
    pub fn as_constant(&self, id: Id) -> Option<&Tensor> {
        downcast::<Constant>(&*self.node_of(id).op).map(|c| &c.0)
    }

    /// The integers in a value, if they are known before anything runs.
    pub fn known_ints(&self, id: Id) -> Option<Vec<Dim>> {
        if let Some(tensor) = self.as_constant(id) {
            return Some(
                tensor.as_int().ok()?.iter().map(|&v| Dim { per_batch: 0, fixed: v }).collect(),
            );
        }
        fit_ints(self.known.get(&id)?)
    }

    /// The sizes of a value as a vector of integers.
    pub fn shape_of(&mut self, id: Id) -> Result<Id, OpError> {
        let worlds = ALL_WORLDS.map(|n| {
            let shape = self.fact(id).at(n).shape;
            Tensor::ints(&shape.iter().map(|&s| s as i64).collect::<Vec<_>>())
        });
        if worlds[0] == worlds[1] {
            let [fixed, ..] = worlds;
            return Ok(self.constant(fixed));
        }
        let shape = self.push(Arc::new(ShapeOf), &[id])?[0];
        self.known.insert(shape, worlds);
        Ok(shape)
    }

    /// Applies an operator. Constants are folded, and a node that exists already is reused.
    pub fn push(&mut self, op: Arc<dyn Op>, args: &[Id]) -> Result<Vec<Id>, OpError> {
        if let Some(same) = op.same_as(self, args) {
            return Ok(vec![same]);
        }
        if let Some(Constant(tensor)) = downcast(&*op) {
            return Ok(vec![self.constant(tensor.clone())]);
        }
        let key = ((&*op as &dyn Any).type_id(), op.key(), args.to_vec());
        if let Some(outs) = self.consed.get(&key) {
            return Ok(outs.clone());
        }
        self.check_made()?;
        let args_facts: Vec<Fact> = args.iter().map(|&a| self.fact(a).clone()).collect();
        let facts = infer(&*op, &args_facts)?;
        if let Some(folded) = self.fold(&op, args, &facts) {
            self.consed.insert(key, folded.clone());
            return Ok(folded);
        }
        let known = self.evaluate_worlds(&op, args);
        if let Some([first, others @ ..]) = &known
            && others.iter().all(|other| other == first)
        {
            let tensors = first.clone();
            return Ok(tensors.into_iter().map(|t| self.constant(t)).collect());
        }
        let outs = self.append(op, args, facts);
        self.consed.insert(key, outs.clone());
        if let Some(worlds) = known {
            let mut worlds = worlds.map(Vec::into_iter);
            for &id in &outs {
                let values = worlds.each_mut().map(Iterator::next);
                if let [Some(a), Some(b), Some(c), Some(d), Some(e)] = values {
                    self.known.insert(id, [a, b, c, d, e]);
                }
            }
        }
        Ok(outs)
    }

    fn append(&mut self, op: Arc<dyn Op>, args: &[Id], facts: Vec<Fact>) -> Vec<Id> {
        let node = self.nodes.len();
        let outs: Vec<Id> = facts
            .into_iter()
            .map(|fact| {
                self.values.push(Value { node, fact });
                Id(u32::try_from(self.values.len() - 1).expect("a graph has fewer than 2³² values"))
            })
            .collect();
        let (args, label) = (args.to_vec(), self.label.clone());
        self.nodes.push(Node { op, args, outs: outs.clone(), label });
        outs
    }

    /// The results as constants, if the arguments are constants and the results not much larger.
    fn fold(&mut self, op: &Arc<dyn Op>, args: &[Id], facts: &[Fact]) -> Option<Vec<Id>> {
        if args.is_empty() {
            return None;
        }
        let tensors: Vec<Tensor> =
            args.iter().map(|&a| self.as_constant(a).cloned()).collect::<Option<_>>()?;
        let limit = FOLD_GROWTH.max(2 * tensors.iter().map(Tensor::len).sum::<usize>());
        if facts.iter().any(Fact::depends_on_batch) {
            return None;
        }
        let shapes: Vec<Concrete> = tensors.iter().map(Tensor::concrete).collect();
        let results: Vec<Concrete> = facts.iter().map(|f| f.at(0)).collect();
        let total = results.iter().fold(self.made, |n, c| n.saturating_add(c.len()));
        if results.iter().any(|c| c.len() > limit) || total > self.allowance() {
            return None;
        }
        self.pay(op, &shapes, &results)?;
        let results = op.eval(&tensors).ok()?;
        Some(results.into_iter().map(|t| self.constant(t)).collect())
    }

    /// Counts the steps of an evaluation; nothing if they are too many.
    fn pay(&mut self, op: &Arc<dyn Op>, args: &[Concrete], results: &[Concrete]) -> Option<()> {
        // An array without elements is walked along its other axes all the same.
        let mut empty = args.iter().chain(results).filter(|c| c.is_empty());
        let walk = |c: &Concrete| c.shape.iter().fold(1usize, |n, &d| n.saturating_mul(d.max(1)));
        if empty.any(|c| walk(c) > EMPTY_STEPS) {
            return None;
        }
        let steps = op.steps(args, results);
        let most = self.stored.saturating_mul(STEPS_FACTOR).saturating_add(FOLD_STEPS);
        let total = self.steps.saturating_add(steps);
        let node = NODE_STEPS.max(self.stored.saturating_mul(4));
        if steps > node || total > most {
            return None;
        }
        self.steps = total;
        Some(())
    }

    /// The results at every world, if the arguments are known there and small.
    fn evaluate_worlds(&mut self, op: &Arc<dyn Op>, args: &[Id]) -> Option<[Vec<Tensor>; 5]> {
        if args.is_empty() || args.iter().all(|a| !self.known.contains_key(a)) {
            return None;
        }
        let mut worlds = [const { Vec::new() }; 5];
        for (w, results) in worlds.iter_mut().enumerate() {
            let tensors: Vec<Tensor> = args
                .iter()
                .map(|a| match self.known.get(a) {
                    Some(values) => Some(values[w].clone()),
                    None => self.as_constant(*a).cloned(),
                })
                .collect::<Option<_>>()?;
            let batch = Dim::fixed(ALL_WORLDS[w]);
            let op = op.with_batch(batch).unwrap_or_else(|| op.clone());
            let shapes: Vec<Concrete> = tensors.iter().map(Tensor::concrete).collect();
            let inferred = op.infer(&shapes).ok()?;
            if inferred.iter().any(|c| c.check().is_err() || c.len() > KNOWN_LEN) {
                return None;
            }
            self.pay(&op, &shapes, &inferred)?;
            *results = op.eval(&tensors).ok()?;
        }
        let compares = worlds[0].iter().any(|t| t.concrete().dtype == DType::Bool);
        (!compares || self.keep_order(args)).then_some(worlds)
    }

    /// Whether no batch size changes which of two known integers is the larger, or the sign of one, place by place:
    /// a test of integers that trade places at some batch size is known at no other.
    fn keep_order(&self, args: &[Id]) -> bool {
        let at = |id: &Id, w: usize| {
            self.known.get(id).map_or_else(|| self.as_constant(*id), |values| Some(&values[w]))
        };
        let difference = |w: usize| {
            let sides = args.iter().map(|a| at(a, w).cloned()).collect::<Option<Vec<_>>>()?;
            match &sides[..] {
                [Tensor::Int(_)] => sides.into_iter().next(),
                [Tensor::Int(_), Tensor::Int(_)] => {
                    Add { minus: true }.eval(&sides).ok()?.into_iter().next()
                }
                _ => None,
            }
        };
        let worlds: Option<Vec<Tensor>> = (0..ALL_WORLDS.len()).map(difference).collect();
        let fitted = worlds.and_then(|w| fit_ints(&w.try_into().ok()?));
        fitted.is_some_and(|dims| dims.iter().all(|d| d.sign().is_some()))
    }

    /// The nodes that the values in `ends` depend on, in order, without going past `stops`.
    pub fn ancestors(&self, ends: &[Id], stops: &[Id]) -> Vec<usize> {
        let mut seen = std::collections::HashSet::new();
        let mut stack: Vec<Id> = ends.to_vec();
        while let Some(id) = stack.pop() {
            let node = self.node_index(id);
            if !stops.contains(&id) && seen.insert(node) {
                stack.extend(&self.nodes[node].args);
            }
        }
        let mut order: Vec<usize> = seen.into_iter().collect();
        order.sort_unstable();
        order
    }

    /// How many steps the reference takes for some nodes with a batch of `batch`.
    pub fn steps(&self, nodes: &[usize], batch: usize) -> usize {
        let concrete =
            |ids: &[Id]| ids.iter().map(|&id| self.fact(id).at(batch)).collect::<Vec<_>>();
        nodes.iter().map(|&n| &self.nodes[n]).fold(0, |total, node| {
            total.saturating_add(node.op.steps(&concrete(&node.args), &concrete(&node.outs)))
        })
    }

    /// The nodes between `start` and `end` that derivatives may flow through, in order.
    pub fn between(&self, start: Id, end: Id) -> Vec<usize> {
        let first = self.node_index(start);
        let mut seen = std::collections::BTreeSet::new();
        let mut stack = vec![end];
        while let Some(id) = stack.pop() {
            let n = self.node_index(id);
            let node = &self.nodes[n];
            if n > first && !matches!(node.op.calculus(), Calculus::Constant) && seen.insert(n) {
                stack.extend(&node.args);
            }
        }
        seen.into_iter().collect()
    }

    /// Whether a value is this float of rank 0.
    pub fn is_scalar(&self, id: Id, value: f64) -> bool {
        self.as_constant(id)
            .filter(|t| t.shape().is_empty())
            .and_then(crate::Tensor::as_scalar)
            .is_some_and(|v| v.to_bits() == value.to_bits())
    }

    /// Marks the values, among the results of `nodes`, that derivatives with respect to `wrt` flow
    /// through.
    pub fn active(&self, nodes: &[usize], wrt: &[Id]) -> Vec<bool> {
        let mut active = vec![false; self.values.len()];
        for id in wrt {
            active[id.index()] = true;
        }
        for &n in nodes {
            let node = &self.nodes[n];
            let flows = match node.op.calculus() {
                Calculus::Constant => false,
                Calculus::Linear(l) => {
                    node.args.iter().enumerate().any(|(i, a)| active[a.index()] && l.active(i))
                }
                _ => node.args.iter().any(|a| active[a.index()]),
            };
            if flows {
                for out in &node.outs {
                    active[out.index()] |= self.fact(*out).dtype == crate::DType::Float;
                }
            }
        }
        active
    }
}

/// The affine integers that have these values at [`ALL_WORLDS`], if there are such.
fn fit_ints(worlds: &[Tensor; 5]) -> Option<Vec<Dim>> {
    let ints = |t: &Tensor| t.as_int().ok().map(|a| a.iter().copied().collect::<Vec<_>>());
    let values: Vec<Vec<i64>> = worlds.iter().map(ints).collect::<Option<_>>()?;
    if values.iter().any(|v| v.len() != values[0].len()) {
        return None;
    }
    let holds = |dim: &Dim, i: usize| {
        ALL_WORLDS.iter().zip(&values).all(|(&n, ints)| dim.value_at(n) == ints[i])
    };
    (0..values[0].len())
        .map(|i| Dim::fit([values[0][i], values[1][i], values[2][i]]).filter(|d| holds(d, i)))
        .collect()
}

/// The facts of an operator's results.
pub fn infer(op: &dyn Op, args: &[Fact]) -> Result<Vec<Fact>, OpError> {
    let at = |n: usize| {
        let shapes: Vec<Concrete> = args.iter().map(|f| f.at(n)).collect();
        let results = match op.with_batch(Dim::fixed(n)) {
            Some(op) => op.infer(&shapes),
            None => op.infer(&shapes),
        }?;
        results.iter().try_for_each(Concrete::check)?;
        Ok::<_, OpError>(results)
    };
    let [n0, n1, n2] = WORLDS;
    if args.iter().all(|f| !f.depends_on_batch()) && op.with_batch(Dim::BATCH).is_none() {
        let facts = at(n0)?;
        return Ok(facts
            .into_iter()
            .map(|c| Fact { dtype: c.dtype, shape: c.shape.into_iter().map(Dim::from).collect() })
            .collect());
    }
    fit_facts(&[at(n0)?, at(n1)?, at(n2)?])
}

/// The operator as a concrete type.
pub fn downcast<T: Op>(op: &dyn Op) -> Option<&T> {
    (op as &dyn std::any::Any).downcast_ref()
}
