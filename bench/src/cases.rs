//! What is measured.

use taste_engine::{LaplacianMethod, Request, Target, Wants};

/// A case of the other side, and what is run beside it here.
pub(crate) struct Case {
    /// The name on the other side.
    pub(crate) name: &'static str,
    /// What the other side does, in words.
    pub(crate) other: &'static str,
    pub(crate) model: &'static str,
    pub(crate) batch: usize,
    /// Empty for the model's outputs as they are.
    pub(crate) here: Vec<Here>,
}

/// A derivative that is run on every backend.
pub(crate) struct Here {
    pub(crate) what: &'static str,
    pub(crate) target: Option<Target>,
    pub(crate) method: LaplacianMethod,
    pub(crate) wants: Wants,
}

impl Here {
    pub(crate) fn request(&self, seed: u64) -> Request {
        let Self { target, method, wants, .. } = *self;
        Request { target, laplacian_method: method, wants, seed, ..Request::default() }
    }
}

const NONE: Wants = Wants::NONE;
const LAPLACIAN: Wants = Wants { laplacian: true, ..NONE };

/// The convolutional networks first: JAX, once loaded, keeps threads of its own.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (model, names) in [
        (
            "resnet20",
            [
                "resnet20-forward",
                "resnet20-gradient",
                "resnet20-closed-form",
                "resnet20-hutchinson5",
            ],
        ),
        ("mnist", ["mnist-forward", "mnist-gradient", "mnist-closed-form", "mnist-hutchinson5"]),
    ] {
        let case = |name, other, here| Case { name, other, model, batch: 64, here: vec![here] };
        let here = |what, method, wants| Here { what, target: None, method, wants };
        let residual = Here {
            target: Some(Target::every_prob()),
            ..here("closed-form", LaplacianMethod::CLOSED_FORM, Wants { drift: true, ..LAPLACIAN })
        };
        let gradient = Wants { gradient: true, ..NONE };
        cases.extend([
            case(names[0], "PyTorch forward", here("forward", LaplacianMethod::AUTO, NONE)),
            case(names[1], "PyTorch autograd", here("gradient", LaplacianMethod::AUTO, gradient)),
            case(names[2], "PyTorch closed form", residual),
            case(
                names[3],
                "PyTorch Hutchinson, 5 probes",
                here("probe:2", LaplacianMethod::probe(2), LAPLACIAN),
            ),
        ]);
    }
    for (model, name, batch) in [
        ("resnet56", "resnet56-outputs", 64),
        ("mobilenet", "mobilenet-outputs", 16),
        ("efficientnet", "efficientnet-outputs", 16),
        ("vit", "vit-outputs", 16),
        ("unet", "unet-outputs", 32),
        ("mlp", "mlp-outputs", 1024),
    ] {
        cases.push(Case { name, other: "PyTorch forward", model, batch, here: Vec::new() });
    }
    let exact = |what, wants| Here { what, target: None, method: LaplacianMethod::EXACT, wants };
    let gelu = |name, other, here| Case { name, other, model: "gelu", batch: 16, here };
    cases.push(gelu(
        "gelu-hessian-diagonal",
        "PyTorch Hessian diagonal",
        vec![
            exact("exact laplacian", LAPLACIAN),
            exact("exact diagonal", Wants { diagonal: true, ..NONE }),
        ],
    ));
    cases.push(gelu("gelu-folx", "JAX folx", vec![exact("exact laplacian", LAPLACIAN)]));
    cases
}
