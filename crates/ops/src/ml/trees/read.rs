//! Ensembles of trees as files have them, and what is made of their sums.

use std::collections::{HashMap, HashSet};

use taste_graph::{Id, OpError, algebra::Concat};
use taste_onnx::builders;

use super::forest::{Forest, Node, Raw, Rule};
use crate::{
    Entry, Reader, Sample,
    ml::{entry, features, label_of, transform, vector},
    softmax::Softmax,
};

/// Floats of an attribute, which may be a tensor instead.
fn numbers(
    r: &mut Reader<'_, '_>,
    name: &'static str,
    tensor: &'static str,
) -> Result<Vec<f64>, OpError> {
    let wide = r.tensor(tensor)?;
    let given = r.weights(name);
    match wide {
        Some(tensor) if given.is_empty() => Ok(tensor.as_float()?.iter().copied().collect()),
        _ => Ok(given),
    }
}

fn index(value: i64) -> Result<usize, OpError> {
    usize::try_from(value).map_err(|_| OpError::shape("a number of at least", 0, value))
}

/// Fails unless a list has as many entries as there are nodes.
fn check(what: &'static str, count: usize, got: usize) -> Result<(), OpError> {
    if count == got { Ok(()) } else { Err(OpError::shape(what, count, got)) }
}

/// Who has which weight: the attributes of leaves.
struct Weights {
    trees: Vec<i64>,
    nodes: Vec<i64>,
    targets: Vec<i64>,
    values: Vec<f64>,
}

impl Weights {
    fn of_classes(r: &mut Reader<'_, '_>) -> Result<Self, OpError> {
        Ok(Self {
            trees: r.ints("class_treeids").unwrap_or_default(),
            nodes: r.ints("class_nodeids").unwrap_or_default(),
            targets: r.ints("class_ids").unwrap_or_default(),
            values: numbers(r, "class_weights", "class_weights_as_tensor")?,
        })
    }

    fn of_targets(r: &mut Reader<'_, '_>) -> Result<Self, OpError> {
        Ok(Self {
            trees: r.ints("target_treeids").unwrap_or_default(),
            nodes: r.ints("target_nodeids").unwrap_or_default(),
            targets: r.ints("target_ids").unwrap_or_default(),
            values: numbers(r, "target_weights", "target_weights_as_tensor")?,
        })
    }

    /// The only target that has weights, if there is one.
    fn single_target(&self) -> Option<i64> {
        let targets: HashSet<i64> = self.targets.iter().copied().collect();
        if targets.len() == 1 { targets.into_iter().next() } else { None }
    }
}

/// The trees of the two operators that classifiers and regressors had.
fn forest(
    r: &mut Reader<'_, '_>,
    features: usize,
    given: &Weights,
    targets: usize,
) -> Result<Forest, OpError> {
    let mut list = |name| r.ints(name).unwrap_or_default();
    let (trees, ids) = (list("nodes_treeids"), list("nodes_nodeids"));
    let (looks_at, yes) = (list("nodes_featureids"), list("nodes_truenodeids"));
    let (no, missing) = (list("nodes_falsenodeids"), list("nodes_missing_value_tracks_true"));
    let rules = r.strings("nodes_modes");
    let values = numbers(r, "nodes_values", "nodes_values_as_tensor")?;
    for name in ["nodes_hitrates", "nodes_hitrates_as_tensor"] {
        r.ignore(name);
    }
    let count = ids.len();
    let lists = [&trees, &looks_at, &yes, &no].map(Vec::len);
    for got in lists.into_iter().chain([rules.len(), values.len()]) {
        check("an entry of every list for every node", count, got)?;
    }
    if !missing.is_empty() {
        check("an entry of every list for every node", count, missing.len())?;
    }
    let mut places: HashMap<(i64, i64), usize> = HashMap::with_capacity(count);
    for (place, key) in trees.iter().copied().zip(ids.iter().copied()).enumerate() {
        if places.insert(key, place).is_some() {
            return Err(OpError::invalid(format!("tree {} has node {} twice", key.0, key.1)));
        }
    }
    let find = |tree: i64, node: i64| {
        let found = places.get(&(tree, node)).copied();
        found.ok_or_else(|| OpError::invalid(format!("tree {tree} has no node {node}")))
    };
    let mut raw = Vec::with_capacity(count);
    let mut is_child = vec![false; count];
    for i in 0..count {
        let Some(rule) = Rule::named(&rules[i])? else {
            raw.push(Raw::Leaf(Vec::new()));
            continue;
        };
        let (yes, no) = (find(trees[i], yes[i])?, find(trees[i], no[i])?);
        is_child[yes] = true;
        is_child[no] = true;
        raw.push(Raw::Branch(Node {
            feature: index(looks_at[i])?,
            threshold: values[i],
            rule,
            yes,
            no,
            missing_follows: missing.get(i).is_some_and(|&m| m != 0),
        }));
    }
    let all = [given.trees.len(), given.nodes.len(), given.targets.len()];
    for got in all {
        check("a tree, a node and a target for every weight", given.values.len(), got)?;
    }
    for i in 0..given.values.len() {
        let place = find(given.trees[i], given.nodes[i])?;
        if let Raw::Leaf(weights) = &mut raw[place] {
            weights.push((index(given.targets[i])?, given.values[i]));
        }
    }
    let roots: Vec<usize> = (0..count).filter(|&i| !is_child[i]).collect();
    Forest::new(raw, &roots, features, targets)
}

