//! `taste inspect`.

use std::{collections::HashMap, path::Path};

use anyhow::{Result, anyhow, bail};
use serde::Serialize;
use taste_data::Dataset;
use taste_detector::{Described, Detector};
use taste_engine::{Analysis, Batch, Error, LaplacianMethod, Model, Overview, Port, Request};
use taste_ops::ImportError;
use taste_stein::{check_field, fields::Coordinates};

use crate::{
    applies::{self, Applies},
    args::{InspectArgs, ModelArgs},
    derive::flat_note,
    detect, input, print, print_json, sheet,
    table::{self, Table, count, grouped, number},
};

pub(crate) fn run(args: &InspectArgs) -> Result<()> {
    let Some(file) = &args.file else { return score(args) };
    let args = &args.model;
    let model = Model::open(file)?;
    if Detector::is_one(model.onnx()) {
        return detector(file, args.json);
    }
    let overview = model.overview();
    let analysis = analyse(&model, args);
    let methods = request(&model, args).ok().and_then(|r| applies::methods(&model, &r).ok());
    if args.json {
        print_json(&Inspection::new(file, &overview, &analysis, methods.as_deref()))?;
    } else {
        let own = methods.as_deref().map_or_else(String::new, applies::render);
        print(&format!("{}{own}", render(file, args, &overview, analysis.as_ref().ok())))?;
    }
    match analysis {
        Ok(_) => Ok(()),
        // Without derivatives there are methods that do without.
        Err(_) if methods.is_some() && args.target.is_none() && args.wrt.is_none() => Ok(()),
        // The table of nodes is in the JSON already.
        Err(Failure::Engine(Error::Import { model, cause: ImportError::Nodes(nodes) }))
            if args.json =>
        {
            Err(anyhow!("{model}: {}", unsupported(nodes.len())))
        }
        Err(failure) => Err(failure.into()),
    }
}

/// What a detector says of itself.
fn detector(file: &Path, json: bool) -> Result<()> {
    let detector = Detector::open(file)?;
    let manifest = detector.manifest();
    if json { print_json(manifest) } else { print(&sheet::render(manifest)) }
}

/// A score model held against data.
fn score(args: &InspectArgs) -> Result<()> {
    let (Some(text), Some(data)) = (&args.score_model, &args.data) else {
        bail!("give --score-model SPEC and --data DATA, or the file of a model");
    };
    let sizes = args.model.shape.first().map(|s| input::sizes(s)).transpose()?;
    let options = args.reading.options(sizes)?;
    let data = Dataset::open(data, &options)?;
    let coordinates = match &args.score_input {
        Some(text) => text.parse()?,
        None => Coordinates::default(),
    };
    let bytes = data.holds_bytes();
    let described = Described { reading: options, bytes, ..Described::of(&data) };
    let spec = coordinates.apply(taste_catalog::score_models().parse(text)?, &described)?;
    let found = check_field(&*spec, &data, &args.run.engine()?, args.seed)?;
    if !args.run.quiet() {
        detect::tell_skipped(&data);
    }
    if args.model.json {
        return print_json(&found);
    }
    let mut facts = Table::default();
    facts.row(["score model".to_owned(), sheet::described(&found.score, "?")]);
    facts.row([
        "samples".to_owned(),
        format!(
            "{} that it was not fitted to, {} without a finite score",
            found.samples, found.not_finite
        ),
    ]);
    facts.row(["norm".to_owned(), format!("{} on average", number(found.mean_norm))]);
    facts.row([
        "mean score".to_owned(),
        format!(
            "{:.2} standard errors from zero (root mean square of {}), {:.1} at most (feature {})",
            found.mean.typical,
            count(found.mean.functions, "feature"),
            found.mean.largest,
            found.mean.at
        ),
    ]);
    facts.row([
        "scale".to_owned(),
        format!("{:.3} ± {:.3} (1 if the score fits the data)", found.scale, found.scale_error),
    ]);
    for (title, waves) in [
        ("Stein identity, random directions", &found.waves),
        ("Stein identity, single features", &found.columns),
        ("Stein identity, principal axes", &found.axes),
    ] {
        if waves.functions > 0 {
            facts.row([
                title.to_owned(),
                format!(
                    "{:.2} standard errors from zero (root mean square of {} test functions), {:.1} at most",
                    waves.typical, waves.functions, waves.largest
                ),
            ]);
        }
    }
    if let Some(denoising) = found.denoising {
        let (loss, gaussian) = (number(denoising.loss), number(denoising.gaussian));
        let loss = format!("{loss} a feature, {gaussian} with a Gaussian");
        facts.row(["denoising loss".to_owned(), loss]);
    }
    facts.row(["verdict".to_owned(), found.verdict.clone()]);
    print(&facts.render(0))
}

