//! How well maps of scores find marked regions of images. One sort of all pixels serves every metric and every resample.

use rayon::prelude::*;

use super::resample::percentiles;
use crate::{Error, error::refused, interval, interval::Interval, nan_is_far, random::Random};

/// Scores of the pixels of an image, row by row, and which of them are marked.
#[derive(Clone, Copy, Debug)]
pub struct Grid<'a> {
    /// Pixels in a row.
    pub width: usize,
    /// The scores; larger ones should belong to marked pixels.
    pub scores: &'a [f32],
    /// Which pixels are marked; none of them if it is empty.
    pub marked: &'a [bool],
}

/// All pixels of several images in the order of their scores.
#[derive(Clone, Debug)]
pub struct Pixels {
    /// From the largest score on.
    order: Vec<Pixel>,
    /// Where each score ends in the order.
    ends: Vec<usize>,
    /// The image and the size of every region.
    regions: Vec<(u32, u32)>,
    /// Pixels of every image that are not marked.
    unmarked: Vec<u32>,
}

/// Where a pixel lies.
#[derive(Clone, Copy, Debug)]
struct Pixel {
    image: u32,
    /// Its region, or [`UNMARKED`].
    region: u32,
}

const UNMARKED: u32 = u32::MAX;

/// A point of the curves: shares of what lies above a score.
#[derive(Clone, Copy, Debug, Default)]
struct Point {
    /// Of pixels that are not marked.
    wrong: f64,
    /// Of marked pixels.
    found: f64,
    /// The mean over regions of the share of their pixels.
    overlap: f64,
    /// Marked pixels among all above the score.
    precision: f64,
}

