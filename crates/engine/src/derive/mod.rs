//! From a model and a request to a graph that computes derivatives, and how to run it.

mod closed_form;
mod directions;
mod frontier;

use taste_graph::{Build, Dim, Graph, Id, OpError, diff};

use crate::{Error, Method, Target, error::request, target::Head};
pub(crate) use frontier::{Cut, cut, mixed};

/// What to compute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is asked for by itself")]
pub struct Wants {
    /// ∇f.
    pub gradient: bool,
    /// Δf.
    pub laplacian: bool,
    /// The standard error of a stochastic Δf.
    pub stderr: bool,
    /// ∂²f/∂xᵢ² for every i.
    pub diagonal: bool,
    /// s·∇f for a field s that is fed as the input `score`, in the shape of x.
    pub drift: bool,
    /// ∂z/∂x for the logits z: N × K × entries of x.
    pub jacobian: bool,
}

impl Wants {
    fn second_order(self) -> bool {
        self.laplacian || self.stderr || self.diagonal
    }
}

/// Where random signs come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signs {
    /// Fed with every run, other ones for every sample.
    Fed,
    /// Part of the graph, the same for every sample: for files that stand alone.
    Baked(u64),
}

/// An input of the graph that is not an input of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SignInput {
    pub(crate) name: &'static str,
    /// How many probes.
    pub(crate) lanes: usize,
    /// Signs of one probe of one sample.
    pub(crate) shape: Vec<usize>,
}

/// How often the graph runs for a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Schedule {
    /// Once: its outputs are the results.
    Once,
    /// Once for every so many directions of the basis.
    Basis(usize),
    /// Three times: sketch, sketched part, rest.
    HutchPlusPlus(usize),
}

/// A graph of derivatives.
#[derive(Clone, Debug)]
pub(crate) struct Derivation {
    pub(crate) graph: Graph,
    pub(crate) outputs: Vec<(String, Id)>,
    pub(crate) schedule: Schedule,
    pub(crate) signs: Option<SignInput>,
    pub(crate) method: Method,
    /// Why this method, in words.
    pub(crate) reason: String,
}

/// The input that carries the field of the drift.
pub(crate) const SCORE: &str = "score";
/// Inputs of up to this many entries are derived along the whole basis.
pub(crate) const EXACT_LIMIT: usize = 1024;
/// Outputs of up to this many entries are derived one by one.
pub(crate) const CLASS_LIMIT: usize = 128;
/// Probes when nobody says how many.
const PROBES: usize = 16;

/// A model with a target, before a method is chosen.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub(crate) graph: Graph,
    /// The output's name.
    pub(crate) output: String,
    pub(crate) x: Id,
    pub(crate) head: Head,
    pub(crate) target: Target,
    pub(crate) f: Id,
    /// Entries of one input.
    pub(crate) dimension: usize,
    pub(crate) cut: Cut,
}

impl Problem {
    pub(crate) fn new(
        mut graph: Graph,
        x: Id,
        output: (&str, Id),
        target: Option<Target>,
    ) -> Result<Self, Error> {
        let dimension = graph.fact(x).shape[1..]
            .iter()
            .map(|d| d.as_fixed().and_then(|d| usize::try_from(d).ok()))
            .try_fold(1usize, |p, d| p.checked_mul(d?))
            .ok_or_else(|| {
                request(format!(
                    "the input's shape {} is not fixed beside its first axis",
                    graph.fact(x)
                ))
            })?;
        if dimension == 0 {
            return Err(request(format!("the input {} has no entries", graph.fact(x))));
        }
        let head = Head::of(&mut graph, output.0, output.1)?;
        if graph.fact(head.output).shape[0] != graph.fact(x).shape[0] {
            return Err(request(format!(
                "output {:?} has {} rows for an input of {} samples: it is not computed sample by sample",
                output.0,
                graph.fact(head.output).shape[0],
                graph.fact(x).shape[0]
            )));
        }
        if let Some(place) = mixed(&graph, head.output, x)? {
            return Err(request(format!(
                "{place} mixes the samples of a batch, so output {:?} is not computed sample by sample",
                output.0
            )));
        }
        Self::with_head(graph, x, (output.0, head.output), head, target, dimension)
    }

    /// For an output that was looked at before.
    pub(crate) fn with_head(
        mut graph: Graph,
        x: Id,
        output: (&str, Id),
        head: Head,
        target: Option<Target>,
        dimension: usize,
    ) -> Result<Self, Error> {
        let target = target.unwrap_or_else(|| head.default_target());
        let f = head.build(&mut graph, target)?;
        let cut = cut(&graph, f, x, head.width)?;
        Ok(Self { graph, output: output.0.to_owned(), x, head, target, f, dimension, cut })
    }

