//! `taste demo`: the whole story on data that the program draws itself.

mod attack;
mod canvas;
mod change;
mod commands;
mod glyph;
mod glyphs;
mod json;
mod judge;
mod leave;
mod live;
mod page;
mod plane;
mod text;
mod watch;

use anyhow::Result;
use taste_stats::random::Random;

use crate::{Outcome, args::DemoArgs, files::NewFolder, print, print_json};
use watch::Watch;

/// How much is drawn and learnt.
struct Size {
    plane_samples: usize,
    plane_steps: usize,
    plane_batch: usize,
    glyphs: usize,
    glyph_steps: usize,
    calibration: usize,
    batch: usize,
    permutations: usize,
}

impl Size {
    const FULL: Self = Self {
        plane_samples: 4000,
        plane_steps: 2000,
        plane_batch: 1000,
        glyphs: 4000,
        glyph_steps: 800,
        calibration: 3000,
        batch: 500,
        permutations: 1999,
    };
    const FAST: Self = Self {
        plane_samples: 600,
        plane_steps: 200,
        plane_batch: 100,
        glyphs: 600,
        glyph_steps: 80,
        calibration: 300,
        batch: 60,
        permutations: 199,
    };
}

/// A seed for every purpose, from the one that the user gives.
#[derive(Clone, Copy)]
struct Seeds(u64);

impl Seeds {
    fn of(self, purpose: &str) -> u64 {
        let number = purpose.bytes().fold(0u64, |n, byte| n.wrapping_mul(257) + u64::from(byte));
        Random::stream(self.0, number).bits()
    }
}

pub(crate) fn run(args: &DemoArgs) -> Result<Outcome> {
    let size = if args.fast { &Size::FAST } else { &Size::FULL };
    let (seeds, watch) = (Seeds(args.seed), Watch { quiet: args.quiet });
    let folder = NewFolder::make("--out", &args.out)?;
    watch.say("the plane: training a regressor, fitting its detector, moving the data");
    let plane = plane::run(size, seeds, &watch)?;
    watch.say("glyphs: training a classifier");
    let found = glyphs::run(size, seeds, &watch)?;
    let report = args.out.join("report.html");
    let mut files = leave::all(&plane, &found, &args.out, seeds)?;
    leave::report(&report, &page::html(&plane, &found, &args.out, args.seed))?;
    files.push(report.clone());
    folder.keep();
    if args.json {
        print_json(&json::Report::new(args.seed, &plane, &found, &report, &files))?;
    } else {
        print(&text::render(&plane, &found, &args.out))?;
    }
    if args.serve {
        live::run(args, seeds)?;
    }
    Ok(Outcome::Fine)
}
