//! Which columns of a table are samples, and which is the label.

use crate::Options;

/// Columns by their place in the file.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    /// The columns of a sample, in the order in which they are wanted.
    pub(crate) taken: Vec<usize>,
    pub(crate) label: Option<usize>,
}

/// Chooses among the columns of a file; `numbers_of_rows` is one that only counts them.
pub(crate) fn select(
    all: &[String],
    numbers_of_rows: Option<usize>,
    options: &Options,
) -> Result<Selection, String> {
    let find = |name: &str| -> Result<Option<usize>, String> {
        let mut places = all.iter().enumerate().filter(|(_, n)| *n == name).map(|(i, _)| i);
        match (places.next(), places.next()) {
            (Some(_), Some(_)) => Err(format!("there are several columns {name:?}")),
            (place, _) => Ok(place),
        }
    };
    let missing = |name: &str| format!("no column {name:?}; there are {}", listed(all));
    // What is left out may be missing if the rest is what the model takes: data to be scored have no labels.
    let fits = |taken: &[usize]| {
        let wanted = options.sample_shape.as_deref();
        wanted.is_some_and(|shape| shape.iter().product::<usize>() == taken.len())
    };
    let label = options.label.as_deref().map(find).transpose()?.flatten();
    let mut left_out: Vec<usize> = label.into_iter().collect();
    let mut absent = options.label.iter().filter(|_| label.is_none()).collect::<Vec<_>>();
    for name in &options.exclude {
        match find(name)? {
            Some(place) => left_out.push(place),
            None => absent.push(name),
        }
    }
    let taken: Vec<usize> = if options.columns.is_empty() {
        left_out.extend(numbers_of_rows);
        (0..all.len()).filter(|i| !left_out.contains(i)).collect()
    } else {
        let chosen = options.columns.iter().map(|name| find(name)?.ok_or_else(|| missing(name)));
        let chosen: Vec<usize> = chosen.collect::<Result<_, _>>()?;
        chosen.into_iter().filter(|i| !left_out.contains(i)).collect()
    };
    match absent.first() {
        Some(name) if !fits(&taken) => Err(missing(name)),
        _ if taken.is_empty() => Err(format!("no columns are left of {}", listed(all))),
        _ => Ok(Selection { taken, label }),
    }
}

fn listed(names: &[String]) -> String {
    const MOST: usize = 20;
    let mut shown: Vec<String> = names.iter().take(MOST).map(|n| short(n)).collect();
    if names.len() > MOST {
        shown.push(format!("{} more", names.len() - MOST));
    }
    shown.join(", ")
}

/// Text from a file, cut and without control characters.
pub(crate) fn short(text: &str) -> String {
    cut(text, 40)
}

/// The same with at most this many characters.
pub(crate) fn cut(text: &str, most: usize) -> String {
    let clean = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    let mut shown: String = text.chars().take(most).map(clean).collect();
    if text.chars().nth(most).is_some() {
        shown.push('…');
    }
    shown
}
