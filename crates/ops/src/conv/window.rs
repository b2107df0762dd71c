//! Windows that slide over spatial axes.

use taste_graph::{Build, Id, OpError};

use crate::Reader;

/// A window along every spatial axis. Tap k of the window at position p lies at
/// `stride · p + dilation · k − begin` of the input.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Window {
    /// How many taps.
    pub kernel: Vec<usize>,
    /// The distance between positions.
    pub strides: Vec<usize>,
    /// The distance between taps.
    pub dilations: Vec<usize>,
    /// Padding before the first element.
    pub begin: Vec<usize>,
    /// Padding behind the last element.
    pub end: Vec<usize>,
}

/// The elements that one tap touches along one axis: `start + stride · i` of the input at position
/// `first + i`, for `i < len`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Touch {
    pub(crate) start: usize,
    pub(crate) first: usize,
    pub(crate) len: usize,
}

/// Engines count in 32 bits.
const LARGEST: usize = i32::MAX as usize;

impl Window {
    /// The number of spatial axes.
    pub(crate) fn rank(&self) -> usize {
        self.kernel.len()
    }

    /// The distance from the first to the last tap, and one.
    pub(crate) fn reach(&self, axis: usize) -> usize {
        self.dilations[axis] * (self.kernel[axis] - 1) + 1
    }

    /// Fails unless every list has one entry for each spatial axis and all are of sensible size.
    pub(crate) fn check(&self) -> Result<(), OpError> {
        let lists = [
            ("a kernel", &self.kernel, 1),
            ("strides", &self.strides, 1),
            ("dilations", &self.dilations, 1),
            ("pads", &self.begin, 0),
            ("pads", &self.end, 0),
        ];
        for (what, list, least) in lists {
            if list.len() != self.rank() || list.iter().any(|v| !(least..=LARGEST).contains(v)) {
                return Err(OpError::shape(what, self.rank(), list));
            }
        }
        Ok(())
    }

    /// How many positions there are along every axis of an input.
    pub(crate) fn positions(&self, size: &[usize]) -> Result<Vec<usize>, OpError> {
        if size.len() != self.rank() {
            return Err(OpError::shape("sizes of the spatial axes", self.rank(), size));
        }
        (0..self.rank())
            .map(|a| {
                let padded = size[a].saturating_add(self.begin[a]).saturating_add(self.end[a]);
                padded.checked_sub(self.reach(a)).map(|room| room / self.strides[a] + 1).ok_or_else(
                    || OpError::shape("a padded axis of at least", self.reach(a), padded),
                )
            })
            .collect()
    }

    /// What tap `k` touches along an axis of `size` elements with `positions` positions.
    pub(crate) fn touch(&self, axis: usize, k: usize, size: usize, positions: usize) -> Touch {
        let (stride, offset) = (self.strides[axis], self.dilations[axis] * k);
        let first = self.begin[axis].saturating_sub(offset).div_ceil(stride);
        // Positions p with stride · p + offset − begin < size.
        let past = (size + self.begin[axis]).saturating_sub(offset).div_ceil(stride).min(positions);
        if past <= first {
            return Touch { start: 0, first: 0, len: 0 };
        }
        Touch { start: stride * first + offset - self.begin[axis], first, len: past - first }
    }
}

/// How an input is padded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Padding {
    /// By these numbers, all the beginnings and then all the ends.
    Explicit(Vec<usize>),
    /// So that there are ⌈size / stride⌉ positions; an odd element goes to the end.
    SameUpper,
    /// The same, with an odd element at the beginning.
    SameLower,
}

/// The attributes that convolutions and pools share.
#[derive(Clone, Debug)]
pub(crate) struct Attributes {
    pub(crate) kernel: Vec<usize>,
    pub(crate) strides: Vec<usize>,
    pub(crate) dilations: Vec<usize>,
    pub(crate) padding: Padding,
}

