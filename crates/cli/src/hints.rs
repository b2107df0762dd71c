//! What to do about an error, in the flags of the command: libraries say what is wrong and know no flags.

use std::path::Path;

use anyhow::anyhow;
use taste_data::Problem;
use taste_detector::Error as Detection;
use taste_monitor::Error as Watching;

/// Where a command takes the way from files to samples from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// From its flags.
    Flags,
    /// From a detector, which reads data as those that it was fitted to.
    Detector,
}

/// The rest of the sentence, if a flag helps.
pub(crate) fn hint(error: &anyhow::Error, reading: Reading) -> Option<String> {
    if let Some(found) = error.downcast_ref::<Detection>().and_then(detection) {
        return Some(found);
    }
    if let Some(service) = error.downcast_ref::<taste_serve::Error>() {
        return self::service(service).map(str::to_owned);
    }
    if let Some(watching) = error.downcast_ref::<Watching>() {
        return monitor(watching).map(str::to_owned);
    }
    from_flags(error, reading).map(str::to_owned)
}

/// What to do about a service that does not start.
fn service(error: &taste_serve::Error) -> Option<&'static str> {
    match error {
        taste_serve::Error::Open { .. } => Some(": --tokens FILE, or --open if that is meant"),
        taste_serve::Error::Monitor { source, .. } => monitor(source),
        _ => None,
    }
}

fn from_flags(error: &anyhow::Error, reading: Reading) -> Option<&'static str> {
    let engine = error.chain().find_map(|cause| match cause.downcast_ref() {
        Some(Detection::Engine(engine)) => Some(engine),
        _ => cause.downcast_ref::<taste_engine::Error>(),
    });
    match engine.map(taste_engine::Error::kind) {
        Some(taste_engine::ErrorKind::OpenShape) => return Some(" with --shape"),
        Some(taste_engine::ErrorKind::LeftToEngine) => return Some(" (--backend ort)"),
        Some(taste_engine::ErrorKind::Tensor) => {
            return Some(" (--features names one of them, and for the method stein --at)");
        }
        Some(taste_engine::ErrorKind::EveryClass) => {
            return Some(" (--laplacian-method closed-form)");
        }
        Some(taste_engine::ErrorKind::ManyPlaces) => {
            return Some(
                "; --output names another one, and --task numbers takes all of them for one answer",
            );
        }
        _ => {}
    }
    let chosen = reading == Reading::Flags;
    match problem(error)? {
        Problem::Entry { .. } => Some("; --skip-bad leaves such out"),
        Problem::NotWhole { .. } if chosen => {
            Some(", as classes have: if the model gives numbers and no classes, --task numbers")
        }
        Problem::NotNumbers { .. } | Problem::NamesRows { .. } if chosen => {
            Some("; --exclude leaves it out, and --columns names those that the model takes")
        }
        Problem::ImageSize { .. } if chosen => {
            Some("; --resize HxW brings all to one size, and so does --resize SIDE --crop SIDE")
        }
        Problem::ImageSize { .. } => {
            Some("; a detector that was fitted with --resize HxW or --crop brings all to one size")
        }
        Problem::Shape { columns: Some(_), .. } if chosen => {
            Some("; choose them with --columns, --exclude and --labels")
        }
        Problem::Shape { only_size: true, .. } if chosen => {
            Some("; --resize, --crop and --pad change the size of images")
        }
        Problem::Shape { only_size: true, .. } => Some(
            "; a detector that was fitted with --resize, --crop or --pad changes the size of images",
        ),
        _ => None,
    }
}

/// An error of a detector in a file, with what the user can do.
pub(crate) fn about(file: &Path, error: &Detection) -> anyhow::Error {
    anyhow!("{}: {error}{}", file.display(), detection(error).unwrap_or_default())
}

fn detection(error: &Detection) -> Option<String> {
    let hint = match error {
        Detection::Setting { name, .. } => return Some(format!(" (--{name})")),
        Detection::TooFew(shortage) if shortage.hold_out.is_some() => " (--held-out, --alpha)",
        Detection::TooFew(_) => " (--alpha)",
        Detection::Missing { .. } => {
            ": fill in what is missing, leave those rows out, or leave columns out with --exclude; a model whose file \
             begins with an imputer takes them as they are"
        }
        Detection::NoMaps => ": fit it again with --map to see where a sample differs",
        Detection::KeepsRows { .. } => " (--no-rows)",
        Detection::NoLabels { .. } => " (--labels)",
        Detection::NoNames { .. } => " (--class-names)",
        Detection::NoClasses { .. } => " (--task, --output)",
        _ => return None,
    };
    Some(hint.to_owned())
}

fn monitor(error: &Watching) -> Option<&'static str> {
    Some(match error {
        Watching::SeenByModel => {
            "; --recalibrate N takes the first N samples of the stream as the calibration, taste edit --recalibrate DATA \
             takes samples that the model has not seen, and --optimism tolerates a measured difference"
        }
        Watching::OtherDetector { .. } | Watching::OtherSettings { .. } => {
            "; another --state begins anew"
        }
        Watching::NoState(_) => "; name the samples to begin one with",
        Watching::Lost { .. } => "; --accept-loss goes on without them",
        Watching::Setting { .. } => {
            " (--run-length, --delta, --tolerate, --optimism, --least-effect)"
        }
        Watching::TooFew { .. } => " (--recalibrate)",
        _ => return None,
    })
}

/// What is wrong with the data, if it is them.
fn problem(error: &anyhow::Error) -> Option<&Problem> {
    let data = error.chain().find_map(|cause| {
        if let Some(data) = cause.downcast_ref::<taste_data::Error>() {
            return Some(data);
        }
        if let Some(Detection::Data(data)) = cause.downcast_ref() {
            return Some(data);
        }
        match cause.downcast_ref() {
            Some(taste_train::Error::Data(data)) => Some(data),
            _ => None,
        }
    });
    data.map(taste_data::Error::problem)
}

#[cfg(test)]
mod tests {
    use taste_data::{Dataset, Options, Samples};

    use super::*;

    #[test]
    fn hints_follow_the_problem_through_the_layers() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.csv");
        std::fs::write(&path, "a,b\n1,2\nx,3\n").expect("a file");
        let entry = || -> taste_data::Error {
            let set = Dataset::open(&path, &Options::default()).expect("a table");
            let mut chunks = set.chunks(9).expect("chunks");
            chunks.next().expect("a chunk").expect_err("a bad line")
        };
        let errors: [anyhow::Error; 3] = [
            entry().into(),
            Detection::from(entry()).into(),
            taste_train::Error::from(entry()).into(),
        ];
        for error in errors {
            for reading in [Reading::Flags, Reading::Detector] {
                assert_eq!(hint(&error, reading).as_deref(), Some("; --skip-bad leaves such out"));
            }
        }
        let options = Options { sample_shape: Some(vec![3]), ..Options::default() };
        let shape = Dataset::open(&path, &options).expect_err("two columns").into();
        assert!(hint(&shape, Reading::Flags).is_some_and(|hint| hint.contains("--columns")));
        assert_eq!(hint(&shape, Reading::Detector), None);
    }
}
