//! The contract of an operator.

use std::{any::Any, fmt, sync::Arc};

use crate::{Build, Concrete, DType, Dim, Emitter, Fact, Graph, Id, Tensor};

/// An operator with all its attributes.
///
/// Structure that a file passes as a tensor (the target of a `Reshape`, the axes of a reduction) is
/// an attribute here; the arguments are data.
///
/// Operators of one type with the same [`key`](Op::key) are the same operator: on the same arguments they are one node.
pub trait Op: fmt::Debug + Any + Send + Sync {
    /// The ONNX spelling, or a name of our own where ONNX has none.
    fn name(&self) -> &'static str;

    /// What tells this operator from others of its type: all its attributes.
    ///
    /// The default is the debug form in full (`{:#?}`), in which a derived `Debug` shows every attribute, floats to the
    /// last bit, and arrays are not shortened. An operator whose `Debug` leaves something out must write its own.
    fn key(&self) -> String {
        format!("{self:#?}")
    }

    /// Element types and shapes of the results.
    fn infer(&self, args: &[Concrete]) -> Result<Vec<Concrete>, OpError>;

    /// The results in double precision: the oracle, and the way constants are folded.
    fn eval(&self, args: &[Tensor]) -> Result<Vec<Tensor>, OpError>;

    /// About how many elementary steps [`Op::eval`] takes, given the shapes of arguments and results: what
    /// takes too many is left to run time rather than folded.
    fn steps(&self, args: &[Concrete], results: &[Concrete]) -> usize {
        args.iter().chain(results).fold(1, |n, c| n.saturating_add(c.len()))
    }

    /// All that differentiation may know.
    fn calculus(&self) -> Calculus<'_>;

    /// How to apply the operator to arguments with a leading axis of lanes; `laned[i]` tells
    /// whether argument `i` has one.
    fn lift(&self, laned: &[bool], lanes: usize) -> Lift;

    /// The operator with N replaced, if an attribute depends on it.
    fn with_batch(&self, _batch: Dim) -> Option<Arc<dyn Op>> {
        None
    }

    /// Whether the result at one position of an axis depends on the argument at others, and the axis is not summed away, as
    /// in a running sum. Then the axis must have its full size, even if the argument is the same at every position.
    fn mixes(&self, _axis: usize) -> bool {
        false
    }

    /// Whether element i of the result depends on element i of each argument alone, after broadcasting.
    /// Pointwise operators are so by nature; composite ones must not claim it.
    fn is_elementwise(&self) -> bool {
        false
    }

    /// An argument that the result is equal to, as x in x · 1.
    fn same_as(&self, _graph: &Graph, _args: &[Id]) -> Option<Id> {
        None
    }