impl Pixels {
    /// Sorts the pixels of images; marked pixels that touch, at corners too, are a region.
    pub fn new(images: &[Grid<'_>]) -> Result<Self, Error> {
        let (mut all, mut regions, mut unmarked) = (Vec::new(), Vec::new(), Vec::new());
        for (image, grid) in images.iter().enumerate() {
            let whole = grid.width > 0 && grid.scores.len().is_multiple_of(grid.width);
            if !whole || !(grid.marked.is_empty() || grid.marked.len() == grid.scores.len()) {
                return Err(refused(format!(
                    "image {image}: {} scores and {} marks are no rows of {} pixels",
                    grid.scores.len(),
                    grid.marked.len(),
                    grid.width
                )));
            }
            let number = narrow(image)?;
            narrow(all.len() + grid.scores.len())?;
            let offset = narrow(regions.len())?;
            let (labels, sizes) = components(grid);
            regions.extend(sizes.into_iter().map(|size| (number, size)));
            unmarked.push(labels.iter().map(|l| u32::from(*l == UNMARKED)).sum());
            for (&score, label) in grid.scores.iter().zip(labels) {
                let region = if label == UNMARKED { label } else { label + offset };
                all.push((nan_is_far(f64::from(score)), Pixel { image: number, region }));
            }
        }
        all.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        let mut ends: Vec<usize> = (1..all.len()).filter(|&i| all[i].0 < all[i - 1].0).collect();
        ends.push(all.len());
        Ok(Self { order: all.into_iter().map(|(_, p)| p).collect(), ends, regions, unmarked })
    }

    /// The chance that a marked pixel has a larger score than another, ties counted half; none without pixels of both
    /// kinds. With a `limit` below 1, the mean share of marked pixels found over shares of wrongly found ones up to it.
    pub fn auroc(&self, limit: f64) -> Option<f64> {
        self.area(&self.once(), limit, |p| p.found)
    }

    /// The mean over regions of the share that is found, averaged over shares of wrongly found pixels up to `limit` (the
    /// per-region overlap of Bergmann and others 2021), straight between different scores.
    pub fn region_overlap(&self, limit: f64) -> Option<f64> {
        self.area(&self.once(), limit, |p| p.overlap)
    }

    /// The mean precision over the marked pixels, by steps. With a `limit` below 1, the steps up to that share of wrongly
    /// found pixels, divided by the limit as for areas, which can come out above 1.
    pub fn average_precision(&self, limit: f64) -> Option<f64> {
        self.steps(&self.once(), limit)
    }

    /// A metric with the percentile bootstrap over images.
    pub fn interval(
        &self,
        metric: PixelMetric,
        level: f64,
        resamples: usize,
        seed: u64,
    ) -> Result<Interval, Error> {
        interval::rank(level, resamples)?;
        let value = |weights: &[f64]| match metric {
            PixelMetric::Auroc(limit) => self.area(weights, limit, |p| p.found),
            PixelMetric::RegionOverlap(limit) => self.area(weights, limit, |p| p.overlap),
            PixelMetric::AveragePrecision(limit) => self.steps(weights, limit),
        };
        let estimate = value(&self.once()).ok_or_else(|| {
            refused("there must be pixels that are marked, and others".to_owned())
        })?;
        let images = self.unmarked.len();
        let drawn = |number: u64| {
            let mut random = Random::stream(seed, number);
            let mut weights = vec![0.0; images];
            for _ in 0..images {
                weights[random.below(images)] += 1.0;
            }
            value(&weights)
        };
        let draws = (0..resamples as u64).into_par_iter().filter_map(drawn);
        percentiles(estimate, level, taste_threads::within(|| draws.collect()))
    }

    /// Every image once.
    fn once(&self) -> Vec<f64> {
        vec![1.0; self.unmarked.len()]
    }

    /// The points of the curves, from the largest score on, with images counted as often as their weights say; until
    /// `take` has enough. Nothing without pixels of both kinds.
    fn walk(&self, weights: &[f64], mut take: impl FnMut(Point) -> bool) -> Option<()> {
        let weight = |image: u32| weights[image as usize];
        let negatives: f64 =
            self.unmarked.iter().zip(weights).map(|(n, w)| f64::from(*n) * w).sum();
        let positives: f64 =
            self.regions.iter().map(|&(image, size)| f64::from(size) * weight(image)).sum();
        let regions: f64 = self.regions.iter().map(|&(image, _)| weight(image)).sum();
        if negatives <= 0.0 || positives <= 0.0 {
            return None;
        }
        let (mut wrong, mut found, mut overlap, mut start) = (0.0, 0.0, 0.0, 0);
        for &end in &self.ends {
            for pixel in &self.order[start..end] {
                let weight = weight(pixel.image);
                if pixel.region == UNMARKED {
                    wrong += weight;
                } else {
                    found += weight;
                    overlap += weight / f64::from(self.regions[pixel.region as usize].1);
                }
            }
            start = end;
            let point = Point {
                wrong: wrong / negatives,
                found: found / positives,
                overlap: overlap / regions,
                precision: found / (found + wrong).max(f64::MIN_POSITIVE),
            };
            if !take(point) {
                break;
            }
        }
        Some(())
    }

    /// The mean of a share over wrongly found shares up to `limit`.
    fn area(&self, weights: &[f64], limit: f64, of: fn(&Point) -> f64) -> Option<f64> {
        if !(limit > 0.0 && limit <= 1.0) {
            return None;
        }
        let (mut before, mut sum) = (Point::default(), 0.0);
        self.walk(weights, |point| {
            let (low, high) = (of(&before), of(&point));
            let (from, to) = (before.wrong, point.wrong.min(limit));
            // Where the limit cuts a straight piece, the value there.
            let share = if point.wrong > from { (to - from) / (point.wrong - from) } else { 0.0 };
            sum += (to - from) * f64::midpoint(low, low + share * (high - low));
            before = point;
            point.wrong < limit
        })?;
        Some(sum / limit)
    }

    fn steps(&self, weights: &[f64], limit: f64) -> Option<f64> {
        if !(limit > 0.0 && limit <= 1.0) {
            return None;
        }
        let (mut before, mut sum) = (0.0, 0.0);
        self.walk(weights, |point| {
            if point.wrong > limit {
                return false;
            }
            sum += (point.found - before) * point.precision;
            before = point.found;
            true
        })?;
        Some(sum / limit)
    }
}

/// Which metric of pixels, with its limit on the share of wrongly found ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PixelMetric {
    /// [`Pixels::auroc`].
    Auroc(f64),
    /// [`Pixels::average_precision`].
    AveragePrecision(f64),
    /// [`Pixels::region_overlap`].
    RegionOverlap(f64),
}

