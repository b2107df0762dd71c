//! The plane, for the report.

use ndarray::Axis;
use taste_report::{Lines, Scale, Scatter, Section, Series, Table, chart::Field};

use crate::demo::plane::{LENGTH, Moved, Plane, REACH};

/// Points of a cloud that are drawn.
const DRAWN: usize = 250;

pub(super) fn section(plane: &Plane) -> Section {
    let quarter = plane.turns.len() / 4;
    let (along, across) = (&plane.turns[0], &plane.turns[quarter]);
    Section::new("The plane: one shift, many directions")
        .paragraph(
            "The data are a round cloud of points, standard normal in two dimensions. A small network (2-64-1) has learnt \
             the task x₂ − x₁. New data come from the same cloud, moved by three standard deviations: always equally \
             far, but in 36 different directions.",
        )
        .paragraph(
            "Moved along (1, 1), both coordinates grow alike and their difference stays: harmless. Moved along (−1, 1), \
             the difference itself leaves the range that the network has seen, and its predictions go wrong: harmful.",
        )
        .figure(
            &cloud(plane, along, across),
            "The colour is the residual r(x) of the network. The cloud moved along (1, 1) stays where it is near zero on \
             average; the one moved along (−1, 1) does not.",
        )
        .figure(
            &against_error(plane),
            "The mean residual (right axis, with its 95 % band) is near zero where the error of the prediction is \
             smallest, and farthest from zero where the error is largest. It needs no labels. Its sign tells on which side \
             the data lie.",
        )
        .figure(
            &against_likelihood(plane),
            "How unlikely the data have become says nothing about the task: it is the same in all directions.",
        )
        .table(&table(plane, along, across))
        .paragraph(
            "This is the paper's experiment of section 6.1 with two changes, both for the sake of a clear image. The \
             network is smooth (tanh): a ReLU network bends only in its kinks, which no sample hits, so its mean residual \
             is off by a constant that has to be measured. And the shift is 3 instead of 10: so far out, a tanh network is \
             flat in every direction, and where a model does not react at all there is no residual to see.",
        )
}

fn cloud(plane: &Plane, along: &Moved, across: &Moved) -> Scatter {
    let points = |moved: &Moved| -> Vec<(f64, f64)> {
        let rows = moved.points.axis_iter(Axis(0)).take(DRAWN);
        rows.map(|p| (f64::from(p[0]), f64::from(p[1])))
            .filter(|(x, y)| x.abs() < REACH && y.abs() < REACH)
            .collect()
    };
    let values = plane.field.iter().map(|&v| f64::from(v));
    Scatter::new("Where the network reacts to a change")
        .axes("x₁", "x₂")
        .field(Field { values: plane.field.clone(), x: (-REACH, REACH), y: (-REACH, REACH) })
        .scale(Scale::diverging_for(values, 0.99), "residual r(x)")
        .class("training data", points(&plane.rest))
        .class("moved along (1, 1)", points(along))
        .class("moved along (−1, 1)", points(across))
}

/// The turns, and the first once more where the circle closes.
fn circle(plane: &Plane) -> impl Iterator<Item = (f64, &Moved)> {
    let closing = plane.turns.first().map(|moved| (360.0, moved));
    plane.turns.iter().map(|moved| (moved.angle.unwrap_or(0.0), moved)).chain(closing)
}

const ANGLE: &str = "direction of the shift, in degrees from (1, 1)";

fn signal(plane: &Plane) -> Series {
    Series::new("Stein signal S̃", circle(plane).map(|(angle, m)| (angle, m.signal)))
        .band(circle(plane).map(|(_, m)| m.interval))
}

fn against_error(plane: &Plane) -> Lines {
    let errors = circle(plane).map(|(angle, m)| (angle, m.error));
    Lines::new("Error and Stein signal against the direction of the shift")
        .axes(ANGLE, "mean error of the prediction")
        .right_axis("Stein signal")
        .series(Series::new("error", errors))
        .series(signal(plane).on_right())
}

fn against_likelihood(plane: &Plane) -> Lines {
    let change = circle(plane).map(|(angle, m)| (angle, m.log_likelihood));
    Lines::new("Log-likelihood and Stein signal against the direction of the shift")
        .axes(ANGLE, "change")
        .series(Series::new("log-likelihood of the data", change))
        .series(signal(plane))
}

fn table(plane: &Plane, along: &Moved, across: &Moved) -> Table {
    let mut table = Table::new([
        "data",
        "mean error",
        "Stein signal",
        "95 % interval",
        "log-likelihood",
        "flagged one by one",
    ])
    .right(&[1, 2, 3, 4, 5]);
    let names = [
        "as in training".to_owned(),
        format!("{LENGTH} along (1, 1)"),
        format!("{LENGTH} along (−1, 1)"),
    ];
    for (name, moved) in names.into_iter().zip([&plane.rest, along, across]) {
        let (low, high) = moved.interval;
        table.row([
            name,
            format!("{:.2}", moved.error),
            super::signed(moved.signal, 2),
            format!("{} to {}", super::signed(low, 2), super::signed(high, 2)),
            super::signed(moved.log_likelihood, 2),
            format!("{:.1} %", 100.0 * moved.flagged),
        ]);
    }
    table
}
