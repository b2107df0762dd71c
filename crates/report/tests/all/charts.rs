//! Charts: what is drawn, and where.

use crate::common::{assert_sound, elements, points, texts, value};
use ndarray::Array2;
use roxmltree::Document;
use taste_report::{
    Bars, Figure, Histogram, Intervals, Lines, Matrix, Scale, Scatter, Series, Tone, chart::Field,
};

const ODD: &str = "<a & \"b\">'\u{7}";

/// Data that break careless code.
fn hostile() -> Vec<(&'static str, Vec<f64>)> {
    vec![
        ("empty", vec![]),
        ("one", vec![3.0]),
        ("constant", vec![2.0; 9]),
        ("zeros", vec![0.0; 3]),
        ("nan", vec![f64::NAN; 4]),
        ("mixed", vec![1.0, f64::NAN, f64::INFINITY, -4.0, f64::NEG_INFINITY, 2.0]),
        ("huge", vec![-f64::MAX, 0.0, f64::MAX]),
        ("tiny", vec![0.0, f64::MIN_POSITIVE, 5e-324]),
        ("far", vec![1e15, 1e15 + 1.0, 1e15 + 2.0]),
        ("close", vec![1.0, 1.0 + f64::EPSILON]),
    ]
}

#[test]
fn every_chart_survives_every_kind_of_data() {
    for (name, data) in hostile() {
        let pairs = || data.iter().zip(data.iter().rev()).map(|(x, y)| (*x, *y));
        let indexed = || data.iter().enumerate().map(|(i, y)| (i as f64, *y));
        let level = data.first().copied().unwrap_or(f64::NAN);
        let band = || data.iter().map(|v| (v - 1.0, v + 1.0));
        let lines = Lines::new(ODD)
            .axes(ODD, ODD)
            .right_axis(ODD)
            .series(Series::new(ODD, indexed()).markers().band(band()))
            .series(Series::new("xy", pairs()).on_right().dashed())
            .level(level, ODD)
            .moment(level, ODD);
        assert_sound(&format!("lines of {name}"), &lines);

        let histogram = Histogram::new(ODD).axis(ODD).group(ODD, data.clone());
        assert_sound(&format!("histogram of {name}"), &histogram);
        let histogram = histogram.group("one", [1.0]).threshold(level, ODD).bins(7);
        assert_sound(&format!("histogram of {name} with a threshold"), &histogram);

        let named = data.iter().enumerate().map(|(i, v)| (format!("{ODD}{i}"), *v));
        let bars = Bars::new(ODD, named).label(ODD);
        assert_sound(&format!("bars of {name}"), &bars);
        let marked = bars.clone().marks(ODD, data.iter().copied()).level(level, ODD).note(ODD);
        assert_sound(&format!("marked bars of {name}"), &marked);
        assert_sound(&format!("ranked bars of {name}"), &bars.ranked(2));

        let intervals = data.iter().fold(Intervals::new(ODD).label(ODD), |chart, v| {
            let interval = (*v > 0.0).then_some((v - 1.0, v * 2.0));
            chart.row(ODD, *v, interval, if *v > 1.0 { Tone::Alarm } else { Tone::Ok })
        });
        assert_sound(&format!("intervals of {name}"), &intervals);
        let levelled = intervals.level(level, ODD).tone(Tone::Alarm, ODD);
        assert_sound(&format!("intervals of {name} with a level"), &levelled);

        let matrix = Matrix::new(ODD, [ODD, "b"], Scale::sequential(0.0, level));
        assert_sound(&format!("table of {name} without rows"), &matrix);
        let matrix = matrix.row(ODD, data.clone()).row("short", []).decimals(3);
        assert_sound(&format!("table of {name}"), &matrix);

        let scatter = Scatter::new(ODD).axes(ODD, ODD).class(ODD, pairs());
        assert_sound(&format!("points of {name}"), &scatter);
        let limited = scatter.clone().limits((level, ODD), (1.0, ODD));
        assert_sound(&format!("points of {name} with limits"), &limited);
        let scatter = scatter.values(data.iter().map(|v| (*v, 1.0, *v)));
        assert_sound(&format!("valued points of {name}"), &scatter);
        let values = Array2::from_elem((2, 3), 0.5);
        let scatter = scatter.field(Field { values, x: (0.0, level), y: (level, 1.0) });
        assert_sound(&format!("field of {name}"), &scatter.scale(Scale::diverging(level), ODD));
    }
}

