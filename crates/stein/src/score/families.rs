//! The table of families.

use super::{
    Specification, arguments::Arguments, ddpm, gaussian, gmm, kde, log_density, network,
    standard_normal,
};
use crate::{Error, error::request};

/// A family of score models.
#[derive(Debug)]
pub struct Family {
    /// Its name in front of the colon.
    pub name: &'static str,
    /// How a specification is written.
    pub usage: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    read: fn(Arguments<'_>) -> Result<Box<dyn Specification>, Error>,
}

/// Every family.
pub const FAMILIES: &[Family] = &[
    Family {
        name: "standard-normal",
        usage: "standard-normal",
        about: "s(y) = −y, for data that are standardised already",
        read: standard_normal::read,
    },
    Family {
        name: "gaussian",
        usage: "gaussian[:diagonal | :shrinkage=0..1][,noise=SIGMA]",
        about: "one Gaussian with shrunk covariance, fitted in one pass",
        read: gaussian::read,
    },
    Family {
        name: "gmm",
        usage: "gmm[:K][,diagonal][,noise=SIGMA]",
        about: "a mixture of K Gaussians by expectation maximisation; K by BIC if it is not given",
        read: gmm::read,
    },
    Family {
        name: "kde",
        usage: "kde[:H][,noise=SIGMA]",
        about: "Gaussian kernels of H standard deviations on drawn samples; H by leaving one out if it is not given",
        read: kde::read,
    },
    Family {
        name: "onnx",
        usage: "onnx:FILE",
        about: "a network that computes s(y)",
        read: network::read,
    },
    Family {
        name: "log-density",
        usage: "log-density:FILE",
        about: "a network that computes log p(y) up to a constant; its gradient is the score",
        read: log_density::read,
    },
    Family {
        name: "ddpm",
        usage: ddpm::USAGE,
        about: "a diffusion model's noise predictor ε(y, t) at one noise level",
        read: ddpm::read,
    },
];

/// Reads a specification as the user writes it.
pub fn parse(text: &str) -> Result<Box<dyn Specification>, Error> {
    let (name, arguments) = match text.split_once([':', ',']) {
        Some((name, arguments)) => (name, Some(arguments)),
        None => (text, None),
    };
    let family = FAMILIES.iter().find(|f| f.name == name.trim()).ok_or_else(|| {
        let known: Vec<&str> = FAMILIES.iter().map(|f| f.usage).collect();
        request(format!("no score model {name:?}; there are {}", known.join(", ")))
    })?;
    (family.read)(Arguments::new(family.usage, arguments))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_written_is_read() {
        for (text, learns) in [
            ("standard-normal", false),
            ("gaussian", true),
            ("gaussian:diagonal", true),
            ("gaussian:shrinkage=0.1", true),
            ("gmm", true),
            ("gmm:8", true),
            ("gmm:3,diagonal", true),
            ("gmm:3,noise=0.1", true),
            ("gmm,noise=0.1", true),
            ("gaussian,noise=0.05", true),
            ("gmm,diagonal", true),
            ("gaussian:noise=0.05", true),
            ("kde:noise=0", true),
            ("gmm:diagonal", true),
            ("kde", true),
            ("kde:0.3", true),
            ("onnx:score, of mine.onnx", false),
            ("log-density:flow.onnx", false),
            ("ddpm:unet.onnx,t=50", false),
            ("ddpm:a,b.onnx,t=50,schedule=cosine,conversion=s2:8,steps=500", false),
            ("ddpm:c.onnx,t=1,schedule=scaled-linear,beta-start=0.00085,beta-end=0.012", false),
        ] {
            let specification = parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!(specification.learns(), learns, "{text}");
        }
    }

    #[test]
    fn what_can_not_be_read_is_one_sentence_that_says_what_can() {
        for (text, parts) in [
            ("gauss", &["no score model \"gauss\"", "gmm[:K]", "ddpm:FILE"][..]),
            ("", &["no score model", "kde[:H]"]),
            ("standard-normal:2", &["\"2\" means nothing here"]),
            ("gaussian:full", &["\"full\"", "gaussian[:diagonal"]),
            ("gaussian:shrinkage=2", &["shrinkage wants a number from 0 to 1", "\"2\""]),
            ("gaussian:diagonal,shrinkage=0.1", &["shrinkage", "full covariance"]),
            ("gmm:0", &["K wants a whole number from 1 to", "\"0\""]),
            ("gmm:many", &["\"many\""]),
            ("gmm:1000", &["K wants"]),
            ("kde:-1", &["H wants a positive number"]),
            ("gmm:noise=-1", &["noise wants a deviation of 0 or more"]),
            ("kde:nan", &["H wants a positive number"]),
            ("onnx", &["a file is missing", "onnx:FILE"]),
            ("log-density:", &["a file is missing"]),
            ("ddpm:t=5", &["a file is missing"]),
            ("ddpm:u.onnx", &["t is missing", "t=50"]),
            ("ddpm:u.onnx,t=1000", &["t wants", "999"]),
            ("ddpm:u.onnx,t=5,schedule=sigmoid", &["\"sigmoid\"", "scaled-linear"]),
            ("ddpm:u.onnx,t=5,conversion=s4", &["\"s4\"", "s2:M"]),
            ("ddpm:u.onnx,t=5,conversion=s2:0", &["s2:M", "\"0\""]),
            ("ddpm:u.onnx,t=5,beta-end=1.5", &["beta-end wants"]),
            ("ddpm:u.onnx,t=5,steps=0", &["steps wants"]),
        ] {
            let message = parse(text).expect_err(text).to_string();
            for part in parts {
                assert!(message.contains(part), "{text}: {part:?} is not in: {message}");
            }
            assert!(!message.contains('\n'), "several lines: {message}");
        }
    }
}
