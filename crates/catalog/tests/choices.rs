//! The page of choices is what the tables say.

use std::{env, fs, path::Path};

#[test]
fn the_page_of_choices_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/choices.md");
    let page = taste_catalog::page();
    if env::var_os("TASTE_WRITE_DOCS").is_some() {
        fs::write(&path, &page).expect("written");
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == page,
        "docs/choices.md differs from the tables: TASTE_WRITE_DOCS=1 cargo test -p taste-catalog writes it anew"
    );
}

#[test]
fn every_entry_says_what_it_is() {
    for kind in taste_catalog::KINDS {
        let mut names = std::collections::HashSet::new();
        let entries = (kind.entries)();
        for taste_catalog::Listed { choice, facts } in &entries {
            assert_eq!(facts.len(), entries[0].facts.len(), "{}", choice.name);
            assert!(facts.iter().all(|f| !f.1.is_empty()), "{}", choice.name);
            assert!(names.insert(choice.name), "{}: {} twice", kind.choice.name, choice.name);
            assert!(!choice.about.is_empty() && !choice.about.contains('\n'), "{choice:?}");
            assert!(
                choice.usage.starts_with(choice.name) || kind.choice.name == "formats",
                "{choice:?}"
            );
        }
        assert!(!names.is_empty(), "{}", kind.choice.name);
    }
}
