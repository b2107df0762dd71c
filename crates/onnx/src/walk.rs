use crate::proto::{
    AttributeProto, GraphProto, ModelProto, NodeProto, SparseTensorProto, TensorProto,
};

/// Calls `visit` on every tensor of a model: constants, attributes, subgraphs and functions.
pub(crate) fn tensors_mut<E>(
    model: &mut ModelProto,
    visit: &mut impl FnMut(&mut TensorProto) -> Result<(), E>,
) -> Result<(), E> {
    let training = model.training_info.iter_mut();
    let trained =
        training.flat_map(|info| info.initialization.iter_mut().chain(&mut info.algorithm));
    model.graph.iter_mut().chain(trained).try_for_each(|graph| in_graph(graph, visit))?;
    model.functions.iter_mut().try_for_each(|function| {
        function.attribute_proto.iter_mut().try_for_each(|a| in_attribute(a, visit))?;
        function.node.iter_mut().try_for_each(|node| in_node(node, visit))
    })
}

fn in_graph<E>(
    graph: &mut GraphProto,
    visit: &mut impl FnMut(&mut TensorProto) -> Result<(), E>,
) -> Result<(), E> {
    graph.initializer.iter_mut().try_for_each(&mut *visit)?;
    graph.sparse_initializer.iter_mut().try_for_each(|sparse| in_sparse(sparse, visit))?;
    graph.node.iter_mut().try_for_each(|node| in_node(node, visit))
}

fn in_node<E>(
    node: &mut NodeProto,
    visit: &mut impl FnMut(&mut TensorProto) -> Result<(), E>,
) -> Result<(), E> {
    node.attribute.iter_mut().try_for_each(|attribute| in_attribute(attribute, visit))
}

fn in_attribute<E>(
    attribute: &mut AttributeProto,
    visit: &mut impl FnMut(&mut TensorProto) -> Result<(), E>,
) -> Result<(), E> {
    attribute.t.as_deref_mut().map_or(Ok(()), &mut *visit)?;
    attribute.tensors.iter_mut().try_for_each(&mut *visit)?;
    attribute.sparse_tensor.as_deref_mut().map_or(Ok(()), |sparse| in_sparse(sparse, visit))?;
    attribute.sparse_tensors.iter_mut().try_for_each(|sparse| in_sparse(sparse, visit))?;
    attribute.g.as_deref_mut().map_or(Ok(()), |graph| in_graph(graph, visit))?;
    attribute.graphs.iter_mut().try_for_each(|graph| in_graph(graph, visit))
}

fn in_sparse<E>(
    sparse: &mut SparseTensorProto,
    visit: &mut impl FnMut(&mut TensorProto) -> Result<(), E>,
) -> Result<(), E> {
    sparse.values.iter_mut().chain(&mut sparse.indices).try_for_each(visit)
}
