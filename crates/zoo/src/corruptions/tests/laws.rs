use super::{
    super::{Act, CORRUPTIONS, Recipe, Strength, Suite, recipes},
    difference, drawn,
};

#[test]
fn all_of_both_sets_are_there() {
    let count = |suite| CORRUPTIONS.iter().filter(|c| c.suite == suite).count();
    assert_eq!(Suite::ALL.map(count), [19, 11, 2, 5]);
    let all = recipes(&["cifar10-c", "cifar10-p", "fog:5"]).expect("recipes");
    assert_eq!(all.len(), 31);
    assert_eq!((all[0].strength(), all[30].strength()), (Strength::Mixed, Strength::Severity(5)));
}

#[test]
fn every_size_of_picture_is_changed_and_stays_a_picture() {
    for (channels, height, width) in [(3, 8, 8), (1, 8, 13), (3, 19, 33), (1, 28, 28)] {
        let picture = drawn(channels, height, width);
        for corruption in CORRUPTIONS.iter().filter(|c| c.suite != Suite::Tables) {
            let recipe = Recipe::read(corruption.choice.name).expect("a name");
            let levels: &[&str] =
                if let Act::Once(_) = corruption.act { &[""] } else { &["1", "2", "3", "4", "5"] };
            for level in levels {
                let recipe = match *level {
                    "" => recipe.clone(),
                    level => recipe.clone().with_severity(level).expect("a severity"),
                };
                let name = format!("{} on {channels} × {height} × {width}", recipe.text());
                let found = recipe.picture(&picture, 3).expect(&name);
                assert_eq!(found.shape(), picture.shape(), "{name}");
                assert!(found.iter().all(|v| (0.0..=1.0 + 1e-9).contains(v)), "{name}");
                let is_still = channels == 1 && corruption.choice.name == "saturate";
                let small = height.min(width) < 16;
                assert!(is_still || small || difference(&found, &picture) > 1e-4, "{name}");
                assert_eq!(recipe.picture(&picture, 3).expect(&name), found, "{name}");
            }
        }
    }
}

#[test]
fn noise_depends_on_seed_place_and_kind() {
    let picture = drawn(3, 16, 16);
    let noise = |text: &str, seed, place| {
        Recipe::read(text).expect(text).with_seed(seed).picture(&picture, place).expect(text)
    };
    let base = noise("gaussian-noise:1", 0, 0);
    for other in [noise("gaussian_noise:1", 1, 0), noise("gaussian-noise:1", 0, 1)] {
        assert!(difference(&base, &other) > 0.01);
    }
    assert_eq!(noise("gaussian-noise:mixed", 0, 5), noise("gaussian-noise:1", 0, 5));
    assert_eq!(noise("gaussian-noise:mixed", 0, 9), noise("gaussian-noise:5", 0, 9));
}

#[test]
fn severities_grow_worse() {
    let picture = drawn(3, 32, 32);
    for name in ["gaussian-noise", "shot-noise", "fog", "contrast", "gaussian-blur", "zoom-blur"] {
        let off = |level: &str| {
            let recipe = Recipe::read(name).expect(name).with_severity(level).expect(level);
            difference(&recipe.picture(&picture, 0).expect(name), &picture)
        };
        let all = ["1", "2", "3", "4", "5"].map(off);
        assert!(all.is_sorted(), "{name}: {all:?}");
    }
}

#[test]
fn turning_and_moving_are_what_they_say() {
    let picture = drawn(1, 16, 16);
    let apply = |text: &str| Recipe::read(text).expect(text).picture(&picture, 0).expect(text);
    assert!(difference(&apply("rotate:degrees=0"), &picture) < 1e-12);
    assert!(difference(&apply("translate:pixels=0"), &picture) < 1e-12);
    // A quarter turn counter-clockwise brings the right edge to the top.
    let quarter = apply("rotate:degrees=90");
    let wanted = picture.clone().permuted_axes([0, 2, 1]);
    let wanted = wanted.slice(ndarray::s![.., ..;-1, ..]).to_owned();
    assert!(difference(&quarter, &wanted) < 1e-9);
    let moved = Recipe::read("p-translate").expect("a name").picture(&picture, 0).expect("moved");
    assert!(
        difference(
            &moved.slice(ndarray::s![.., .., 8..]).to_owned(),
            &picture.slice(ndarray::s![.., .., ..8]).to_owned()
        ) < 1e-12
    );
}

#[test]
fn what_can_not_be_read_or_changed_is_said_in_a_sentence() {
    let message = |text: &str| Recipe::read(text).expect_err(text).to_string();
    assert!(message("fogg").contains("did you mean fog?"));
    assert!(message("fog:6").contains("1, 2, 3, 4, 5 or mixed"), "{}", message("fog:6"));
    assert!(message("p-rotate:2").contains("\"2\" means nothing"), "{}", message("p-rotate:2"));
    assert!(message("rotate:degrees=400").contains("from -360 to 360"));
    let once = Recipe::read("p-rotate").expect("a name").with_severity("2").expect_err("once");
    assert!(once.to_string().contains("p-rotate has one strength"), "{once}");
    let fog = Recipe::read("fog").expect("a name");
    for (shape, wanted) in [((3, 7, 9), "need 8 × 8"), ((2, 9, 9), "1 or 3 channels")] {
        let error = fog.picture(&drawn(shape.0, shape.1, shape.2), 0).expect_err("refused");
        assert!(error.to_string().contains(wanted), "{error}");
    }
}
