//! Colours by their part in a figure, for light and for dark surroundings.

use crate::colour::Colour;

/// What a mark is painted with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    /// This colour, whatever the surroundings.
    Fixed(Colour),
    /// Text and axes.
    Ink,
    /// Text of lesser weight.
    Muted,
    /// Lines in the background.
    Grid,
    /// The background.
    Paper,
    /// Thresholds.
    Limit,
    /// Bars that speak for a shift.
    Positive,
    /// Bars that speak against it.
    Negative,
    /// The marks of the k-th series; beyond the last colour they begin anew.
    Series(usize),
}

/// Colours of series, light and dark, told apart by people of every colour vision (after Okabe and Ito).
const SERIES: [(Colour, Colour); 8] = [
    (Colour::new(0, 107, 172), Colour::new(86, 170, 232)),
    (Colour::new(207, 88, 0), Colour::new(242, 140, 66)),
    (Colour::new(0, 139, 101), Colour::new(44, 186, 145)),
    (Colour::new(178, 82, 140), Colour::new(224, 140, 190)),
    (Colour::new(112, 96, 196), Colour::new(160, 148, 240)),
    (Colour::new(158, 120, 0), Colour::new(224, 186, 60)),
    (Colour::new(60, 148, 200), Colour::new(140, 206, 240)),
    (Colour::new(110, 110, 110), Colour::new(170, 170, 170)),
];

impl Paint {
    /// Every paint that depends on the surroundings.
    pub(crate) fn themed() -> impl Iterator<Item = Self> {
        let fixed = [
            Self::Ink,
            Self::Muted,
            Self::Grid,
            Self::Paper,
            Self::Limit,
            Self::Positive,
            Self::Negative,
        ];
        fixed.into_iter().chain((0..SERIES.len()).map(Self::Series))
    }

    /// Its colour in light surroundings.
    pub(crate) fn light(self) -> Colour {
        self.pair().0
    }

    /// Its colour in dark surroundings.
    pub(crate) fn dark(self) -> Colour {
        self.pair().1
    }

    fn pair(self) -> (Colour, Colour) {
        let pair = |light: [u8; 3], dark: [u8; 3]| {
            (Colour::new(light[0], light[1], light[2]), Colour::new(dark[0], dark[1], dark[2]))
        };
        match self {
            Self::Fixed(c) => (c, c),
            Self::Ink => pair([31, 35, 40], [230, 233, 238]),
            Self::Muted => pair([92, 100, 112], [156, 165, 178]),
            Self::Grid => pair([226, 229, 234], [52, 58, 68]),
            Self::Paper => pair([255, 255, 255], [22, 25, 31]),
            Self::Limit => pair([176, 24, 40], [255, 124, 124]),
            Self::Positive => pair([191, 58, 48], [235, 112, 100]),
            Self::Negative => pair([38, 98, 178], [100, 160, 232]),
            Self::Series(k) => SERIES[k % SERIES.len()],
        }
    }

    /// The class under which a page recolours it.
    pub(crate) fn class(self) -> Option<String> {
        Some(match self {
            Self::Fixed(_) => return None,
            Self::Ink => "ink".to_owned(),
            Self::Muted => "muted".to_owned(),
            Self::Grid => "grid".to_owned(),
            Self::Paper => "paper".to_owned(),
            Self::Limit => "limit".to_owned(),
            Self::Positive => "positive".to_owned(),
            Self::Negative => "negative".to_owned(),
            Self::Series(k) => format!("series-{}", k % SERIES.len()),
        })
    }
}
