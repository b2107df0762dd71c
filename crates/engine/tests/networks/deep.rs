//! Chains of many operators: derivatives are right, and cost in proportion to the length.

use taste_engine::{Backend, Derived, LaplacianMethod, Request, Target, Value, Wants};

use crate::common::{model, node, noise};

/// The value, gradient and Laplacian of an operator on itself, `length` times over. With `twice` it takes its argument
/// on both sides.
fn derived(op: &str, length: usize, twice: bool) -> Derived {
    let name = |i: usize| if i == 0 { "x".to_owned() } else { format!("v{i}") };
    let links = (0..length).map(|i| {
        let (x, last) = (name(i), i + 1 == length);
        let y = if last { "y".to_owned() } else { name(i + 1) };
        if twice { node(op, &[&x, &x], &y) } else { node(op, &[&x], &y) }
    });
    let wants = Wants { gradient: true, laplacian: true, ..Wants::default() };
    let (target, laplacian_method) = (Some(Target::output(0)), LaplacianMethod::EXACT);
    let asked = Request { target, laplacian_method, wants, ..Request::default() };
    model(links.collect(), Vec::new(), 1, 1).derive(&asked).expect("derivatives")
}

#[test]
fn a_long_chain_has_the_derivatives_of_its_recursion() {
    const LENGTH: usize = 200;
    let x = noise(5, 1, 7);
    let derived = derived("Tanh", LENGTH, false);
    for backend in [Backend::REFERENCE, Backend::RTEN] {
        let compiled = derived.compile(&backend, 1).expect("compiles");
        let results = compiled.run(&[("x", &Value::F32(x.clone().into_dyn()))], 0).expect("runs");
        let (slopes, bends) =
            (results.gradient.expect("asked").to_f32(), results.laplacian.expect("asked").to_f32());
        for (i, &x) in x.iter().enumerate() {
            let (mut y, mut slope, mut bend) = (f64::from(x), 1.0, 0.0);
            for _ in 0..LENGTH {
                y = y.tanh();
                let outer = 1.0 - y * y;
                bend = outer * bend - 2.0 * y * outer * slope * slope;
                slope *= outer;
            }
            let near =
                |got: f32, wanted: f64| (f64::from(got) - wanted).abs() <= 1e-3 * wanted.abs();
            assert!(near(slopes[[i, 0]], slope), "{} for {slope}", slopes[[i, 0]]);
            assert!(near(bends[[i]], bend), "{} for {bend}", bends[[i]]);
        }
    }
}

#[test]
fn a_derivative_grows_with_the_chain_and_no_faster() {
    for (op, twice) in [("Tanh", false), ("Relu", false), ("Mul", true)] {
        let [short, long] = [300, 600].map(|n| derived(op, n, twice).node_count());
        assert!(long <= 2 * short + 100, "{op}: {short} nodes, then {long}");
    }
}

/// Written out, 2⁴⁰ terms: the embedded engine must not try.
#[test]
fn squares_of_squares_run_on_the_embedded_engine() {
    let compiled = derived("Mul", 40, true).compile(&Backend::RTEN, 1).expect("compiles");
    let ones = ndarray::Array2::<f32>::ones((2, 1));
    let results = compiled.run(&[("x", &Value::F32(ones.into_dyn()))], 0).expect("runs");
    // y = x^(2⁴⁰) at 1.
    let gradient = results.gradient.expect("asked").to_f32();
    assert!(gradient.iter().all(|g| g.to_bits() == 2f32.powi(40).to_bits()), "{gradient}");
}
