//! Bodies that mean harm.

use std::{io::Write, time::Duration};

use axum::{body::Body, http::Request};
use flate2::{Compression, write::GzEncoder};
use futures_util::stream;
use taste_serve::{Limits, Settings, Tokens, Watching};

use crate::common::{Service, rows};

fn small() -> Service {
    let limits = Limits {
        sent: 1 << 16,
        unpacked: 1 << 18,
        body: Duration::from_millis(200),
        ..Limits::default()
    };
    Service::with(Settings { limits, ..Settings::default() }, None, &Watching::default())
}

#[tokio::test]
async fn sizes_are_bounded_before_and_after_decompression() {
    let service = small();
    for path in ["/v2/models/plane/infer", "/v1/score"] {
        let big = vec![b' '; (1 << 16) + 1];
        service.post(path, big.clone()).await.refused(413, "65536 bytes");
        // Without a length that is said.
        let pieces =
            big.chunks(1000).map(|c| Ok::<_, std::io::Error>(c.to_vec())).collect::<Vec<_>>();
        service
            .post(path, Body::from_stream(stream::iter(pieces)))
            .await
            .refused(413, "65536 bytes");
        let mut bomb = GzEncoder::new(Vec::new(), Compression::best());
        bomb.write_all(&vec![b' '; 1 << 24]).expect("packed");
        let bomb = bomb.finish().expect("packed");
        let request = Request::post(path).header("content-encoding", "gzip").body(Body::from(bomb));
        service.send(request.expect("r")).await.refused(413, "after decompression");
        for (encoding, status) in [("br", 415), ("gzip, gzip", 415), ("gzip", 400)] {
            let request =
                Request::post(path).header("content-encoding", encoding).body(Body::from("no"));
            let words = if status == 415 { "gzip or deflate" } else { "unpacked" };
            service.send(request.expect("r")).await.refused(status, words);
        }
    }
    assert_eq!(service.infer(&rows(&[[0.1, 0.2]])).await.status, 200);
}

#[tokio::test]
async fn a_body_that_drips_is_cut_off() {
    let service = small();
    let drip = stream::unfold((), |()| async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        Some((Ok::<_, std::io::Error>(vec![b' ']), ()))
    });
    let answer = service.post("/v1/score", Body::from_stream(drip)).await;
    answer.refused(408, "did not arrive");
}

#[tokio::test]
async fn json_may_not_be_deep() {
    let service = Service::new();
    for body in ["[".repeat(1_000_000), "{\"inputs\":".repeat(100_000)] {
        service
            .post("/v2/models/plane/infer", body.clone())
            .await
            .refused(400, "within each other");
        service.post("/v1/score", body).await.refused(400, "within each other");
    }
}

#[tokio::test]
async fn sizes_that_are_declared_are_not_believed() {
    let service = Service::new();
    let huge = u64::MAX;
    for body in [
        format!(r#"{{"inputs":[{{"name":"input","shape":[{huge},2],"datatype":"FP32","data":[1]}}]}}"#),
        format!(r#"{{"inputs":[{{"name":"input","shape":[{huge}],"datatype":"FP32","data":[1]}}]}}"#),
        format!(r#"{{"inputs":[{{"name":"input","shape":[1,2],"datatype":"FP32","parameters":{{"binary_data_size":{huge}}}}}]}}"#),
        r#"{"inputs":[{"name":"input","shape":[1,2],"datatype":"FP32","parameters":{"binary_data_size":8}}]}"#.to_owned(),
    ] {
        let answer = service.post("/v2/models/plane/infer", body).await;
        assert_eq!(answer.status, 400, "{}", answer.text());
    }
    for length in ["-1", "x", "99999999999999999999", "10"] {
        let request = Request::post("/v2/models/plane/infer")
            .header("inference-header-content-length", length)
            .body(Body::from("{}"));
        assert_eq!(service.send(request.expect("r")).await.status, 400, "{length}");
    }
}

#[tokio::test]
async fn random_bytes_are_refused_and_nothing_breaks() {
    let service = Service::new();
    let seed = serde_json::to_vec(&rows(&[[0.1, 0.2]])).expect("JSON");
    let mut state = 7u64;
    for _ in 0..400 {
        let mut body = seed.clone();
        for _ in 0..3 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let place = usize::try_from(state >> 33).expect("small") % body.len();
            body[place] = state.to_le_bytes()[3];
        }
        for path in ["/v2/models/plane/infer", "/v1/score"] {
            let answer = service.post(path, body.clone()).await;
            assert!(answer.status.as_u16() < 500, "{}: {}", answer.status, answer.text());
        }
    }
}

#[tokio::test]
async fn tokens_decide_and_health_is_open() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), "score scorescorescorescore\nread readreadreadread\n").expect("w");
    let tokens = Tokens::read(file.path()).expect("tokens");
    let service = Service::with(Settings::default(), Some(tokens), &Watching::default());
    let get = |path: &str, token: &str| {
        let request = Request::get(path).header("authorization", format!("Bearer {token}"));
        request.body(Body::empty()).expect("a request")
    };
    assert_eq!(service.get("/v2/health/ready").await.status, 200);
    let none = service.get("/v1/monitors").await;
    none.refused(401, "token");
    assert_eq!(none.header("www-authenticate"), "Bearer");
    service.get("/metrics").await.refused(401, "token");
    service.send(get("/v1/monitors", "scorescorescorescore")).await.refused(403, "role");
    assert_eq!(service.send(get("/v1/monitors", "readreadreadread")).await.status, 200);
    assert_eq!(service.send(get("/v2/models/plane", "scorescorescorescore")).await.status, 200);
    service.infer(&rows(&[[0.1, 0.2]])).await.refused(401, "token");
    let page = Request::get("/").header("accept", "text/html").body(Body::empty()).expect("r");
    let page = service.send(page).await;
    assert_eq!((page.status.as_u16(), page.header("location")), (303, "/sign-in"));
    let signed = service.post("/sign-in", "token=readreadreadread").await;
    assert_eq!(signed.status, 303);
    let cookie = signed.header("set-cookie").to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let cookie = cookie.split(';').next().expect("a pair").to_owned();
    let page = Request::get("/").header("cookie", cookie).body(Body::empty()).expect("r");
    assert_eq!(service.send(page).await.status, 200);
    assert_eq!(service.post("/sign-in", "token=scorescorescorescore").await.status, 401);
}
