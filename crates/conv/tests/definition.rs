//! Against the definition of a convolution, in double precision.
//!
//! Under miri, which looks at every access to memory and is some thousand times slower, cases are few and sizes small, and one
//! thread runs: `cargo +nightly miri test -p taste-conv`.

use std::ops::Range;

use proptest::prelude::*;
use taste_conv::{After, Channels, Direction, Filter, Numbers, Window};

struct Case {
    direction: Direction,
    windows: [Window; 2],
    channels: Channels,
    samples: usize,
    size: [usize; 2],
}

/// From `least` up to `end`, which is much closer under miri.
const fn sizes(least: usize, end: usize) -> Range<usize> {
    least..if cfg!(miri) && end > least + 3 { least + 3 } else { end }
}

fn config() -> ProptestConfig {
    if cfg!(miri) {
        // Regressions lie in a file, which is out of its reach.
        ProptestConfig { cases: 4, failure_persistence: None, ..ProptestConfig::default() }
    } else {
        ProptestConfig { cases: 200, ..ProptestConfig::default() }
    }
}

/// Numbers in [-1, 1] that look random.
fn numbers(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2) + 1;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// Adds every product of a weight and an input to the output that it belongs to.
fn by_definition(
    case: &Case,
    output: [usize; 2],
    input: &[f32],
    weights: &[f32],
    bias: &[f32],
) -> Vec<f64> {
    let (Channels { inputs, outputs, groups }, [height, width]) = (case.channels, case.size);
    let [of_inputs, of_outputs] = [inputs / groups, outputs / groups];
    let [wy, wx] = case.windows;
    let mut sums = Vec::new();
    for _ in 0..case.samples {
        for b in bias {
            sums.extend(std::iter::repeat_n(f64::from(*b), output[0] * output[1]));
        }
    }
    // The place in a row (or column) of the larger array for an entry of the smaller one and a weight.
    let place = |w: Window, small: usize, k: usize, large: usize| {
        (small * w.stride + k * w.dilation).checked_sub(w.before).filter(|p| *p < large)
    };
    let (small, large) = match case.direction {
        Direction::Forward => (output, case.size),
        Direction::Transposed => (case.size, output),
    };
    for s in 0..case.samples {
        for o in 0..outputs {
            let group = o / of_outputs;
            for i in group * of_inputs..(group + 1) * of_inputs {
                for ky in 0..wy.size {
                    for kx in 0..wx.size {
                        for y in 0..small[0] {
                            for x in 0..small[1] {
                                let (Some(ly), Some(lx)) =
                                    (place(wy, y, ky, large[0]), place(wx, x, kx, large[1]))
                                else {
                                    continue;
                                };
                                let pair = match case.direction {
                                    Direction::Forward => o * of_inputs + i % of_inputs,
                                    Direction::Transposed => i * of_outputs + o % of_outputs,
                                };
                                let weight = weights[(pair * wy.size + ky) * wx.size + kx];
                                let ((iy, ix), (oy, ox)) = match case.direction {
                                    Direction::Forward => ((ly, lx), (y, x)),
                                    Direction::Transposed => ((y, x), (ly, lx)),
                                };
                                let value = input[((s * inputs + i) * height + iy) * width + ix];
                                sums[((s * outputs + o) * output[0] + oy) * output[1] + ox] +=
                                    f64::from(weight) * f64::from(value);
                            }
                        }
                    }
                }
            }
        }
    }
    sums
}

fn window() -> impl Strategy<Value = Window> {
    (1usize..5, 1usize..4, 1usize..3, 0usize..3, 0usize..3, 0usize..2).prop_map(
        |(size, stride, dilation, before, after, extra)| Window {
            size,
            stride,
            dilation,
            before,
            after,
            extra: extra.min(stride - 1),
        },
    )
}

