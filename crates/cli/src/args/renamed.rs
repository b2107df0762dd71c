//! Flags that go on working under an old name.

/// Commands, the old name of a flag, and its name now.
const RENAMED: &[(&[&str], &str, &str)] = &[
    (&["fit", "inspect"], "--score", "--score-model"),
    (&["derive", "inspect"], "--method", "--laplacian-method"),
];

/// A note for every old name among the arguments; none where nothing but errors is to be printed.
pub(crate) fn notes(arguments: &[String]) -> Vec<String> {
    if arguments.iter().any(|a| a == "-q" || a == "--quiet") {
        return Vec::new();
    }
    let command = arguments.get(1).map_or("", String::as_str);
    let is = |argument: &String, name: &str| argument.split('=').next() == Some(name);
    RENAMED
        .iter()
        .filter(|(commands, old, _)| {
            commands.contains(&command) && arguments.iter().any(|a| is(a, old))
        })
        .map(|(_, old, new)| format!("note: {old} is now {new}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_names_get_a_note() {
        let notes =
            |line: &str| notes(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(notes("taste fit --score gmm --data x"), ["note: --score is now --score-model"]);
        assert_eq!(notes("taste derive m --method=exact").len(), 1);
        assert!(notes("taste fit --score-model gmm --score-input none").is_empty());
        assert!(notes("taste fit --method knn").is_empty());
        assert!(notes("taste fit --score gmm -q").is_empty());
    }
}
