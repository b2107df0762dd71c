//! Settings that make no sense.

use super::Training;
use crate::{Error, error::request, noise::Noise};

impl Training<'_> {
    /// Fails before anything is read or compiled.
    pub(super) fn check(&self) -> Result<(), Error> {
        let positive = |name: &str, value: f64| {
            if value > 0.0 && value.is_finite() {
                Ok(())
            } else {
                Err(request(format!("{name} must be above 0, but is {value}")))
            }
        };
        positive("the number of steps", self.steps as f64)?;
        positive("the size of a batch", self.batch as f64)?;
        positive("the number of threads", self.threads as f64)?;
        positive("the rate", self.rate)?;
        self.clip.map_or(Ok(()), |clip| positive("the norm to clip at", clip))?;
        let noise = self.noise();
        noise.map_or(Ok(()), Noise::check)?;
        if noise.is_some_and(Noise::has_levels) != self.network.has_level() {
            return Err(request(if self.network.has_level() {
                "the network is conditioned on a noise level, and this training has none"
            } else {
                "this training has several noise levels, and the network is not conditioned on them"
            }));
        }
        if !(0.0..1.0).contains(&self.held_out) {
            let share = self.held_out;
            return Err(request(format!("the held-out share must be 0 to 1, but is {share}")));
        }
        if self.average.is_some_and(|keep| !(0.0..1.0).contains(&keep)) {
            return Err(request("the average must keep a share of 0 to 1 of itself"));
        }
        if self.patience.is_some() && self.held_out <= 0.0 {
            return Err(request("stopping early needs held-out samples"));
        }
        let images = self.network.sample_shape().len() == 3;
        if !images && !self.augment.is_nothing() {
            return Err(request(
                "samples that are not channels × height × width can't be mirrored or moved",
            ));
        }
        if !(0.0..1.0).contains(&(self.rate * self.weight_decay)) {
            return Err(request("the rate times the weight decay must lie between 0 and 1"));
        }
        Ok(())
    }
}
