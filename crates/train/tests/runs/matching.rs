//! Score matching where the score is known, and where it is not.

use ndarray::Array2;
use taste_engine::{Backend, Value};
use taste_stats::random::Random;
use taste_train::{Fitted, Network, Training};

use crate::common::{normal, samples, settled};

/// A mixture of Gaussians in the plane: weights, means and one deviation for all.
struct Mixture {
    weights: &'static [f64],
    means: &'static [[f64; 2]],
    deviation: f64,
}

const ONE: Mixture = Mixture { weights: &[1.0], means: &[[0.0, 0.0]], deviation: 1.0 };
const THREE: Mixture = Mixture {
    weights: &[0.5, 0.3, 0.2],
    means: &[[-1.5, 0.0], [1.5, 1.0], [0.5, -1.5]],
    deviation: 0.5,
};

impl Mixture {
    fn draw(&self, rows: usize, seed: u64) -> Array2<f64> {
        let mut random = Random::new(seed);
        let mut points = Array2::zeros((rows, 2));
        for mut point in points.outer_iter_mut() {
            let mut left = random.uniform();
            let mut part = 0;
            while part + 1 < self.weights.len() && left >= self.weights[part] {
                left -= self.weights[part];
                part += 1;
            }
            for (entry, mean) in point.iter_mut().zip(self.means[part]) {
                *entry = mean + self.deviation * random.normal();
            }
        }
        points
    }

    /// With noise of these deviations by entry, the score at a point.
    fn score(&self, at: [f64; 2], noise: [f64; 2]) -> [f64; 2] {
        let variance = noise.map(|n| self.deviation.powi(2) + n * n);
        let parts: Vec<f64> = (self.weights.iter().zip(self.means))
            .map(|(weight, mean)| {
                let square: f64 = (0..2).map(|i| (at[i] - mean[i]).powi(2) / variance[i]).sum();
                weight * (-0.5 * square).exp()
            })
            .collect();
        let total: f64 = parts.iter().sum();
        [0, 1].map(|i| {
            let pull = |(p, m): (&f64, &[f64; 2])| p * (m[i] - at[i]) / variance[i];
            parts.iter().zip(self.means).map(pull).sum::<f64>() / total
        })
    }
}

fn trained(values: &Array2<f64>, sigma: f64, steps: usize) -> Fitted {
    let network = Network::new(&[2]).dense(64).silu().dense(64).silu().dense(2);
    let training = settled(Training::score(&network, sigma)).batch(512).average(0.998);
    let training = training.steps(steps).held_out(0.1).seed(3);
    training.run_standardized(&samples(values)).expect("a run")
}

/// √(E‖ŝ − s‖² / E‖s‖²) over fresh samples with the noise that was learned.
fn error(fitted: &Fitted, mixture: &Mixture) -> f64 {
    let noise = fitted.noise();
    let noise = [noise[0], noise[1]];
    let mut random = Random::new(77);
    let mut points = mixture.draw(4000, 78);
    for mut point in points.outer_iter_mut() {
        for (entry, noise) in point.iter_mut().zip(noise) {
            *entry += noise * random.normal();
        }
    }
    let model = fitted.model().expect("a model");
    let session = Backend::RTEN.load(&model, &["score"], 1).expect("a session");
    let feed = Value::from(points.clone().into_dyn()).to_f32();
    let found = session.run(&[("input", &Value::from(feed))]).expect("scores")[0].to_f64();
    let (mut gap, mut size) = (0.0, 0.0);
    for (row, point) in points.outer_iter().enumerate() {
        let want = mixture.score([point[0], point[1]], noise);
        for (i, want) in want.iter().enumerate() {
            gap += (found[[row, i]] - want).powi(2);
            size += want.powi(2);
        }
    }
    (gap / size).sqrt()
}

#[test]
fn a_gaussian_s_score_is_found_and_more_samples_help() {
    let errors = [300, 20_000].map(|rows| error(&trained(&ONE.draw(rows, 1), 0.5, 1500), &ONE));
    assert!(errors[1] < 0.05, "{errors:?}");
    assert!(errors[1] < 0.7 * errors[0], "{errors:?}");
}

#[test]
fn a_mixture_s_score_is_found_and_more_samples_help() {
    let errors = [300, 60_000].map(|rows| error(&trained(&THREE.draw(rows, 2), 0.4, 6000), &THREE));
    assert!(errors[1] < 0.05, "{errors:?}");
    assert!(errors[1] < 0.7 * errors[0], "{errors:?}");
}

