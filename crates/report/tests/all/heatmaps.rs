//! Heat maps: colours at known places, outlines, overlays, grids.

use crate::common::{assert_sound, colour_at, elements, image, value};
use ndarray::{Array2, Array3, arr2};
use roxmltree::Document;
use taste_report::{Error, Figure, Heatmap, Image, Panel, Scale, colour::NOT_A_NUMBER};

/// Where the images of a figure lie: x, y, width, height.
fn images(figure: &dyn Figure) -> Vec<[f64; 4]> {
    let svg = figure.to_svg();
    let document = Document::parse(&svg).expect("XML");
    let sides = ["x", "y", "width", "height"];
    elements(&document, "image", "").iter().map(|n| sides.map(|s| value(*n, s))).collect()
}

fn rgb(scale: &Scale, v: f64) -> [u8; 3] {
    let c = scale.colour(v);
    [c.r, c.g, c.b]
}

#[test]
fn entries_have_the_colours_of_the_scale() {
    let values = arr2(&[[-1.0, 0.0, 1.0], [0.5, f32::NAN, 99.0]]);
    let scale = Scale::diverging(1.0);
    let map = Heatmap::new(Panel::map(values.clone()), scale).title("map").pixel(16);
    assert_sound("map", &map);
    let [x, y, width, height] = images(&map)[0];
    assert!((width - 48.0).abs() < 1e-9 && (height - 32.0).abs() < 1e-9, "{width} {height}");
    let image = image(&map);
    for ((r, c), v) in values.indexed_iter() {
        let seen = colour_at(&image, x + 16.0 * c as f64 + 8.0, y + 16.0 * r as f64 + 8.0);
        assert_eq!(seen, rgb(&scale, f64::from(*v)), "entry {r}, {c}");
    }
    let seen = colour_at(&image, x + 24.0, y + 24.0);
    assert_eq!(seen, [NOT_A_NUMBER.r, NOT_A_NUMBER.g, NOT_A_NUMBER.b]);
}

#[test]
fn an_outline_runs_between_the_entries_of_both_signs_and_the_others() {
    let mut values = Array2::zeros((4, 4));
    values[[1, 1]] = 2.0;
    values[[3, 3]] = -2.0;
    let map = |panel| Heatmap::new(panel, Scale::diverging(2.0)).pixel(16);
    let (plain, lined) = (map(Panel::map(values.clone())), map(Panel::map(values).outline(1.5)));
    let [x, y, ..] = images(&lined)[0];
    let (before, after) = (image(&plain), image(&lined));
    for (across, down) in [(16.0, 24.0), (24.0, 32.0), (48.0, 56.0)] {
        let seen = colour_at(&after, x + across, y + down);
        assert!(seen.iter().all(|v| *v < 80), "black at {across}, {down}: {seen:?}");
        assert_ne!(seen, colour_at(&before, x + across, y + down));
    }
    let (across, down) = (x + 48.0, y + 8.0);
    assert_eq!(colour_at(&after, across, down), colour_at(&before, across, down), "none elsewhere");
}

#[test]
fn an_overlay_covers_the_image_the_more_the_further_a_value_stands_out() {
    let grey = Image::grey(&Array2::from_elem((6, 6), 0.5).view(), 0.0, 1.0);
    let values = arr2(&[[0.0, 2.0], [1.0, 0.0]]);
    let map = Heatmap::new(Panel::map(values).over(grey), Scale::diverging(2.0)).pixel(32);
    let [x, y, ..] = images(&map)[0];
    let image = image(&map);
    let redness = |across: f64, down: f64| {
        let [r, _, b] = colour_at(&image, x + across, y + down);
        f64::from(r) - f64::from(b)
    };
    assert_eq!(colour_at(&image, x + 16.0, y + 16.0), [128, 128, 128], "zero is clear");
    assert!(redness(48.0, 16.0) > redness(16.0, 48.0) + 20.0);
    assert!(redness(16.0, 48.0) > 10.0);
}

