//! Where windows lie along one axis.

/// Windows along one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The number of weights.
    pub size: usize,
    /// The distance between windows.
    pub stride: usize,
    /// The distance between the entries that a window reads.
    pub dilation: usize,
    /// Zeros before the first entry.
    pub before: usize,
    /// Zeros after the last entry.
    pub after: usize,
    /// Outputs of a transposed convolution beyond the last window.
    pub extra: usize,
}

impl Window {
    /// One weight: an axis that is not there.
    pub const POINT: Self = Self { size: 1, stride: 1, dilation: 1, before: 0, after: 0, extra: 0 };

    /// Entries from the first that a window reads to the last; nothing if that is no number.
    fn span(self) -> Option<usize> {
        self.size.checked_sub(1)?.checked_mul(self.dilation)?.checked_add(1)
    }

    /// Whether there is a weight, windows move on, and all that is computed of windows alone can be.
    pub(crate) fn is_sound(self) -> bool {
        let Self { stride, dilation, before, after, extra, .. } = self;
        let reach = [before, after, extra, stride].into_iter().try_fold(0usize, usize::checked_add);
        let reach = reach.zip(self.span()).and_then(|(r, span)| r.checked_add(span));
        stride > 0 && dilation > 0 && reach.is_some_and(|r| isize::try_from(r).is_ok())
    }
}

/// A convolution or its adjoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Outputs are sums over windows of the input; weights are outputs × inputs × window.
    Forward,
    /// Inputs are spread over windows of the output; weights are inputs × outputs × window.
    Transposed,
}

/// Outputs `first`, `first + step`, …: number j is the sum over taps of the input at `stride·j + tap.offset`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sweep {
    pub(crate) first: usize,
    pub(crate) step: usize,
    pub(crate) stride: usize,
    pub(crate) taps: Vec<Tap>,
}

/// A weight of the window and the input that it multiplies, relative to the output's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tap {
    pub(crate) weight: usize,
    pub(crate) offset: isize,
}

impl Sweep {
    /// How many of `outputs` are in this sweep.
    pub(crate) fn count(&self, outputs: usize) -> usize {
        outputs.saturating_sub(self.first).div_ceil(self.step)
    }
}

impl Direction {
    /// The number of outputs for a number of inputs; nothing if the window does not fit, or the number is too large to be one.
    pub(crate) fn outputs(self, window: Window, inputs: usize) -> Option<usize> {
        let Window { stride, before, after, extra, .. } = window;
        match self {
            Self::Forward => {
                let padded = inputs.checked_add(before)?.checked_add(after)?;
                Some(padded.checked_sub(window.span()?)? / stride + 1)
            }
            Self::Transposed => {
                let last = inputs.checked_sub(1)?.checked_mul(stride)?;
                let full = last.checked_add(window.span()?)?.checked_add(extra)?;
                full.checked_sub(before.checked_add(after)?)
            }
        }
    }

    /// The sweeps that make up all outputs: one for a convolution, one for every remainder by the stride for its adjoint.
    pub(crate) fn sweeps(self, window: Window) -> Vec<Sweep> {
        let Window { size, stride, dilation, before, .. } = window;
        let signed = |n: usize| n as isize;
        match self {
            Self::Forward => {
                let taps = (0..size).map(|weight| Tap {
                    weight,
                    offset: signed(weight * dilation) - signed(before),
                });
                vec![Sweep { first: 0, step: 1, stride, taps: taps.collect() }]
            }
            Self::Transposed => {
                let sweep = |first: usize| {
                    // Output o = stride·i + dilation·k − before, so that i = j + (first + before − dilation·k)/stride.
                    let taps = (0..size).filter_map(|weight| {
                        let distance = signed(first + before) - signed(weight * dilation);
                        let fits = distance.rem_euclid(signed(stride)) == 0;
                        fits.then(|| Tap { weight, offset: distance.div_euclid(signed(stride)) })
                    });
                    Sweep { first, step: stride, stride: 1, taps: taps.collect() }
                };
                (0..stride).map(sweep).collect()
            }
        }
    }
}