#[test]
fn two_moons_are_no_gaussian() {
    let mut random = Random::new(4);
    let mut moons = Array2::zeros((4000, 2));
    for (row, mut point) in moons.outer_iter_mut().enumerate() {
        let angle = std::f64::consts::PI * random.uniform();
        let [x, y] = if row % 2 == 0 {
            [angle.cos(), angle.sin()]
        } else {
            [1.0 - angle.cos(), 0.5 - angle.sin()]
        };
        point[0] = x + 0.1 * random.normal();
        point[1] = y + 0.1 * random.normal();
    }
    let fitted = trained(&moons, 0.2, 1000);
    let held_out = fitted.trained().held_out().expect("held out");
    let gaussian = fitted.gaussian_loss().expect("few entries");
    assert!(held_out.loss < 0.95 * gaussian, "{} {gaussian}", held_out.loss);
    // At a single level, the loss there and the loss by slices are the same number twice more.
    let levels = fitted.levels(&Backend::RTEN, 1).expect("levels");
    assert_eq!(levels.len(), 1);
    let apart = (levels[0].loss - held_out.loss).abs();
    assert!(apart < 5.0 * levels[0].error, "{levels:?} {}", held_out.loss);
    let sliced = fitted.trained().sliced(&Backend::RTEN, 1).expect("slices").expect("held out");
    let both = sliced.as_loss_error.hypot(levels[0].error);
    assert!((sliced.as_loss - levels[0].loss).abs() < 4.0 * both, "{sliced:?} {levels:?}");
    // Walks along the score stay where the data are.
    let drawn = fitted.draw(200, 1, &Backend::RTEN, 1).expect("samples");
    assert_eq!(drawn.shape(), [200, 2]);
    let near = |p: &ndarray::ArrayViewD<'_, f32>| {
        let to = |x: f32, y: f32| (p[0] - x).hypot(p[1] - y);
        (to(0.0, 0.0) - 1.0).abs().min((to(1.0, 0.5) - 1.0).abs()) < 0.35
    };
    let close = drawn.outer_iter().filter(near).count();
    assert!(close > 180, "{close} of 200");
}

#[test]
fn slices_of_a_linear_score_have_a_closed_form() {
    let network = Network::new(&[3]).dense(3);
    let sigma = 0.7;
    // Not trained to the end: the form holds for any linear score.
    let trained = Training::score(&network, sigma)
        .steps(5)
        .held_out(0.1)
        .seed(1)
        .backend(Backend::RTEN, 1)
        .run(&samples(&normal(20_000, 3, 5)))
        .expect("a run");
    let weight = |name: &str| {
        let found = trained.parameters().iter().find(|(n, _)| n.ends_with(name));
        found.expect("a weight").1.mapv(f64::from)
    };
    let (w, bias) = (weight("weight"), weight("bias"));
    // s(x) = −(x·W + b)/σ on x of variance 1 + σ².
    let trace: f64 = (0..3).map(|i| w[[i, i]]).sum();
    let squares = (1.0 + sigma * sigma) * w.mapv(|v| v * v).sum() + bias.mapv(|v| v * v).sum();
    let want = (-trace / sigma + 0.5 * squares / (sigma * sigma)) / 3.0;
    for backend in [Backend::RTEN, Backend::REFERENCE] {
        let found = trained.sliced(&backend, 1).expect("slices").expect("held out");
        assert!((found.value - want).abs() < 4.0 * found.error, "{found:?} {want}");
        assert!(found.error < 0.1 * want.abs().max(0.5), "{found:?}");
    }
}

#[test]
fn samples_of_ranges_and_diffusions_have_the_moments_of_the_data() {
    let mut points = THREE.draw(8000, 6);
    points.mapv_inplace(|v| 10.0 + 3.0 * v);
    let network = Network::new(&[2]).with_level(1.0).dense(64).condition().silu().dense(64).silu();
    let range = network.dense(2);
    let network = Network::new(&[2]).with_level(0.01).dense(64).condition().silu().dense(64).silu();
    let diffusion = network.dense(2);
    let runs = [
        Training::score_range(&range, 0.05, 3.0),
        Training::diffusion(&diffusion, taste_train::Diffusion::Cosine, 100),
    ];
    let moments = |values: &Array2<f64>, column: usize| {
        let column = values.column(column);
        (column.mean().expect("rows"), column.std(0.0))
    };
    for run in runs {
        let run = settled(run).steps(1500).held_out(0.1).seed(2);
        let fitted = run.run_standardized(&samples(&points)).expect("a run");
        let drawn = fitted.draw(500, 3, &Backend::RTEN, 1).expect("samples").mapv(f64::from);
        let drawn = drawn.into_dimensionality::<ndarray::Ix2>().expect("rows");
        for column in 0..2 {
            let ((mean, deviation), (m, d)) = (moments(&drawn, column), moments(&points, column));
            assert!((mean - m).abs() < 0.3 * d, "mean {mean} for {m}");
            assert!((deviation / d - 1.0).abs() < 0.2, "deviation {deviation} for {d}");
        }
        let levels = fitted.levels(&Backend::RTEN, 1).expect("levels");
        assert_eq!(levels.len(), 8);
        assert!(levels.is_sorted_by(|a, b| a.sigma < b.sigma), "{levels:?}");
        assert!(levels[7].loss < 0.5 * levels[0].loss, "{levels:?}");
        let beats =
            |l: &&taste_train::Level| l.gaussian.is_some_and(|g| l.loss < g + 3.0 * l.error);
        assert_eq!(levels.iter().filter(beats).count(), 8, "{levels:?}");
    }
}
