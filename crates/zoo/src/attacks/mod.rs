//! Attacks: samples that are moved a little, so that a classifier errs. One file and one line in [`ATTACKS`] each.
//!
//! A [`Victim`] is a model in an engine, an [`attack`] is read from text, a [`Ball`] says how far samples may be moved and
//! what entries lie between, and an [`Attacker`] puts them together:
//!
//! ```no_run
//! use ndarray::ArrayD;
//! use taste_detector::Engine;
//! use taste_engine::{Model, Request};
//! use taste_zoo::attacks::{Attacker, Ball, Bounds, Norm, Victim, attack};
//!
//! let model = Model::open("classifier.onnx".as_ref())?;
//! let victim = Victim::new(&model, &Request::default(), &Engine::default())?;
//! let ball = Ball::new(Norm::Linf, 8.0 / 255.0, Bounds::default())?;
//! let attacker = Attacker::new(&victim, attack("apgd-ce")?, ball, 0)?;
//! let images = ArrayD::<f32>::zeros(vec![100, 3, 32, 32]);
//! let found = attacker.run(&images.view(), None, &|_| std::ops::ControlFlow::Continue(()))?;
//! println!("{:?}: {} of 100 misled", found.samples.shape(), found.outcome.misled());
//! # Ok::<(), taste_detector::Error>(())
//! ```
//!
//! What comes of a sample depends on the sample, its label, the model, the settings and the seed: not on its place, its
//! neighbours or the size of chunks, as far as the engine's rounding does not.

mod ascent;
mod attack;
mod attacker;
mod ball;
mod grid;
mod losses;
mod outcome;
mod parts;
mod plane;
mod pyramid;
mod recipe;
mod start;
mod targets;
mod task;
mod victim;

use attack::Find;
pub use attack::{Attack, AttackKind, Needs, attack};
pub use attacker::{Adversarial, Attacker};
pub use ball::{Ball, Bounds, Norm};
pub use losses::Loss;
pub use outcome::Outcome;
pub use parts::{Written, folder};
pub use recipe::{Eps, Recipe, recipes};
pub use task::{Task, Watch};
pub use victim::Victim;

taste_choice::table! {
    /// Every attack.
    pub ATTACKS: [AttackKind] = {
        fgsm::KIND,
        pgd::KIND,
        apgd_ce::KIND,
        apgd_dlr::KIND,
        apgd_t::KIND,
        fab_t::KIND,
        square::KIND,
        autoattack::KIND,
    }
}
