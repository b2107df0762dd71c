//! `taste derive`.

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
};

use anyhow::{Result, bail};
use serde::Serialize;
use taste_engine::{
    Accuracy, Backend, Compiled, Derived, Model, Outputs, Port, Request, Value, Wants,
};

use crate::{
    args::{DeriveArgs, Quantity},
    files,
    input::{self, Source},
    output::Sink,
    print, print_json,
    progress::Progress,
    summary::Stats,
    table::{self, Table, number},
    tell,
};

pub(crate) fn run(args: &DeriveArgs) -> Result<()> {
    let backend = args.run.backend()?;
    let targets = targets(args);
    let runs = args.emit.is_none() || !targets.is_empty();
    if runs && args.input.is_empty() {
        bail!("there is nothing to compute at: give --input X.npy, or --emit FILE.onnx alone");
    }
    let model = Model::open(&args.file)?;
    let ports = model.inputs();
    let wrt = model.input(args.model.wrt.as_deref())?.name;
    let mut sources = sources(args, &ports, &wrt)?;
    check_files(args, &sources, &targets)?;
    for source in sources.iter().filter(|s| s.scaled && !args.run.quiet()) {
        let file = source.reader.path().display();
        tell(&format!("note: {file} holds uint8, scaled by 1/255 (--raw keeps the values)"));
    }
    let mut request = request(args, &ports, &wrt, &sources)?;
    let mut derived = model.derive(&request)?;
    // A summary of an estimate says how good it is.
    let is_default = targets.is_empty() && args.want.is_empty();
    if is_default && derived.laplacian_method().is_stochastic() {
        let with_error =
            Request { wants: Wants { stderr: true, ..request.wants }, ..request.clone() };
        if let Ok(better) = model.derive(&with_error) {
            (request, derived) = (with_error, better);
        }
    }
    let emitted = args
        .emit
        .as_ref()
        .map(|path| Ok::<_, taste_engine::Error>((path, model.derive_file(&request)?)));
    let emitted = emitted.transpose()?;
    if !args.run.quiet() {
        notes(args, &derived, request.wants);
    }
    let threads = args.run.threads();
    let mut report = Report::new(args, &derived, &backend, threads, request.wants);
    if runs {
        let compiled = derived.compile(&backend, threads)?;
        let double = backend == Backend::REFERENCE;
        let sinks = stream(args, &compiled, &mut sources, &targets, double, &mut report)?;
        for sink in sinks {
            let line = format!(
                "wrote {}: {} {}",
                sink.path().display(),
                sink.dtype(),
                table::shape(sink.shape())
            );
            sink.finish()?;
            if !args.run.quiet() {
                tell(&line);
            }
        }
    }
    for warning in report.warnings().iter().filter(|_| !args.run.quiet()) {
        tell(&format!("warning: {warning}"));
    }
    if let Some((path, file)) = emitted {
        file.save(path)?;
        report.emitted = Some(path.clone());
        if !args.run.quiet() {
            let outputs = file.proto.graph.iter().flat_map(|g| &g.output).map(|o| o.name.as_str());
            let outputs: Vec<&str> = outputs.collect();
            tell(&format!(
                "wrote {}: ONNX with the outputs {}",
                path.display(),
                outputs.join(", ")
            ));
        }
    }
    if args.model.json {
        print_json(&report)
    } else if runs && targets.is_empty() {
        print(&report.render(&sources))
    } else {
        Ok(())
    }
}

/// The results that go to files.
fn targets(args: &DeriveArgs) -> Vec<(Quantity, &Path)> {
    let paths = [&args.value, &args.grad, &args.laplacian, &args.stderr, &args.diagonal];
    let pairs = Quantity::ALL.into_iter().zip(paths);
    pairs.filter_map(|(quantity, path)| Some((quantity, path.as_deref()?))).collect()
}