/// Why nothing can be derived.
enum Failure {
    Engine(Error),
    Arguments(anyhow::Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Engine(error)
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Arguments(error)
    }
}

impl From<Failure> for anyhow::Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Engine(error) => error.into(),
            Failure::Arguments(error) => error,
        }
    }
}

fn unsupported(nodes: usize) -> String {
    format!(
        "{} not supported",
        if nodes == 1 { "1 node is".to_owned() } else { format!("{nodes} nodes are") }
    )
}

/// What can be derived of a model, and what the model is taken for if nobody says it.
struct Found {
    analysis: Analysis,
    taken_for: Option<String>,
}

/// What is asked of a model by flags.
fn request(model: &Model, args: &ModelArgs) -> Result<Request> {
    let ports = model.inputs();
    let wrt = args.wrt.clone().or_else(|| Some(ports.first()?.name.clone())).unwrap_or_default();
    let wrt = model.input(args.wrt.as_deref()).map_or(wrt, |port| port.name);
    let mut sample_shapes = HashMap::new();
    for text in &args.shape {
        let (name, sizes) = input::named(text, &ports, &wrt);
        sample_shapes.insert(name.to_owned(), input::sizes(sizes)?);
    }
    Ok(Request {
        target: args.target,
        output: args.output.clone(),
        wrt: args.wrt.clone(),
        laplacian_method: args.laplacian_method,
        sample_shapes,
        memory: args.memory_bytes(),
        ..Request::default()
    })
}

fn analyse(model: &Model, args: &ModelArgs) -> Result<Found, Failure> {
    model.input(args.wrt.as_deref())?;
    let request = request(model, args)?;
    let analysis = match model.analyse(&request) {
        // The nodes are shown in a table of their own.
        Err(error @ Error::Import { .. }) => return Err(error.into()),
        other => other?,
    };
    let taken_for = match args.target {
        None => model
            .draft(&request)
            .ok()
            .map(|draft| sheet::taken_for(&draft.taken_for(), draft.answer(), draft.entries())),
        Some(_) => None,
    };
    Ok(Found { analysis, taken_for })
}

fn port(port: &Port) -> [String; 2] {
    let shape = port.shape.as_ref().map_or_else(
        || "of any shape".to_owned(),
        |s| {
            table::shape(
                &s.iter()
                    .map(|d| d.as_ref().map_or_else(Clone::clone, usize::to_string))
                    .collect::<Vec<_>>(),
            )
        },
    );
    let kind = &port.elem_type;
    let kind = if port.is_tensor { format!("{kind} {shape}") } else { kind.clone() };
    [port.name.clone(), kind]
}

fn opsets(overview: &Overview) -> String {
    let mut each: Vec<String> = Vec::new();
    for (domain, version) in &overview.opsets {
        let named = match domain.as_str() {
            // Two names of one domain.
            "" | "ai.onnx" => format!("opset {version}"),
            domain => format!("{domain} {version}"),
        };
        if !each.contains(&named) {
            each.push(named);
        }
    }
    each.join(", ")
}

fn class(overview: &Overview, analysis: Option<&Analysis>, i: usize) -> Option<String> {
    let (operator, _) = &overview.operators[i];
    let here = analysis.and_then(|a| a.classes.get(&operator.name)).copied();
    here.or(operator.class).map(|c| c.to_string())
}

