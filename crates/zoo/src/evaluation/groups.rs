/// The group that a set belongs to by its name: what stands before the first `/`, or capital letters and digits before
/// the first `_`.
pub fn group_of(name: &str) -> Option<&str> {
    if let Some((group, _)) = name.split_once('/') {
        return Some(group).filter(|group| !group.is_empty());
    }
    let (group, rest) = name.split_once('_')?;
    let is_mark = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit();
    let marked = group.starts_with(|c: char| c.is_ascii_uppercase()) && group.chars().all(is_mark);
    (marked && !rest.is_empty()).then_some(group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_their_group() {
        for (name, group) in [
            ("A_fgsm4", Some("A")),
            ("OOD2_svhn", Some("OOD2")),
            ("noise/gaussian", Some("noise")),
            ("gaussian_noise", None),
            ("svhn", None),
            ("A_", None),
            ("/x", None),
        ] {
            assert_eq!(group_of(name), group, "{name}");
        }
    }
}
