//! Writes every kind of figure, with made data, and a page that holds them all:
//! `cargo run -p taste-report --example gallery -- FOLDER`.

use std::{error::Error, fs, path::Path};

use ndarray::{Array2, Array3};
use taste_report::{
    Bars, Figure, Heatmap, Histogram, Image, Lines, Page, Panel, Scale, Scatter, Section, Series,
    Table, Tone, chart::Field, number,
};
use taste_stats::random::Random;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "gallery".to_owned());
    let folder = Path::new(&folder);
    fs::create_dir_all(folder)?;
    let mut random = Random::new(7);

    let figures: Vec<(&str, Box<dyn Figure>, &str)> = vec![
        ("map", Box::new(map(&mut random)), "The map of one digit."),
        ("overlay", Box::new(overlay(&mut random)?), "A map upon a finer image in grey."),
        ("grid", Box::new(grid(&mut random)), "Images and their maps; one scale for all."),
        ("lines", Box::new(lines(&mut random)), "The mean residual of a stream."),
        ("two_axes", Box::new(two_axes()), "Loss and accuracy while training."),
        ("histogram", Box::new(histogram(&mut random)), "Scores of three sets."),
        ("tails", Box::new(tails(&mut random)), "A set with a far tail."),
        ("bars", Box::new(bars(&mut random)), "What carries the shift."),
        ("positive", Box::new(positive()), "Shares are never negative."),
        ("classes", Box::new(classes(&mut random)), "Two moons and what lies outside."),
        ("values", Box::new(values(&mut random)), "Points coloured by their residual."),
        ("field", Box::new(field(&mut random)), "The residual of the plane behind the data."),
        ("empty", Box::new(Lines::new("Nothing was measured")), "A figure without data."),
        ("single", Box::new(single()), "One point, and a constant."),
    ];
    for (name, figure, _) in &figures {
        fs::write(folder.join(format!("{name}.svg")), figure.to_svg())?;
        fs::write(folder.join(format!("{name}.png")), figure.to_png()?)?;
    }
    fs::write(folder.join("page.html"), page(&figures).to_html())?;
    fs::write(folder.join("calm.html"), calm().to_html())?;
    Ok(())
}

/// A ring, brighter at its upper side, as a digit would be.
fn ring(size: usize, shift: f64) -> Array2<f32> {
    Array2::from_shape_fn((size, size), |(r, c)| {
        let centre = size as f64 / 2.0 - 0.5;
        let (y, x) = (r as f64 - centre, c as f64 - centre - shift);
        let away = (x.hypot(y) / size as f64 - 0.28) / 0.06;
        single_precision((-away * away).exp())
    })
}

#[expect(clippy::cast_possible_truncation, reason = "maps are in single precision")]
fn single_precision(v: f64) -> f32 {
    v as f32
}

fn residuals(random: &mut Random, size: usize, strength: f64) -> Array2<f32> {
    let spot = (size as f64 * 0.3, size as f64 * 0.65);
    Array2::from_shape_fn((size, size), |(r, c)| {
        let away = (r as f64 - spot.0).hypot(c as f64 - spot.1) / (size as f64 * 0.12);
        let dip = (r as f64 - size as f64 * 0.75).hypot(c as f64 - size as f64 * 0.3);
        let dip = dip / (size as f64 * 0.09);
        let v = strength * ((-away * away).exp() - 0.7 * (-dip * dip).exp());
        single_precision(v + 0.12 * random.normal())
    })
}

fn map(random: &mut Random) -> Heatmap {
    let mut values = residuals(random, 28, 2.4);
    values[[2, 2]] = f32::NAN;
    Heatmap::new(Panel::map(values).outline(1.0), Scale::diverging(2.0))
        .title("Residual per pixel, digit 4711")
        .label("residual")
}

fn overlay(random: &mut Random) -> Result<Heatmap, taste_report::Error> {
    let image = Array3::from_shape_fn((3, 56, 56), |(channel, r, c)| {
        let wave = ((r as f64 / 9.0).sin() + (c as f64 / (5.0 + channel as f64 * 3.0)).cos()) / 4.0;
        single_precision(0.5 + wave)
    });
    let image = Image::from_sample(&image.view(), 0.0, 1.0)?.in_grey();
    let panel = Panel::map(residuals(random, 28, 2.4)).over(image).outline(1.0);
    Ok(Heatmap::new(panel, Scale::diverging(2.5)).title("Upon the image").label("residual"))
}

