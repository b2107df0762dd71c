//! Score models for detectors, over ranges of noise and as diffusions.

use std::{ops::ControlFlow, sync::Arc, sync::Mutex};

use ndarray::{Array2, ArrayD};
use taste_data::InMemory;
use taste_detector::{Described, Engine, ErrorKind, Stage};
use taste_engine::{Backend, Model, Value};
use taste_graph::{Build, Dim, Fact, Graph};
use taste_stats::random::Random;
use taste_stein::fields::{self, Families, FieldSpec, Learner, Learning};
use taste_train::{Diffusion, FAMILIES, Network, Training, fields::FieldTraining};

use crate::common::{normal, samples, settled};

fn scores(model: &Model, values: &Array2<f64>) -> ArrayD<f64> {
    let session = Backend::REFERENCE.load(model, &["score"], 1).expect("a session");
    let values = Value::from(values.clone().into_dyn());
    session.run(&[("input", &values)]).expect("scores")[0].to_f64()
}

/// ‖s − ŝ‖ / ‖s‖ for the score −x / variance of a Gaussian.
fn error(found: &ArrayD<f64>, points: &Array2<f64>, variance: f64) -> f64 {
    let wanted = points.mapv(|x| -x / variance).into_dyn();
    let gap = (found - &wanted).mapv(|v| v * v).sum();
    (gap / wanted.mapv(|v| v * v).sum()).sqrt()
}

#[test]
fn one_network_knows_a_range_of_noise() {
    let network =
        Network::new(&[2]).with_level(1.0).dense(64).condition().silu().dense(64).silu().dense(2);
    let training = settled(Training::score_range(&network, 0.2, 2.0)).steps(2000);
    let trained =
        training.held_out(0.1).seed(1).run(&samples(&normal(20_000, 2, 1))).expect("a run");
    for sigma in [0.4, 1.0, 1.8f64] {
        let variance = 1.0 + sigma * sigma;
        let points = normal(1000, 2, 2) * variance.sqrt();
        let model = trained.score_model(sigma).expect("a model");
        let error = error(&scores(&model, &points), &points, variance);
        assert!(error < 0.1, "{error} at {sigma}");
    }
    let stein = trained.held_out().and_then(|h| h.stein).expect("a ratio");
    assert!((stein.ratio - 1.0).abs() < 4.0 * stein.error + 0.02, "{stein:?}");
    assert!(trained.score_model(3.0).is_err());
    assert!(
        Training::score_range(&Network::new(&[2]).dense(2), 0.2, 2.0)
            .run(&samples(&normal(9, 2, 1)))
            .is_err()
    );
}

#[test]
fn a_diffusion_knows_the_score_of_every_step() {
    let network = Network::new(&[2]).with_level(0.01).dense(64).condition().silu().dense(2);
    let training = settled(Training::diffusion(&network, Diffusion::Linear, 100)).steps(6000);
    let trained = training.seed(1).run(&samples(&(normal(20_000, 2, 3) * 2.0))).expect("a run");
    let proto = trained.model().expect("a model");
    let names: Vec<&str> = proto
        .onnx()
        .proto
        .graph
        .as_ref()
        .expect("a graph")
        .input
        .iter()
        .map(|i| i.name.as_str())
        .collect();
    assert_eq!(names, ["input", "level"]);
    // ᾱ of step 60 of 100, by the definition.
    let left: f64 = (0..=60).map(|t| 1.0 - (1e-4 + (0.02 - 1e-4) * f64::from(t) / 99.0)).product();
    let variance = 4.0 + (1.0 - left) / left;
    let points = normal(1000, 2, 4) * variance.sqrt();
    let model = trained.score_model(60.0).expect("a model");
    let error = error(&scores(&model, &points), &points, variance);
    assert!(error < 0.1, "{error}");
}

#[test]
fn a_u_net_learns_that_images_are_smooth() {
    let mut random = Random::new(6);
    // One random grey for each image: the noise is what differs from the mean.
    let mut images = ArrayD::<f32>::zeros(vec![256, 1, 8, 8]);
    for mut image in images.outer_iter_mut() {
        #[expect(clippy::cast_possible_truncation, reason = "samples are single precision")]
        image.fill(random.normal() as f32);
    }
    let network = Network::new(&[1, 8, 8]).with_level(0.01).u_net(&[8, 16]);
    let trained = Training::diffusion(&network, Diffusion::Cosine, 100)
        .steps(150)
        .batch(16)
        .rate(5e-3)
        .seed(1)
        .backend(Backend::RTEN, 1)
        .run(&InMemory::new("images", images))
        .expect("a run");
    let (first, last) = (trained.curve()[0].loss, trained.curve()[trained.curve().len() - 1].loss);
    assert!(first > 0.6 && last < 0.3, "{first} {last}");
    let odd = Network::new(&[1, 6, 5]).u_net(&[8, 16]);
    assert!(odd.parameters(0).expect_err("odd").to_string().contains("halved 1 times"));
}