impl Attributes {
    /// Reads the attributes of a node on `rank` spatial axes; `kernel` is the shape of its weights, if
    /// it has any.
    pub(crate) fn read(
        r: &mut Reader<'_, '_>,
        rank: usize,
        kernel: Option<&[usize]>,
    ) -> Result<Self, OpError> {
        if rank == 0 {
            return Err(OpError::shape("spatial axes", "at least 1", rank));
        }
        let named = r.sizes("kernel_shape")?.filter(|k| !k.is_empty());
        let kernel = match (named, kernel) {
            (Some(named), Some(kernel)) if named != kernel => {
                return Err(OpError::shape("kernel_shape", kernel, named));
            }
            (_, Some(kernel)) => kernel.to_vec(),
            (Some(named), None) => named,
            (None, None) => return Err(OpError::invalid("attribute kernel_shape is missing")),
        };
        let ones = |list: Option<Vec<usize>>| {
            list.filter(|l| !l.is_empty()).unwrap_or_else(|| vec![1; rank])
        };
        let strides = ones(r.sizes("strides")?);
        let dilations = ones(r.sizes("dilations")?);
        let pads = r.ints("pads");
        let padding = match r.string_or("auto_pad", "NOTSET").as_str() {
            "NOTSET" | "" => {
                let pads = pads.filter(|p| !p.is_empty()).unwrap_or_else(|| vec![0; 2 * rank]);
                if let Some(&pad) = pads.iter().find(|p| **p < 0) {
                    return Err(OpError::unsupported("negative padding", pad));
                }
                Padding::Explicit(crate::reader::to_sizes(&pads)?)
            }
            "VALID" => Padding::Explicit(vec![0; 2 * rank]),
            "SAME_UPPER" => Padding::SameUpper,
            "SAME_LOWER" => Padding::SameLower,
            other => return Err(OpError::unsupported("auto_pad", other)),
        };
        let attributes = Self { kernel, strides, dilations, padding };
        if attributes.kernel.len() != rank {
            return Err(OpError::shape("a kernel", rank, &attributes.kernel));
        }
        if let Padding::Explicit(pads) = &attributes.padding
            && pads.len() != 2 * rank
        {
            return Err(OpError::shape("pads", 2 * rank, pads));
        }
        attributes.padded(vec![0; rank], vec![0; rank]).check()?;
        Ok(attributes)
    }

    /// The window with this padding.
    pub(crate) fn padded(&self, begin: Vec<usize>, end: Vec<usize>) -> Window {
        let (kernel, strides) = (self.kernel.clone(), self.strides.clone());
        Window { kernel, strides, dilations: self.dilations.clone(), begin, end }
    }

    /// The window on an input of this size.
    pub(crate) fn window(&self, size: &[usize]) -> Result<Window, OpError> {
        let rank = self.kernel.len();
        if size.len() != rank {
            return Err(OpError::shape("sizes of the spatial axes", rank, size));
        }
        let bare = self.padded(vec![0; rank], vec![0; rank]);
        let total = |axis: usize| {
            let stride = self.strides[axis];
            let last = size[axis].div_ceil(stride).saturating_sub(1) * stride;
            (last + bare.reach(axis)).saturating_sub(size[axis])
        };
        let window = match &self.padding {
            Padding::Explicit(pads) => self.padded(pads[..rank].to_vec(), pads[rank..].to_vec()),
            Padding::SameUpper => self.padded(
                (0..rank).map(|a| total(a) / 2).collect(),
                (0..rank).map(|a| total(a).div_ceil(2)).collect(),
            ),
            Padding::SameLower => self.padded(
                (0..rank).map(|a| total(a).div_ceil(2)).collect(),
                (0..rank).map(|a| total(a) / 2).collect(),
            ),
        };
        window.check()?;
        Ok(window)
    }
}

/// The sizes of the axes behind the first two, none of which may depend on the batch.
pub(crate) fn spatial_sizes(b: &Build<'_>, x: Id) -> Result<Vec<usize>, OpError> {
    let fact = b.fact(x);
    let rest = fact.shape.get(2..).filter(|rest| !rest.is_empty());
    rest.and_then(|rest| {
        rest.iter().map(|d| d.as_fixed().and_then(|size| usize::try_from(size).ok())).collect()
    })
    .ok_or_else(|| OpError::shape("batch, channels and spatial axes of", "fixed size", fact))
}

/// The sizes of the spatial axes of a value, which do not depend on the batch.
pub(crate) fn spatial(r: &Reader<'_, '_>, x: Id) -> Result<Vec<usize>, OpError> {
    let rank = r.rank(x);
    if rank < 3 {
        return Err(OpError::shape("batch, channels and spatial axes", "at least 3", rank));
    }
    (2..rank).map(|axis| r.fixed_size(x, axis)).collect()
}
