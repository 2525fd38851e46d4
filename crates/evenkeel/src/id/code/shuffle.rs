//! [`Shuffle`]: a keyed permutation of the numbers below any limit: a Feistel network over the next even power of two, with cycle walking.

use sha2::{Digest, Sha256};

/// Rounds of the network. Four suffice in theory for a pseudo-random round function (Luby and Rackoff, 1988); small domains need more, and
/// eight still cost about a microsecond.
const ROUNDS: u8 = 8;

/// The key of a [`Shuffle`]. Keep it secret: it allows enumerating the images. Keep it at all: with another key, numbers have other images,
/// which collide with the earlier ones.
#[derive(Clone, PartialEq, Eq)]
pub struct ShuffleKey([u8; 32]);

/// A bijection of the numbers below a limit onto themselves, which hides their order: so codes made from a sequence cannot be enumerated.
///
/// **Guarantee.** Different numbers have different images, under one key and one limit; the images never change with a version of this
/// library. Images that are written in different widths ([`Alphabet::encode_padded`](super::Alphabet::encode_padded)) differ as texts.
/// **Not guaranteed.** That images are unique under two keys or two limits; that the order is hidden from those who know the key.
///
/// ```
/// use evenkeel::id::Alphabet::Base62;
/// use evenkeel::id::{Shuffle, ShuffleKey};
///
/// let key = ShuffleKey::from([7; 32]); // draw it once (`ShuffleKey::random`), and store it
/// let codes = Shuffle::new(key, 62u64.pow(7));
/// let code = codes.apply(41).and_then(|image| Base62.encode_padded(image, 7)).expect("it is below the limit");
/// let number = Base62.decode_padded(&code, 7).and_then(|image| codes.invert(image));
/// assert_eq!(number, Some(41));
/// ```
#[derive(Clone, Debug)]
pub struct Shuffle {
    key: ShuffleKey,
    limit: u64,
    half_bits: u32,
}

impl ShuffleKey {
    /// A random key.
    #[must_use]
    pub fn random() -> Self {
        Self(rand::random())
    }

    /// The key as bytes, to store it.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl From<[u8; 32]> for ShuffleKey {
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

/// Without the key.
impl std::fmt::Debug for ShuffleKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ShuffleKey(..)")
    }
}

impl Shuffle {
    /// The permutation of `0..limit` with `key`.
    #[must_use]
    pub fn new(key: ShuffleKey, limit: u64) -> Self {
        // Both halves have the same width. The domain is below four times the limit, so a walk takes fewer than four steps on average.
        let bits = u64::BITS - limit.saturating_sub(1).leading_zeros();
        Self { key, limit, half_bits: bits.div_ceil(2).max(1) }
    }

    /// The image of `number`; `None` if `number` is not below the limit.
    #[must_use]
    pub fn apply(&self, number: u64) -> Option<u64> {
        self.walk(number, |at| self.forward(at))
    }

    /// The number whose image this is; `None` if it is not below the limit.
    #[must_use]
    pub fn invert(&self, image: u64) -> Option<u64> {
        self.walk(image, |at| self.backward(at))
    }

    /// Steps until the number is below the limit. It terminates, because the network permutes a finite domain: a cycle that starts below
    /// the limit returns below it.
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
mod tests {
    use super::{Shuffle, ShuffleKey};
    use std::collections::HashSet;

    /// The codes of shortlink.
    const CODES: u64 = 62u64.pow(7);

    fn shuffle(seed: u8, limit: u64) -> Shuffle {
        Shuffle::new(ShuffleKey::from([seed; 32]), limit)
    }

    // shows: I6, id::Shuffle
    #[test]
    fn apply_is_a_bijection_on_small_domains() {
        for limit in [1, 2, 3, 4, 5, 16, 17, 62, 100, 3844] {
            for seed in 0..4 {
                let shuffle = shuffle(seed, limit);
                let images: HashSet<u64> = (0..limit).filter_map(|number| shuffle.apply(number)).collect();
                assert_eq!(images.len() as u64, limit, "limit {limit}, seed {seed}: two numbers share an image");
                assert!(images.iter().all(|image| *image < limit));
            }
        }
    }

    // shows: I6
    #[test]
    fn invert_undoes_apply_also_at_the_largest_limits() {
        for limit in [CODES, 1 << 32, (1 << 62) + 1, 1 << 63, u64::MAX] {
            let shuffle = shuffle(7, limit);
            for number in (0..300).chain((0..300).map(|i| i * (limit / 300))).chain(limit - 300..limit) {
                let image = shuffle.apply(number);
                assert!(image.is_some_and(|image| image < limit));
                assert_eq!(image.and_then(|image| shuffle.invert(image)), Some(number));
            }
        }
    }

    #[test]
    fn different_keys_and_neighboring_numbers_have_unrelated_images() {
        let (one, other) = (shuffle(1, CODES), shuffle(2, CODES));
        let same = (0..1_000).filter(|n| one.apply(*n) == other.apply(*n)).count();
        assert_eq!(same, 0, "two keys give equal images");
        let images: Vec<u64> = (0..=1_000).filter_map(|n| one.apply(n)).collect();
        let near = images.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) < CODES / 1_000_000).count();
        assert!(near < 10, "{near} of 1,000 neighbors have close images");
    }

    /// The codes of a database must never change: those made before an upgrade would collide with those made after it.
    // shows: I6, id::Shuffle
    #[test]
    fn mapping_never_changes_between_versions() {
        let shuffle = shuffle(42, CODES);
        let images: Vec<_> = (0..4).filter_map(|n| shuffle.apply(n)).collect();
        assert_eq!(images, [2_074_845_222_805, 2_821_732_001_240, 3_345_875_153_951, 666_937_358_777]);
    }

    #[test]
    fn numbers_at_limit_are_rejected() {
        for limit in [0, 1, 100, u64::MAX] {
            assert_eq!((shuffle(1, limit).apply(limit), shuffle(1, limit).invert(limit)), (None, None), "{limit}");
            assert_eq!(shuffle(1, limit).apply(u64::MAX), None);
        }
    }

    #[test]
    fn key_is_kept_whole_and_hidden_in_debug() {
        let key = ShuffleKey::random();
        assert_eq!(ShuffleKey::from(*key.as_bytes()), key);
        assert_ne!(ShuffleKey::random(), key);
        assert_eq!(format!("{key:?}"), "ShuffleKey(..)", "a key must not end up in a log");
    }
}