#[test]
fn the_specification_fits_tables_on_any_scale() {
    let mut points = normal(4000, 2, 5);
    for mut point in points.outer_iter_mut() {
        point[1] = 0.9 * point[0] + (1.0f64 - 0.81).sqrt() * point[1];
        point[0] = 100.0 + 10.0 * point[0];
        point[1] *= 0.01;
    }
    let spec = parse("train:sigma=0.5,steps=1200,width=32").expect("a score model");
    let fitted = fields::fit(&*spec, &samples(&points), 1).expect("a field");
    let description = fitted.describe();
    let number = |key: &str| description[key].as_f64().expect(key);
    let (held_out, gaussian) = (number("held_out_loss"), number("gaussian_loss"));
    // The data are Gaussian: nothing is better, and a trained network comes close.
    let exact = 1.0 - 0.25 * 0.5 * (1.0 / (1.9 + 0.25) + 1.0 / (0.1 + 0.25));
    assert!((gaussian - exact).abs() < 0.02, "{gaussian} {exact}");
    assert!(held_out < gaussian + 0.05, "{held_out} {gaussian}");
    assert_eq!(description["family"], "train");
    assert!((number("stein_ratio") - 1.0).abs() < 0.2);

    let mut graph = Graph::new();
    let y = graph.input("input", Fact::float(vec![Dim::BATCH, 2.into()]));
    let s = fitted.build(&mut Build::new(&mut graph), y).expect("a graph");
    let model = Model::from_onnx(
        "score",
        taste_onnx::Model::new(graph.to_onnx(&[("score".to_owned(), s)]).expect("ONNX")),
    );
    // Along the first axis and across it, where the density falls off.
    let at = scores(&model, &ndarray::array![[120.0, 0.0], [80.0, 0.0], [100.0, 0.02]]);
    assert!(at[[0, 0]] < 0.0 && at[[1, 0]] > 0.0 && at[[2, 1]] < 0.0, "{at}");
    assert!(at[[2, 1]].abs() > 50.0 * at[[0, 0]].abs());
}

fn parse(text: &str) -> Result<Arc<dyn FieldSpec>, taste_stein::Error> {
    Families::default().with(FAMILIES).parse(text)
}

#[test]
fn what_can_be_written_is_read() {
    let written = |text: &str| format!("{:?}", parse(text).expect(text));
    assert_eq!(written("train"), format!("{:?}", FieldTraining::default()));
    let all = FieldTraining { sigma: 0.1, steps: Some(50), batch: Some(7), rate: 1e-4, width: 9 };
    assert_eq!(written("train:sigma=0.1, steps=50,batch=7,rate=1e-4,width=9"), format!("{all:?}"));
    assert!(all.learns());
    for (text, part) in [
        ("train:sigma=0", "sigma wants a number from 0.0001 to 10, got \"0\""),
        ("train:sigma=nan", "sigma wants"),
        ("train:steps=0", "steps wants a number from 1 to 100000000"),
        ("train:batch=65537", "batch wants"),
        ("train:rate=2", "rate wants"),
        ("train:width=0.5", "width wants"),
        ("train:best", "\"best\" means nothing here"),
        ("train:depth=3", "\"depth=3\" means nothing here"),
        ("trains", "did you mean train?"),
        ("train:steps=-1", "steps wants"),
    ] {
        let error = parse(text).expect_err(text).to_string();
        assert!(error.contains("train[:sigma=0.2]") && error.contains(part), "{text}: {error}");
    }
    let nothing = InMemory::new("nothing", ArrayD::zeros(vec![0, 3]));
    let error = fields::fit(&FieldTraining::default(), &nothing, 0).expect_err("nothing");
    assert_eq!(error.kind(), ErrorKind::Data, "{error}");
}

#[test]
fn training_tells_how_far_it_is_and_can_be_stopped() {
    let data = samples(&normal(200, 2, 7));
    let (described, engine) = (Described::of(&data), Engine::default());
    let train = |most: usize| {
        let heard = Mutex::new(Vec::new());
        let progress = |stage: Stage<'_>| {
            assert_eq!((stage.purpose, stage.total), ("steps for the score model", Some(100)));
            heard.lock().expect("a list").push(stage.done);
            if stage.done < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let learner = Learner { data: &described, seed: 1, engine: &engine, progress: &progress };
        let spec = parse("train:steps=100,batch=8,width=4").expect("a score model");
        let Learning::Samples(then) = spec.begin(&learner).expect("begun") else {
            panic!("it learns from samples");
        };
        let outcome = then(&learner, &data).map(|_| ()).map_err(|e| e.kind());
        (outcome, heard.into_inner().expect("a list"))
    };
    let (outcome, heard) = train(usize::MAX);
    assert_eq!((outcome, heard.last()), (Ok(()), Some(&100)));
    let (outcome, heard) = train(30);
    assert_eq!((outcome, heard.last()), (Err(ErrorKind::Cancelled), Some(&30)));
}