    /// The method for this model, and why.
    pub(crate) fn choose(&self, method: Method) -> Result<(Method, String), Error> {
        let affine = "the body is piecewise affine";
        let smooth = match &self.cut {
            Cut::Smooth(why) => why.as_str(),
            _ => "",
        };
        let fits = |what: &str| match &self.cut {
            Cut::Smooth(why) => Err(request(format!("{what} does not apply: {why}"))),
            _ => Ok(()),
        };
        Ok(match method {
            Method::Auto => match &self.cut {
                Cut::Flat => (
                    Method::ClosedForm,
                    format!(
                        "the target {} is piecewise affine in the input: its second derivatives are zero \
                         almost everywhere",
                        self.target
                    ),
                ),
                Cut::Logits(_) if self.head.width <= CLASS_LIMIT => (
                    Method::ClosedForm,
                    format!(
                        "{affine} and the output has {} entries: exact with as many products",
                        self.head.width
                    ),
                ),
                Cut::Logits(_) => (
                    Method::Probe(PROBES),
                    format!(
                        "{affine} and the output has {} entries: probes in their space",
                        self.head.width
                    ),
                ),
                Cut::Smooth(_) if self.dimension <= EXACT_LIMIT => (
                    Method::Exact,
                    format!(
                        "{smooth}, and the input has {} entries: exact along each",
                        self.dimension
                    ),
                ),
                Cut::Smooth(_) => (
                    Method::Hutchinson(PROBES),
                    format!(
                        "{smooth}, and the input has {} entries: random directions",
                        self.dimension
                    ),
                ),
            },
            Method::ClosedForm | Method::ClosedFormTop(_) | Method::Probe(_) => {
                fits(&format!("method {method}"))?;
                (method, "asked for".to_owned())
            }
            _ => (method, "asked for".to_owned()),
        })
    }

    /// Builds the graph.
    pub(crate) fn derive(
        mut self,
        method: Method,
        wants: Wants,
        signs: Signs,
        lanes: usize,
        score: Option<Id>,
    ) -> Result<Derivation, Error> {
        let (method, reason) = self.choose(method)?;
        if wants.stderr && !method.is_stochastic() {
            return Err(request(format!(
                "method {method} has no standard error: it is {}",
                if matches!(method, Method::ClosedFormTop(_)) {
                    "biased, not random"
                } else {
                    "exact"
                }
            )));
        }
        if wants.stderr
            && matches!(method, Method::Probe(1) | Method::Hutchinson(1) | Method::HutchPlusPlus(3))
        {
            return Err(request(format!(
                "a standard error needs at least two probes, and {method} has one"
            )));
        }
        let mut outputs = vec![("value".to_owned(), self.f)];
        let mut schedule = Schedule::Once;
        let mut sign_input = None;
        if wants.jacobian {
            outputs.push(("jacobian".to_owned(), closed_form::jacobian(&mut self)?));
        }
        if let Some(score) =
            score.filter(|_| !wants.second_order() || !self.drift_from_jacobian(method))
        {
            let mut b = Build::new(&mut self.graph);
            let seeds = diff::Derivatives::from([(self.x, score)]);
            let drift = match diff::jvp(&mut b, &[self.f], &seeds)?[0] {
                Some(drift) => drift,
                None => b.zeros_like(self.f)?,
            };
            outputs.push(("drift".to_owned(), drift));
        }
        if !wants.second_order() {
            if wants.gradient {
                outputs.push(("gradient".to_owned(), self.gradient()?));
            }
        } else if matches!(self.cut, Cut::Flat) && method == Method::ClosedForm {
            self.flat(wants, &mut outputs)?;
        } else {
            match method {
                Method::ClosedForm => {
                    closed_form::build(&mut self, wants, None, score, &mut outputs)?;
                }
                Method::ClosedFormTop(k) => {
                    closed_form::build(&mut self, wants, Some(k), None, &mut outputs)?;
                }
                Method::Probe(m) => {
                    sign_input = closed_form::probe(&mut self, wants, m, signs, &mut outputs)?;
                }
                Method::Exact => {
                    schedule = directions::exact(&mut self, wants, signs, lanes, &mut outputs)?;
                }
                Method::Hutchinson(m) => {
                    sign_input = directions::hutchinson(&mut self, wants, m, signs, &mut outputs)?;
                }
                Method::HutchPlusPlus(m) => {
                    if signs != Signs::Fed {
                        return Err(request(
                            "Hutch++ runs a graph several times and can't be written as one file",
                        ));
                    }
                    schedule = directions::hutch_plus_plus(&mut self, wants, m, &mut outputs)?;
                }
                Method::Auto => return Err(request("no method was chosen")),
            }
        }
        Ok(Derivation { graph: self.graph, outputs, schedule, signs: sign_input, method, reason })
    }

