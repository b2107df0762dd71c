//! Attacks as they stand in a list: with how far they may move a sample, as `pgd:eps=8/255` or `pgd:eps=0.5,norm=l2`.

use std::{fmt, str::FromStr, sync::Arc};

use taste_choice::pick;

use super::{ATTACKS, Attack, Norm};

/// An attack and the size of its ball.
#[derive(Clone, Debug)]
pub struct Recipe {
    text: String,
    attack: Arc<dyn Attack>,
    norm: Norm,
    eps: Eps,
}

/// How far a sample may be moved: a number above 0, or a quotient of two, as 8/255.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Eps(pub f64);

impl FromStr for Eps {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.trim().parse::<f64>().ok();
        let value = match text.split_once('/') {
            Some((above, below)) => number(above).zip(number(below)).map(|(a, b)| a / b),
            None => number(text),
        };
        let fits = |value: &f64| value.is_finite() && *value > 0.0;
        let found = value.filter(fits).map(Self);
        found.ok_or_else(|| format!("wants {WANTED}, got {text:?}"))
    }
}

const WANTED: &str = "a distance above 0 such as 0.03 or 8/255";

/// The ten sets of the TASTE paper, by one name.
const PAPER: (&str, [&str; 10]) = (
    "paper",
    [
        "autoattack:eps=2/255",
        "autoattack:eps=4/255",
        "autoattack:eps=8/255",
        "pgd:eps=2/255",
        "pgd:eps=4/255",
        "pgd:eps=8/255",
        "pgd:eps=0.5,norm=l2",
        "pgd:eps=1,norm=l2",
        "fgsm:eps=4/255",
        "fgsm:eps=8/255",
    ],
);

impl Recipe {
    /// Reads an attack with its `eps`, and its `norm` if that is not linf.
    pub fn read(text: &str) -> Result<Self, taste_choice::Error> {
        let (kind, mut arguments) = pick("attack", ATTACKS, text)?;
        let (name, usage) = (kind.choice.name, kind.choice.usage);
        let eps = arguments.text("eps").ok_or_else(|| {
            taste_choice::Error::Unfit(format!(
                "the attack {text} does not say how far a sample may be moved: write {name}:eps=8/255"
            ))
        })?;
        let eps = eps.parse().map_err(|_| taste_choice::Error::Value {
            kind: "attack",
            usage,
            argument: "eps".to_owned(),
            wanted: WANTED.to_owned(),
            got: eps.to_owned(),
        })?;
        let norm = arguments.text("norm").map(str::parse).transpose()?.unwrap_or_default();
        let attack = (kind.read)(&mut arguments)?;
        arguments.finish()?;
        Ok(Self { text: text.trim().to_owned(), attack, norm, eps })
    }

    /// The attack.
    pub fn attack(&self) -> &Arc<dyn Attack> {
        &self.attack
    }

    /// How the size of a change is measured.
    pub fn norm(&self) -> Norm {
        self.norm
    }

    /// The radius of the ball.
    pub fn eps(&self) -> f64 {
        self.eps.0
    }
}

impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The attacks that a list names: recipes, or `paper` for the ten of the TASTE paper.
pub fn recipes<S: AsRef<str>>(list: &[S]) -> Result<Vec<Recipe>, taste_choice::Error> {
    let (name, all) = PAPER;
    let meant = list.iter().map(AsRef::as_ref).flat_map(|text| match text {
        text if text == name => all.to_vec(),
        text => vec![text],
    });
    meant.map(Recipe::read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_attacks_and_all_of_the_paper() {
        let found = recipes(&["square:queries=10,eps=0.1", "paper"]).expect("attacks");
        assert_eq!(found.len(), 11);
        assert_eq!(found[0].attack().written(), "square:queries=10,restarts=1,p=0.8");
        assert_eq!((found[8].norm(), found[8].eps()), (Norm::L2, 1.0));
        assert_eq!(found[10].to_string(), "fgsm:eps=8/255");
        for (bad, message) in [
            ("pgd", "write pgd:eps=8/255"),
            ("pgd:eps=0", "eps wants a distance above 0"),
            ("pgd:eps=1,norm=l3", "no norm \"l3\""),
            ("pgd:eps=1,stpes=2", "\"stpes=2\" means nothing here"),
            ("pdg:eps=1", "did you mean pgd?"),
        ] {
            let error = recipes(&[bad]).expect_err(bad).to_string();
            assert!(error.contains(message), "{bad}: {error}");
        }
    }

    #[test]
    fn distances_are_read() {
        assert_eq!("8/255".parse(), Ok(Eps(8.0 / 255.0)));
        assert_eq!("0.5".parse(), Ok(Eps(0.5)));
        for bad in ["0", "-1", "1/0", "x", "8/", "nan"] {
            assert!(bad.parse::<Eps>().is_err(), "{bad}");
        }
    }
}
