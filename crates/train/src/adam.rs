//! Adam with decoupled weight decay (Kingma and Ba 2015, Loshchilov and Hutter 2019).

use ndarray::ArrayD;

const MEAN: f32 = 0.9;
const SQUARE: f32 = 0.999;
const EPSILON: f32 = 1e-8;

/// Running moments of the gradient of every weight.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Adam {
    pub(crate) means: Vec<Vec<f32>>,
    pub(crate) squares: Vec<Vec<f32>>,
    /// Updates made.
    pub(crate) updates: u64,
}

/// How one update goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Update {
    pub(crate) rate: f64,
    /// The share of a matrix or kernel that one update at rate 1 takes away.
    pub(crate) decay: f64,
    /// What gradients are multiplied by.
    pub(crate) scale: f64,
}

impl Adam {
    pub(crate) fn new(lengths: impl Iterator<Item = usize>) -> Self {
        let means: Vec<Vec<f32>> = lengths.map(|n| vec![0.0; n]).collect();
        Self { squares: means.clone(), means, updates: 0 }
    }

    /// Moves the weights against their gradients.
    #[expect(clippy::cast_possible_truncation, reason = "weights are single precision")]
    pub(crate) fn update<'w>(
        &mut self,
        weights: impl Iterator<Item = &'w mut ArrayD<f32>>,
        gradients: &[ArrayD<f32>],
        update: Update,
    ) {
        self.updates += 1;
        let bias = |keep: f32| 1.0 - f64::from(keep).powf(self.updates as f64);
        let (rate, scale) = ((update.rate / bias(MEAN)) as f32, update.scale as f32);
        let root = (1.0 / bias(SQUARE).sqrt()) as f32;
        let moments = self.means.iter_mut().zip(&mut self.squares);
        for ((weight, gradient), (means, squares)) in weights.zip(gradients).zip(moments) {
            // Biases, scales and shifts are left alone.
            let shrink =
                if weight.ndim() > 1 { 1.0 - (update.rate * update.decay) as f32 } else { 1.0 };
            let gradient = gradient.as_standard_layout();
            let (Some(weight), Some(gradient)) = (weight.as_slice_mut(), gradient.as_slice())
            else {
                continue;
            };
            let slots =
                weight.iter_mut().zip(gradient).zip(means.iter_mut().zip(squares.iter_mut()));
            for ((w, &g), (m, s)) in slots {
                let g = scale * g;
                *m = MEAN * *m + (1.0 - MEAN) * g;
                *s = SQUARE * *s + (1.0 - SQUARE) * g * g;
                *w = shrink * *w - rate * *m / (root * s.sqrt() + EPSILON);
            }
        }
    }
}

/// √Σ g² over all gradients.
pub(crate) fn norm(gradients: &[ArrayD<f32>]) -> f64 {
    let squares = |g: &ArrayD<f32>| match g.as_slice() {
        Some(flat) => flat.chunks(4096).map(square_sum).sum::<f64>(),
        None => g.iter().map(|&v| f64::from(v).powi(2)).sum(),
    };
    gradients.iter().map(squares).sum::<f64>().sqrt()
}

/// In eight sums, so that the loop is not one chain of additions.
fn square_sum(values: &[f32]) -> f64 {
    let mut sums = [0f32; 8];
    let (eights, rest) = values.as_chunks::<8>();
    for eight in eights {
        for (sum, v) in sums.iter_mut().zip(eight) {
            *sum += v * v;
        }
    }
    sums.iter()
        .chain(rest.iter().map(|v| v * v).collect::<Vec<_>>().iter())
        .map(|&v| f64::from(v))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three steps on w²/2 + 3w by hand.
    #[test]
    fn updates_are_those_of_the_paper() {
        let mut adam = Adam::new([1].into_iter());
        let mut weight = ArrayD::from_elem(vec![1], 1.0f32);
        let (mut w, mut m, mut s) = (1.0f64, 0.0f64, 0.0f64);
        for t in 1..=3 {
            let gradient = vec![weight.mapv(|w| w + 3.0)];
            adam.update(
                std::iter::once(&mut weight),
                &gradient,
                Update { rate: 0.1, decay: 0.0, scale: 1.0 },
            );
            let g = w + 3.0;
            m = 0.9 * m + 0.1 * g;
            s = 0.999 * s + 0.001 * g * g;
            w -=
                0.1 * (m / (1.0 - 0.9f64.powi(t))) / ((s / (1.0 - 0.999f64.powi(t))).sqrt() + 1e-8);
            assert!((f64::from(weight[0]) - w).abs() < 1e-5, "{} {w}", weight[0]);
        }
    }

    #[test]
    fn decay_takes_from_matrices_alone() {
        let mut adam = Adam::new([2, 2].into_iter());
        let mut weights = [ArrayD::from_elem(vec![1, 2], 1.0), ArrayD::from_elem(vec![2], 1.0f32)];
        let gradients = weights.clone().map(|w| w * 0.0);
        let update = Update { rate: 0.5, decay: 0.1, scale: 1.0 };
        adam.update(weights.iter_mut(), &gradients, update);
        assert!((weights[0].sum() - 2.0 * 0.95).abs() < 1e-6);
        assert!((weights[1].sum() - 2.0).abs() < 1e-6);
    }

    #[test]
    fn the_norm_is_over_all_gradients() {
        let gradients = [ArrayD::from_elem(vec![5, 5], 1.0f32), ArrayD::from_elem(vec![11], -1.0)];
        assert!((norm(&gradients) - 6.0).abs() < 1e-6);
    }
}