#[test]
fn texts_that_are_too_long_stay_on_the_sheet() {
    let long = "a sentence that goes on and on, as titles of reports tend to do, ".repeat(8);
    let word = "w".repeat(500);
    let series = |k: u32| Series::new(format!("{long}{k}"), [(0.0, 1.0), (1.0, 2.0)]);
    let mut lines = Lines::new(&long).axes(&long, &word).level(1.5, &long).moment(0.9, &word);
    for k in 0..12 {
        lines = lines.series(series(k));
    }
    assert_sound("lines", &lines);
    assert_sound(
        "bars",
        &Bars::new(&word, [(long.clone(), -1.0), (word.clone(), 2.0)])
            .label(&long)
            .marks(&long, [0.5, 9.0])
            .level(1.0, &word)
            .note(&long),
    );
    let scatter = Scatter::new(&long).axes(&long, &word).class(&long, [(0.0, 0.0), (1.0, 9.0)]);
    assert_sound("points", &scatter);
    let histogram =
        Histogram::new(&word).axis(&word).group(&word, [1.0, 2.0]).threshold(1.9, &long);
    assert_sound("histogram", &histogram);
}

#[test]
fn a_threshold_stands_where_its_value_is() {
    let values = (0..=100).map(|i| f64::from(i) / 10.0);
    let svg = Histogram::new("").group("g", values).threshold(2.5, "limit").to_svg();
    let document = Document::parse(&svg).expect("XML");
    let limit = points(elements(&document, "polyline", "stroke-limit")[0]);
    let axis = elements(&document, "polyline", "stroke-muted").into_iter().map(points);
    let axis = axis.max_by(|a, b| (a[1][0] - a[0][0]).total_cmp(&(b[1][0] - b[0][0])));
    let axis = axis.expect("an axis");
    let expected = axis[0][0] + 0.25 * (axis[1][0] - axis[0][0]);
    assert!((limit[0][0] - expected).abs() < 0.02, "{limit:?} {axis:?}");
    assert!((limit[0][0] - limit[1][0]).abs() < 1e-9);
    assert!(texts(&document).contains(&"limit".to_owned()));
}

#[test]
fn histograms_draw_shares() {
    let svg = Histogram::new("").group("a", [0.0, 0.0, 0.0, 4.0]).bins(4).to_svg();
    let document = Document::parse(&svg).expect("XML");
    let outline = points(elements(&document, "polygon", "fill-series-0")[0]);
    let floor = outline[0][1];
    let heights: Vec<f64> = outline[1..9].iter().step_by(2).map(|p| floor - p[1]).collect();
    assert!((heights[0] / heights[3] - 3.0).abs() < 0.01, "{heights:?}");
    assert!(heights[1].abs() < 0.01 && heights[2].abs() < 0.01, "{heights:?}");
}

#[test]
fn lines_are_interrupted_where_values_are_missing() {
    let ys = [1.0, 2.0, f64::NAN, 3.0, 4.0, f64::NAN, 5.0];
    let points = ys.iter().enumerate().map(|(i, y)| (i as f64, *y));
    let svg = Lines::new("").series(Series::new("", points)).to_svg();
    let document = Document::parse(&svg).expect("XML");
    assert_eq!(elements(&document, "polyline", "stroke-series-0").len(), 2);
    assert_eq!(elements(&document, "circle", "fill-series-0").len(), 1, "a lone point is a dot");
    assert!(texts(&document).iter().any(|t| t.starts_with("2 points")));
}

#[test]
fn a_second_axis_has_its_own_measure() {
    let svg = Lines::new("")
        .series(Series::new("a", [(0.0, 0.0), (1.0, 1.0)]))
        .series(Series::new("b", [(0.0, 0.0), (1.0, 1000.0)]).on_right())
        .to_svg();
    let document = Document::parse(&svg).expect("XML");
    let line = |class| {
        let mut of_class = elements(&document, "polyline", class).into_iter().map(points);
        of_class.next_back().expect("a line")
    };
    let (a, b) = (line("stroke-series-0"), line("stroke-series-1"));
    assert!((a[1][1] - b[1][1]).abs() < 0.02, "{a:?} {b:?}");
    assert!(texts(&document).contains(&"1000".to_owned()));
}

