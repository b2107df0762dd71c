#![expect(clippy::print_stdout, clippy::print_stderr, reason = "prints its results")]

use std::{path::PathBuf, time::Instant};

use ndarray::ArrayD;
use taste_engine::{Backend, Method, Model, Request, Target, Value, Wants};

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let only = args.get(1).cloned().unwrap_or_default();
    let inputs = PathBuf::from(std::env::var("BENCH_INPUTS").unwrap_or("/opt/lab/bench-inputs".into()));
    let reps: usize = std::env::var("REPS").ok().and_then(|r| r.parse().ok()).unwrap_or(5);
    let g = Wants { gradient: true, ..Wants::default() };
    let l = Wants { laplacian: true, ..Wants::default() };
    let gl = Wants { gradient: true, laplacian: true, ..Wants::default() };
    let cases: Vec<(&str, &str, &str, Option<Target>, Method, Wants, usize)> = vec![
        ("resnet20-gradient", "resnet20", "r", None, Method::Auto, g, 64),
        ("mnist-gradient", "mnist", "m", None, Method::Auto, g, 64),
        ("resnet20-closed-form", "resnet20", "r", Some(Target::EveryProb), Method::ClosedForm, Wants { drift: true, ..l }, 64),
        ("mnist-closed-form", "mnist", "m", Some(Target::EveryProb), Method::ClosedForm, Wants { drift: true, ..l }, 64),
        ("resnet20-probe2", "resnet20", "r", None, Method::Probe(2), gl, 64),
        ("mnist-probe2", "mnist", "m", None, Method::Probe(2), gl, 64),
        ("gelu-exact", "gelu", "g", None, Method::Exact, l, 16),
    ];
    for (name, model, _, target, method, wants, batch) in cases {
        if !name.contains(&only) { continue; }
        let path = match model {
            "resnet20" => PathBuf::from("/work/shared/models/cifar10_resnet20.onnx"),
            other => inputs.join(format!("{other}.onnx")),
        };
        let x: ArrayD<f32> = ndarray_npy::read_npy(inputs.join(format!("{model}_x.npy"))).unwrap();
        let x = Value::F32(x).rows(0, batch);
        let score: ArrayD<f32> = ndarray_npy::read_npy(inputs.join(format!("{model}_score.npy"))).unwrap();
        let score = Value::F32(score).rows(0, batch);
        for backend in [Backend::Rten, Backend::Ort { library: None }] {
            let t = Instant::now();
            let m = Model::open(&path).unwrap();
            let derived = m.derive(&Request { target, method, wants, ..Request::default() }).unwrap();
            let t1 = t.elapsed();
            let mut compiled = match derived.compile(&backend, 2) { Ok(c) => c, Err(e) => { eprintln!("{e}"); continue; } };
            let t2 = t.elapsed();
            if let Ok(dir) = std::env::var("DUMP") {
                m.derive_file(&Request { target, method, wants, ..Request::default() }).unwrap().save(format!("{dir}/{name}.onnx").as_ref()).unwrap();
            }
            let mut times = vec![];
            let feeds: Vec<(&str, &Value)> = vec![(derived.wrt(), &x), ("score", &score)];
            for _ in 0..=reps {
                let t = Instant::now();
                let step: usize = std::env::var("STEP").ok().and_then(|r| r.parse().ok()).unwrap_or(batch);
                for start in (0..batch).step_by(step) {
                    let end = batch.min(start + step);
                    let parts: Vec<(&str, Value)> = feeds.iter().map(|(n, v)| (*n, v.rows(start, end))).collect();
                    let parts: Vec<(&str, &Value)> = parts.iter().map(|(n, v)| (*n, v)).collect();
                    compiled.run(&parts, start).unwrap();
                }
                times.push(t.elapsed().as_secs_f64());
            }
            times.remove(0);
            times.sort_by(f64::total_cmp);
            println!("{name:24} {backend:6} min {:.4} median {:.4}   nodes {} derive {:.2}s compile {:.2}s", times[0], times[times.len() / 2], derived.node_count(), t1.as_secs_f64(), (t2 - t1).as_secs_f64());
        }
    }
}
