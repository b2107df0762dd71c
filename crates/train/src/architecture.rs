//! Networks by name, for samples of any shape.

use std::{fmt, str::FromStr};

use crate::{Error, Network, error::request, networks};

/// A kind of network that finds scores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScoreNetwork {
    /// Convolutions for images and one noise level, a U-Net for images and many levels, dense layers for tables.
    #[default]
    Auto,
    /// The paper's four convolutions.
    Conv,
    /// Smooth dense layers of this width.
    Mlp(usize),
    /// A U-Net.
    UNet,
}

/// The width of dense layers where none is given.
const WIDTH: usize = 128;

impl ScoreNetwork {
    /// The network for samples of a shape. `level` brings noise levels to the size of 1, where the network is
    /// conditioned on one.
    pub fn build(self, shape: &[usize], level: Option<f64>) -> Result<Network, Error> {
        let wants_images = |what: &str| {
            request(format!(
                "{what} takes images, channels × height × width, not samples of {shape:?}"
            ))
        };
        match (self, shape) {
            (Self::Auto, &[_, height, width]) => {
                let halves = height % 2 == 0 && width % 2 == 0;
                let kind = if level.is_some() && halves { Self::UNet } else { Self::Conv };
                kind.build(shape, level)
            }
            (Self::Auto, _) => Self::Mlp(WIDTH).build(shape, level),
            (Self::Conv, &[channels, height, width]) => match level {
                None => Ok(networks::paper_score([channels, height, width])),
                Some(scale) => Ok(networks::conditioned_score([channels, height, width], scale)),
            },
            (Self::Conv, _) => Err(wants_images("a convolution")),
            (Self::Mlp(width), _) => match level {
                None => Ok(networks::table_score(shape, width, 2)),
                Some(scale) => Ok(networks::conditioned_table_score(shape, width, scale)),
            },
            (Self::UNet, &[channels, height, width]) => {
                let start = Network::new(&[channels, height, width]);
                let start = level.into_iter().fold(start, Network::with_level);
                let halvings = height.trailing_zeros().min(width.trailing_zeros()).min(2);
                let widths: &[usize] = match halvings {
                    0 => &[32],
                    1 => &[32, 64],
                    _ => &[32, 64, 64],
                };
                Ok(start.u_net(widths))
            }
            (Self::UNet, _) => Err(wants_images("a U-Net")),
        }
    }
}

impl FromStr for ScoreNetwork {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "conv" => Ok(Self::Conv),
            "mlp" => Ok(Self::Mlp(WIDTH)),
            "unet" => Ok(Self::UNet),
            _ => Err(format!("no network {text:?}; there are auto, conv, mlp and unet")),
        }
    }
}

/// A kind of network that tells classes apart, or predicts numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TaskNetwork {
    /// Convolutions for images, dense layers for tables.
    #[default]
    Auto,
    /// Two hidden layers of 128 with `ReLUs`.
    Mlp,
    /// Two convolutions with pooling and two dense layers.
    Cnn,
    /// The paper's network for digits on 64 × 64 pixels.
    PaperMnist,
    /// A ResNet-20.
    Resnet20,
}

impl TaskNetwork {
    /// The network for samples of a shape, to this many logits or numbers.
    pub fn build(self, shape: &[usize], outputs: usize) -> Result<Network, Error> {
        let image = || match *shape {
            [channels, height, width] => Ok([channels, height, width]),
            _ => Err(request(format!(
                "{self} takes images, channels × height × width, not samples of {shape:?}"
            ))),
        };
        match self {
            Self::Auto if shape.len() == 3 && shape[1] >= 4 && shape[2] >= 4 => {
                Self::Cnn.build(shape, outputs)
            }
            Self::Auto | Self::Mlp => {
                let start = Network::new(shape).flatten();
                let body = (0..2).fold(start, |n, _| n.dense(WIDTH).relu());
                Ok(body.dense(outputs))
            }
            Self::Cnn => Ok(networks::small_cnn(image()?, outputs)),
            Self::PaperMnist if shape == [1, 64, 64] && outputs == 10 => {
                Ok(networks::paper_digits())
            }
            Self::PaperMnist => Err(request(format!(
                "{self} takes samples of [1, 64, 64] and ten classes, not {shape:?} and {outputs}"
            ))),
            Self::Resnet20 => Ok(networks::resnet20(image()?, outputs)),
        }
    }
}

impl fmt::Display for TaskNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Mlp => "mlp",
            Self::Cnn => "cnn",
            Self::PaperMnist => "paper-mnist",
            Self::Resnet20 => "resnet20",
        })
    }
}

impl FromStr for TaskNetwork {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [Self::Auto, Self::Mlp, Self::Cnn, Self::PaperMnist, Self::Resnet20];
        all.into_iter().find(|n| n.to_string() == text).ok_or_else(|| {
            let names = all.map(|n| n.to_string()).join(", ");
            format!("no network {text:?}; there are {names}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_gives_a_network_with_the_right_ends() {
        for (name, shape) in [
            ("auto", &[3, 8, 8][..]),
            ("conv", &[1, 5, 7]),
            ("mlp", &[2, 3]),
            ("unet", &[1, 28, 28]),
        ] {
            for level in [None, Some(1.0)] {
                let kind: ScoreNetwork = name.parse().expect(name);
                let network = kind.build(shape, level).expect(name);
                assert_eq!(network.result_shape().expect(name), shape, "{name}");
                assert_eq!(network.has_level(), level.is_some(), "{name}");
            }
        }
        for (name, shape) in [
            ("auto", &[4][..]),
            ("mlp", &[1, 4, 4]),
            ("cnn", &[1, 28, 28]),
            ("resnet20", &[3, 32, 32]),
        ] {
            let kind: TaskNetwork = name.parse().expect(name);
            let network = kind.build(shape, 10).expect(name);
            assert_eq!(network.result_shape().expect(name), [10], "{name}");
        }
        assert!(TaskNetwork::PaperMnist.build(&[1, 64, 64], 10).is_ok());
        assert!(TaskNetwork::PaperMnist.build(&[1, 28, 28], 10).is_err());
        assert!(TaskNetwork::Cnn.build(&[4], 10).is_err());
        assert!(ScoreNetwork::UNet.build(&[4], None).is_err());
        assert!("vgg".parse::<TaskNetwork>().expect_err("unknown").contains("resnet20"));
        assert!("vgg".parse::<ScoreNetwork>().expect_err("unknown").contains("unet"));
    }
}
