use ndarray::{ArrayD, IxDyn};
use taste_data::{InMemory, Samples};

use super::super::Recipe;

/// Rows with a wide column, a narrow one and one of three categories.
fn table(rows: usize) -> InMemory {
    let values = (0..rows).flat_map(|i| {
        let t = i as f32 / rows as f32;
        [100.0 * (7.0 * t).sin(), t, if i % 10 == 0 { 7.0 } else { (i % 2) as f32 }]
    });
    let values = ArrayD::from_shape_vec(IxDyn(&[rows, 3]), values.collect()).expect("3 columns");
    InMemory::new("rows", values)
}

/// Every row before and after.
fn changed(text: &str, rows: usize) -> Vec<(Vec<f32>, Vec<f32>)> {
    let data = table(rows);
    let recipe = Recipe::read(text).expect(text);
    let change = recipe.rows(&data).expect(text);
    let row = |(place, row): (usize, ndarray::ArrayViewD<'_, f32>)| {
        let before = row.to_owned().into_raw_vec_and_offset().0;
        let mut after = before.clone();
        change.change(&mut after, place);
        (before, after)
    };
    data.values().outer_iter().enumerate().map(row).collect()
}

#[test]
fn noise_is_in_proportion_to_the_column() {
    let rows = changed("table-noise:5", 4000);
    for column in 0..3 {
        let square = |of: &dyn Fn(&(Vec<f32>, Vec<f32>)) -> f32| {
            let values: Vec<f64> = rows.iter().map(|r| f64::from(of(r))).collect();
            let mean = values.iter().sum::<f64>() / 4000.0;
            values.iter().map(|v| (v - mean).powi(2)).sum::<f64>()
        };
        let own = square(&|(before, _)| before[column]);
        let noise = square(&|(before, after)| after[column] - before[column]);
        assert!((noise / own - 1.0).abs() < 0.1, "{column}: {noise} {own}");
    }
}

#[test]
fn cells_go_missing_as_often_as_said_and_where() {
    let rows = changed("missing-values:4,column=1", 4000);
    let missing = |column: usize| rows.iter().filter(|(_, after)| after[column].is_nan()).count();
    assert!((700..900).contains(&missing(1)), "{}", missing(1));
    assert_eq!((missing(0), missing(2)), (0, 0));
}

#[test]
fn columns_change_their_unit_or_places() {
    for (before, after) in changed("unit-change:3", 50) {
        assert!((after[0] - 10.0 * before[0]).abs() < 1e-3 && after[1..] == before[1..]);
    }
    for (before, after) in changed("swapped-columns:1,column=0,with=2", 50) {
        assert_eq!((after[0], after[1], after[2]), (before[2], before[1], before[0]));
    }
    let drawn = changed("swapped-columns:5", 50);
    assert!(drawn.iter().any(|(before, after)| before != after));
}

#[test]
fn the_rarest_category_becomes_common() {
    let rows = changed("category-drift:4", 4000);
    let sevens = rows.iter().filter(|(_, after)| after[2] > 6.5).count();
    assert!((2050..2350).contains(&sevens), "{sevens}");
    assert!(rows.iter().all(|(before, after)| before[..2] == after[..2]));
}

#[test]
fn what_a_table_lacks_is_said() {
    let data = table(20);
    let message = |text: &str| {
        let recipe = Recipe::read(text).expect(text);
        recipe.rows(&data).expect_err(text).to_string()
    };
    assert!(message("table-noise:1,column=4").contains("no column \"4\"; there are"));
    assert!(message("category-drift:1,column=1").contains("no column has categories"));
    assert!(message("swapped-columns:1,column=1").contains("two different columns"));
    assert!(message("fog").contains("is for pictures"));
    assert_eq!(data.len().expect("rows"), 20);
}