proptest! {
    #![proptest_config(config())]
    #[test]
    fn sums_are_those_of_the_definition(
        transposed in any::<bool>(),
        windows in [window(), window()],
        channels in [sizes(1, 20), sizes(1, 20)],
        samples in sizes(1, 4),
        size in [sizes(1, 20), sizes(1, 40)],
        threads in sizes(1, 5),
        seed in any::<u64>(),
    ) {
        let direction = if transposed { Direction::Transposed } else { Direction::Forward };
        let channels = channels.into();
        check(&Case { direction, windows, channels, samples, size }, seed, threads)?;
    }

    #[test]
    fn those_of_three_by_three_too(
        transposed in any::<bool>(),
        pads in [[sizes(0, 4), sizes(0, 4)], [sizes(0, 4), sizes(0, 4)]],
        channels in [sizes(1, 50), sizes(1, 50)],
        samples in sizes(1, 4),
        size in [sizes(3, 20), sizes(3, 40)],
        threads in sizes(1, 4),
        seed in any::<u64>(),
    ) {
        let direction = if transposed { Direction::Transposed } else { Direction::Forward };
        let windows = pads.map(|[before, after]| Window { size: 3, before, after, ..Window::POINT });
        let channels = channels.into();
        check(&Case { direction, windows, channels, samples, size }, seed, threads)?;
    }

    #[test]
    fn small_images_of_many_samples_too(
        transposed in any::<bool>(),
        windows in [window(), window()],
        groups in sizes(1, 3),
        of_group in [sizes(1, 20), sizes(1, 20)],
        samples in sizes(4, 40),
        size in [sizes(1, 7), sizes(1, 7)],
        threads in sizes(1, 4),
        seed in any::<u64>(),
    ) {
        let direction = if transposed { Direction::Transposed } else { Direction::Forward };
        let [inputs, outputs] = of_group.map(|c| c * groups);
        let channels = Channels { inputs, outputs, groups };
        check(&Case { direction, windows, channels, samples, size }, seed, threads)?;
    }

    #[test]
    fn groups_have_sums_of_their_own(
        transposed in any::<bool>(),
        windows in [window(), window()],
        groups in sizes(1, 20),
        of_group in [sizes(1, 5), sizes(1, 9)],
        samples in sizes(1, 4),
        size in [sizes(1, 20), sizes(1, 40)],
        threads in sizes(1, 5),
        seed in any::<u64>(),
    ) {
        let direction = if transposed { Direction::Transposed } else { Direction::Forward };
        let [inputs, outputs] = of_group.map(|c| c * groups);
        let channels = Channels { inputs, outputs, groups };
        check(&Case { direction, windows, channels, samples, size }, seed, threads)?;
    }

    #[test]
    fn channels_with_a_window_each_too(
        transposed in any::<bool>(),
        length in sizes(1, 7),
        pads in [[sizes(0, 6), sizes(0, 6)], [sizes(0, 6), sizes(0, 6)]],
        stride in 1usize..4,
        channels in sizes(1, 40),
        samples in sizes(1, 4),
        size in [sizes(1, 41), sizes(1, 41)],
        threads in sizes(1, 5),
        seed in any::<u64>(),
    ) {
        let direction = if transposed { Direction::Transposed } else { Direction::Forward };
        let windows = pads.map(|pads| {
            let [before, after] = pads.map(|p| p.min(length));
            Window { size: length, stride, before, after, ..Window::POINT }
        });
        let channels = Channels { inputs: channels, outputs: channels, groups: channels };
        check(&Case { direction, windows, channels, samples, size }, seed, threads)?;
    }

    #[test]
    fn usual_windows_of_a_channel_too(
        transposed in any::<bool>(),
        length in prop::sample::select(vec![3usize, 5]),
        stride in 1usize..3,
        shift in [any::<bool>(), any::<bool>()],
        channels in sizes(1, 40),
        samples in sizes(1, 4),
        size in [sizes(1, 41), sizes(1, 41)],
        threads in sizes(1, 5),
        seed in any::<u64>(),
    ) {
        let direction = if transposed { Direction::Transposed } else { Direction::Forward };
        // As with padding SAME, which leaves a column out before an even number of them.
        let windows = shift.map(|shift| {
            let (before, after) = (length / 2 - usize::from(shift), length / 2);
            Window { size: length, stride, before, after, ..Window::POINT }
        });
        let channels = Channels { inputs: channels, outputs: channels, groups: channels };
        check(&Case { direction, windows, channels, samples, size }, seed, threads)?;
    }
}

fn check(case: &Case, seed: u64, threads: usize) -> Result<(), TestCaseError> {
    let Case { direction, windows, channels, samples, size } = *case;
    let Channels { inputs, outputs, groups } = channels;
    let area = windows[0].size * windows[1].size;
    let weights = numbers(inputs / groups * outputs * area, seed);
    let bias = numbers(outputs, seed ^ 1);
    let filter = Filter::new(direction, windows, case.channels, &weights).expect("sizes that fit");
    let Some(result) = filter.output_size(size) else { return Ok(()) };
    let input = numbers(samples * inputs * size[0] * size[1], seed ^ 2);
    let total = samples * outputs * result[0] * result[1];
    let (added, factor) = (numbers(total, seed ^ 3), numbers(total, seed ^ 4));
    let mut output = vec![f32::NAN; total];
    let after = [
        After::Add(Numbers::Channels(&bias)),
        After::Add(Numbers::Entries(&added)),
        After::Relu,
        After::Mul(Numbers::Entries(&factor)),
        After::Clip(-0.5, 0.75),
    ];
    filter.run(samples, size, &input, &after, &mut output, if cfg!(miri) { 1 } else { threads });
    let sums = by_definition(case, result, &input, &weights, &bias);
    for (i, (&found, sum)) in output.iter().zip(sums).enumerate() {
        let wanted = (sum + f64::from(added[i])).max(0.0) * f64::from(factor[i]);
        let wanted = wanted.clamp(-0.5, 0.75);
        let scale = (inputs / groups * area) as f64;
        prop_assert!(
            (f64::from(found) - wanted).abs() < 1e-6 * (1.0 + scale),
            "{i}: {found} for {wanted}"
        );
    }
    Ok(())
}