fn render(file: &Path, args: &ModelArgs, overview: &Overview, found: Option<&Found>) -> String {
    let analysis = found.map(|f| &f.analysis);
    let mut facts = Table::default();
    facts.row(["file".to_owned(), file.display().to_string()]);
    if !overview.producer.is_empty() {
        facts.row(["producer".to_owned(), overview.producer.clone()]);
    }
    facts.row([
        "format".to_owned(),
        format!("ONNX IR {}, {}", overview.ir_version, opsets(overview)),
    ]);
    facts.row(["parameters".to_owned(), grouped(overview.parameters)]);
    for (title, ports) in [("input", &overview.inputs), ("output", &overview.outputs)] {
        for [name, kind] in ports.iter().map(port) {
            facts.row([title.to_owned(), format!("{name}: {kind}")]);
        }
    }
    let mut operators = Table::default().right(&[1]);
    operators.row(["operator", "count", "derivative"]);
    for (i, (operator, times)) in overview.operators.iter().enumerate() {
        let class = class(overview, analysis, i).unwrap_or_else(|| "not supported".to_owned());
        operators.row([operator.name.clone(), times.to_string(), class]);
    }
    let text = format!("{}\n{}", facts.render(0), operators.render(0));
    let Some(a) = analysis else { return text };
    let mut derivative = Table::default();
    if let Some(taken_for) = found.and_then(|f| f.taken_for.as_ref()) {
        derivative.row(["taken for", taken_for]);
    }
    let entries = if a.width == 1 { "1 entry".to_owned() } else { format!("{} entries", a.width) };
    derivative.row([
        "target".to_owned(),
        format!("{} of output {:?} ({entries} a sample)", a.target, a.output),
    ]);
    let dimension = grouped(a.dimension as u64);
    derivative.row(["by".to_owned(), format!("input {:?} ({dimension} entries a sample)", a.wrt)]);
    derivative.row(["method".to_owned(), format!("{}: {}", a.method, a.reason)]);
    let chunk = match a.batch {
        Batch::Fixed(_) => {
            format!("{} at once, as the file was exported for", count(a.chunk, "sample"))
        }
        Batch::Open => format!("{} at once in {} MiB", count(a.chunk, "sample"), args.memory),
    };
    derivative.row(["chunk".to_owned(), chunk]);
    let graph = format!("{} for value, gradient and Laplacian", count(a.nodes, "operator"));
    derivative.row(["graph".to_owned(), graph]);
    let mut methods = Table::default();
    methods.row(["Laplacian by", "applies", ""]);
    for m in &a.methods {
        let (applies, why) = match &m.obstacle {
            None => ("yes", m.cost.clone()),
            Some(obstacle) => ("no", obstacle.clone()),
        };
        methods.row([m.method.to_string(), applies.to_owned(), why]);
    }
    let word = if a.is_flat { "warning" } else { "note" };
    let warning = warning(a).map_or_else(String::new, |w| format!("\n{word}: {w}\n"));
    format!("{text}\n{}\n{}{warning}", derivative.render(0), methods.render(0))
}

/// Where theory bites.
fn warning(a: &Analysis) -> Option<String> {
    if a.is_flat {
        return Some(flat_note(a.target));
    }
    let affine =
        a.methods.iter().any(|m| m.method == LaplacianMethod::CLOSED_FORM && m.obstacle.is_none());
    affine.then(|| {
        "the body of this network is piecewise affine: targets without a curved head (logit, margin, output) have a \
         Laplacian of zero almost everywhere"
            .to_owned()
    })
}

/// The words of `--json`.
#[derive(Serialize)]
struct Inspection {
    file: String,
    producer: String,
    ir_version: i64,
    opsets: Vec<OpsetJson>,
    parameters: u64,
    inputs: Vec<PortJson>,
    outputs: Vec<PortJson>,
    operators: Vec<OperatorJson>,
    /// Absent if nothing can be derived.
    derivative: Option<DerivativeJson>,
    /// Where the methods apply; empty if the model can't be read.
    methods: Vec<Applies>,
    /// Absent if nothing is wrong.
    error: Option<String>,
    /// Nodes that are not supported.
    problems: Vec<ProblemJson>,
}

#[derive(Serialize)]
struct OpsetJson {
    domain: String,
    version: i64,
}

