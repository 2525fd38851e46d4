//! A keyed permutation of the numbers below any limit: a Feistel network over the next even power of two, with cycle walking.

use sha2::{Digest, Sha256};
use web::{from_hex, hex};

/// Rounds of the network. Four suffice in theory for a pseudo-random round function (Luby and Rackoff, 1988); small domains need
/// more, and eight still cost about a microsecond.
const ROUNDS: u8 = 8;

/// The key of a permutation. It is stored in the database only, because it allows enumerating the codes.
#[derive(Clone, PartialEq, Eq)]
pub struct Key([u8; 32]);

impl Key {
    /// A random key.
    #[must_use]
    pub fn random() -> Self {
        Self(rand::random())
    }

    /// The stored form: 64 hexadecimal digits.
    #[must_use]
    pub fn to_hex(&self) -> String {
        hex(&self.0)
    }

    /// Parses the output of [`Key::to_hex`]; `None` for anything else.
    #[must_use]
    pub fn from_hex(text: &str) -> Option<Self> {
        from_hex(text)?.try_into().ok().map(Self)
    }
}

impl From<[u8; 32]> for Key {
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key(..)")
    }
}

/// A bijection of the numbers below `limit` onto themselves.
#[derive(Clone, Debug)]
pub struct Permutation {
    key: Key,
    limit: u64,
    half_bits: u32,
}

impl Permutation {
    /// The permutation of `0..limit` with `key`.
    #[must_use]
    pub fn new(key: Key, limit: u64) -> Self {
        // Both halves have the same width. The domain is below four times the limit, so a walk takes fewer than four steps on average
        // (1.25 for 62^7).
        let bits = u64::BITS - limit.saturating_sub(1).leading_zeros();
        Self { key, limit, half_bits: bits.div_ceil(2).max(1) }
    }

    /// The image of `number`; `None` if `number` is not below the limit.
    #[must_use]
    pub fn apply(&self, number: u64) -> Option<u64> {
        self.walk(number, |at| self.forward(at))
    }

    /// The inverse of [`Permutation::apply`].
    #[must_use]
    pub fn invert(&self, image: u64) -> Option<u64> {
        self.walk(image, |at| self.backward(at))
    }

    /// Steps until the number is below the limit. It terminates, because the network permutes a finite domain: a cycle that starts
    /// below the limit returns below it.
    fn walk(&self, start: u64, step: impl Fn(u64) -> u64) -> Option<u64> {
        if start >= self.limit {
            return None;
        }
        let mut at = step(start);
        while at >= self.limit {
            at = step(at);
        }
        Some(at)
    }

    fn forward(&self, number: u64) -> u64 {
        let (mut left, mut right) = self.split(number);
        for round in 0..ROUNDS {
            (left, right) = (right, left ^ self.round(round, right));
        }
        self.join(left, right)
    }

    fn backward(&self, number: u64) -> u64 {
        let (mut left, mut right) = self.split(number);
        for round in (0..ROUNDS).rev() {
            (left, right) = (right ^ self.round(round, left), left);
        }
        self.join(left, right)
    }

    fn round(&self, round: u8, half: u64) -> u64 {
        let digest =
            Sha256::new().chain_update(self.key.0).chain_update([round]).chain_update(half.to_be_bytes()).finalize();
        let mut word = [0; 8];
        word.copy_from_slice(&digest[..8]);
        u64::from_be_bytes(word) & self.half_mask()
    }

    fn split(&self, number: u64) -> (u64, u64) {
        ((number >> self.half_bits) & self.half_mask(), number & self.half_mask())
    }

    fn join(&self, left: u64, right: u64) -> u64 {
        (left << self.half_bits) | right
    }

    fn half_mask(&self) -> u64 {
        (1 << self.half_bits) - 1
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use super::{Key, Permutation};
    use crate::codes::CODES;
    use std::collections::HashSet;

    fn key(seed: u8) -> Key {
        Key::from([seed; 32])
    }

    #[test]
    fn apply_is_a_bijection_on_small_domains() {
        for limit in [1, 2, 3, 4, 5, 16, 17, 62, 100, 3844] {
            for seed in 0..4 {
                let permutation = Permutation::new(key(seed), limit);
                let images: HashSet<u64> = (0..limit).filter_map(|number| permutation.apply(number)).collect();
                assert_eq!(images.len() as u64, limit, "limit {limit}, seed {seed}: two numbers share an image");
                assert!(images.iter().all(|image| *image < limit));
            }
        }
    }

    #[test]
    fn invert_undoes_apply() {
        let permutation = Permutation::new(key(7), CODES);
        let samples = (0..2_000).chain((0..2_000).map(|i| i * (CODES / 2_000))).chain(CODES - 2_000..CODES);
        for number in samples {
            let image = permutation.apply(number).unwrap();
            assert!(image < CODES);
            assert_eq!(permutation.invert(image), Some(number));
        }
    }

    #[test]
    fn different_keys_and_neighboring_numbers_have_unrelated_images() {
        let (one, other) = (Permutation::new(key(1), CODES), Permutation::new(key(2), CODES));
        let same = (0..1_000).filter(|n| one.apply(*n) == other.apply(*n)).count();
        assert_eq!(same, 0, "two keys give equal images");
        let near = (0..1_000)
            .filter(|n| one.apply(*n).unwrap().abs_diff(one.apply(n + 1).unwrap()) < CODES / 1_000_000)
            .count();
        assert!(near < 10, "{near} of 1,000 neighbors have close images");
    }

    /// The codes of a database must never change: links made before an upgrade would collide with those made after it.
    #[test]
    fn mapping_never_changes_between_versions() {
        let permutation = Permutation::new(key(42), CODES);
        let images: Vec<_> = (0..4).map(|n| permutation.apply(n).unwrap()).collect();
        assert_eq!(images, [2_074_845_222_805, 2_821_732_001_240, 3_345_875_153_951, 666_937_358_777]);
    }

    #[test]
    fn numbers_at_limit_are_rejected() {
        let permutation = Permutation::new(key(1), 100);
        assert_eq!(permutation.apply(100), None);
        assert_eq!(permutation.invert(100), None);
    }

    #[test]
    fn key_round_trips_as_hex_and_is_hidden_in_debug() {
        let key = Key::random();
        assert_eq!(Key::from_hex(&key.to_hex()), Some(key.clone()));
        assert_eq!(Key::from_hex("00"), None);
        assert_eq!(Key::from_hex(&"zz".repeat(32)), None);
        assert_eq!(format!("{key:?}"), "Key(..)", "a key must not end up in a log");
    }
}