fn grid(random: &mut Random) -> Heatmap {
    let mut panels = Vec::new();
    for k in 0..4 {
        let image = Image::grey(&ring(28, f64::from(k) - 1.5).view(), 0.0, 1.0);
        let name = format!("train/class <{k}>/img_{k:05}.png");
        panels.push(Panel::image(image).caption(name));
    }
    for k in 0..4 {
        let image = Image::grey(&ring(28, f64::from(k) - 1.5).view(), 0.0, 1.0);
        let map = residuals(random, 28, f64::from(k) * 1.1);
        let caption = format!("p = {}", number(0.4 / f64::from(1 + 9 * k)));
        panels.push(Panel::map(map).over(image).outline(1.0).caption(caption));
    }
    Heatmap::grid(panels, 4, Scale::diverging(2.5))
        .title("Samples and where they differ")
        .label("residual")
}

fn lines(random: &mut Random) -> Lines {
    let mut level = 0.0;
    let mut walk = |drift: f64| -> Vec<(f64, f64)> {
        let step = |i: u32| {
            let late = if i > 120 { f64::from(i - 120) * drift } else { 0.0 };
            level = 0.8 * level + 0.2 * random.normal();
            let value = if (60..64).contains(&i) { f64::NAN } else { level + late };
            (f64::from(i), value)
        };
        (0..200).map(step).collect()
    };
    let (shifted, quiet) = (walk(0.03), walk(0.0));
    let band: Vec<(f64, f64)> = shifted.iter().map(|p| (p.1 - 0.4, p.1 + 0.4)).collect();
    Lines::new("Mean residual of batches of 64")
        .axes("batch", "mean residual")
        .series(Series::new("production", shifted).band(band))
        .series(Series::new("held-out data", quiet).dashed())
        .level(1.5, "alarm at 1.5")
        .moment(120.0, "camera replaced")
}

fn two_axes() -> Lines {
    let epochs = || (1..=12).map(f64::from);
    Lines::new("Training")
        .axes("epoch", "loss")
        .right_axis("accuracy (%)")
        .series(Series::new("loss", epochs().map(|e| (e, 2.3 * (-e / 3.0).exp() + 0.05))).markers())
        .series(
            Series::new("accuracy", epochs().map(|e| (e, 99.0 - 60.0 * (-e / 2.0).exp())))
                .markers()
                .on_right(),
        )
}

fn histogram(random: &mut Random) -> Histogram {
    let mut draw = |n: usize, mean: f64, spread: f64| -> Vec<f64> {
        (0..n).map(|_| mean + spread * random.normal()).collect()
    };
    let (train, new, odd) = (draw(4000, 0.0, 1.0), draw(900, 0.6, 1.2), draw(300, 4.5, 0.8));
    Histogram::new("Scores")
        .axis("score (larger is further out)")
        .group("calibration", train)
        .group("new batch", new)
        .group("outliers", odd)
        .threshold(1.96, "threshold 1.96 (α = 0.05)")
}

fn tails(random: &mut Random) -> Histogram {
    let value = |i: u32, v: f64| if i.is_multiple_of(97) { 1e4 * v.abs() } else { v };
    let values: Vec<f64> = (0..2000).map(|i| value(i, random.normal())).collect();
    Histogram::new("Scores with a far tail")
        .axis("score")
        .group("new batch", values.into_iter().chain([f64::NAN, f64::INFINITY]))
        .threshold(2.5, "a threshold near the right side of the plot with a long label")
}

fn bars(random: &mut Random) -> Bars {
    let names = ["age", "income", "postal_code", "number_of_previous_claims_in_the_last_36_months"];
    let named = (0..40).map(|i| match names.get(i) {
        Some(name) => (*name).to_owned(),
        None => format!("feature_{i:02}"),
    });
    let values: Vec<(String, f64)> =
        named.map(|name| (name, random.normal() * random.normal().exp())).collect();
    Bars::new("Features that carry the shift", values)
        .ranked(12)
        .label("mean contribution to the residual")
}

fn positive() -> Bars {
    let shares = [("convolution", 0.62), ("attention", 0.27), ("pooling", 0.08), ("rest", 0.03)];
    Bars::new("Time by operator", shares.map(|(n, v)| (n.to_owned(), v))).label("share of time")
}

