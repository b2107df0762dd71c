//! Records in bytes.

/// Bytes before a record: its length, the checksum, its number.
pub(crate) const HEAD: usize = 16;
/// The longest record.
pub(crate) const MOST: usize = 1 << 30;

/// A record with its length, checksum and number.
pub(crate) fn frame(number: u64, record: &[u8]) -> Option<Vec<u8>> {
    let length = u32::try_from(record.len()).ok().filter(|_| record.len() <= MOST)?;
    let mut bytes = Vec::with_capacity(HEAD + record.len());
    bytes.extend(length.to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend(number.to_le_bytes());
    bytes.extend(record);
    let crc = checksum(&bytes);
    bytes[4..8].copy_from_slice(&crc.to_le_bytes());
    Some(bytes)
}

fn checksum(frame: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&frame[..4]);
    hasher.update(&frame[8..]);
    hasher.finalize()
}

/// The number and the record at the start of some bytes, if they are whole; what follows them starts behind.
pub(crate) fn parse(bytes: &[u8]) -> Option<(u64, &[u8], &[u8])> {
    let (number, length) = head(bytes)?;
    let whole = bytes.get(..HEAD + length)?;
    let crc = u32::from_le_bytes(whole[4..8].try_into().ok()?);
    (checksum(whole) == crc).then(|| (number, &whole[HEAD..], &bytes[HEAD + length..]))
}

/// The number and the length of a record, unchecked.
fn head(bytes: &[u8]) -> Option<(u64, usize)> {
    let length = u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?);
    let number = u64::from_le_bytes(bytes.get(8..HEAD)?.try_into().ok()?);
    let length = usize::try_from(length).ok().filter(|l| *l <= MOST)?;
    Some((number, length))
}

/// Whether a whole record with a number beyond `number` starts anywhere in some bytes.
pub(crate) fn any_beyond(bytes: &[u8], number: u64) -> bool {
    (1..=bytes.len().saturating_sub(HEAD)).any(|at| {
        let rest = &bytes[at..];
        let near = |n: u64| n > number && n - number < 1 << 24;
        head(rest).is_some_and(|(n, length)| near(n) && HEAD + length <= rest.len())
            && parse(rest).is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_flipped_bit_or_cut_is_noticed() {
        let bytes =
            [frame(7, b"first").expect("a frame"), frame(8, b"").expect("a frame")].concat();
        let (number, record, rest) = parse(&bytes).expect("whole");
        assert_eq!((number, record), (7, &b"first"[..]));
        assert_eq!(parse(rest).map(|r| (r.0, r.1.len(), r.2.len())), Some((8, 0, 0)));
        for bit in 0..8 * (HEAD + 5) {
            let mut broken = bytes.clone();
            broken[bit / 8] ^= 1 << (bit % 8);
            assert!(parse(&broken).is_none_or(|(n, r, _)| (n, r) != (7, b"first")), "{bit}");
            assert!(parse(&broken).is_none(), "{bit}");
            assert!(any_beyond(&broken, 7));
        }
        for cut in 0..HEAD + 5 {
            assert!(parse(&bytes[..cut]).is_none());
            assert!(!any_beyond(&bytes[..cut], 7));
        }
    }
}
