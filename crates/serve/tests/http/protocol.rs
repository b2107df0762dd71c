//! The Open Inference Protocol.

use std::io::Write;

use axum::{body::Body, http::Request};
use flate2::{
    Compression,
    write::{DeflateEncoder, GzEncoder, ZlibEncoder},
};
use serde_json::{Value, json};

use crate::common::{INPUT, Service, rows};

#[tokio::test]
async fn health_and_metadata_are_what_clients_read() {
    let service = Service::new();
    assert_eq!(service.get("/v2/health/live").await.json()["live"], true);
    assert_eq!(service.get("/v2/health/ready").await.json()["ready"], true);
    let server = service.get("/v2").await.json();
    assert_eq!(server["name"], "taste");
    assert!(
        server["extensions"].as_array().expect("a list").contains(&json!("binary_tensor_data"))
    );
    let model = service.get("/v2/models/plane").await.json();
    assert_eq!(model["inputs"], json!([{ "name": INPUT, "datatype": "FP32", "shape": [-1, 2] }]));
    let outputs: Vec<&str> = model["outputs"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|o| o["name"].as_str())
        .collect();
    assert!(outputs.starts_with(&["score", "p_value", "flag"]) && outputs.ends_with(&["map"]));
    assert_eq!(service.get("/v2/models/plane/versions/1/ready").await.json()["ready"], true);
    service.get("/v2/models/plane/versions/2").await.refused(404, "no version");
    service.get("/v2/models/moon").await.refused(404, "there are plane");
    service.get("/v2/models/pl%61ne").await.json();
    service.get("/nowhere").await.refused(404, "nothing at this path");
    service.get("/v2/models/plane/infer").await.refused(405, "method");
    let index = service.post("/v2/repository/index", "").await.json();
    assert_eq!(index[0]["state"], "READY");
}

#[tokio::test]
async fn answers_name_the_model_and_every_output() {
    let service = Service::new();
    let mut request = rows(&[[0.1, 0.2], [9.0, -9.0], [f32::MAX, 0.0]]);
    request["id"] = "my id".into();
    request["model_name"] = "plane".into();
    let answer = service.infer(&request).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.header("content-type"), "application/json");
    let answer = answer.json();
    assert_eq!((&answer["model_name"], &answer["id"]), (&json!("plane"), &json!("my id")));
    let model = service.get("/v2/models/plane").await.json();
    let declared = model["outputs"].as_array().expect("a list");
    let outputs = answer["outputs"].as_array().expect("a list");
    assert_eq!(outputs.len(), declared.len() - 1, "all but the map");
    for output in outputs {
        let own = declared.iter().find(|d| d["name"] == output["name"]).expect("declared");
        assert_eq!(own["datatype"], output["datatype"]);
        let shape = |v: &Value| v["shape"].as_array().expect("a shape").clone();
        assert_eq!(shape(own)[1..], shape(output)[1..], "{}", output["name"]);
        assert_eq!(shape(output)[0], 3);
        let count: u64 = shape(output).iter().filter_map(Value::as_u64).product();
        assert_eq!(output["data"].as_array().map(|d| d.len() as u64), Some(count));
    }
    assert_eq!(outputs[2]["data"], json!([false, true, true]));
}

fn binary(request: &mut Value) -> Vec<u8> {
    let data: Vec<f32> = serde_json::from_value(request["inputs"][0]["data"].take()).expect("f");
    let bytes: Vec<u8> = data.iter().flat_map(|v| v.to_le_bytes()).collect();
    let input = request["inputs"][0].as_object_mut().expect("an object");
    input.remove("data");
    input.insert("parameters".to_owned(), json!({ "binary_data_size": bytes.len() }));
    bytes
}