fn moons(random: &mut Random, n: usize, upper: bool) -> Vec<(f64, f64)> {
    let mut point = || {
        let angle = std::f64::consts::PI * random.uniform();
        let (x, y) =
            if upper { (angle.cos(), angle.sin()) } else { (1.0 - angle.cos(), 0.4 - angle.sin()) };
        (x + 0.1 * random.normal(), y + 0.1 * random.normal())
    };
    (0..n).map(|_| point()).collect()
}

fn classes(random: &mut Random) -> Scatter {
    let outside: Vec<(f64, f64)> =
        (0..30).map(|_| (2.6 + 0.2 * random.normal(), 1.2 + 0.2 * random.normal())).collect();
    Scatter::new("Two moons")
        .axes("x₁", "x₂")
        .class("class 0", moons(random, 300, true))
        .class("class 1", moons(random, 300, false))
        .class("flagged", outside)
}

fn values(random: &mut Random) -> Scatter {
    let points: Vec<(f64, f64, f64)> =
        moons(random, 500, true).into_iter().map(|(x, y)| (x, y, x * x + y)).collect();
    let scale = Scale::sequential_for(points.iter().map(|p| p.2), 0.95);
    Scatter::new("Residual of each sample")
        .axes("x₁", "x₂")
        .values(points)
        .scale(scale, "|residual|")
}

fn field(random: &mut Random) -> Scatter {
    let values = Array2::from_shape_fn((80, 120), |(r, c)| {
        let (x, y) = (-1.5 + 4.0 * c as f64 / 119.0, -1.2 + 2.7 * r as f64 / 79.0);
        single_precision(2.0 * (x * 1.7).sin() * (y * 2.0).cos() + 0.6 * (x - 0.5) * y)
    });
    Scatter::new("Residual over the plane")
        .axes("x₁", "x₂")
        .field(Field { values, x: (-1.5, 2.5), y: (-1.2, 1.5) })
        .scale(Scale::diverging(2.0), "residual")
        .class("class 0", moons(random, 120, true))
        .class("class 1", moons(random, 120, false))
}

fn single() -> Lines {
    Lines::new("One point and a constant")
        .axes("step", "value")
        .series(Series::new("one", [(3.0, 5.0)]))
        .series(Series::new("constant", (0..7).map(|i| (f64::from(i), 5.0))).dashed())
}

fn page(figures: &[(&str, Box<dyn Figure>, &str)]) -> Page {
    let mut table =
        Table::new(["set", "samples", "mean score", "flagged", "p-value"]).right(&[1, 2, 3, 4]);
    table.row(["calibration", "4,000", "0.02", "5.1 %", "0.48"]);
    table.row(["new <batch> & more", "900", "0.61", "14.8 %", "1.2e−9"]);
    table.row(["outliers", "300", "4.52", "99.7 %", "< 1e−16"]);
    let mut page = Page::new("Gallery: does <new.npy> differ?")
        .lead("Every kind of figure that a report can hold, with made data.")
        .verdict(
            Tone::Alarm,
            "The batch differs in a way that matters to the model.",
            "Mean residual 0.61 above calibration (95 % interval 0.53 to 0.69), p = 1.2e−9; 14.8 % of \
             the samples are flagged where 5 % are expected.",
        )
        .section(
            Section::new("Summary")
                .paragraph("Scores of three sets against the threshold chosen on calibration data.")
                .table(&table)
                .list(["the residual rose in 31 of 40 features", "two features carry 80 % of it"])
                .code("$ taste test detector.onnx new.npy\neffect   0.61 [0.53, 0.69]\nflagged  14.8 %"),
        );
    for (name, figure, caption) in figures {
        page = page.section(Section::new(*name).figure(figure.as_ref(), caption));
    }
    let side = [("map", 0), ("overlay", 1)].map(|(name, i)| (figures[i].1.as_ref(), name));
    page.section(Section::new("side by side").figures(&side)).footer("taste 0.1.0, seed 7")
}

fn calm() -> Page {
    Page::new("Nothing to report")
        .verdict(Tone::Ok, "No shift found.", "p = 0.48 on 900 samples.")
        .section(Section::new("A closer look").paragraph("All is as it was."))
}
