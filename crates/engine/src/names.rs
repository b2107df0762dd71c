//! Names that nothing else has.

use taste_graph::{Fact, Graph, Id};

/// The stem, or the stem with the first number behind it that makes a name which is not taken.
pub(crate) fn free(stem: &str, taken: impl Fn(&str) -> bool) -> String {
    let numbered = (1..).map(|n: u64| format!("{stem}_{n}"));
    let mut names = std::iter::once(stem.to_owned()).chain(numbered);
    names.find(|name| !taken(name)).unwrap_or_default()
}

/// An input of a graph that is not an input of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fed {
    pub(crate) name: String,
    pub(crate) id: Id,
}

impl Fed {
    /// A new input under a name that no input has yet.
    pub(crate) fn new(graph: &mut Graph, stem: &str, fact: Fact) -> Self {
        let inputs = graph.inputs();
        let name = free(stem, |name| inputs.iter().any(|(taken, _)| taken == name));
        Self { id: graph.input(&name, fact), name }
    }
}

/// Renames inputs that have one of the names of a file's outputs, as `model_score` for `score`.
pub(crate) fn make_way(graph: &mut Graph, outputs: &[&str]) {
    let inputs = graph.inputs();
    for (name, id) in inputs.iter().filter(|(name, _)| outputs.contains(&name.as_str())) {
        let taken =
            |new: &str| outputs.contains(&new) || inputs.iter().any(|(other, _)| other == new);
        graph.rename_input(*id, &free(&format!("model_{name}"), taken));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taste_graph::{DType, Dim};

    fn graph(inputs: &[&str]) -> Graph {
        let mut graph = Graph::new();
        for name in inputs {
            graph.input(name, Fact { dtype: DType::Float, shape: vec![Dim::BATCH] });
        }
        graph
    }

    fn inputs(graph: &Graph) -> Vec<String> {
        graph.inputs().into_iter().map(|i| i.0).collect()
    }

    #[test]
    fn a_fed_input_gets_a_name_of_its_own() {
        let mut graph = graph(&["signs", "signs_1"]);
        let fact = Fact { dtype: DType::Float, shape: vec![Dim::BATCH] };
        assert_eq!(Fed::new(&mut graph, "signs", fact.clone()).name, "signs_2");
        assert_eq!(Fed::new(&mut graph, "field", fact).name, "field");
    }

    #[test]
    fn inputs_make_way_for_outputs_alone() {
        let mut graph = graph(&["score", "model_score", "x"]);
        make_way(&mut graph, &["score", "flag", "model_score_1"]);
        assert_eq!(inputs(&graph), ["model_score_2", "model_score", "x"]);
    }
}
