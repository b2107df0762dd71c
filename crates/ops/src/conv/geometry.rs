//! What a convolution of a file says of itself, for those who run files.

use taste_graph::{Build, Graph, OPSET, OpError};
use taste_onnx::{
    Model,
    proto::{ModelProto, NodeProto},
};

use super::{
    read::{read_extra, read_groups},
    window::{Attributes, Padding, Window},
};
use crate::{Reader, Words};

/// The windows and groups of a `Conv` or `ConvTranspose`, padded by numbers that its file gives.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Geometry {
    /// Where windows lie in the larger of the two arrays.
    pub window: Window,
    /// Groups of channels.
    pub groups: usize,
    /// Elements of a `ConvTranspose` behind the last window, for each spatial axis.
    pub extra: Vec<usize>,
}

impl Geometry {
    /// The geometry of a node whose weights have these spatial sizes; nothing if its padding depends on the size of the
    /// input or output.
    pub fn of(node: &NodeProto, kernel: &[usize]) -> Result<Option<Self>, OpError> {
        let (mut scratch, model) = (Graph::new(), Model::new(ModelProto::default()));
        let mut words = Words::default();
        let (b, source) = (Build::new(&mut scratch), (node, &model));
        let mut r = Reader::new(b, &mut words, source, Vec::new(), OPSET);
        let attributes = Attributes::read(&mut r, kernel.len(), Some(kernel))?;
        let (groups, extra) = (read_groups(&mut r)?, read_extra(&mut r, kernel.len())?);
        let Padding::Explicit(pads) = &attributes.padding else { return Ok(None) };
        if r.sizes("output_shape")?.is_some_and(|s| !s.is_empty()) {
            return Ok(None);
        }
        let (begin, end) = pads.split_at(kernel.len());
        Ok(Some(Self { window: attributes.padded(begin.to_vec(), end.to_vec()), groups, extra }))
    }
}

#[cfg(test)]
mod tests {
    use taste_onnx::{builders, proto::AttributeProto};

    use super::*;

    fn node(attribute: Vec<AttributeProto>) -> NodeProto {
        NodeProto { attribute, ..builders::node("ConvTranspose", &["x", "w"], &["y"], "y") }
    }

    #[test]
    fn attributes_that_are_missing_have_their_defaults() {
        let plain = Geometry::of(&node(vec![]), &[3, 2]).expect("reads").expect("numbers");
        let zeros = || vec![0, 0];
        let (strides, dilations) = (vec![1, 1], vec![1, 1]);
        let window =
            Window { kernel: vec![3, 2], strides, dilations, begin: zeros(), end: zeros() };
        assert_eq!(plain, Geometry { window, groups: 1, extra: zeros() });
    }

    #[test]
    fn attributes_of_a_node_are_read() {
        let given = vec![
            builders::attr_ints("strides", &[2, 3]),
            builders::attr_ints("dilations", &[1, 4]),
            builders::attr_ints("pads", &[1, 2, 3, 4]),
            builders::attr_ints("output_padding", &[1, 0]),
            builders::attr_int("group", 5),
        ];
        let found = Geometry::of(&node(given), &[3, 2]).expect("reads").expect("numbers");
        assert_eq!(
            (&found.window.strides[..], &found.window.dilations[..]),
            (&[2, 3][..], &[1, 4][..])
        );
        assert_eq!((&found.window.begin[..], &found.window.end[..]), (&[1, 2][..], &[3, 4][..]));
        assert_eq!((found.groups, &found.extra[..]), (5, &[1, 0][..]));
    }

    #[test]
    fn padding_that_follows_from_a_size_is_no_geometry_and_misfits_are_errors() {
        let wanted = builders::attr_ints("output_shape", &[8, 8]);
        let same = builders::attr_string("auto_pad", "SAME_UPPER");
        for attribute in [wanted, same] {
            assert_eq!(Geometry::of(&node(vec![attribute]), &[3, 2]), Ok(None));
        }
        let valid = builders::attr_string("auto_pad", "VALID");
        assert!(Geometry::of(&node(vec![valid]), &[3, 2]).is_ok_and(|g| g.is_some()));
        let one = || builders::attr_ints("strides", &[2]);
        let misfits =
            [one(), builders::attr_ints("pads", &[-1, 0, 0, 0]), builders::attr_int("group", 0)];
        for attribute in misfits {
            assert!(Geometry::of(&node(vec![attribute]), &[3, 2]).is_err());
        }
    }
}
