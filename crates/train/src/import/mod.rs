//! Networks from published weights, as ONNX.
//!
//! A folder that diffusers wrote (`UNet2DModel`) becomes a noise predictor, a state dict of a `ResNet` a classifier.
//! Names and shapes of all tensors are checked against the network before any of them is read.
//!
//! ```no_run
//! use taste_train::import::{self, Options};
//!
//! let unet = import::open("ddpm-cifar10-32".as_ref(), &Options::default())?;
//! println!("{} with {} parameters", unet.architecture, unet.parameters);
//! unet.model.onnx().save("unet.onnx".as_ref()).map_err(taste_engine::Error::from)?;
//! # Ok::<(), taste_train::Error>(())
//! ```

mod folder;
mod layers;
mod names;
mod resnet;
mod schedule;
mod unet;
mod weights;

use std::path::Path;

use taste_engine::Model;
use taste_graph::{Build, Dim, Fact, Graph, Id, OpError};

use crate::{
    Error,
    network::{Fetch, Scope},
    parameters::Declaration,
};
use folder::Folder;
pub use resnet::Stem;
pub use schedule::Schedule;
pub use weights::Weights;
use weights::fail;

/// What the weights do not tell.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Height and width of images; by default what the configuration says, or what is usual for the network.
    pub size: Option<(usize, usize)>,
    /// How a classifier starts; by default what its first kernel suggests.
    pub stem: Option<Stem>,
    /// Subtracted from images before a classifier sees them: one number, or one for each channel.
    pub mean: Vec<f32>,
    /// What they are divided by after that.
    pub std: Vec<f32>,
}

/// A network from a file of weights.
#[derive(Debug)]
pub struct Imported {
    /// What it is.
    pub architecture: String,
    /// How many numbers were learnt.
    pub parameters: usize,
    /// Channels, height and width of an image.
    pub sample_shape: Vec<usize>,
    /// From `input` to `logits`, or from `sample` and `timestep` to `noise`, for any number of samples.
    pub model: Model,
    /// How noise grows, where the folder of a diffusion model says so.
    pub schedule: Option<Schedule>,
}

/// Imports a folder of diffusers, or a file with the state dict of a `ResNet`.
pub fn open(path: &Path, options: &Options) -> Result<Imported, Error> {
    if path.is_dir() { diffusion(path, options) } else { classifier(path, options) }
}

/// How many numbers the network of a folder has learnt, by its configuration alone.
pub fn count_parameters(folder: &Path) -> Result<usize, Error> {
    let config = Folder::find(folder)?.config()?;
    Ok(count(&declared(&config.network(None).map_err(|m| fail(folder, m))?)?))
}

fn diffusion(path: &Path, options: &Options) -> Result<Imported, Error> {
    if options.stem.is_some() || !(options.mean.is_empty() && options.std.is_empty()) {
        return Err(fail(
            path,
            "a diffusion model is taken as it is: stem, mean and deviation are for classifiers",
        ));
    }
    let folder = Folder::find(path)?;
    let network = folder.config()?.network(options.size).map_err(|m| fail(path, m))?;
    let schedule = folder.schedule()?;
    let weights = unet::modern(Weights::open(&folder.weights()?)?);
    let (model, parameters) = build(path, &network, &weights)?;
    let architecture = network.describe();
    Ok(Imported { architecture, parameters, sample_shape: network.sample_shape(), model, schedule })
}

fn classifier(path: &Path, options: &Options) -> Result<Imported, Error> {
    let weights = resnet::common(Weights::open(path)?);
    let network = resnet::read(&weights, options).map_err(|m| fail(path, m))?;
    let (model, parameters) = build(path, &network, &weights)?;
    let architecture = network.describe();
    let sample_shape = network.sample_shape();
    Ok(Imported { architecture, parameters, sample_shape, model, schedule: None })
}

/// A network that is built on weights by name.
trait Blueprint {
    /// What it is, in a line.
    fn describe(&self) -> String;

    /// Channels, height and width of an image.
    fn sample_shape(&self) -> Vec<usize>;

    /// The names of the input for images, of further inputs with one number a sample, and of the output.
    fn ports(&self) -> (&'static str, &'static [&'static str], &'static str);

    /// Adds the network to a graph.
    fn build(&self, b: &mut Build<'_>, inputs: &[Id], scope: &mut Scope<'_>)
    -> Result<Id, OpError>;
}

/// The graph of a network, with its result.
fn graph(network: &dyn Blueprint, scope: &mut Scope<'_>) -> Result<(Graph, Id), OpError> {
    let mut graph = Graph::new();
    let (image, further, _) = network.ports();
    let shape =
        std::iter::once(Dim::BATCH).chain(network.sample_shape().into_iter().map(Dim::from));
    let mut inputs = vec![graph.input(image, Fact::float(shape.collect()))];
    inputs.extend(further.iter().map(|name| graph.input(name, Fact::float(vec![Dim::BATCH]))));
    let result = network.build(&mut Build::new(&mut graph), &inputs, scope)?;
    Ok((graph, result))
}

/// Names and shapes of all tensors of a network.
fn declared(network: &dyn Blueprint) -> Result<Vec<Declaration>, OpError> {
    let mut scope = Scope::declaring();
    graph(network, &mut scope)?;
    Ok(scope.declared().to_vec())
}

/// Numbers that were learnt; moments of a normalisation were not.
fn count(declared: &[Declaration]) -> usize {
    let learnt = declared.iter().filter(|d| !layers::is_moment(&d.name));
    learnt.map(|d| d.shape.iter().product::<usize>()).sum()
}

/// The network with its weights, and how many numbers it has learnt.
fn build(path: &Path, network: &dyn Blueprint, weights: &Weights) -> Result<(Model, usize), Error> {
    let declared = declared(network).map_err(|e| fail(path, e.to_string()))?;
    names::check(weights, &declared, &network.describe())?;
    let fetch = |name: &str| weights.read(name).map_err(|e| OpError::invalid(e.to_string()));
    let fetch: &Fetch<'_> = &fetch;
    let (graph, result) = graph(network, &mut Scope::fetching(fetch))?;
    let onnx = graph.to_onnx(&[(network.ports().2.to_owned(), result)])?;
    let name = path.display().to_string();
    Ok((Model::from_onnx(&name, taste_onnx::Model::new(onnx)), count(&declared)))
}
