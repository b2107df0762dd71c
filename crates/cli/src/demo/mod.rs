//! `taste demo`: the whole story on data that the program draws itself.

mod canvas;
mod change;
mod glyph;
mod glyphs;
mod plane;
mod watch;

use anyhow::Result;
use taste_stein::stats::random::Random;

use crate::{Outcome, args::DemoArgs, print};
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
    let t = std::time::Instant::now();
    let plane = plane::run(size, seeds, &watch)?;
    for m in plane.turns.iter().step_by(3).chain([&plane.rest]) {
        print(&format!("{:?} err {:.3} S {:.3} {:?} ll {:.2} flagged {:.2}\n", m.angle, m.error, m.signal, m.interval, m.log_likelihood, m.flagged))?;
    }
    print(&format!("{:?}\n{:?}\n", plane.detector.manifest().health, t.elapsed()))?;
    let glyphs = glyphs::run(size, seeds, &watch)?;
    for row in &glyphs.rows {
        print(&format!("{:14} acc {:.3} flagged {:.3} p {:.4}", row.change.name(), row.accuracy.unwrap_or(f64::NAN), row.shift.flagged as f64 / row.shift.samples as f64, row.shift.p_value))?;
        for q in row.shift.quantities.iter().take(3) { print(&format!("  {} {:+.2}", q.name, q.effect))?; }
        print("\n")?;
    }
    print(&format!("{:?}\n{:?}\n", glyphs.detector.manifest().health, t.elapsed()))?;
    Ok(Outcome::Fine)
}
