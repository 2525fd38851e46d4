//! Names of streams and groups, and the hash tag of a partition (docs/keyspace.md).

use super::error::StreamError;
use evenkeel_link::Token;
use sha2::{Digest, Sha256};
use std::fmt;
use std::sync::Arc;

/// Longest name in bytes.
const BYTES_MAX: usize = 128;

/// The name of a group of consumers: 1 to 128 letters, digits, `.`, `-` or `_`. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupName(Arc<str>);

impl GroupName {
    /// Checks a name.
    ///
    /// # Errors
    /// [`StreamError::Invalid`] if it is empty, too long, or has another character.
    pub fn new(name: &str) -> Result<Self, StreamError> {
        check("group", name)?;
        Ok(Self(name.into()))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for GroupName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for GroupName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One partition of a stream: the prefix and hash tag of all its keys. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Partition(Arc<str>);

impl Partition {
    /// Partition `number` of `stream` in the namespace `prefix`, which has no braces and no colons.
    ///
    /// # Errors
    /// [`StreamError::Invalid`] if the name of the stream is empty, too long, or has a character that is neither a letter, a digit,
    /// `.`, `-` nor `_`.
    pub fn new(prefix: &str, stream: &str, number: u16) -> Result<Self, StreamError> {
        check("stream", stream)?;
        Ok(Self(format!("{{{prefix}:s:{stream}:{number}}}").into()))
    }

    /// The prefix and hash tag of all keys of the partition.
    #[must_use]
    pub fn tag(&self) -> &str {
        &self.0
    }
}

/// The token of a producer that numbers its appends for each key: a hash, so that names of any length fit.
#[must_use]
pub fn producer_of(name: &[u8], key: &[u8]) -> Token {
    let length = (name.len() as u64).to_be_bytes();
    let digest = Sha256::new().chain_update(length).chain_update(name).chain_update(key).finalize();
    let mut half = [0; 16];
    half.copy_from_slice(&digest[..16]);
    Token::from(half)
}

/// The partition of a key among `partitions`: the 64-bit FNV-1a hash of the key, mixed, modulo their number. Part of the format: programs
/// of all versions must agree.
#[must_use]
pub fn partition_of(key: &[u8], partitions: u16) -> u16 {
    let hash = key
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    // The low bits of FNV-1a alone depend on the low bits of the key only.
    let mixed = (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    u16::try_from(mixed % u64::from(partitions.max(1))).unwrap_or(0)
}

impl fmt::Debug for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Rejects a new name that no address can contain. Streams and groups of such a name that exist are read as before.
///
/// # Errors
/// [`StreamError::Invalid`]: the name is `.` or `..`.
pub fn check_addressable(what: &str, name: &str) -> Result<(), StreamError> {
    match name {
        "." | ".." => Err(StreamError::Invalid(format!(
            "the name of a {what} must not be `.` or `..`: the address of its page would be that of another page"
        ))),
        _ => Ok(()),
    }
}

fn check(what: &str, name: &str) -> Result<(), StreamError> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    if (1..=BYTES_MAX).contains(&name.len()) && name.bytes().all(is_plain) {
        return Ok(());
    }
    Err(StreamError::Invalid(format!(
        "the name of a {what} must have 1 to {BYTES_MAX} letters, digits, `.`, `-` or `_`; {name:?} does not"
    )))
}

#[cfg(test)]
mod tests {
    use super::{GroupName, Partition, partition_of, producer_of};

    #[test]
    fn keys_are_spread_over_all_partitions() {
        let mut counts = [0_u32; 8];
        (0..8_000).for_each(|number| counts[usize::from(partition_of(format!("order-{number}").as_bytes(), 8))] += 1);
        assert!(counts.iter().all(|count| (800..1_200).contains(count)), "{counts:?}");
        assert!((0..2_u8).all(|bytes| partition_of(&[bytes], 1) == 0));
    }

    #[test]
    fn producers_of_different_keys_differ() {
        assert_eq!(producer_of(b"a", b"bc"), producer_of(b"a", b"bc"));
        assert_ne!(producer_of(b"a", b"bc"), producer_of(b"ab", b"c"));
    }

    // shows: hazard PO13
    #[test]
    fn names_cannot_move_the_slot() {
        let tag = |stream: &str| Partition::new("ns", stream, 3).map(|partition| partition.tag().to_owned());
        assert!(matches!(tag("orders"), Ok(tag) if tag == "{ns:s:orders:3}"));
        for wrong in ["", "a}b", "a{b", "a:b", "a b", &"x".repeat(129)] {
            assert!(tag(wrong).is_err() && GroupName::new(wrong).is_err(), "{wrong}");
        }
    }
}