#[test]
fn samples_with_three_channels_are_in_colour_and_two_are_refused() {
    let mut sample = Array3::zeros((3, 2, 2));
    sample[[0, 0, 1]] = 1.0;
    sample[[2, 1, 0]] = 0.5;
    let image_of = |s: &Array3<f32>| Image::from_sample(&s.view(), 0.0, 1.0);
    let panel = Panel::image(image_of(&sample).expect("three channels"));
    let map = Heatmap::new(panel, Scale::diverging(1.0)).pixel(20);
    assert_sound("image", &map);
    let at = images(&map);
    assert_eq!(at.len(), 1, "no colour bar without values");
    let pixels = image(&map);
    assert_eq!(colour_at(&pixels, at[0][0] + 30.0, at[0][1] + 10.0), [255, 0, 0]);
    assert_eq!(colour_at(&pixels, at[0][0] + 10.0, at[0][1] + 30.0), [0, 0, 128]);
    let grey = Panel::image(image_of(&sample).expect("three channels").in_grey());
    let pixels = image(&Heatmap::new(grey, Scale::diverging(1.0)).pixel(20));
    assert_eq!(colour_at(&pixels, at[0][0] + 30.0, at[0][1] + 10.0), [54; 3]);
    let refusal = image_of(&Array3::zeros((2, 2, 2))).expect_err("two channels");
    assert_eq!(refusal.to_string(), "an image has 1 or 3 channels, but this sample has 2");
}

#[test]
fn panels_of_a_grid_share_the_scale_and_one_bar() {
    let panels: Vec<Panel> = [0.25f32, 0.25, 1.0, 0.5, 0.75]
        .iter()
        .map(|top| {
            let values = Array2::from_shape_fn((4, 4), |(r, _)| if r == 0 { *top } else { 0.0 });
            Panel::map(values).caption("a/<b>&.png")
        })
        .collect();
    let grid = Heatmap::grid(panels, 3, Scale::sequential(0.0, 1.0)).title("grid").pixel(25);
    assert_sound("grid", &grid);
    let at = images(&grid);
    assert_eq!(at.len(), 6, "five panels and a bar");
    assert!((at[0][1] - at[2][1]).abs() < 1e-9 && at[3][1] > at[0][1] + 100.0, "rows of three");
    let image = image(&grid);
    let first = |k: usize| colour_at(&image, at[k][0] + 12.0, at[k][1] + 12.0);
    assert_eq!(first(0), first(1));
    assert_eq!(first(2), rgb(&Scale::sequential(0.0, 1.0), 1.0));
    let bar = at[5];
    let top = colour_at(&image, bar[0] + 7.0, bar[1] + 2.0);
    let near = top.iter().zip(first(2)).all(|(a, b)| a.abs_diff(b) < 12);
    assert!(near, "the bar ends with the colour of the limit: {top:?}");
}

#[test]
fn odd_sizes_and_values_give_figures() {
    let cases = [
        ("empty", Array2::zeros((0, 0))),
        ("no columns", Array2::zeros((3, 0))),
        ("one entry", Array2::zeros((1, 1))),
        ("row", Array2::ones((1, 784))),
        ("column", Array2::ones((3000, 1))),
        ("nan", Array2::from_elem((5, 5), f32::NAN)),
        ("huge", arr2(&[[f32::MAX, f32::MIN], [f32::INFINITY, f32::NEG_INFINITY]])),
    ];
    for (name, values) in cases {
        let numbers = || values.iter().copied().map(f64::from);
        for scale in [Scale::diverging_for(numbers(), 0.99), Scale::sequential_for(numbers(), 1.0)]
        {
            let panel = Panel::map(values.clone()).outline(0.5).caption("<caption> & more");
            assert_sound(name, &Heatmap::new(panel.clone(), scale).title(name).label("<label>"));
            let image = Panel::image(Image::grey(&values.view(), 0.0, 0.0));
            assert_sound(name, &Heatmap::grid(vec![panel, image], 9, scale));
        }
    }
    assert_sound("no panels", &Heatmap::grid(vec![], 0, Scale::diverging(1.0)));
}

#[test]
fn a_image_beyond_all_measure_is_refused() {
    let panels = vec![Panel::map(Array2::zeros((8, 8))); 3000];
    let refusal = Heatmap::grid(panels, 3, Scale::diverging(1.0)).to_png().expect_err("too large");
    assert!(matches!(refusal, Error::TooLarge { .. }), "{refusal}");
}
