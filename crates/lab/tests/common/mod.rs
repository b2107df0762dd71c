//! What tests of experiments share.

use std::{fs, path::Path};

use taste_lab::Page;
use tempfile::TempDir;

pub(crate) fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

/// The files are those of the page: its text, every figure and table that it links to, and its claims.
pub(crate) fn check_files(out: &Path, page: &Page) {
    let text = page.markdown();
    let links: Vec<&str> = text
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .filter(|link| link.contains('/'))
        .collect();
    assert!(links.iter().any(|link| link.rsplit('.').next() == Some("svg")), "no figure: {text}");
    assert!(links.iter().any(|link| link.rsplit('.').next() == Some("csv")), "no table: {text}");
    let name = links[0].split('/').next().expect("a folder");
    assert_eq!(fs::read_to_string(out.join(format!("{name}.md"))).expect("a page"), text);
    for link in links {
        assert!(fs::metadata(out.join(link)).expect(link).len() > 20, "{link}");
    }
    let facts = fs::read_to_string(out.join(name).join("page.json")).expect("facts");
    for claim in page.claims() {
        // A stroke would end the cell of a table.
        assert!(text.contains(&claim.seen.replace('|', "\\|")), "{claim:?}");
        assert!(facts.contains(&claim.claim), "{claim:?}");
    }
}
