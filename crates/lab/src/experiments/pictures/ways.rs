//! Ways to make maps: methods of the product.

use ndarray::{Array2, ArrayD, Axis, Ix2};
use taste_data::{InMemory, Samples as _};
use taste_detector::{Detector, Fit, Named, Settings, over_channels};
use taste_engine::Model;

use super::blurred;
use crate::{Error, Run, error::refused};

/// Pictures that go through a detector at once.
const AT_ONCE: usize = 8;

/// A way to make maps.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    /// What the page calls it.
    pub(crate) name: String,
    /// The method, as a user writes it, and options beside it.
    pub(crate) method: String,
    pub(crate) options: Vec<(String, String)>,
    /// The deviation of the blur that its maps get, in pixels; 0 for none.
    pub(crate) blur: f64,
}

impl Way {
    /// A method of the product.
    pub(crate) fn new(
        name: impl Into<String>,
        method: &str,
        options: &[(&str, &str)],
        blur: f64,
    ) -> Self {
        let options = options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Self { name: name.into(), method: method.to_owned(), options: options.collect(), blur }
    }

    /// What its results depend on.
    pub(crate) fn facts(&self) -> (&str, &[(String, String)], f64) {
        (&self.method, &self.options, self.blur)
    }
}

/// A detector with maps, from these pictures.
pub(crate) fn detector(
    run: &Run<'_>,
    model: &Model,
    way: &Way,
    train: &ArrayD<f32>,
    seed: u64,
) -> Result<Detector, Error> {
    let named =
        way.options.iter().fold(Named::new(), |named, (name, value)| named.with(name, value));
    let method = taste_catalog::method(&way.method, &named)?;
    let settings = Settings { map: Some(true), seed, alpha: 0.1, ..Settings::default() };
    let progress = run.progress();
    let fit = Fit::new(model, method).settings(settings).engine(run.engine_used().clone());
    let train = InMemory::new("good pictures", train.clone());
    Ok(fit.progress(&progress).run(&train, None)?)
}

/// The maps of pictures, summed over channels and without sign, and whether each is flagged.
pub(crate) fn maps(
    run: &Run<'_>,
    way: &Way,
    detector: &Detector,
    pictures: &ArrayD<f32>,
) -> Result<(Vec<Array2<f32>>, Vec<bool>), Error> {
    let scorer = detector.start(run.engine_used(), true)?;
    let one_sided = detector.manifest().map.as_ref().is_some_and(|facts| facts.one_sided);
    let samples = InMemory::new("pictures", pictures.clone());
    let total = samples.len()?;
    let (mut found, mut flags) = (Vec::new(), Vec::new());
    for chunk in samples.chunks(AT_ONCE)? {
        let scores = scorer.score(chunk?.values.view())?;
        let maps = scores.map.as_ref().ok_or_else(|| refused("the detector gave no map"))?;
        for map in over_channels(maps).axis_iter(Axis(0)) {
            let map = map.into_dimensionality::<Ix2>().map_err(|e| refused(e.to_string()))?;
            let map = if one_sided { map.to_owned() } else { map.mapv(f32::abs) };
            found.push(if way.blur > 0.0 { blurred(&map, way.blur) } else { map });
        }
        flags.extend(scores.flag);
        run.tell(&way.name, found.len(), total)?;
    }
    Ok((found, flags))
}