fn check_files(args: &DeriveArgs, sources: &[Source], targets: &[(Quantity, &Path)]) -> Result<()> {
    let mut reads: Vec<&Path> = sources.iter().map(|s| s.reader.path()).collect();
    reads.push(&args.file);
    let flag = |q: Quantity| match q {
        Quantity::Value => "--value",
        Quantity::Gradient => "--grad",
        Quantity::Laplacian => "--laplacian",
        Quantity::Stderr => "--stderr",
        Quantity::Diagonal => "--diagonal",
    };
    let emit = args.emit.iter().map(|path| ("--emit", path.as_path()));
    let writes: Vec<_> = targets.iter().map(|(q, path)| (flag(*q), *path)).chain(emit).collect();
    files::check_targets(&reads, &writes)
}

fn sources(args: &DeriveArgs, ports: &[Port], wrt: &str) -> Result<Vec<Source>> {
    let mut sources: Vec<Source> = Vec::new();
    for text in &args.input {
        let (name, file) = input::named(text, ports, wrt);
        let Some(port) = ports.iter().find(|p| p.name == name) else { continue };
        if sources.iter().any(|s| s.name == name) {
            bail!("input {name:?} is given twice: name the others with --input NAME=FILE");
        }
        sources.push(Source::open(port, Path::new(file), args.raw)?);
    }
    if let Some(missing) = ports.iter().find(|p| !sources.iter().any(|s| s.name == p.name))
        && !sources.is_empty()
    {
        bail!(
            "input {:?}: nothing was given for it: add --input {}=FILE.npy",
            missing.name,
            missing.name
        );
    }
    for pair in sources.windows(2) {
        let (a, b) = (&pair[0], &pair[1]);
        if a.samples() != b.samples() {
            let (first, second) = (a.reader.path().display(), b.reader.path().display());
            bail!(
                "{first} has {} and {second} {}",
                table::count(a.samples(), "sample"),
                b.samples()
            );
        }
    }
    Ok(sources)
}

fn request(args: &DeriveArgs, ports: &[Port], wrt: &str, sources: &[Source]) -> Result<Request> {
    let mut sample_shapes: HashMap<String, Vec<usize>> = HashMap::new();
    for text in &args.model.shape {
        let (name, sizes) = input::named(text, ports, wrt);
        sample_shapes.insert(name.to_owned(), input::sizes(sizes)?);
    }
    for source in sources {
        let sample = source.reader.shape()[1..].to_vec();
        let given = sample_shapes.insert(source.name.clone(), sample.clone());
        if let Some(given) = given.filter(|g| *g != sample) {
            let (file, given) = (source.reader.path().display(), table::shape(&given));
            bail!(
                "--shape says {given}, and the samples in {file} have shape {}",
                table::shape(&sample)
            );
        }
    }
    let asked = |quantity: Quantity, path: &Option<PathBuf>| {
        path.is_some() || args.want.contains(&quantity)
    };
    let mut wants = Wants {
        gradient: asked(Quantity::Gradient, &args.grad),
        laplacian: asked(Quantity::Laplacian, &args.laplacian),
        stderr: asked(Quantity::Stderr, &args.stderr),
        diagonal: asked(Quantity::Diagonal, &args.diagonal),
        ..Wants::default()
    };
    if wants == Wants::default() && args.value.is_none() && args.want.is_empty() {
        wants = Wants { gradient: true, laplacian: true, ..wants };
    }
    Ok(Request {
        target: args.model.target,
        output: args.model.output.clone(),
        also: Vec::new(),
        wrt: args.model.wrt.clone(),
        laplacian_method: args.model.laplacian_method,
        wants,
        seed: args.seed,
        sample_shapes,
        memory: args.model.memory_bytes(),
        ..Request::default()
    })
}

fn is_second_order(wants: Wants) -> bool {
    wants.laplacian || wants.stderr || wants.diagonal
}

