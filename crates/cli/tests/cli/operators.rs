//! `docs/operators.md` lists what `taste ops` lists.

use std::{env, fs, path::Path};

use crate::common::Place;
use serde_json::Value as Json;

const UPDATE: &str = "TASTE_UPDATE_DOCS";

const HEAD: &str = "\
# Operators

What `taste ops` prints: every ONNX operator that a model may contain, and how it differentiates when every float
argument varies. In a model it may be simpler, as a `Mul` by a constant is linear; `taste inspect` shows that.

- **constant**: nothing flows through.
- **linear**: the derivative is the operator itself.
- **bilinear**: linear in each of two arguments.
- **piecewise linear**: a function of each element with kinks and no curvature.
- **pointwise**: a curved function of each element.
- **composite**: made of several of these.

[calculus.md](calculus.md) explains the classes. This file is generated:
`TASTE_UPDATE_DOCS=1 cargo test -p taste-cli --test cli operators`.

| operator | domain | derivative |
|---|---|---|
";

fn rendered(operators: &Json) -> String {
    let mut text = HEAD.to_owned();
    for operator in operators.as_array().unwrap() {
        let name = operator["name"].as_str().unwrap();
        let (domain, name) = name.rsplit_once('.').unwrap_or(("ai.onnx", name));
        let class = operator["class"].as_str().unwrap_or_default();
        text += &["| ", name, " | ", domain, " | ", class, " |\n"].concat();
    }
    text
}

#[test]
fn the_documented_operators_are_those_of_the_binary() {
    let operators = serde_json::from_str(&Place::new().ok("ops --json").out).unwrap();
    let text = rendered(&operators);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/operators.md");
    if env::var_os(UPDATE).is_some() {
        fs::write(path, text).unwrap();
        return;
    }
    let documented = fs::read_to_string(path).unwrap_or_default();
    assert!(documented == text, "docs/operators.md is out of date; {UPDATE}=1 writes it anew");
}
