//! Pages.

use crate::common::{Service, rows};

/// The page as a tree: every element is closed, every figure has a name.
fn checked(page: &str) {
    let void = ["meta", "link", "input"];
    let mut xml = page.replace("<!DOCTYPE html>", "").replace("&nbsp;", " ");
    for name in void {
        let mut fixed = String::new();
        let mut rest = xml.as_str();
        while let Some(at) = rest.find(&format!("<{name} ")) {
            let end = at + rest[at..].find('>').expect("an end");
            fixed += &rest[..end];
            fixed += "/>";
            rest = &rest[end + 1..];
        }
        xml = fixed + rest;
    }
    for flag in [" data-live", " hidden", " required"] {
        for end in [" ", ">", "/"] {
            xml = xml.replace(&format!("{flag}{end}"), &format!("{flag}=\"\"{end}"));
        }
    }
    let tree = roxmltree::Document::parse(&xml).unwrap_or_else(|e| {
        let line = xml.lines().nth(e.pos().row as usize - 1).unwrap_or_default();
        panic!("{e}: {}", line.chars().take(300).collect::<String>())
    });
    let elements = || tree.descendants().filter(roxmltree::Node::is_element);
    let mut ids = std::collections::HashSet::new();
    for element in elements() {
        if let Some(id) = element.attribute("id") {
            assert!(ids.insert(id.to_owned()), "the id {id} is there twice");
        }
        if element.tag_name().name() == "svg" && element.attribute("aria-hidden").is_none() {
            assert_eq!(element.attribute("role"), Some("img"));
            assert!(element.attribute("aria-label").is_some_and(|l| !l.is_empty()));
        }
        assert!(element.attribute("style").is_none(), "a style that the policy forbids");
    }
    assert_eq!(elements().filter(|e| e.tag_name().name() == "h1").count(), 1);
    assert_eq!(elements().filter(|e| e.tag_name().name() == "main").count(), 1);
}

#[tokio::test]
async fn pages_are_whole_before_and_after_samples() {
    let service = Service::new();
    for round in 0..2 {
        for path in ["/", "/monitors/plane", "/monitors/plane/samples", "/health", "/sign-in"] {
            let answer = service.get(path).await;
            assert_eq!(answer.status, 200, "{path}");
            assert!(answer.header("content-security-policy").contains("default-src 'self'"));
            assert_eq!(answer.header("x-frame-options"), "DENY");
            checked(&answer.text());
        }
        if round == 0 {
            service.infer(&rows(&[[0.1, 0.2]; 50])).await;
            service.infer(&rows(&[[7.0, 7.0]; 50])).await;
        }
    }
    let page = service.get("/monitors/plane").await.text();
    for part in ["evidence", "time", "flagged", "scores", "p-values"] {
        assert!(page.contains(&format!("<figure id=\"{part}\">")), "{part}");
    }
    assert!(page.contains("What is guaranteed") && page.contains("100"));
}

#[tokio::test]
async fn a_report_loads_nothing() {
    let service = Service::new();
    service.infer(&rows(&[[0.1, 0.2]; 50])).await;
    let report = service.get("/v1/monitors/plane/report").await;
    assert!(report.header("content-disposition").contains("plane.html"));
    let text = report.text();
    assert!(!text.contains("<script") && !text.contains("/assets/") && text.contains("<style>"));
}

#[tokio::test]
async fn files_of_pages_are_in_the_program() {
    let service = Service::new();
    for (file, kind) in [
        ("dashboard.css", "text/css"),
        ("dashboard.js", "text/javascript"),
        ("icon.svg", "image/svg+xml"),
    ] {
        let answer = service.get(&format!("/assets/{file}")).await;
        assert!(answer.header("content-type").starts_with(kind));
    }
    service.get("/assets/..%2fsecret").await.refused(404, "no such file");
}
