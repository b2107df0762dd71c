//! How often a classifier is right, class by class.

use taste_train::{ClassAccuracy, HeldOut};

/// So many classes are told one by one; of more, the worst of them.
const MOST: usize = 20;

/// Lines of a table.
pub(super) struct ByClass {
    /// What is not in it.
    pub(super) remark: Option<String>,
    pub(super) head: Vec<&'static str>,
    pub(super) rows: Vec<Vec<String>>,
}

/// On held-out and on test samples, where there are such.
pub(super) fn table(held_out: Option<&HeldOut>, test: Option<&HeldOut>) -> Option<ByClass> {
    let judged: Vec<(&'static str, &[ClassAccuracy])> = [("held out", held_out), ("test", test)]
        .into_iter()
        .filter_map(|(name, found)| Some((name, &*found?.by_class)))
        .filter(|(_, classes)| !classes.is_empty())
        .collect();
    let (_, first) = judged.first()?;
    let mut shown: Vec<usize> = (0..first.len()).collect();
    let remark = (shown.len() > MOST).then(|| {
        let accuracy = |class: &usize| first[*class].accuracy.unwrap_or(f64::INFINITY);
        shown.sort_by(|a, b| accuracy(a).total_cmp(&accuracy(b)));
        shown.truncate(MOST);
        format!("The {MOST} of {} classes that it is least often right about", first.len())
    });
    let mut head = vec!["class"];
    head.extend(judged.iter().flat_map(|(name, _)| [*name, "right"]));
    let row = |class: usize| {
        let mut cells = vec![class.to_string()];
        for (_, classes) in &judged {
            let found = classes.get(class);
            let right = found.and_then(|c| c.accuracy);
            cells.push(found.map_or(0, |c| c.samples).to_string());
            cells.push(right.map_or_else(|| "–".to_owned(), |a| format!("{:.1} %", 100.0 * a)));
        }
        cells
    };
    Some(ByClass { remark, head, rows: shown.into_iter().map(row).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(accuracies: impl IntoIterator<Item = Option<f64>>) -> HeldOut {
        let of = |(class, accuracy): (usize, Option<f64>)| ClassAccuracy {
            class,
            samples: if accuracy.is_some() { 8 } else { 0 },
            accuracy,
        };
        let by_class = accuracies.into_iter().enumerate().map(of).collect();
        HeldOut { loss: 0.1, error: None, accuracy: None, by_class, stein: None, samples: 8 }
    }

    #[test]
    fn a_class_has_a_line() {
        let (held_out, test) = (judged([Some(1.0), None]), judged([Some(0.75), Some(0.5)]));
        let found = table(Some(&held_out), Some(&test)).expect("a table");
        assert_eq!(found.head, ["class", "held out", "right", "test", "right"]);
        assert_eq!(found.rows[0], ["0", "8", "100.0 %", "8", "75.0 %"]);
        assert_eq!(found.rows[1], ["1", "0", "–", "8", "50.0 %"]);
        assert_eq!(table(None, Some(&test)).expect("a table").rows[1], ["1", "8", "50.0 %"]);
        assert!(table(Some(&judged([])), None).is_none());
    }

    #[test]
    fn of_many_classes_the_worst_are_told() {
        let many =
            judged((0..100).map(|class| (class > 0).then_some(1.0 - f64::from(class) / 200.0)));
        let found = table(Some(&many), None).expect("a table");
        assert_eq!((found.rows.len(), found.rows[0][0].as_str()), (MOST, "99"));
        assert!(found.remark.is_some_and(|r| r.contains("20 of 100")));
    }
}