#[test]
fn names_of_moments_lie_over_neither_a_level_nor_each_other() {
    let placed = |at: f64| {
        let svg = Lines::new("")
            .series(Series::new("", (0..100).map(|i| (f64::from(i), f64::from(i % 10)))))
            .level(9.0, "threshold")
            .moment(at, "likely start")
            .moment(at + 1.0, "alarm 1")
            .to_svg();
        let document = Document::parse(&svg).expect("XML");
        ["likely start", "alarm 1", "threshold"].map(|name| {
            let mut nodes = document.descendants().filter(|n| n.has_tag_name("text"));
            let node = nodes.find(|n| n.text() == Some(name)).expect("the whole name");
            let anchor = node.attribute("text-anchor").unwrap_or("start").to_owned();
            (value(node, "x"), value(node, "y"), anchor)
        })
    };
    let [start, alarm, level] = placed(50.0);
    assert_eq!((start.2.as_str(), alarm.2.as_str()), ("end", "start"));
    assert!(start.0 < alarm.0 && alarm.1 + 10.0 < level.1, "{start:?} {alarm:?} {level:?}");
    // There is no room on the left.
    let [start, alarm, _] = placed(1.0);
    assert_eq!((start.2.as_str(), alarm.2.as_str()), ("start", "start"));
    assert!(start.1 >= alarm.1 + 10.0, "{start:?} {alarm:?}");
}

#[test]
fn names_of_three_moments_close_together_lie_apart() {
    let names = ["likely start", "alarm 1", "alarm 2"];
    let mut figure = Lines::new("").series(Series::new("", [(0.0, 0.0), (100.0, 1.0)]));
    for (at, name) in [50.0, 51.0, 52.0].into_iter().zip(names) {
        figure = figure.moment(at, name);
    }
    let svg = figure.to_svg();
    let document = Document::parse(&svg).expect("XML");
    let texts = || document.descendants().filter(|n| n.has_tag_name("text"));
    let placed = names.map(|name| {
        let node = texts().find(|n| n.text() == Some(name)).expect("the whole name");
        (value(node, "y"), node.attribute("text-anchor").unwrap_or("start").to_owned())
    });
    for (i, one) in placed.iter().enumerate() {
        for other in &placed[..i] {
            let apart = (one.0 - other.0).abs() >= 10.0 || one.1 != other.1;
            assert!(apart, "{placed:?}");
        }
    }
}

#[test]
fn long_series_stay_small_and_keep_their_peaks() {
    let points = (0..300_000).map(|i| (f64::from(i), if i == 123_457 { 50.0 } else { 0.0 }));
    let svg = Lines::new("").series(Series::new("", points)).to_svg();
    assert!(svg.len() < 100_000, "{} bytes", svg.len());
    let document = Document::parse(&svg).expect("XML");
    let line = points_of_first(&document);
    let highest = line.iter().map(|p| p[1]).fold(f64::INFINITY, f64::min);
    let lowest = line.iter().map(|p| p[1]).fold(0.0, f64::max);
    assert!(lowest - highest > 200.0, "the peak is there");
}

fn points_of_first(document: &Document) -> Vec<[f64; 2]> {
    points(elements(document, "polyline", "stroke-series-0")[0])
}

#[test]
fn bars_are_ranked_signed_and_to_scale() {
    let bars = [("a", 1.0), ("b", -4.0), ("c", f64::NAN), ("d", 2.0), ("e", 0.5)];
    let bars = bars.map(|(n, v)| (n.to_owned(), v));
    let svg = Bars::new("", bars).ranked(3).to_svg();
    let document = Document::parse(&svg).expect("XML");
    let lengths = |class: &str| -> Vec<f64> {
        elements(&document, "rect", class).into_iter().map(|n| value(n, "width")).collect()
    };
    let (negative, positive) = (lengths("fill-negative"), lengths("fill-positive"));
    assert_eq!((negative.len(), positive.len()), (1, 2));
    assert!((negative[0] / positive[0] - 2.0).abs() < 0.01, "−4 is twice as long as 2");
    assert!((positive[0] / positive[1] - 2.0).abs() < 0.01, "2 before 1");
    let texts = texts(&document);
    assert!(texts.contains(&"and 2 smaller".to_owned()), "{texts:?}");
    assert!(texts.contains(&"−4".to_owned()), "{texts:?}");
}