#[test]
fn many_channels_are_summed_in_blocks() {
    let window = Window { size: 3, stride: 1, dilation: 1, before: 1, after: 1, extra: 0 };
    let case = Case {
        direction: Direction::Forward,
        windows: [window; 2],
        channels: if cfg!(miri) { [80, 7] } else { [300, 13] }.into(),
        samples: if cfg!(miri) { 1 } else { 5 },
        size: [7, 7],
    };
    check(&case, 7, 1).expect("equal sums");
    check(&case, 7, 3).expect("equal sums");
}

#[test]
fn rows_that_are_one_end_with_the_image() {
    for size in [1, 2, 3] {
        let windows = [Window { size, ..Window::POINT }, Window::POINT];
        let (direction, channels) = (Direction::Forward, [1, 1].into());
        let case = Case { direction, windows, channels, samples: 1, size: [16, 2] };
        check(&case, 9, 1).expect("equal sums");
    }
}

#[test]
fn a_single_column_of_an_adjoint_with_a_stride_is_all_written() {
    let windows = [Window::POINT, Window { stride: 2, ..Window::POINT }];
    for (size, samples) in [([2, 1], 1), ([7, 1], 4), ([1, 1], 40)] {
        let (direction, channels) = (Direction::Transposed, [1, 1].into());
        check(&Case { direction, windows, channels, samples, size }, 0, 1).expect("equal sums");
    }
}

#[test]
fn an_adjoint_with_a_stride_and_as_many_outputs_stays_within_its_input() {
    for (length, stride, size) in [(6, 2, [6, 8]), (15, 3, [8, 4])] {
        let (before, after) = (length - 1, length - 1);
        let windows =
            [Window { size: length, stride, before, after, ..Window::POINT }, Window::POINT];
        let (direction, channels) = (Direction::Transposed, [1, 1].into());
        check(&Case { direction, windows, channels, samples: 1, size }, 3, 1).expect("equal sums");
    }
}

#[test]
fn large_images_are_summed_a_part_at_a_time() {
    let case = Case {
        direction: Direction::Forward,
        windows: [Window::POINT; 2],
        channels: if cfg!(miri) { [90, 2] } else { [700, 13] }.into(),
        samples: 1,
        size: [16, 64],
    };
    check(&case, 8, 1).expect("equal sums");
    check(&case, 8, 3).expect("equal sums");
}

#[test]
fn nan_stays() {
    let filter =
        Filter::new(Direction::Forward, [Window::POINT; 2], [1, 1], &[1.0]).expect("a filter");
    let mut output = [0.0; 20];
    let input: Vec<f32> =
        (0..20).map(|i| if i % 3 == 0 { f32::NAN } else { i as f32 - 10.0 }).collect();
    for after in [After::Relu, After::Clip(0.0, f32::INFINITY)] {
        filter.run(1, [1, 20], &input, &[after], &mut output, 1);
        for (x, y) in input.iter().zip(output) {
            let wanted = if x.is_nan() { f32::NAN } else { x.max(0.0) };
            assert_eq!(y.to_bits(), wanted.to_bits(), "{x} became {y}");
        }
    }
}

#[test]
fn nan_reaches_the_windows_that_have_it_alone() {
    for (length, stride, side) in [(3, 1, 7), (3, 1, 14), (3, 2, 14), (5, 1, 14), (5, 2, 21)] {
        let around = length / 2;
        let window =
            Window { size: length, stride, before: around, after: around, ..Window::POINT };
        let (direction, channels) =
            (Direction::Forward, Channels { inputs: 3, outputs: 3, groups: 3 });
        let case = Case { direction, windows: [window; 2], channels, samples: 2, size: [side; 2] };
        let weights = numbers(3 * length * length, 5);
        let filter = Filter::new(direction, case.windows, channels, &weights).expect("a filter");
        let result = filter.output_size(case.size).expect("a size");
        let mut input = numbers(6 * side * side, 6);
        // The corners of a channel, and some entry.
        for place in [0, side - 1, side * (side - 1), side * side - 1, side + 2] {
            input[3 * side * side + place] = f32::NAN;
        }
        let mut output = vec![0.0; 6 * result[0] * result[1]];
        let after = [After::Relu, After::Clip(-0.5, 0.75)];
        filter.run(2, case.size, &input, &after, &mut output, 1);
        let sums = by_definition(&case, result, &input, &weights, &[0.0; 3]);
        for (i, (&found, sum)) in output.iter().zip(sums).enumerate() {
            assert_eq!(found.is_nan(), sum.is_nan(), "{i}: {found} for {sum}");
            assert!(sum.is_nan() || (f64::from(found) - sum.clamp(0.0, 0.75)).abs() < 1e-5);
        }
    }
}

