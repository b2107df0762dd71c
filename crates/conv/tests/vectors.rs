//! Results by vectors of AVX2 and by longer ones, where the processor has both.

use taste_conv::{After, Channels, Direction, Filter, Numbers, Window, without_avx512};

/// What one filter of each way to convolve makes of images.
fn results() -> Vec<Vec<f32>> {
    let same = |size, stride| Window {
        size,
        stride,
        dilation: 1,
        before: size / 2,
        after: size / 2,
        extra: stride - 1,
    };
    let apart = Channels { inputs: 7, outputs: 7, groups: 7 };
    let cases = [
        (Direction::Forward, same(3, 1), [9, 8].into(), 2, 21),
        (Direction::Forward, same(5, 2), [3, 13].into(), 1, 40),
        (Direction::Transposed, same(3, 2), [8, 5].into(), 2, 9),
        (Direction::Forward, same(1, 1), [40, 11].into(), 1, 32),
        (Direction::Forward, same(3, 1), apart, 1, 30),
        (Direction::Forward, same(3, 1), apart, 2, 7),
        (Direction::Forward, same(3, 1), apart, 2, 3),
        (Direction::Forward, same(5, 1), apart, 2, 14),
        (Direction::Forward, same(3, 2), apart, 2, 56),
        (Direction::Forward, same(5, 2), apart, 2, 13),
        (Direction::Transposed, same(5, 1), apart, 2, 11),
        (Direction::Forward, same(3, 1), [6, 4].into(), 20, 2),
    ];
    let run =
        |(direction, window, channels, samples, side): (_, Window, Channels, usize, usize)| {
            let Channels { inputs, outputs, groups } = channels;
            let number = |i: usize| ((i * 37) % 101) as f32 / 50.0 - 1.0;
            let pairs = inputs / groups * outputs;
            let weights: Vec<f32> = (0..pairs * window.size * window.size).map(number).collect();
            let filter = Filter::new(direction, [window; 2], channels, &weights).expect("a filter");
            let result = filter.output_size([side; 2]).expect("a size");
            let input: Vec<f32> = (0..samples * inputs * side * side).map(number).collect();
            let bias: Vec<f32> = (0..outputs).map(number).collect();
            let after = [After::Add(Numbers::Channels(&bias)), After::Clip(-4.0, 4.0)];
            let mut output = vec![f32::NAN; samples * outputs * result[0] * result[1]];
            filter.run(samples, [side; 2], &input, &after, &mut output, 1);
            output
        };
    cases.into_iter().map(run).collect()
}

#[test]
#[cfg_attr(miri, ignore = "it has one length of vectors alone")]
fn results_do_not_depend_on_the_length_of_vectors() {
    let longest = results();
    without_avx512();
    assert_eq!(results(), longest);
}
