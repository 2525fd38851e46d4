//! The name of a lock, and its keys (docs/keyspace.md).

use super::error::LockError;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// Longest name in bytes.
const BYTES_MAX: usize = 512;

/// The name of a lock: 1 to 512 bytes of text without NUL, the same in every process of the fleet. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LockName(Arc<str>);

impl LockName {
    /// Checks a name.
    ///
    /// # Errors
    /// [`LockError::Invalid`] if it is empty, too long, or has a NUL character.
    pub fn new(name: &str) -> Result<Self, LockError> {
        match name.len() {
            0 => Err(LockError::Invalid("a lock needs a name; say what it protects, such as `stock/42`".to_owned())),
            length if length > BYTES_MAX => Err(LockError::Invalid(format!(
                "the name of a lock has {length} bytes; the limit is {BYTES_MAX}; hash longer names"
            ))),
            // PostgreSQL's text type does not support NUL, and the row of a fence is text.
            _ if name.contains('\0') => Err(LockError::Invalid("the name of a lock has a NUL character".to_owned())),
            _ => Ok(Self(name.into())),
        }
    }

    /// The other name that operators may mean by this text: that of the lock whose keys Redis shows with it between the braces, where `%`
    /// is `%25` and `}` is `%7D`. `None` if that is the text itself, or if Redis shows no lock in this way.
    #[must_use]
    pub fn shown_as(text: &str) -> Option<Self> {
        let name = Self::new(&decoded(text)).ok()?;
        (name.as_str() != text && encoded(name.as_str()) == text).then_some(name)
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for LockName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for LockName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// The keys of one lock.
#[derive(Debug)]
pub(crate) struct Keys {
    pub(crate) lock: Vec<u8>,
    pub(crate) fence: Vec<u8>,
    pub(crate) waiters: Vec<u8>,
    pub(crate) channel: Vec<u8>,
}

/// The suffix of the keys of held locks.
pub(crate) const LOCK: &str = ":lock";
/// The suffix of the keys of ledgers.
pub(crate) const FENCE: &str = ":fence";

impl Keys {
    pub(crate) fn new(prefix: &str, name: &LockName) -> Self {
        let key = |ending: &str| key(prefix, name, ending);
        Self { lock: key(LOCK), fence: key(FENCE), waiters: key(":waiters"), channel: key(":news") }
    }
}

/// The key of this name with the suffix `ending`.
pub(crate) fn key(prefix: &str, name: &LockName, ending: &str) -> Vec<u8> {
    format!("{}{ending}", tag(prefix, name.as_str())).into_bytes()
}

/// The prefix of all keys of locks.
pub(crate) fn front(prefix: &str) -> String {
    format!("{prefix}:l:{{")
}

fn tag(prefix: &str, name: &str) -> String {
    format!("{}{}}}", front(prefix), encoded(name))
}

/// Redis Cluster uses the first closing brace as the end of the hash tag.
fn encoded(name: &str) -> Cow<'_, str> {
    if name.contains(['%', '}']) { name.replace('%', "%25").replace('}', "%7D").into() } else { name.into() }
}

fn decoded(text: &str) -> String {
    text.replace("%7D", "}").replace("%25", "%")
}

/// The name of the lock with this key and this suffix; `None` if it is not a key of a lock.
pub(crate) fn name_of(prefix: &str, ending: &str, key: &[u8]) -> Option<LockName> {
    let key = std::str::from_utf8(key).ok()?;
    let name = key.strip_prefix(&front(prefix))?.strip_suffix(ending)?.strip_suffix('}')?;
    LockName::new(&decoded(name)).ok()
}

#[cfg(test)]
mod tests {
    use super::{Keys, LOCK, LockName, name_of};

    #[test]
    fn lock_name_decides_the_slot() {
        let keys = |name: &str| Keys::new("ns", &LockName::new(name).unwrap_or_else(|error| unreachable!("{error}")));
        assert_eq!(keys("stock/42").lock, b"ns:l:{stock/42}:lock");
        assert_eq!(keys("a}b%{c").channel, b"ns:l:{a%7Db%25{c}:news");
    }

    #[test]
    fn lock_name_is_parsed_from_its_key() {
        for name in ["stock/42", "a}b%{c", "%7D", "}:lock"] {
            let name = LockName::new(name).unwrap_or_else(|error| unreachable!("{error}"));
            assert_eq!(name_of("ns", LOCK, &Keys::new("ns", &name).lock), Some(name));
        }
        assert_eq!(name_of("ns", LOCK, b"ns:l:{a}:fence"), None);
        assert_eq!(name_of("ns", LOCK, b"other:l:{a}:lock"), None);
    }

    // shows: hazard BC3
    #[test]
    fn text_that_redis_shows_names_its_lock() {
        let shown = |text: &str| LockName::shown_as(text).map(|name| name.to_string());
        assert_eq!(shown("a%7Db%25{c").as_deref(), Some("a}b%{c"));
        assert_eq!(shown("%257D").as_deref(), Some("%7D"));
        for text in ["stock/42", "100%", "a}", "%41", "%7D%"] {
            assert_eq!(shown(text), None, "{text}");
        }
    }

    // shows: lock::LockName::new
    #[test]
    fn lock_name_is_bounded() {
        assert!(["", "a\0", &"x".repeat(513)].iter().all(|name| LockName::new(name).is_err()));
        assert!(LockName::new(&"x".repeat(512)).is_ok());
    }
}