/// What a reader of the numbers should know.
fn notes(args: &DeriveArgs, derived: &Derived, wants: Wants) {
    if !is_second_order(wants) {
        return;
    }
    if derived.is_flat() {
        tell(&format!("note: {}", flat_note(derived.target())));
    }
    if let (Accuracy::Biased, Some(k)) =
        (derived.laplacian_method().accuracy(), derived.laplacian_method().count())
    {
        tell(&format!(
            "note: closed-form:{k} leaves all but the {k} most likely classes out: its result is biased"
        ));
    }
    if args.emit.is_some() && derived.laplacian_method().is_stochastic() {
        tell("note: the random signs are part of the emitted file: the same ones for every sample");
    }
}

/// Why second derivatives of this target are zero.
pub(crate) fn flat_note(target: taste_engine::Target) -> String {
    format!(
        "the target {target} is piecewise affine in the input: its Laplacian is zero almost everywhere, which is \
         known and not measured"
    )
}

/// Reads, computes and writes a part at a time. The files are whole, but do not have their names yet.
fn stream(
    args: &DeriveArgs,
    compiled: &Compiled,
    sources: &mut [Source],
    targets: &[(Quantity, &Path)],
    double: bool,
    report: &mut Report,
) -> Result<Vec<Sink>> {
    let samples = sources.first().map_or(0, Source::samples);
    let chunk = args.run.chunk(report.chunk).min(samples);
    report.samples = Some(samples);
    report.chunk = chunk;
    let mut progress = Progress::new("samples", Some(samples), args.run.quiet());
    let mut sinks: Vec<(Quantity, Sink)> = Vec::new();
    for start in (0..samples).step_by(chunk) {
        let end = samples.min(start + chunk);
        let mut values: Vec<(String, Value)> = Vec::with_capacity(sources.len());
        for source in &mut *sources {
            values.push((source.name.clone(), source.read(start, end, double)?));
        }
        let feeds: Vec<(&str, &Value)> = values.iter().map(|(n, v)| (n.as_str(), v)).collect();
        let results = compiled.run(&feeds, start)?;
        for &(quantity, path) in targets {
            let Some(rows) = pick(&results, quantity) else {
                bail!("there is no {} among the results", quantity.name());
            };
            if start == 0 {
                sinks.push((quantity, Sink::create(path, samples, rows, double)?));
            }
            if let Some((_, sink)) = sinks.iter_mut().find(|(q, _)| *q == quantity) {
                sink.append(rows)?;
            }
        }
        report.add(&results);
        progress.reach(end);
    }
    Ok(sinks.into_iter().map(|(_, sink)| sink).collect())
}

fn pick(results: &Outputs, quantity: Quantity) -> Option<&Value> {
    match quantity {
        Quantity::Value => Some(&results.value),
        Quantity::Gradient => results.gradient.as_ref(),
        Quantity::Laplacian => results.laplacian.as_ref(),
        Quantity::Stderr => results.stderr.as_ref(),
        Quantity::Diagonal => results.diagonal.as_ref(),
    }
}

/// What was computed and how, in the words of `--json`.
#[derive(Serialize)]
struct Report {
    model: PathBuf,
    output: String,
    target: String,
    wrt: String,
    dimension: usize,
    /// Absent if nothing was run.
    samples: Option<usize>,
    backend: &'static str,
    threads: usize,
    chunk: usize,
    /// Absent if no second derivative was asked for.
    method: Option<MethodReport>,
    /// By the name of the quantity; for the gradient, its norm.
    quantities: BTreeMap<&'static str, Stats>,
    files: BTreeMap<&'static str, PathBuf>,
    emitted: Option<PathBuf>,
    #[serde(skip)]
    order: Vec<Quantity>,
}

#[derive(Serialize)]
struct MethodReport {
    name: String,
    reason: String,
    stochastic: bool,
    biased: bool,
    /// Second derivatives are known to be zero almost everywhere.
    flat: bool,
    /// Of random directions, where there are any.
    seed: Option<u64>,
}