#[test]
fn sizes_that_do_not_fit_are_refused() {
    let windows = [Window::POINT; 2];
    assert!(Filter::new(Direction::Forward, windows, [2, 2], &[0.0; 3]).is_none());
    assert!(Filter::new(Direction::Forward, windows, [0, 2], &[]).is_none());
    let uneven = Channels { inputs: 4, outputs: 6, groups: 4 };
    assert!(Filter::new(Direction::Forward, windows, uneven, &[0.0; 6]).is_none());
    let still = Window { stride: 0, ..Window::POINT };
    assert!(Filter::new(Direction::Forward, [still; 2], [1, 1], &[0.0]).is_none());
    let wide = Window { size: 9, ..Window::POINT };
    let filter = Filter::new(Direction::Forward, [wide; 2], [1, 1], &[0.0; 81]).expect("a filter");
    assert_eq!(filter.output_size([9, 8]), None);
    assert_eq!(filter.output_size([9, 10]), Some([1, 2]));
}

#[test]
fn what_would_be_mostly_border_or_unused_is_left_to_others() {
    let far = Window { size: 3, dilation: 5000, before: 5000, after: 5000, ..Window::POINT };
    let filter = Filter::new(Direction::Forward, [far; 2], [1, 1], &[0.0; 9]).expect("a filter");
    assert_eq!(filter.output_size([8, 8]), Some([8, 8]));
    assert!(!filter.suits(1, [8, 8]));
    let near = Window { size: 3, before: 1, after: 1, ..Window::POINT };
    let filter = Filter::new(Direction::Forward, [near; 2], [1, 1], &[0.0; 9]).expect("a filter");
    assert!(filter.suits(1, [8, 8]) && filter.suits(1, [2, 2]) && !filter.suits(1, [1, 1]));
    let wide = Window { size: 30, ..Window::POINT };
    let filter = Filter::new(Direction::Forward, [wide; 2], [1, 1], &[0.0; 900]).expect("a filter");
    assert!(filter.suits(1, [45, 45]) && !filter.suits(1, [32, 32]), "three outputs in a row");
    let spread = Window { stride: 1 << 20, extra: 63, ..Window::POINT };
    let filter = Filter::new(Direction::Transposed, [spread; 2], [1, 1], &[0.0]).expect("a filter");
    assert_eq!(filter.output_size([1, 1]), Some([64, 64]));
    assert!(!filter.suits(1, [1, 1]), "a pass for every remainder");
}

#[test]
fn windows_too_large_to_count_with_are_refused() {
    let huge = usize::MAX / 2;
    let refused = |window: Window| {
        let weights = vec![0.0; window.size];
        let windows = [Window::POINT, window];
        [Direction::Forward, Direction::Transposed]
            .iter()
            .all(|&d| Filter::new(d, windows, [1, 1], &weights).is_none())
    };
    assert!(refused(Window { size: 3, dilation: huge, ..Window::POINT }));
    assert!(refused(Window { before: huge, after: huge, ..Window::POINT }));
    assert!(refused(Window { stride: huge + 1, extra: huge, ..Window::POINT }));
    let far = Window { size: 2, dilation: huge / 2, ..Window::POINT };
    let filter = Filter::new(Direction::Transposed, [far; 2], [1, 1], &[0.0; 4]).expect("a filter");
    assert_eq!(filter.output_size([2, usize::MAX - huge / 4]), None);
    assert!(!filter.suits(1, [2, 2]), "more entries than there is memory for");
}

#[test]
#[should_panic(expected = "entries of the input")]
fn a_number_of_samples_that_wraps_is_refused() {
    let windows = [Window::POINT; 2];
    let filter = Filter::new(Direction::Forward, windows, [4, 1], &[0.0; 4]).expect("a filter");
    filter.run(usize::MAX / 4 + 1, [1, 1], &[], &[], &mut [], 1);
}

#[test]
#[should_panic(expected = "entries of the output")]
fn an_output_whose_size_wraps_is_refused() {
    let far = Window { extra: usize::MAX / 4, ..Window::POINT };
    let filter = Filter::new(Direction::Transposed, [far; 2], [1, 4], &[0.0; 4]).expect("a filter");
    filter.run(1, [1, 1], &[1.0], &[], &mut [], 1);
}