    /// Writes ONNX nodes and returns the names of their results.
    fn write(&self, e: &mut Emitter<'_>, args: &[String]) -> Result<Vec<String>, OpError>;
}

/// All a derivative may know about an operator. Operators other than constant and composite ones
/// have one result.
pub enum Calculus<'a> {
    /// Nothing flows: shapes, comparisons, arg-max, rounding.
    Constant,
    /// Jointly linear in some arguments, the others being parameters.
    Linear(&'a dyn Linear),
    /// Linear in each of two arguments.
    Bilinear(&'a dyn Bilinear),
    /// A scalar function of each element.
    Pointwise(&'a dyn Pointwise),
    /// Defined by other operators.
    Composite(&'a dyn Composite),
    /// Nothing is known: the result may depend on the arguments in any way, and derivatives can't be taken through it.
    Unknown,
}

/// y = Σᵢ Aᵢ·argᵢ over the arguments that are [`Linear::active`].
pub trait Linear {
    /// Whether the result is linear in argument `i`, rather than selected by it.
    fn active(&self, _i: usize) -> bool {
        true
    }

    /// The operator on tangents, where an absent one is zero. The default puts zeros in its place.
    fn apply(
        &self,
        _b: &mut Build<'_>,
        _args: &[Id],
        _tangents: &[Option<Id>],
    ) -> Option<Result<Id, OpError>> {
        None
    }

    /// Aᵢᵀ·ct.
    fn transpose(&self, b: &mut Build<'_>, args: &[Id], i: usize, ct: Id) -> Result<Id, OpError>;
}

/// The side of a bilinear operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The first argument.
    Lhs,
    /// The second argument.
    Rhs,
}

/// y = B(lhs, rhs).
pub trait Bilinear {
    /// The cotangent of `side`, given both arguments and the cotangent of the result.
    fn transpose(
        &self,
        b: &mut Build<'_>,
        side: Side,
        args: [Id; 2],
        ct: Id,
    ) -> Result<Id, OpError>;
}

/// y = φ(x), element by element.
///
/// Derivatives of higher order are those of φ', and so is the question whether there is curvature
/// ([`is_curved`](crate::diff::is_curved)): φ' made of steps and constants alone has none.
pub trait Pointwise {
    /// φ'(x), from the argument and the result.
    fn d1(&self, b: &mut Build<'_>, x: Id, y: Id) -> Result<Id, OpError>;
}

/// An operator written with others. The expansion is used for derivatives; the value is computed by
/// the operator itself.
pub trait Composite {
    /// Builds the first result from the arguments.
    fn expand(&self, b: &mut Build<'_>, args: &[Id]) -> Result<Id, OpError>;
}

/// How an operator takes arguments with a leading axis of lanes.
pub enum Lift {
    /// Arguments align from the right and leading axes broadcast: the operator as it is.
    Broadcast,
    /// This operator on arguments with one more axis; arguments in `shared` stay without lanes.
    Shift {
        /// The operator with its axes moved by one.
        op: Arc<dyn Op>,
        /// Arguments that take no lanes.
        shared: Vec<usize>,
    },
    /// The first axis of every laned argument is a batch: lanes join it.
    Fold,
    /// One application a lane.
    PerLane,
}

impl Lift {
    /// [`Lift::Shift`] with every argument laned.
    pub fn shift(op: impl Op) -> Self {
        Self::Shift { op: Arc::new(op), shared: Vec::new() }
    }
}

/// Why an operator can't be applied.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum OpError {
    /// Wrong number of arguments.
    #[error("wants {want} inputs, got {got}")]
    Arity {
        /// How many there should be.
        want: usize,
        /// How many there are.
        got: usize,
    },
    /// Shapes that do not fit.
    #[error("{what}: wanted {want}, got {got}")]
    Shape {
        /// What was compared.
        what: &'static str,
        /// What fits.
        want: String,
        /// What was there.
        got: String,
    },
    /// Wrong element type.
    #[error("wants {want} elements, got {got}")]
    DType {
        /// What fits.
        want: DType,
        /// What was there.
        got: DType,
    },
    /// An operator that derivatives can't be taken through.
    #[error(
        "it has no derivative, as there is no rule for its operator: look at a tensor behind it, or use a method without \
         derivatives"
    )]
    NoDerivative,
    /// Beyond what is implemented.
    #[error("{feature} is not supported: {value}")]
    Unsupported {
        /// The feature.
        feature: &'static str,
        /// The value found.
        value: String,
    },
    /// Anything else that is wrong with the arguments.
    #[error("{0}")]
    Invalid(String),
}

impl OpError {
    /// An error with a message of its own.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::Invalid(message.into())
    }

    /// Shapes that do not fit.
    pub fn shape(what: &'static str, want: impl fmt::Debug, got: impl fmt::Debug) -> Self {
        Self::Shape { what, want: format!("{want:?}"), got: format!("{got:?}") }
    }

    /// Something that is not implemented.
    pub fn unsupported(feature: &'static str, value: impl fmt::Display) -> Self {
        Self::Unsupported { feature, value: value.to_string() }
    }
}

/// Checks the number of arguments and returns them.
pub fn take<const K: usize, T>(args: &[T]) -> Result<&[T; K], OpError> {
    args.try_into().map_err(|_| OpError::Arity { want: K, got: args.len() })
}

/// The fact of shapes inferred at every world, if they agree on rank and type.
pub(crate) fn fit_facts(worlds: &[Vec<Concrete>; 3]) -> Result<Vec<Fact>, OpError> {
    let [a, b, c] = worlds;
    (0..a.len())
        .map(|i| {
            let shapes = [&a[i].shape, &b[i].shape, &c[i].shape];
            if shapes.iter().any(|s| s.len() != shapes[0].len()) {
                return Err(OpError::invalid("the rank of a result depends on the batch size"));
            }
            let shape = (0..shapes[0].len())
                .map(|axis| {
                    Dim::fit(shapes.map(|s| i64::try_from(s[axis]).unwrap_or(i64::MAX)))
                        .ok_or_else(|| OpError::invalid("a size is not affine in the batch size"))
                })
                .collect::<Result<_, _>>()?;
            Ok(Fact { dtype: a[i].dtype, shape })
        })
        .collect()
}
