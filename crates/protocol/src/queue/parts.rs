//! Calls for many jobs, divided by the size of their bodies.

/// The maximum size of the bodies in one call.
const PART_BYTES_MAX: usize = 4 << 20;

/// Splits items into parts of a few MiB; a larger item is a part of its own. An empty slice is one part, so that a call is made.
pub(crate) fn parts<T>(items: &[T], bytes: impl Fn(&T) -> usize) -> Vec<&[T]> {
    let (mut parts, mut begin, mut sum) = (Vec::new(), 0, 0);
    for (at, item) in items.iter().enumerate() {
        let size = bytes(item);
        if at > begin && sum + size > PART_BYTES_MAX {
            parts.push(&items[begin..at]);
            (begin, sum) = (at, 0);
        }
        sum += size;
    }
    parts.push(&items[begin..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::{PART_BYTES_MAX, parts};

    // shows: hazard F7
    #[test]
    fn call_has_at_most_four_mebibytes() {
        let half = PART_BYTES_MAX / 2;
        let cut = |sizes: &[usize]| parts(sizes, |size| *size).iter().map(|part| part.len()).collect::<Vec<_>>();
        assert_eq!(cut(&[]), [0], "one call");
        assert_eq!(cut(&[1]), [1]);
        assert_eq!(cut(&[half, half, 1]), [2, 1]);
        assert_eq!(cut(&[half, half + 1, 0]), [1, 2]);
        assert_eq!(cut(&[0, PART_BYTES_MAX + 1, 0]), [1, 1, 1], "a larger one goes alone");
        let sizes = [900_000; 100];
        assert_eq!(cut(&sizes).iter().sum::<usize>(), sizes.len());
        assert!(parts(&sizes, |size| *size).iter().all(|part| part.iter().sum::<usize>() <= PART_BYTES_MAX));
    }
}
