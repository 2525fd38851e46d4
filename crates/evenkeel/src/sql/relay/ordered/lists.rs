//! Statements over lists of keys.

use super::keys::KEYS_MAX;

// Lists of keys have one of three sizes, written out: MariaDB does not use an index for a list of pairs. A shorter list is padded
// with its last member.
macro_rules! times {
    (1, $one:expr, $between:expr) => {
        $one
    };
    (8, $one:expr, $between:expr) => {
        concat!(
            $one, $between, $one, $between, $one, $between, $one, $between, $one, $between, $one, $between, $one,
            $between, $one
        )
    };
    (64, $one:expr, $between:expr) => {
        times!(8, times!(8, $one, $between), $between)
    };
}
macro_rules! sizes {
    ($before:expr, $one:expr, $between:expr, $after:expr) => {
        [
            Statement::new(concat!($before, times!(1, $one, $between), $after)),
            Statement::new(concat!($before, times!(8, $one, $between), $after)),
            Statement::new(concat!($before, times!(64, $one, $between), $after)),
        ]
    };
}
/// The numbers of keys for which there is a prepared statement.
const SIZES: [usize; 3] = [1, 8, KEYS_MAX];

/// The list padded to one of the sizes by repeating its last member, and the index of that size; `None` for an empty one.
pub(super) fn padded<T: Clone>(list: impl Iterator<Item = T>) -> Option<(usize, Vec<T>)> {
    let mut list: Vec<T> = list.collect();
    let last = list.last()?.clone();
    let size = SIZES.iter().position(|size| *size >= list.len())?;
    list.resize(SIZES[size], last);
    Some((size, list))
}

#[cfg(test)]
mod tests {
    use super::padded;

    #[test]
    fn key_list_is_padded_to_one_of_three_sizes() {
        assert_eq!(padded(std::iter::empty::<u8>()), None);
        assert_eq!(padded([7].into_iter()), Some((0, vec![7])));
        assert_eq!(padded(0..9).map(|(size, list)| (size, list.len(), list[63])), Some((2, 64, 8)));
    }
}
