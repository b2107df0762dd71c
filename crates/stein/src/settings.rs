use std::sync::Arc;

use taste_engine::{LaplacianMethod, Target};

use crate::{
    At, Centre, Error, Precondition, Tail,
    aggregates::Aggregate,
    fields::{Coordinates, FieldSpec},
    operators::{self, Operator},
};

/// The choices of a Stein detector.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The score model.
    pub field: Arc<dyn FieldSpec>,
    /// How it is written.
    pub field_written: String,
    /// How its input relates to samples.
    pub coordinates: Coordinates,
    /// The function of the model; by default the probability of every class, or the only output.
    pub target: Option<Target>,
    /// What is made of model and field.
    pub operator: Arc<dyn Operator>,
    /// How the residuals of several classes become one score; by default their length.
    pub aggregate: Option<Arc<dyn Aggregate>>,
    /// What is taken off residuals before they are joined.
    pub baseline: Centre,
    /// The metric of the operator; by default the variances of a table's columns, and none for images.
    pub precondition: Option<Precondition>,
    /// Which values are far out; by default both tails of a signed residual and on tables, else large values.
    pub tail: Option<Tail>,
    /// How second derivatives are computed.
    pub laplacian: LaplacianMethod,
    /// What residuals are functions of.
    pub at: At,
}

impl Settings {
    /// The defaults, with a score model as the user writes it.
    pub fn new(field: &str) -> Result<Self, Error> {
        Ok(Self::with(crate::fields::parse(field)?, field))
    }

    /// The defaults, with a score model.
    pub fn with(field: Arc<dyn FieldSpec>, written: &str) -> Self {
        Self {
            field,
            field_written: written.to_owned(),
            coordinates: Coordinates::default(),
            target: None,
            operator: operators::langevin(),
            aggregate: None,
            baseline: Centre::default(),
            precondition: None,
            tail: None,
            laplacian: LaplacianMethod::AUTO,
            at: At::Input,
        }
    }
}
