//! Rows and pictures as people have them.

use serde_json::json;

use crate::common::Service;

#[tokio::test]
async fn rows_are_json_or_csv() {
    let service = Service::new();
    let mut answers = Vec::new();
    for body in ["[[0.1, 0.2], [9, -9]]", "[0.1, 0.2, 9, -9]", r#"{"rows": [[0.1, 0.2], [9, -9]]}"#]
    {
        let answer = service.post("/v1/score", body).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answers.push(answer.json()["samples"].clone());
    }
    for body in ["0.1,0.2\n9,-9\n", r#"[{"a": 0.1, "b": 0.2}, {"a": 9, "b": -9}]"#] {
        let answer = service.post("/v1/score/plane", body).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        answers.push(answer.json()["samples"].clone());
    }
    assert!(answers.iter().all(|a| *a == answers[0]), "{answers:?}");
    assert_eq!(answers[0][0]["flag"], false);
    assert_eq!(answers[0][1]["flag"], true);
    let single = service.post("/v1/score", r#"{"a": 0.1, "b": 0.2}"#).await.json();
    assert_eq!(single["samples"][0], answers[0][0]);
}

#[tokio::test]
async fn what_is_no_number_is_flagged_and_has_no_score() {
    let service = Service::new();
    let answer = service.post("/v1/score", "[[null, 0.2]]").await.json();
    let sample = &answer["samples"][0];
    assert_eq!((&sample["score"], &sample["flag"]), (&json!(null), &json!(true)));
    assert!(sample["p_value"].as_f64().is_some_and(|p| p < 0.002), "{sample}");
}

#[tokio::test]
async fn what_is_wrong_is_named() {
    let service = Service::new();
    for (body, words) in [
        ("", "empty"),
        ("[1, 2, 3]", "a sample has 2 numbers, and the body holds 3"),
        ("[\"a\"]", "rows with words are objects"),
        ("[[1, \"a\"]]", "rows with words are objects"),
        ("{\"a\": 1", "the body"),
        ("a,b,c\n1,2,3\n", "the body"),
        ("\u{89}PNG nothing", "the body"),
    ] {
        service.post("/v1/score", body).await.refused(400, words);
    }
    let png = [&b"\x89PNG\r\n\x1a\n"[..], b"not at all"].concat();
    service.post("/v1/score", png).await.refused(400, "picture 0");
}
