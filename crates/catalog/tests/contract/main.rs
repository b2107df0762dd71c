//! What holds for every method in the table.

#![expect(clippy::print_stdout, reason = "says what is skipped")]

mod networks;
mod units;

use std::sync::Arc;

use ndarray::{ArrayD, ArrayViewD, Axis, IxDyn};
use taste_catalog::methods;
use taste_choice::{Arguments, Entry};
use taste_data::InMemory;
use taste_detector::{Detector, Engine, Fit, Method, Named, Scores, Settings};
use taste_engine::{Backend, Model};
use taste_stats::{beta_binomial, random::Random};

const WIDTH: usize = 6;

fn normal(rows: usize, seed: u64) -> ArrayD<f32> {
    drawn(&[rows, WIDTH], seed)
}

fn drawn(shape: &[usize], seed: u64) -> ArrayD<f32> {
    let mut random = Random::new(seed);
    #[expect(clippy::cast_possible_truncation, reason = "samples are single precision")]
    ArrayD::from_shape_simple_fn(IxDyn(shape), || random.normal() as f32)
}

/// What a method is tried on: a network of columns, or one of images where it needs these.
struct World {
    model: Model,
    sample: Vec<usize>,
}

impl World {
    fn of(method: &Arc<dyn Method>) -> Self {
        if method.needs().images {
            return Self {
                model: networks::of_images("x", "logits"),
                sample: networks::IMAGE.to_vec(),
            };
        }
        Self { model: networks::classifier(WIDTH, 4, 3), sample: vec![WIDTH] }
    }

    fn named(method: &Arc<dyn Method>, input: &str, output: &str) -> Self {
        let model = if method.needs().images {
            networks::of_images(input, output)
        } else {
            networks::named(WIDTH, input, output)
        };
        Self { model, ..Self::of(method) }
    }

    fn draw(&self, rows: usize, seed: u64) -> ArrayD<f32> {
        let shape: Vec<usize> = std::iter::once(rows).chain(self.sample.iter().copied()).collect();
        drawn(&shape, seed)
    }

    fn fit(&self, method: &Arc<dyn Method>, engine: Engine, settings: Settings) -> Detector {
        let train = labelled(&self.model, self.draw(1800, 1));
        Fit::new(&self.model, Arc::clone(method))
            .settings(settings)
            .engine(engine)
            .run(&train, None)
            .unwrap_or_else(|e| panic!("{}: {e}", method.name()))
    }
}

fn engine(name: &str) -> Engine {
    Engine { backend: name.parse().expect("a backend"), threads: 2 }
}

/// The table's methods with their defaults.
fn every() -> Vec<Arc<dyn Method>> {
    let read = |family: &&dyn taste_detector::Family| {
        let usage = family.choice().usage;
        let mut arguments = Arguments::new("method", usage, None);
        family.read(&mut arguments, &Named::new()).expect("the defaults are enough")
    };
    methods().iter().map(read).collect()
}

/// Samples with the classes that the model gives them, all but every seventh.
fn labelled(model: &Model, x: ArrayD<f32>) -> InMemory {
    let graph = model.onnx().proto.graph.as_ref().expect("a graph");
    let [input, output] = [&graph.input[0].name, &graph.output[0].name];
    let session = Backend::default().load(model, &[output], 2).expect("a session");
    let logits = session.run(&[(input, x.view())]).expect("logits").remove(0).to_f32();
    let label = |(i, row): (usize, ArrayViewD<'_, f32>)| {
        let classes = row.len();
        let likeliest = (0..classes).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap_or(0);
        if i % 7 == 0 { (i % classes) as i64 } else { likeliest as i64 }
    };
    let labels = logits.outer_iter().enumerate().map(label).collect();
    InMemory::new("train", x).with_labels(labels)
}

fn scores(detector: &Detector, engine: &Engine, x: &ArrayD<f32>) -> Scores {
    let scorer = detector.start(engine, false).expect("starts");
    scorer.score(x.view()).expect("scores")
}

/// The largest difference, relative to a score or to a twentieth of the usual one, below which single precision cancels.
fn apart(a: &[f32], b: &[f32]) -> f32 {
    let mut sizes: Vec<f32> = a.iter().map(|v| v.abs()).collect();
    sizes.sort_by(f32::total_cmp);
    let floor = 0.05 * sizes[sizes.len() / 2];
    a.iter().zip(b).map(|(x, y)| (x - y).abs() / x.abs().max(floor)).fold(0.0, f32::max)
}

/// The engines that are here: ONNX Runtime only where its library is.
fn engines() -> Vec<&'static str> {
    let mut names = vec!["rten", "reference"];
    if std::env::var_os("ORT_DYLIB_PATH").is_some() {
        names.push("ort");
    } else {
        println!("skipped: ONNX Runtime, as ORT_DYLIB_PATH names no library");
    }
    names
}

#[test]
fn a_name_in_the_table_is_the_name_of_the_method() {
    for (family, method) in methods().iter().zip(every()) {
        assert_eq!(family.choice().name, method.name());
        assert!(method.written().starts_with(method.name()));
        let usage = family.choice().usage;
        assert!(usage.starts_with(method.name()), "{usage}");
    }
}

#[test]
fn every_engine_gives_the_same_scores() {
    for method in every() {
        let world = World::of(&method);
        let x = world.draw(200, 7);
        let detector = world.fit(&method, engine("rten"), Settings::default());
        let exact = scores(&detector, &engine("reference"), &x);
        for name in engines() {
            let found = scores(&detector, &engine(name), &x);
            let off = apart(&exact.score, &found.score);
            assert!(off < 1e-4, "{} on {name}: scores off by {off}", method.name());
            let moved = exact.flag.iter().zip(&found.flag).filter(|(a, b)| a != b).count();
            assert!(moved <= 1, "{} on {name}: {moved} flags differ", method.name());
        }
    }
}

