//! Convolution of small images.
//!
//! A convolution as a product of matrices first writes every window of the image out; for the few channels of a small network
//! that costs as much as the product. Here the image is copied once, with its border, and vectors of outputs are summed straight
//! from it: a [`Filter`] holds the weights in the order in which they are read, and [`Filter::run`] applies it to a batch.
//!
//! `filter` chooses a method: `direct`, `by_two` and `across`, which sum tap by tap with the weights of `passes` as a `plan` says,
//! `winograd`, or `depthwise` for channels with a window each, whose copies are `gapless`.
//! `batch` takes a few samples at a time through it. Where windows lie is in `axis`, how the copy is laid out in `image`, how outputs make
//! up vectors in `tiles` and `strips`; all arithmetic that counts is in `product`, and what becomes of a sum in `finish`. `spaced`, `pairs`,
//! `vectors` and `work` are vectors and memory.

mod across;
mod axis;
mod batch;
mod by_two;
mod depthwise;
mod direct;
mod filter;
mod finish;
mod gapless;
mod image;
mod pairs;
mod passes;
mod plan;
mod product;
mod spaced;
mod strips;
mod tiles;
mod vectors;
mod winograd;
mod work;

pub use axis::{Direction, Window};
pub use filter::Filter;
pub use vectors::without_avx512;

/// Channels that go in and come out, of which every group has its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channels {
    /// Those that go in.
    pub inputs: usize,
    /// Those that come out.
    pub outputs: usize,
    /// Outputs are sums over the inputs of their group alone.
    pub groups: usize,
}

impl Channels {
    fn inputs_of_group(self) -> usize {
        self.inputs / self.groups
    }

    fn outputs_of_group(self) -> usize {
        self.outputs / self.groups
    }
}

impl From<[usize; 2]> for Channels {
    fn from([inputs, outputs]: [usize; 2]) -> Self {
        Self { inputs, outputs, groups: 1 }
    }
}

/// What is done with the sums before they are written.
#[derive(Clone, Copy, Debug)]
pub enum After<'a> {
    /// Adds numbers.
    Add(Numbers<'a>),
    /// Multiplies by numbers.
    Mul(Numbers<'a>),
    /// Takes negative values to zero.
    Relu,
    /// Takes values below the first number or above the second to that number.
    Clip(f32, f32),
}

/// Numbers for an output.
#[derive(Clone, Copy, Debug)]
pub enum Numbers<'a> {
    /// One for every entry.
    Entries(&'a [f32]),
    /// One for every channel.
    Channels(&'a [f32]),
}