/// The label and the scores of trees. Two classes of which the first has all weights are scored by these alone: the
/// probability of the second if none is below zero, its logit otherwise.
fn read_classifier(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let post = r.string_or("post_transform", "NONE");
    let (numbers_of, names) = (r.ints("classlabels_int64s"), r.strings("classlabels_strings"));
    let base = numbers(r, "base_values", "base_values_as_tensor")?;
    let classes = numbers_of.as_ref().map_or(names.len(), |l| l.len().max(names.len()));
    if classes < 2 {
        return Err(OpError::shape("labels", "at least 2", classes));
    }
    let given = Weights::of_classes(r)?;
    let (x, count) = features(r)?;
    let single = if classes == 2 { given.single_target().filter(|t| *t == 0) } else { None };
    let positive = given.values.iter().all(|w| *w >= 0.0);
    let targets = if single.is_some() { 1 } else { classes };
    let forest = forest(r, count, &given, targets)?;
    let mut sums = forest.sums(&mut r.b, x)?;
    match base.len() {
        0 => {}
        n if n == targets => sums = added(r, sums, base)?,
        2 => sums = added(r, sums, base[1..].to_vec())?,
        n => return Err(OpError::shape("base values", targets, n)),
    }
    let scores = match (single, post.as_str()) {
        (None, post) => transform(r, sums, post)?,
        (Some(_), "LOGISTIC") if !positive => {
            let zeros = r.b.zeros_like(sums)?;
            let pair = r.b.push(Concat { axis: 1 }, &[zeros, sums])?;
            r.b.push(Softmax { axis: 1, log: false }, &[pair])?
        }
        (Some(_), "LOGISTIC" | "NONE" | "SOFTMAX") => {
            let other = if positive { r.b.from_offset(1.0, sums)? } else { r.b.neg(sums)? };
            r.b.push(Concat { axis: 1 }, &[other, sums])?
        }
        (Some(_), post) => return Err(OpError::unsupported("post_transform of one score", post)),
    };
    let label = label_of(r, scores, numbers_of.as_deref())?;
    Ok(vec![label, scores])
}

fn added(r: &mut Reader<'_, '_>, sums: Id, base: Vec<f64>) -> Result<Id, OpError> {
    let base = vector(r, base);
    r.b.add(sums, base)
}

fn read_regressor(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let post = r.string_or("post_transform", "NONE");
    let targets = index(r.int_or("n_targets", 1))?;
    let aggregate = r.string_or("aggregate_function", "SUM");
    let base = numbers(r, "base_values", "base_values_as_tensor")?;
    let given = Weights::of_targets(r)?;
    let (x, count) = features(r)?;
    let forest = forest(r, count, &given, targets)?;
    let average = match aggregate.as_str() {
        "SUM" => false,
        "AVERAGE" => true,
        _ => return Err(OpError::unsupported("aggregate_function", aggregate)),
    };
    finish(r, &forest, x, average, base, &post)
}