    /// Whether the rows of the Jacobian are there anyway, so that the drift costs one product with them.
    fn drift_from_jacobian(&self, method: Method) -> bool {
        method == Method::ClosedForm && self.target == Target::EveryProb
    }

    /// ∇f, zeros if f does not depend on x.
    fn gradient(&mut self) -> Result<Id, Error> {
        self.scalar_target("a gradient")?;
        let mut b = Build::new(&mut self.graph);
        Ok(match diff::gradient(&mut b, self.f, self.x)? {
            Some(gradient) => gradient,
            None => b.zeros_like(self.x)?,
        })
    }

    /// A target that is one scalar a sample.
    fn scalar_target(&self, what: &str) -> Result<(), Error> {
        if self.target == Target::EveryProb {
            return Err(request(format!(
                "{what} of every class at once is available with the methods closed-form and exact only"
            )));
        }
        Ok(())
    }

    /// A piecewise affine f: second derivatives are zero.
    fn flat(&mut self, wants: Wants, outputs: &mut Vec<(String, Id)>) -> Result<(), Error> {
        if wants.gradient {
            outputs.push(("gradient".to_owned(), self.gradient()?));
        }
        let mut b = Build::new(&mut self.graph);
        let zero = [(wants.laplacian, "laplacian", self.f), (wants.diagonal, "diagonal", self.x)];
        for (_, name, like) in zero.into_iter().filter(|z| z.0) {
            outputs.push((name.to_owned(), b.zeros_like(like)?));
        }
        Ok(())
    }

    /// The name of the input that is differentiated by.
    pub(crate) fn wrt(&self) -> String {
        let named = self.graph.inputs().into_iter().find(|(_, id)| *id == self.x);
        named.map_or_else(String::new, |(name, _)| name)
    }

    /// The sizes of one sample of the input.
    fn sample_shape(&self) -> Vec<Dim> {
        self.graph.fact(self.x).shape[1..].to_vec()
    }

    /// The size of the first axis.
    fn rows(&self) -> Dim {
        self.graph.fact(self.x).shape[0]
    }
}

/// Constants that hold directions stay below this many elements.
const DIRECTION_LIMIT: usize = 1 << 25;

/// Fails if directions would not fit into a constant.
fn check_directions(lanes: usize, rows: usize, width: usize) -> Result<(), OpError> {
    let count = lanes.saturating_mul(rows).saturating_mul(width);
    if count > DIRECTION_LIMIT {
        return Err(OpError::invalid(format!(
            "{lanes} directions of {width} entries for {rows} samples take more than {DIRECTION_LIMIT} numbers as a \
             constant"
        )));
    }
    Ok(())
}

/// Lanes of signs for a value like `like`: fed with every run, or part of the graph.
fn sign_lanes(
    b: &mut Build<'_>,
    name: &'static str,
    like: Id,
    lanes: usize,
    signs: Signs,
) -> Result<(Id, Option<SignInput>), OpError> {
    let mut fact = b.fact(like).clone();
    let shape: Vec<usize> = fact.shape[1..].iter().map(|d| d.at(0)).collect();
    let (id, input) = match signs {
        Signs::Fed => {
            fact.shape.insert(0, Dim::from(lanes));
            (b.graph_mut().input(name, fact), Some(SignInput { name, lanes, shape }))
        }
        Signs::Baked(seed) => {
            let rows = fact.shape[0].as_fixed().map_or(1, |r| usize::try_from(r).unwrap_or(1));
            let width: usize = shape.iter().product();
            check_directions(lanes, rows, width)?;
            let mut values = Vec::with_capacity(lanes * rows * width);
            for lane in 0..lanes {
                for row in 0..rows {
                    values.extend(taste_stats::random::signs(seed, row as u64, lane as u64, width));
                }
            }
            let full: Vec<usize> = [lanes, rows].into_iter().chain(shape).collect();
            (b.graph_mut().constant(taste_graph::Tensor::floats(&full, values)?), None)
        }
    };
    Ok((b.declare_lanes(id, like)?, input))
}

/// Mean and standard error over the first axis of `draws` (M × N × …), as values without it.
fn mean_and_error(b: &mut Build<'_>, draws: Id, count: usize) -> Result<(Id, Option<Id>), OpError> {
    let shape = b.fact(draws).shape[1..].to_vec();
    let sum = b.sum(draws, &[0])?;
    let mean = b.scale(sum, 1.0 / count as f64)?;
    let flat_mean = b.reshape(mean, &shape)?;
    if count < 2 {
        return Ok((flat_mean, None));
    }
    let off = b.sub(draws, mean)?;
    let squares = b.square(off)?;
    let sum = b.sum(squares, &[0])?;
    let variance = b.scale(sum, 1.0 / (count * (count - 1)) as f64)?;
    let error = taste_ops::functions::sqrt(b, variance)?;
    Ok((flat_mean, Some(b.reshape(error, &shape)?)))
}