impl Report {
    fn new(
        args: &DeriveArgs,
        derived: &Derived,
        backend: &Backend,
        threads: usize,
        wants: Wants,
    ) -> Self {
        let method = is_second_order(wants).then(|| MethodReport {
            name: derived.laplacian_method().to_string(),
            reason: derived.reason().to_owned(),
            stochastic: derived.laplacian_method().is_stochastic(),
            biased: derived.laplacian_method().accuracy() == Accuracy::Biased,
            flat: derived.is_flat(),
            seed: derived.laplacian_method().is_stochastic().then_some(args.seed),
        });
        Self {
            model: args.file.clone(),
            output: derived.output().to_owned(),
            target: derived.target().to_string(),
            wrt: derived.wrt().to_owned(),
            dimension: derived.dimension(),
            samples: None,
            backend: backend.name(),
            threads,
            chunk: derived.chunk(),
            method,
            quantities: BTreeMap::new(),
            files: targets(args).into_iter().map(|(q, path)| (q.name(), path.to_owned())).collect(),
            emitted: None,
            order: Quantity::ALL.into_iter().filter(|q| q.is_wanted(wants)).collect(),
        }
    }

    fn add(&mut self, results: &Outputs) {
        let kept = results.value.shape().len();
        for quantity in &self.order {
            let Some(values) = pick(results, *quantity) else { continue };
            let stats = self.quantities.entry(quantity.name()).or_default();
            if *quantity == Quantity::Gradient {
                stats.norms(values, kept);
            } else {
                stats.entries(values);
            }
        }
    }

    /// Results that are no numbers.
    fn warnings(&self) -> Vec<String> {
        let broken = self.quantities.iter().filter(|(_, stats)| stats.not_finite > 0);
        let text = |(name, stats): (&&str, &Stats)| {
            format!("{} of {} entries of {name} are NaN or infinite", stats.not_finite, stats.count)
        };
        broken.map(text).collect()
    }

    fn render(&self, sources: &[Source]) -> String {
        let mut facts = Table::default();
        facts.row(["model".to_owned(), self.model.display().to_string()]);
        for source in sources {
            let reader = &source.reader;
            let wrt = if source.name == self.wrt && sources.len() > 1 {
                ", differentiated by"
            } else {
                ""
            };
            let array = format!("{} {}", reader.dtype(), table::shape(reader.shape()));
            facts.row([
                "input".to_owned(),
                format!("{} = {}: {array}{wrt}", source.name, reader.path().display()),
            ]);
        }
        facts.row(["target".to_owned(), format!("{} of output {:?}", self.target, self.output)]);
        if let Some(method) = &self.method {
            let kind = match (method.flat, method.biased, method.stochastic) {
                (true, ..) => "zero almost everywhere",
                (_, true, _) => "biased",
                (.., true) => "estimate",
                _ => "exact",
            };
            facts
                .row(["method".to_owned(), format!("{} ({kind}): {}", method.name, method.reason)]);
        }
        let threads = table::count(self.threads, "thread");
        let chunk = table::count(self.chunk, "sample");
        facts.row(["engine".to_owned(), format!("{}, {threads}, {chunk} at once", self.backend)]);
        let mut numbers = Table::default().right(&[1, 2, 3]);
        numbers.row(["", "min", "mean", "max", "first values"]);
        let shown = |v: Option<f64>| v.map_or_else(|| "-".to_owned(), number);
        for quantity in &self.order {
            let Some(stats) = self.quantities.get(quantity.name()) else { continue };
            let name =
                if *quantity == Quantity::Gradient { "gradient norm" } else { quantity.name() };
            let first: Vec<String> = stats.first.iter().map(|v| number(*v)).collect();
            let more = if stats.count > first.len() as u64 { " …" } else { "" };
            let first = first.join(" ") + more;
            numbers.row([
                name.to_owned(),
                shown(stats.min),
                shown(stats.mean),
                shown(stats.max),
                first,
            ]);
        }
        format!("{}\n{}", facts.render(0), numbers.render(0))
    }
}
