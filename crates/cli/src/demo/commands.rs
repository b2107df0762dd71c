//! What to type next.

use std::path::Path;

use super::leave::SHIFTS;

/// A command and what it is for.
pub(super) struct Command {
    pub(super) line: String,
    pub(super) purpose: &'static str,
}

/// Commands for the files that the demonstration leaves in a folder.
pub(super) fn next(folder: &Path) -> Vec<Command> {
    let file = |name: &str| quoted(&folder.join(name));
    let (detector, new) = (file("glyphs-detector.onnx"), file("glyphs-new.npy"));
    let with = [
        (
            format!(
                "taste fit --model {} --data {} --calibration {} --map -o again.onnx",
                file("glyphs.onnx"),
                file("glyphs-train.npy"),
                file("glyphs-calibration.npy")
            ),
            "the detector once more, from the command line",
        ),
        (
            format!("taste score {detector} {new} -o scores.csv"),
            "harm and novelty of every sample, with the reasons",
        ),
        (format!("taste test {detector} {new}"), "is the batch harmful, by how much, and why?"),
        (
            format!(
                "taste evaluate {detector} --id {} --id-labels own --ood known={} unseen={} --labels known=own",
                file("glyphs-fresh.npy"),
                file(SHIFTS),
                file("glyphs-unseen.npy")
            ),
            "how good is it, where the truth is known?",
        ),
        (format!("taste explain {detector} {new} -o maps"), "where samples differ, as images"),
    ];
    with.map(|(line, purpose)| Command { line, purpose }).into()
}

/// As a shell takes it.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "-_./\\:+,@~".contains(c);
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_survive_a_shell() {
        assert_eq!(quoted(Path::new("a-b/c_1.onnx")), "a-b/c_1.onnx");
        assert_eq!(quoted(Path::new("my files/a")), "'my files/a'");
        assert_eq!(quoted(Path::new("it's")), r"'it'\''s'");
    }
}