#[test]
fn bars_have_an_axis_and_marks_that_move_with_them() {
    let bars = [("a", 1.0), ("b", -8.0), ("c", 4.0)].map(|(n, v)| (n.to_owned(), v));
    let bars = Bars::new("", bars).marks("limit", [6.0, 4.0, 90.0]).level(2.0, "usual").ranked(9);
    let svg = bars.to_svg();
    let document = Document::parse(&svg).expect("XML");
    let texts = texts(&document);
    for tick in ["−8", "−4", "0", "4", "6", "limit", "usual"] {
        assert!(texts.contains(&tick.to_owned()), "{tick}: {texts:?}");
    }
    let bar = elements(&document, "rect", "fill-negative")[0];
    let (end, length) = (value(bar, "x"), value(bar, "width"));
    let zero = end + length;
    let mut marks: Vec<f64> = elements(&document, "polyline", "stroke-ink")
        .into_iter()
        .map(|n| (points(n)[0][0] - zero) / length * 8.0)
        .collect();
    // That of the legend stands at the left, and the one far beyond the bars is not drawn.
    marks.sort_by(f64::total_cmp);
    let want = [-4.0, 2.0, 6.0];
    assert_eq!(marks.len(), 4, "{marks:?}");
    assert!(marks[1..].iter().zip(want).all(|(a, b)| (a - b).abs() < 0.02), "{marks:?}");
}

#[test]
fn points_are_drawn_once_each_with_equal_units() {
    let points = [(0.0, 0.0), (4.0, 0.0), (0.0, 2.0), (f64::NAN, 1.0)];
    let svg = Scatter::new("").class("", points).to_svg();
    let document = Document::parse(&svg).expect("XML");
    let dots = elements(&document, "circle", "fill-series-0");
    let at: Vec<[f64; 2]> = dots.iter().map(|n| [value(*n, "cx"), value(*n, "cy")]).collect();
    assert_eq!(at.len(), 3);
    let (right, up) = (at[1][0] - at[0][0], at[0][1] - at[2][1]);
    assert!((right - 2.0 * up).abs() < 0.05, "{at:?}");
}

#[test]
fn many_points_are_thinned_and_the_figure_says_so() {
    let points = (0..50_000).map(|i| (f64::from(i % 223), f64::from(i % 227)));
    let svg = Scatter::new("").class("", points).to_svg();
    let document = Document::parse(&svg).expect("XML");
    assert!(elements(&document, "circle", "").len() <= 6000);
    assert!(texts(&document).contains(&"One point in 9 is shown.".to_owned()));
}

#[test]
fn names_come_through_as_they_are() {
    let svg = Lines::new("<b> & \"c\"").series(Series::new("x < y", [(0.0, 1.0)])).to_svg();
    let document = Document::parse(&svg).expect("XML");
    let texts = texts(&document);
    assert!(texts.contains(&"<b> & \"c\"".to_owned()) && texts.contains(&"x < y".to_owned()));
    assert_eq!(document.root_element().attribute("aria-label"), Some("<b> & \"c\" (line chart)"));
}

#[test]
fn a_coloured_table_shows_its_numbers_and_leaves_out_what_is_none() {
    let chart = Matrix::new("AUROC", ["msp", "knn"], Scale::sequential(0.5, 1.0))
        .row("svhn", [0.912, f64::NAN])
        .row("fog", [0.5, 0.75]);
    let svg = chart.to_svg();
    let tree = Document::parse(&svg).unwrap();
    let texts = texts(&tree);
    for shown in ["msp", "knn", "svhn", "fog", "0.91", "0.50", "0.75"] {
        assert!(texts.iter().any(|t| t == shown), "{shown}: {texts:?}");
    }
    assert_eq!(texts.iter().filter(|t| t.starts_with("0.")).count(), 3);
    assert!(svg.contains("fog, knn: 0.75"));
}

#[test]
fn an_interval_lies_around_its_value_and_a_far_end_flattens_no_other() {
    let chart = Intervals::new("effects")
        .row("a", 1.0, Some((0.0, 2.0)), Tone::Ok)
        .row("b", 2.0, Some((1.5, 2.5)), Tone::Alarm)
        .row("c", 1.5, Some((-1e9, 1e9)), Tone::Alarm);
    let svg = chart.to_svg();
    let tree = Document::parse(&svg).unwrap();
    let dots = elements(&tree, "circle", "");
    let dots: Vec<f64> = dots.into_iter().map(|dot| value(dot, "cx")).collect();
    assert_eq!(dots.len(), 3);
    assert!(dots[0] < dots[2] && dots[2] < dots[1], "{dots:?}");
    assert!(dots[1] - dots[0] > 40.0, "{dots:?}");
}