#[test]
fn order_and_batch_size_change_nothing() {
    for method in every() {
        let world = World::of(&method);
        let x = world.draw(60, 8);
        let mut turned = x.clone();
        turned.invert_axis(Axis(0));
        let detector = world.fit(&method, engine("rten"), Settings::default());
        let whole = scores(&detector, &engine("rten"), &x).score;
        let mut back = scores(&detector, &engine("rten"), &turned).score;
        back.reverse();
        assert!(apart(&whole, &back) < 1e-5, "{}: order", method.name());
        let single: Vec<f32> = x
            .axis_chunks_iter(Axis(0), 1)
            .flat_map(|one| scores(&detector, &engine("rten"), &one.to_owned()).score)
            .collect();
        // A batch of one runs other kernels, as another engine does: scores agree as those of engines do.
        assert!(apart(&whole, &single) < 1e-4, "{}: one by one", method.name());
    }
}

#[test]
fn false_positives_are_as_many_as_asked_for() {
    const FRESH: usize = 3000;
    for method in every() {
        let world = World::of(&method);
        let x = world.draw(FRESH, 99);
        let detector = world.fit(&method, engine("rten"), Settings::default());
        let n = detector.calibration().len();
        let found = scores(&detector, &engine("rten"), &x);
        for alpha in [0.01, 0.05, 0.2] {
            let below = found.p_value.iter().filter(|p| f64::from(**p) <= alpha + 1e-7).count();
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank")]
            let rank = (alpha * (n as f64 + 1.0) + 1e-9).floor() as usize;
            let (a, b) = (rank as f64, (n + 1 - rank) as f64);
            let (low, high) = beta_binomial::band(FRESH, a, b, 1e-5);
            assert!(
                (low..=high).contains(&below),
                "{}: {below} of {FRESH} at alpha {alpha}, not {low} to {high}",
                method.name()
            );
        }
    }
}

#[test]
fn the_file_read_back_is_the_same() {
    for method in every() {
        let world = World::of(&method);
        let x = world.draw(40, 5);
        let detector = world.fit(&method, engine("rten"), Settings::default());
        let bytes = detector.to_bytes().expect("bytes");
        let again = Detector::from_bytes(&bytes).expect("read back");
        assert_eq!(again.manifest(), detector.manifest());
        assert_eq!(again.to_bytes().expect("bytes"), bytes);
        let [a, b] = [&detector, &again].map(|d| scores(d, &engine("rten"), &x));
        assert_eq!(a.score, b.score);
        assert_eq!(a.p_value, b.p_value);
    }
}

#[test]
fn samples_that_are_no_numbers_are_flagged_and_large_scores_are_far_out() {
    for method in every() {
        let world = World::of(&method);
        let detector = world.fit(&method, engine("rten"), Settings::default());
        let mut x = world.draw(3, 4);
        for (sample, entry, value) in [(1, 2, f32::NAN), (2, 0, f32::INFINITY)] {
            let place = x.index_axis_mut(Axis(0), sample).into_iter().nth(entry);
            *place.expect("an entry") = value;
        }
        let found = scores(&detector, &engine("rten"), &x);
        let least = 1.0 / (detector.calibration().len() as f32 + 1.0);
        for i in [1, 2] {
            assert!(found.flag[i], "{}: sample {i}", method.name());
            assert!((found.p_value[i] - least).abs() < 1e-6, "{}", method.name());
        }
        // p-values fall as scores rise.
        let fresh = scores(&detector, &engine("rten"), &world.draw(50, 6));
        for i in 1..50 {
            let (s, p) = (&fresh.score, &fresh.p_value);
            assert!((s[i] >= s[0]) == (p[i] <= p[0]) || (p[i] - p[0]).abs() < 1e-7);
        }
    }
}

#[test]
fn what_stays_in_the_file_is_listed_and_can_be_refused() {
    for method in every() {
        let world = World::of(&method);
        let train = labelled(&world.model, world.draw(900, 1));
        let detector = world.fit(&method, engine("rten"), Settings::default());
        let keeps = method.needs().keeps.is_some();
        assert_eq!(keeps, !detector.manifest().rows.is_empty(), "{}", method.name());
        let settings = Settings { may_keep_rows: false, ..Settings::default() };
        let refused =
            Fit::new(&world.model, Arc::clone(&method)).settings(settings).run(&train, None);
        assert_eq!(keeps, refused.is_err(), "{}", method.name());
    }
}

#[test]
fn inputs_and_outputs_with_our_names_do_not_clash() {
    for name in ["score", "p_value", "flag", "map", "residual", "value", "gradient", "directions"] {
        for method in every() {
            let world = World::named(&method, name, "residuals");
            let detector = world.fit(&method, engine("rten"), Settings::default());
            let found = scores(&detector, &engine("rten"), &world.draw(5, 3));
            assert_eq!(found.len(), 5, "{} with an input {name}", method.name());
            let outputs = &detector.onnx().proto.graph.as_ref().expect("a graph").output;
            let names: std::collections::HashSet<&str> =
                outputs.iter().map(|o| o.name.as_str()).collect();
            assert_eq!(names.len(), outputs.len(), "{}: a name twice", method.name());
            assert!(!names.contains(detector.manifest().model.input.as_str()));
            assert!(names.contains(detector.manifest().model.prediction.as_str()));
        }
    }
}
