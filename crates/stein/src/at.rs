//! Where the Stein operator stands: at the samples, or at features that the model makes of them.

use taste_detector::{Described, Job};

use crate::Error;

/// What residuals are functions of.
///
/// The identity E\[Δf + s·∇f\] = 0 holds in any coordinates h in which f is a function of h and s is the score of their own
/// density, so that what comes before h needs no derivative.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum At {
    /// The samples.
    #[default]
    Input,
    /// What the last linear layer is applied to.
    Features,
    /// A tensor of the model by its name.
    Tensor(String),
}

impl At {
    /// As it is written: `input`, `features`, or the name of a tensor.
    pub fn of(text: &str) -> Self {
        match text {
            "input" => Self::Input,
            "features" => Self::Features,
            name => Self::Tensor(name.to_owned()),
        }
    }

    /// Cuts the graph there. Then: what there is to know of the rows, and the tensor's name if they are not the samples.
    pub(crate) fn cut(&self, job: &mut Job<'_>) -> Result<(Described, Option<String>), Error> {
        let name = match self {
            Self::Input => return Ok((job.data.clone(), None)),
            Self::Features => None,
            Self::Tensor(name) => Some(name.as_str()),
        };
        let whole = job.draft.input();
        let feature = job.draft.cut_at(name)?;
        if feature.id == whole {
            return Ok((job.data.clone(), None));
        }
        let data = Described {
            name: format!("{}, at {:?}", job.data.name, feature.name),
            sample_shape: job.draft.shape(),
            columns: None,
            bytes: false,
            ..job.data.clone()
        };
        Ok((data, Some(feature.name)))
    }
}