#[derive(Serialize)]
struct PortJson {
    name: String,
    #[serde(rename = "type")]
    elem_type: String,
    /// Numbers, and names where a size is open.
    shape: Option<Vec<serde_json::Value>>,
}

#[derive(Serialize)]
struct OperatorJson {
    name: String,
    count: usize,
    /// Absent if the operator is not supported.
    class: Option<String>,
}

#[derive(Serialize)]
struct DerivativeJson {
    output: String,
    width: usize,
    target: String,
    /// In words; absent if the target was named.
    taken_for: Option<String>,
    wrt: String,
    dimension: usize,
    method: String,
    reason: String,
    flat: bool,
    chunk: usize,
    fixed_batch: Option<usize>,
    nodes: usize,
    methods: Vec<MethodJson>,
    warning: Option<String>,
}

#[derive(Serialize)]
struct MethodJson {
    name: String,
    applies: bool,
    why: String,
}

#[derive(Serialize)]
struct ProblemJson {
    node: String,
    operator: String,
    reason: String,
}

impl Inspection {
    fn new(
        file: &Path,
        overview: &Overview,
        found: &Result<Found, Failure>,
        methods: Option<&[Applies]>,
    ) -> Self {
        let (error, problems) = match found {
            Ok(_) => (None, Vec::new()),
            Err(Failure::Engine(Error::Import { cause: ImportError::Nodes(nodes), .. })) => {
                let each = nodes.iter().map(|p| ProblemJson {
                    node: p.node.clone(),
                    operator: p.op.clone(),
                    reason: p.reason.clone(),
                });
                (Some(unsupported(nodes.len())), each.collect())
            }
            Err(Failure::Engine(error)) => (Some(error.to_string()), Vec::new()),
            Err(Failure::Arguments(error)) => (Some(error.to_string()), Vec::new()),
        };
        let found = found.as_ref().ok();
        let analysis = found.map(|f| &f.analysis);
        let ports = |ports: &[Port]| ports.iter().map(PortJson::new).collect();
        let operators =
            overview.operators.iter().enumerate().map(|(i, (operator, count))| OperatorJson {
                name: operator.name.clone(),
                count: *count,
                class: class(overview, analysis, i),
            });
        Self {
            file: file.display().to_string(),
            methods: methods.unwrap_or_default().to_vec(),
            producer: overview.producer.clone(),
            ir_version: overview.ir_version,
            opsets: overview
                .opsets
                .iter()
                .map(|(domain, version)| OpsetJson { domain: domain.clone(), version: *version })
                .collect(),
            parameters: overview.parameters,
            inputs: ports(&overview.inputs),
            outputs: ports(&overview.outputs),
            operators: operators.collect(),
            derivative: found.map(DerivativeJson::new),
            error,
            problems,
        }
    }
}

impl PortJson {
    fn new(port: &Port) -> Self {
        let size = |d: &Result<usize, String>| match d {
            Ok(size) => serde_json::Value::from(*size),
            Err(name) => serde_json::Value::from(name.as_str()),
        };
        Self {
            name: port.name.clone(),
            elem_type: port.elem_type.clone(),
            shape: port.shape.as_ref().map(|s| s.iter().map(size).collect()),
        }
    }
}

impl DerivativeJson {
    fn new(found: &Found) -> Self {
        let a = &found.analysis;
        let methods = a.methods.iter().map(|m| MethodJson {
            name: m.method.to_string(),
            applies: m.obstacle.is_none(),
            why: m.obstacle.clone().unwrap_or_else(|| m.cost.clone()),
        });
        Self {
            output: a.output.clone(),
            width: a.width,
            target: a.target.to_string(),
            taken_for: found.taken_for.clone(),
            wrt: a.wrt.clone(),
            dimension: a.dimension,
            method: a.method.to_string(),
            reason: a.reason.clone(),
            flat: a.is_flat,
            chunk: a.chunk,
            fixed_batch: match a.batch {
                Batch::Fixed(rows) => Some(rows),
                Batch::Open => None,
            },
            nodes: a.nodes,
            methods: methods.collect(),
            warning: warning(a),
        }
    }
}