/// A number of pixels or of what has pixels, below that of [`UNMARKED`].
fn narrow(count: usize) -> Result<u32, Error> {
    let fits = u32::try_from(count).ok().filter(|n| *n < UNMARKED);
    fits.ok_or_else(|| refused(format!("{count} pixels are more than can be ranked at once")))
}

/// The region of every pixel, from 0 on, and how many pixels each has.
fn components(grid: &Grid<'_>) -> (Vec<u32>, Vec<u32>) {
    let mut labels = vec![UNMARKED; grid.scores.len()];
    let mut sizes = Vec::new();
    let (width, height) = (grid.width, grid.scores.len() / grid.width);
    let (mut open, mut next_region) = (Vec::new(), 0);
    for start in 0..grid.marked.len() {
        if !grid.marked[start] || labels[start] != UNMARKED {
            continue;
        }
        sizes.push(0);
        let region = next_region;
        next_region += 1;
        labels[start] = region;
        open.push(start);
        while let Some(at) = open.pop() {
            sizes[region as usize] += 1;
            let (y, x) = (at / width, at % width);
            for row in y.saturating_sub(1)..(y + 2).min(height) {
                for column in x.saturating_sub(1)..(x + 2).min(width) {
                    let next = row * width + column;
                    if grid.marked[next] && labels[next] == UNMARKED {
                        labels[next] = region;
                        open.push(next);
                    }
                }
            }
        }
    }
    (labels, sizes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank::Ranked;

    /// Two images with three regions between them, one of which joins at a corner; scores with ties.
    fn images() -> [(Vec<f32>, Vec<bool>); 3] {
        let marks = |places: &[usize]| (0..48).map(|i| places.contains(&i)).collect::<Vec<_>>();
        let marked = [marks(&[0, 1, 9, 30]), marks(&[20, 21, 28, 29, 30]), marks(&[])];
        let mut random = Random::new(3);
        marked.map(|marked| {
            let score = |m: &bool| {
                let shift = if *m { 1.0 } else { 0.0 };
                #[expect(clippy::cast_possible_truncation, reason = "small whole numbers")]
                let score = (3.0 * (random.normal() + shift)).round() as f32;
                score
            };
            (marked.iter().map(score).collect(), marked)
        })
    }

    fn grids(images: &[(Vec<f32>, Vec<bool>)]) -> Vec<Grid<'_>> {
        images.iter().map(|(scores, marked)| Grid { width: 8, scores, marked }).collect()
    }

    #[test]
    fn without_a_limit_pixels_are_ranked_as_samples_are() {
        let images = images();
        let pixels = Pixels::new(&grids(&images)).expect("pixels");
        let scores: Vec<f64> = images.iter().flat_map(|i| &i.0).map(|s| f64::from(*s)).collect();
        let marked: Vec<bool> = images.iter().flat_map(|i| i.1.clone()).collect();
        let ranked = Ranked::of(&scores, &marked);
        let near = |a: Option<f64>, b: Option<f64>| (a.unwrap() - b.unwrap()).abs() < 1e-12;
        assert!(near(pixels.auroc(1.0), ranked.auroc()));
        assert!(near(pixels.average_precision(1.0), ranked.average_precision()));
    }

    #[test]
    fn overlap_is_what_every_threshold_by_itself_gives() {
        let images = images();
        let pixels = Pixels::new(&grids(&images)).expect("pixels");
        // The second region of the first image is apart; 0, 1 and 9 touch.
        let regions: [(usize, &[usize]); 3] =
            [(0, &[0, 1, 9]), (0, &[30]), (1, &[20, 21, 28, 29, 30])];
        let unmarked: usize = images.iter().map(|i| i.1.iter().filter(|m| !**m).count()).sum();
        let mut levels: Vec<f32> = images.iter().flat_map(|i| i.0.clone()).collect();
        levels.sort_by(|a, b| b.total_cmp(a));
        levels.dedup();
        let at = |t: f32| {
            let wrong = images.iter().flat_map(|(s, m)| s.iter().zip(m));
            let wrong = wrong.filter(|(s, m)| **s >= t && !**m).count() as f64 / unmarked as f64;
            let share = |(image, places): &(usize, &[usize])| {
                let found = places.iter().filter(|p| images[*image].0[**p] >= t).count();
                found as f64 / places.len() as f64
            };
            (wrong, regions.iter().map(share).sum::<f64>() / 3.0)
        };
        let curve: Vec<(f64, f64)> =
            std::iter::once((0.0, 0.0)).chain(levels.into_iter().map(at)).collect();
        for limit in [0.05, 0.3, 1.0] {
            // Straight pieces in many small steps.
            const STEPS: usize = 20_000;
            let height = |x: f64| {
                let k = curve.iter().rposition(|p| p.0 <= x).unwrap_or(0);
                let (a, b) = (curve[k], curve[(k + 1).min(curve.len() - 1)]);
                if b.0 > a.0 { a.1 + (b.1 - a.1) * (x - a.0) / (b.0 - a.0) } else { a.1 }
            };
            let middle = |i: usize| limit * (i as f64 + 0.5) / STEPS as f64;
            let expected = (0..STEPS).map(|i| height(middle(i))).sum::<f64>() / STEPS as f64;
            let found = pixels.region_overlap(limit).expect("regions");
            assert!((found - expected).abs() < 1e-4, "{limit}: {found} {expected}");
        }
    }

    #[test]
    fn order_and_monotone_maps_do_not_matter() {
        let images = images();
        let pixels = Pixels::new(&grids(&images)).expect("pixels");
        let mut other = images.clone();
        other.reverse();
        for (scores, _) in &mut other {
            for score in scores {
                *score = score.powi(3) + 2.0;
            }
        }
        let turned = Pixels::new(&grids(&other)).expect("pixels");
        for limit in [0.3, 1.0] {
            let all = |p: &Pixels| {
                [p.auroc(limit), p.average_precision(limit), p.region_overlap(limit)]
                    .map(|v| (v.expect("pixels") * 1e9).round())
            };
            assert_eq!(all(&pixels).map(f64::to_bits), all(&turned).map(f64::to_bits));
        }
        // Larger scores for other pixels: the complement.
        let mut minus = images.clone();
        minus.iter_mut().flat_map(|i| &mut i.0).for_each(|s| *s = -*s);
        let minus = Pixels::new(&grids(&minus)).expect("pixels").auroc(1.0).expect("pixels");
        assert!((pixels.auroc(1.0).expect("pixels") + minus - 1.0).abs() < 1e-12);
    }

    #[test]
    fn intervals_hold_the_estimate_and_nothing_marked_has_none() {
        let images = images();
        let pixels = Pixels::new(&grids(&images)).expect("pixels");
        for metric in [
            PixelMetric::Auroc(1.0),
            PixelMetric::AveragePrecision(0.3),
            PixelMetric::RegionOverlap(0.3),
        ] {
            let found = pixels.interval(metric, 0.9, 199, 1).expect("images");
            assert!(found.low <= found.estimate && found.estimate <= found.high, "{found:?}");
        }
        let empty = Pixels::new(&grids(&images[2..])).expect("pixels");
        assert_eq!((empty.auroc(1.0), empty.region_overlap(0.3)), (None, None));
        assert!(empty.interval(PixelMetric::Auroc(1.0), 0.9, 99, 0).is_err());
        let short = Grid { width: 5, scores: &[0.0; 7], marked: &[] };
        assert!(Pixels::new(&[short]).expect_err("rows").to_string().contains("7 scores"));
        assert_eq!(pixels.auroc(0.0), None);
    }
}
