//! `--report`: pages for a browser.

use std::fs;

use ndarray::{ArrayD, s};

use crate::{
    common::Place,
    models::{CLASSIFIER, convolution, ready, samples},
};

const FIT: &str = "fit --model model.onnx --data train.npy -q";

/// A detector of the default method, clean samples and shifted ones.
fn place() -> Place {
    let place = ready(&CLASSIFIER);
    place.ok(&format!("{FIT} -o detector.onnx"));
    place.write("clean.npy", &samples(80, 0.0, 31).into_dyn());
    place.write("far.npy", &samples(80, 3.0, 32).into_dyn());
    place
}

/// The text of a page, which must be whole and stand alone.
fn page(place: &Place, name: &str) -> String {
    let page = fs::read_to_string(place.path(name)).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"), "{name}");
    for outside in ["http://", "https://", "<script", "<link"] {
        // The one address is the name of the language of figures.
        let found = page.replace("http://www.w3.org/2000/svg", "").contains(outside);
        assert!(!found, "{name}: {outside}");
    }
    assert!(!page.contains("NaN"), "{name}");
    page
}

fn holds(page: &str, words: &[&str]) {
    for wanted in words {
        assert!(page.contains(wanted), "no {wanted:?}");
    }
}

#[test]
fn a_fit_says_what_the_detector_is_and_what_it_promises() {
    let place = ready(&CLASSIFIER);
    let run = place.ok(
        "fit --model model.onnx --data train.npy -o d.onnx --report fit.html --alpha 0.1 --map",
    );
    assert!(run.err.contains("wrote d.onnx\nwrote fit.html\nnext: taste score"), "{}", run.err);
    holds(
        &page(&place, "fit.html"),
        &[
            "a classifier of 3 classes",
            "at most 10 % are flagged on average",
            "The detector works, with",
            "taste edit d.onnx --recalibrate FRESH",
            "the features support no class",
            "Scores of calibration samples",
            "Novelty of calibration samples",
        ],
    );
}

#[test]
fn scores_are_counted_drawn_and_explained() {
    let place = place();
    let table = place.ok("score detector.onnx far.npy -q").out;
    let run = place.ok("score detector.onnx far.npy --report far.html");
    assert_eq!(run.out, table, "the table is the same");
    assert!(run.err.contains("wrote far.html"), "{}", run.err);
    let flagged = table.lines().filter(|line| line.contains(",true,")).count();
    let text = page(&place, "far.html");
    holds(
        &text,
        &[
            &format!("{flagged} of 80 samples are flagged"),
            "more than chance explains",
            "Harm against novelty",
            "familiar-looking but harmful",
            "Mean evidence by term",
            "The samples furthest out",
            "columns that add most to the score",
        ],
    );
    // The sample with the largest score comes first.
    let rows = table.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
    let worst =
        rows.max_by(|a, b| a[1].parse::<f64>().unwrap().total_cmp(&b[1].parse::<f64>().unwrap()));
    let listed = text.split("novelty p").last().unwrap().split("<td>").nth(1).unwrap();
    assert!(listed.starts_with(&format!("{}<", worst.unwrap()[0])), "{listed}");
    place.ok("score detector.onnx clean.npy -o s.csv -q --report clean.html");
    holds(
        &page(&place, "clean.html"),
        &["of 80 samples are flagged", "Without a shift it would be"],
    );
}

#[test]
fn samples_without_a_score_are_on_the_page() {
    let place = place();
    let mut bad = samples(30, 0.0, 5);
    bad.slice_mut(s![..3, 0]).fill(f32::NAN);
    place.write("bad.npy", &bad.into_dyn());
    place.ok("score detector.onnx bad.npy -q --report bad.html");
    let text = fs::read_to_string(place.path("bad.html")).unwrap();
    holds(&text, &["3 samples have no finite score", "no finite score", "not a number"]);
}

#[test]
fn tests_keep_their_exit_code_and_say_the_verdict() {
    let place = place();
    let run = place.run("test detector.onnx far.npy --report one.html");
    assert_eq!(run.code, Some(1), "{}", run.err);
    holds(
        &page(&place, "one.html"),
        &["Shift: samples are further out", "95 % interval", "Reasons", "For information"],
    );
    let run = place.run("test detector.onnx far.npy clean.npy -q --report two.html");
    assert_eq!((run.code, run.err.as_str()), (Some(1), ""));
    holds(&page(&place, "two.html"), &["1 of 2 batches differ", "Effect by batch", "clean.npy"]);
    place.ok("test detector.onnx clean.npy clean.npy -q --report none.html");
    holds(&page(&place, "none.html"), &["No shift seen in 2 batches"]);
    let run =
        place.run("test detector.onnx far.npy clean.npy --batch-size 3 -q --report many.html");
    assert!(matches!(run.code, Some(0 | 1)), "{}", run.err);
    holds(&page(&place, "many.html"), &["Test of 54 batches", "far.npy from 3"]);
}

#[test]
fn evaluations_show_every_set() {
    let place = place();
    place.ok("fit --model model.onnx --data train.npy --method msp -q -o msp.onnx");
    place.ok("evaluate detector.onnx --id clean.npy --ood A_<b>=far.npy -q --report one.html");
    let text = page(&place, "one.html");
    holds(
        &text,
        &["AUROC by set", "ROC curves", "A_&lt;b&gt;", "chance", "How good detector.onnx is"],
    );
    assert!(!text.contains("A_<b>"));
    place.ok("evaluate detector.onnx msp.onnx --id clean.npy --ood far.npy -q --report two.html");
    holds(&page(&place, "two.html"), &["Side by side", "msp.onnx", "How good 2 detectors are"]);
}

#[test]
fn images_are_shown_and_names_of_files_are_no_markup() {
    let place = Place::new();
    convolution(&place, "model.onnx", [1, 8, 8], false);
    let images = |rows: usize, shift: usize| {
        ArrayD::from_shape_fn(vec![rows, 1, 8, 8], |at| {
            ((at[0] * 31 + at[2] * 7 + at[3] * (3 + shift)) % 97) as f32 / 97.0
        })
    };
    place.write("train.npy", &images(300, 0));
    place.write("<i>new&.npy", &images(20, 2));
    place.ok(&format!("{FIT} --map -o detector.onnx"));
    place.ok("score detector.onnx <i>new&.npy -q --report page.html");
    let text = page(&place, "page.html");
    holds(
        &text,
        &["Scores of &lt;i&gt;new&amp;.npy", "data:image/png", "Below each, where it differs"],
    );
    assert!(!text.contains("<i>"));
}

#[test]
fn a_page_that_cannot_be_written_stops_before_the_work() {
    let place = place();
    for command in [
        "fit --model model.onnx --data train.npy -o d.onnx",
        "score detector.onnx far.npy",
        "test detector.onnx far.npy",
        "evaluate detector.onnx --id clean.npy --ood far.npy",
    ] {
        place.fails(&format!("{command} --report no/such/folder/p.html"), "--report no/such");
        place.fails(&format!("{command} --report far.npy/p.html"), "--report far.npy");
    }
    place.fails("score detector.onnx far.npy --report far.npy", "overwrite what is read");
    place.fails("score detector.onnx far.npy -o x.csv --report x.csv", "writes to the same file");
}