fn finish(
    r: &mut Reader<'_, '_>,
    forest: &Forest,
    x: Id,
    average: bool,
    base: Vec<f64>,
    post: &str,
) -> Result<Vec<Id>, OpError> {
    let mut sums = forest.sums(&mut r.b, x)?;
    if average {
        sums = r.b.scale(sums, 1.0 / forest.trees.max(1) as f64)?;
    }
    if !base.is_empty() {
        check("a base value for every target", forest.targets, base.len())?;
        sums = added(r, sums, base)?;
    }
    Ok(vec![transform(r, sums, post)?])
}

/// The operator that replaced the two: leaves are lists of their own.
fn read_ensemble(r: &mut Reader<'_, '_>) -> Result<Vec<Id>, OpError> {
    let average = match r.int_or("aggregate_function", 1) {
        0 => true,
        1 => false,
        other => return Err(OpError::unsupported("aggregate_function", other)),
    };
    let post = match r.int_or("post_transform", 0) {
        0 => "NONE",
        1 => "SOFTMAX",
        2 => "LOGISTIC",
        other => return Err(OpError::unsupported("post_transform", other)),
    };
    let targets = index(r.int_or("n_targets", 1))?;
    let mut list = |name| r.ints(name).unwrap_or_default();
    let (looks_at, yes) = (list("nodes_featureids"), list("nodes_truenodeids"));
    let (no, missing) = (list("nodes_falsenodeids"), list("nodes_missing_value_tracks_true"));
    let (yes_leaf, no_leaf) = (list("nodes_trueleafs"), list("nodes_falseleafs"));
    let (roots, leaf_targets) = (list("tree_roots"), list("leaf_targetids"));
    r.ignore("nodes_hitrates");
    let splits = r.tensor("nodes_splits")?;
    let rules = r.tensor("nodes_modes")?;
    let leaf_weights = r.tensor("leaf_weights")?;
    let (Some(splits), Some(rules), Some(leaf_weights)) = (splits, rules, leaf_weights) else {
        return Err(OpError::invalid("it has no splits, rules or weights"));
    };
    let (splits, rules) = (splits.as_float()?.clone(), rules.as_int()?.clone());
    let leaf_weights = leaf_weights.as_float()?.clone();
    let (count, leaves) = (splits.len(), leaf_weights.len());
    let lists = [&looks_at, &yes, &no, &yes_leaf, &no_leaf].map(Vec::len);
    for got in lists.into_iter().chain([rules.len()]) {
        check("an entry of every list for every node", count, got)?;
    }
    check("a target for every leaf", leaves, leaf_targets.len())?;
    let child = |place: i64, is_leaf: i64| -> Result<usize, OpError> {
        let (place, most) = (index(place)?, if is_leaf == 0 { count } else { leaves });
        if place >= most {
            return Err(OpError::shape("a node or leaf below", most, place));
        }
        Ok(if is_leaf == 0 { place } else { count + place })
    };
    let mut raw = Vec::with_capacity(count + leaves);
    for (i, (&threshold, &rule)) in splits.iter().zip(&rules).enumerate() {
        raw.push(Raw::Branch(Node {
            feature: index(looks_at[i])?,
            threshold,
            rule: Rule::numbered(rule)?,
            yes: child(yes[i], yes_leaf[i])?,
            no: child(no[i], no_leaf[i])?,
            missing_follows: missing.get(i).is_some_and(|&m| m != 0),
        }));
    }
    for (&target, &weight) in leaf_targets.iter().zip(&leaf_weights) {
        raw.push(Raw::Leaf(vec![(index(target)?, weight)]));
    }
    let roots = roots.iter().map(|&n| index(n)).collect::<Result<Vec<_>, _>>()?;
    let (x, features) = features(r)?;
    let forest = Forest::new(raw, &roots, features, targets)?;
    finish(r, &forest, x, average, Vec::new(), post)
}