#[tokio::test]
async fn every_way_to_send_samples_gives_the_same_scores() {
    let service = Service::new();
    let plain = rows(&[[0.1, 0.2], [2.0, -1.0]]);
    let wanted = service.infer(&plain).await.json()["outputs"][0]["data"].clone();
    let wanted: Vec<f32> = serde_json::from_value(wanted).expect("numbers");
    let path = "/v2/models/plane/infer";

    let mut request = plain.clone();
    request["parameters"] = json!({ "binary_data_output": true });
    let tail = binary(&mut request);
    let head = request.to_string();
    let body = [head.as_bytes(), &tail].concat();
    let packed = |kind: &str| {
        let mut out = Vec::new();
        match kind {
            "gzip" => GzEncoder::new(&mut out, Compression::fast()).write_all(&body),
            "deflate" => ZlibEncoder::new(&mut out, Compression::fast()).write_all(&body),
            _ => DeflateEncoder::new(&mut out, Compression::fast()).write_all(&body),
        }
        .expect("packed");
        out
    };
    for (encoding, body) in [
        ("identity", body.clone()),
        ("gzip", packed("gzip")),
        ("deflate", packed("deflate")),
        ("deflate", packed("raw")),
    ] {
        let request = Request::post(path)
            .header("content-encoding", encoding)
            .header("inference-header-content-length", head.len())
            .body(Body::from(body))
            .expect("a request");
        let answer = service.send(request).await;
        assert_eq!(answer.status, 200, "{encoding} {}", String::from_utf8_lossy(&answer.body));
        let length: usize = answer.header("inference-header-content-length").parse().expect("n");
        assert_eq!(answer.header("content-type"), "application/octet-stream");
        let scores: Vec<f32> = answer.body[length..length + 8]
            .as_chunks::<4>()
            .0
            .iter()
            .map(|b| f32::from_le_bytes(*b))
            .collect();
        assert_eq!(scores, wanted, "{encoding}");
    }

    let raw = Request::post(path)
        .header("inference-header-content-length", 0)
        .body(Body::from(tail))
        .expect("a request");
    let answer = service.send(raw).await;
    let length: usize = answer.header("inference-header-content-length").parse().expect("n");
    assert_eq!(answer.body[length..length + 4], wanted[0].to_le_bytes());

    let nested = json!({ "inputs": [{
        "name": INPUT, "shape": [2, 2], "datatype": "FP64", "data": [[0.1, 0.2], [2.0, -1.0]],
    }], "outputs": [{ "name": "score" }, { "name": "flag", "parameters": { "binary_data": true } }] });
    let answer = service.infer(&nested).await;
    let length: usize = answer.header("inference-header-content-length").parse().expect("n");
    let json: Value = serde_json::from_slice(&answer.body[..length]).expect("JSON");
    assert_eq!(json["outputs"].as_array().map(Vec::len), Some(2));
    let scores: Vec<f32> = serde_json::from_value(json["outputs"][0]["data"].clone()).expect("f");
    for (score, wanted) in scores.iter().zip(&wanted) {
        assert!((score - wanted).abs() <= 1e-4 * wanted.abs(), "{score} {wanted}");
    }
    assert_eq!(answer.body.len() - length, 2);
}

#[tokio::test]
async fn maps_come_where_they_are_asked_for() {
    let service = Service::new();
    let mut request = rows(&[[0.1, 0.2]]);
    request["outputs"] = json!([{ "name": "map" }]);
    let answer = service.infer(&request).await.json();
    assert_eq!(answer["outputs"][0]["shape"], json!([1, 2]));
    request["outputs"] = json!([{ "name": "heat" }]);
    service.infer(&request).await.refused(400, "no output \"heat\"");
}

#[tokio::test]
async fn what_is_wrong_is_named() {
    let service = Service::new();
    let input = |shape: Value, datatype: &str, data: Value| json!({ "inputs": [{ "name": INPUT, "shape": shape, "datatype": datatype, "data": data }] });
    let fp = "FP32";
    for (request, status, words) in [
        (json!({ "inputs": [] }), 400, "no inputs"),
        (input(json!([1, 3]), fp, json!([1, 2, 3])), 400, "wants the shape [n, 2] and got [1, 3]"),
        (input(json!([0, 2]), fp, json!([])), 400, "no samples"),
        (input(json!([1, 2]), "BYTES", json!(["a", "b"])), 400, "picture 0"),
        (input(json!([2000, 2]), fp, json!(vec![0; 4000])), 413, "at most 1024 may wait"),
        (json!([]), 400, "no request of the protocol"),
    ] {
        service.infer(&request).await.refused(status, words);
    }
    let twice = rows(&[[0.0, 0.0]]);
    let twice = json!({ "inputs": [twice["inputs"][0], twice["inputs"][0]] });
    service.infer(&twice).await.refused(400, "given twice");
    let other = json!({ "inputs": [{ "name": "x", "shape": [1], "datatype": fp, "data": [1] }] });
    service.infer(&other).await.refused(400, "plane takes input");
}

#[tokio::test]
async fn a_request_of_many_batches_is_answered_in_order() {
    let service = Service::new();
    let many: Vec<[f32; 2]> = (0..300u16).map(|i| [f32::from(i) / 50.0 - 3.0, 0.5]).collect();
    let whole = service.infer(&rows(&many)).await.json()["outputs"][0]["data"].clone();
    let last = service.infer(&rows(&many[299..])).await.json()["outputs"][0]["data"].clone();
    let (whole, last): (Vec<f32>, Vec<f32>) =
        (serde_json::from_value(whole).expect("f"), serde_json::from_value(last).expect("f"));
    assert_eq!(whole.len(), 300);
    assert!((whole[299] - last[0]).abs() <= 1e-5 * last[0].abs());
}

#[tokio::test]
async fn a_deadline_of_the_client_is_kept() {
    let service = Service::new();
    let mut request = rows(&vec![[0.0, 0.0]; 1024]);
    request["parameters"] = json!({ "timeout": 1 });
    service.infer(&request).await.refused(504, "deadline");
}
