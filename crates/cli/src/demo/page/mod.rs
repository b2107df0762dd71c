//! The report: one self-contained page.

mod glyphs;
mod plane;

use std::path::Path;

use taste_report::{Page, Section, Tone};

use super::{commands, glyphs::Found, judge::Tally, plane::Plane};

pub(super) fn html(plane: &Plane, found: &Found, folder: &Path, seed: u64) -> String {
    let tally = Tally::of(found);
    let tone = if tally.is_perfect() { Tone::Ok } else { Tone::Warning };
    let quarter = plane.turns.len() / 4;
    let detail = format!(
        "On the plane, a shift that costs the network nothing gives a signal of {}, and an equally long one that ruins its \
         predictions gives {}. No labels were used for either.",
        signed(plane.turns[0].signal, 2),
        signed(plane.turns[quarter].signal, 2)
    );
    Page::new("What taste does: a demonstration")
        .lead(
            "Does new data differ from the training data in a way that matters to this model? Two small models, trained on \
             the spot on data that the program drew itself, and what taste says when the data change.",
        )
        .verdict(tone, tally.headline(), detail)
        .section(question())
        .section(plane::section(plane))
        .section(glyphs::data(found))
        .section(glyphs::results(found))
        .section(glyphs::scores(found))
        .section(glyphs::maps(found))
        .section(limits())
        .section(yours(folder))
        .footer(format!(
            "taste {}, seed {seed}. Every number here comes out the same for the same seed on the same machine.",
            env!("CARGO_PKG_VERSION")
        ))
        .to_html()
}

fn question() -> Section {
    Section::new("What is asked")
        .paragraph(
            "A model in use meets data that differ from those it was trained on. They always do, and most differences do \
             not matter: a camera is a little darker, a column is rounded. Methods that ask whether the data have changed \
             raise an alarm for all of them. taste asks whether they have changed in a direction that this model reacts \
             to.",
        )
        .paragraph(
            "The answer has two parts. Harm says that samples differ in a way that the model's answers depend on; novelty \
             says that they differ from the training data at all. So there are four cases: neither, new but harmless, new \
             and harmful, and familiar-looking but harmful. Reasons are given in words, and nothing needs labels of the new \
             data.",
        )
        .paragraph(
            "Underneath lies Stein's identity. For a model f and an input x let r(x) = Δf(x) + s(x)·∇f(x). Here ∇f says in \
             which directions the answer of the model changes, Δf how these changes bend, and the score s where the \
             training data are denser. If x comes from the training data, r averages to zero, whatever the model. If data \
             move in a direction that the model reacts to, the average leaves zero; if they move in a direction that it \
             ignores, it does not. The plane below shows this residual alone; for the glyphs it is one of several terms \
             that add up to the harm.",
        )
}

fn limits() -> Section {
    Section::new("What to keep in mind").list([
        "A reaction of the model is not yet an error. A shift can be noticed and leave the accuracy as it was: see the \
         effect, then look at some samples.",
        "The step of the attack knows the classifier, not the detector. Someone who knows both finds images that are \
         wrongly classified and look fine to both.",
        "The estimated accuracy holds while the classifier errs at a score as often as it did on calibration images. Where it \
         is confidently wrong, the estimate is too high.",
        "The numbers are those of one run on a toy problem. They show how to read the output, not how good the method is. The noise \
         of the glyphs was settled so that the classifier errs at times, and the step of the attack with results in view.",
    ])
}

fn yours(folder: &Path) -> Section {
    let here: String = commands::next(folder)
        .iter()
        .map(|c| format!("# {}\n{}\n", c.purpose, c.line))
        .collect::<Vec<_>>()
        .join("\n");
    Section::new("Now with your own model")
        .paragraph(
            "The folder of this report holds the models, their detectors and the data, with labels. glyphs-new.npy has 100 \
             fresh glyphs and after them 100 that are struck out; shifts has the batches of above:",
        )
        .code(here.trim_end())
        .paragraph(
            "For a model of your own you need its ONNX file, training data, and some samples that it has not been trained \
             on. In PyTorch, torch.onnx.export(model, (x,), \"model.onnx\", dynamic_axes={\"x\": {0: \"n\"}}, \
             input_names=[\"x\"]) writes the file. Data may be .npy, .npz, .csv, .parquet, IDX, CIFAR binary or a folder of \
             images:",
        )
        .code(
            "taste fit --model model.onnx --data train.npy --calibration held-out.npy --map -o detector.onnx\n\
             taste score detector.onnx new.npy -o scores.csv\n\
             taste test detector.onnx new.npy\n\
             taste explain detector.onnx new.npy -o maps",
        )
        .paragraph(
            "detector.onnx is a plain ONNX file with the outputs score, p_value and flag for harm, novelty and \
             novelty_p_value, and evidence, the reasons. It runs in any ONNX Runtime, without taste.",
        )
}

/// With a sign, and a real minus.
fn signed(value: f64, places: usize) -> String {
    format!("{value:+.places$}").replace('-', "−")
}

fn p_value(p: f64) -> String {
    if p < 0.001 { format!("{p:.4}") } else { format!("{p:.3}") }
}