/// Two stumps and a tree of two levels over three features.
fn tree_sample(title: &str) -> Sample {
    let modes = ["BRANCH_LEQ", "LEAF", "LEAF", "BRANCH_LEQ", "LEAF", "BRANCH_LEQ", "LEAF", "LEAF"];
    let modes: Vec<Vec<u8>> = modes.iter().map(|m| m.as_bytes().to_vec()).collect();
    Sample::new(title)
        .active(&[4, 3])
        .batched()
        .int_list("nodes_treeids", &[0, 0, 0, 1, 1, 1, 1, 1])
        .int_list("nodes_nodeids", &[0, 1, 2, 0, 1, 2, 3, 4])
        .int_list("nodes_featureids", &[0, 0, 0, 1, 0, 2, 0, 0])
        .int_list("nodes_truenodeids", &[1, 0, 0, 1, 0, 3, 0, 0])
        .int_list("nodes_falsenodeids", &[2, 0, 0, 2, 0, 4, 0, 0])
        .attribute(builders::attr_floats(
            "nodes_values",
            &[0.1, 0.0, 0.0, -0.2, 0.0, 0.3, 0.0, 0.0],
        ))
        .attribute(builders::attr_strings("nodes_modes", &modes))
}

const SAMPLE_WEIGHTS: [f32; 5] = [0.3, 0.7, 0.2, 0.9, 0.4];

fn classifier_samples() -> Vec<Sample> {
    let with = |title: &str, ids: &[i64], labels: &[i64]| {
        tree_sample(title)
            .int_list("class_treeids", &[0, 0, 1, 1, 1])
            .int_list("class_nodeids", &[1, 2, 1, 3, 4])
            .int_list("class_ids", ids)
            .attribute(builders::attr_floats("class_weights", &SAMPLE_WEIGHTS))
            .int_list("classlabels_int64s", labels)
            .results(2)
    };
    vec![
        with("three classes", &[0, 1, 2, 0, 1], &[4, 5, 6]).string("post_transform", "SOFTMAX"),
        with("one score", &[0; 5], &[0, 1]),
        with("two classes", &[0, 1, 0, 1, 0], &[0, 1]),
    ]
}

fn regressor_samples() -> Vec<Sample> {
    let with = |title: &str, ids: &[i64]| {
        tree_sample(title)
            .int_list("target_treeids", &[0, 0, 1, 1, 1])
            .int_list("target_nodeids", &[1, 2, 1, 3, 4])
            .int_list("target_ids", ids)
            .attribute(builders::attr_floats("target_weights", &SAMPLE_WEIGHTS))
    };
    vec![
        with("one target", &[0; 5]).attribute(builders::attr_floats("base_values", &[0.5])),
        with("two targets", &[0, 1, 1, 0, 0])
            .int("n_targets", 2)
            .string("aggregate_function", "AVERAGE"),
    ]
}

fn ensemble_samples() -> Vec<Sample> {
    let floats = |values: &[f64]| builders::tensor_f64("", &[values.len()], values);
    let modes = builders::tensor("", &[3], taste_onnx::Values::U8(vec![0, 1, 2]));
    vec![
        Sample::new("two trees")
            .active(&[4, 3])
            .batched()
            .int_list("tree_roots", &[0, 1])
            .int_list("nodes_featureids", &[0, 1, 2])
            .int_list("nodes_truenodeids", &[0, 2, 3])
            .int_list("nodes_falsenodeids", &[1, 2, 4])
            .int_list("nodes_trueleafs", &[1, 1, 1])
            .int_list("nodes_falseleafs", &[1, 0, 1])
            .int_list("leaf_targetids", &[0, 0, 0, 0, 0])
            .attribute(builders::attr_tensor("nodes_splits", floats(&[0.1, -0.2, 0.3])))
            .attribute(builders::attr_tensor("nodes_modes", modes))
            .attribute(builders::attr_tensor("leaf_weights", floats(&[0.3, 0.7, 0.2, 0.9, 0.4]))),
    ]
}

pub(crate) const ENTRIES: &[Entry] = &[
    entry("TreeEnsemble", read_ensemble, ensemble_samples),
    entry("TreeEnsembleClassifier", read_classifier, classifier_samples),
    entry("TreeEnsembleRegressor", read_regressor, regressor_samples),
];
