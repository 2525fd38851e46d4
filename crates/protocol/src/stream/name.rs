//! Names of streams and groups, and the hash tag of a partition (docs/keyspace.md).

use super::error::StreamError;
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

impl fmt::Debug for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
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
    use super::{GroupName, Partition};

    #[test]
    fn names_cannot_move_the_slot() {
        let tag = |stream: &str| Partition::new("ns", stream, 3).map(|partition| partition.tag().to_owned());
        assert!(matches!(tag("orders"), Ok(tag) if tag == "{ns:s:orders:3}"));
        for wrong in ["", "a}b", "a{b", "a:b", "a b", &"x".repeat(129)] {
            assert!(tag(wrong).is_err() && GroupName::new(wrong).is_err(), "{wrong}");
        }
    }
}
