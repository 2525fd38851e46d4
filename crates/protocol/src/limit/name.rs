//! Names of limits and levels, subjects, and the keys of buckets (docs/keyspace.md).

use super::error::LimitError;
use super::quota::Quota;
use std::borrow::Cow;

/// Longest name of a limit or a level in bytes.
pub const NAME_BYTES_MAX: usize = 64;
/// Longest subject in bytes.
pub const SUBJECT_BYTES_MAX: usize = 256;

/// Checks the name of a limit or a level: 1 to 64 letters, digits, `-`, `_` or `.`.
///
/// # Errors
/// [`LimitError::Invalid`].
pub fn check_name(what: &str, name: &str) -> Result<(), LimitError> {
    let is_usual = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.bytes().all(is_usual) {
        let shown = name.escape_debug().take(NAME_BYTES_MAX).collect::<String>();
        return Err(LimitError::Invalid(format!(
            "the name of a {what} has 1 to {NAME_BYTES_MAX} letters, digits, `-`, `_` or `.`, which `{shown}` has not"
        )));
    }
    Ok(())
}

/// Checks a subject: 1 to 256 bytes of text.
///
/// # Errors
/// [`LimitError::Invalid`].
pub fn check_subject(subject: &str) -> Result<(), LimitError> {
    match subject.len() {
        0 => {
            Err(LimitError::Invalid("a subject is empty; if all callers share a level, name them all alike".to_owned()))
        }
        length if length > SUBJECT_BYTES_MAX => Err(LimitError::Invalid(format!(
            "a subject has {length} bytes; the limit is {SUBJECT_BYTES_MAX}; hash longer subjects"
        ))),
        _ => Ok(()),
    }
}

/// The tag of the buckets of a first subject.
pub(super) fn tag(prefix: &str, limit: &str, subject: &str) -> String {
    format!("{prefix}:r:{{{limit}:{}}}", encoded(subject))
}

/// The key of the instances of a limit.
pub(super) fn instances(prefix: &str, limit: &str) -> String {
    format!("{prefix}:r:{{{limit}}}")
}

/// What follows the tag in the key of a level's bucket; `further` are the subjects after the first, up to the level's.
#[must_use]
pub fn suffix(level: &str, quota: &Quota, further: &[&str]) -> String {
    let kind = match quota {
        Quota::Rate(_) => "rate",
        Quota::Window(_) => "window",
    };
    let mut suffix = format!(":{level}:{kind}");
    for subject in further {
        suffix.push(':');
        suffix.push_str(&encoded(subject));
    }
    suffix
}

/// Redis Cluster uses the first closing brace as the end of the hash tag; a colon separates subjects.
fn encoded(subject: &str) -> Cow<'_, str> {
    if subject.contains(['%', '}', ':']) {
        subject.replace('%', "%25").replace('}', "%7D").replace(':', "%3A").into()
    } else {
        subject.into()
    }
}

#[cfg(test)]
mod tests {
    use super::{check_name, check_subject, suffix, tag};
    use crate::limit::quota::{Quota, Rate};
    use std::time::Duration;

    #[test]
    fn subjects_decide_the_key_and_the_first_one_the_slot() {
        let quota = Quota::Rate(Rate::new(1, Duration::from_secs(1)));
        assert_eq!(tag("ns", "api", "a}b%:c"), "ns:r:{api:a%7Db%25%3Ac}");
        assert_eq!(suffix("key", &quota, &["a:b", "c"]), ":key:rate:a%3Ab:c");
        assert_ne!(suffix("key", &quota, &["a:b", "c"]), suffix("key", &quota, &["a", "b:c"]));
    }

    #[test]
    fn names_and_subjects_are_bounded() {
        for name in ["", "a b", "a:b", "ä", &"a".repeat(65)] {
            assert!(check_name("limit", name).is_err(), "{name}");
        }
        assert!(check_name("limit", &"a".repeat(64)).is_ok());
        assert!(check_subject("").is_err() && check_subject(&"a".repeat(257)).is_err());
        assert!(check_subject(&"a".repeat(256)).is_ok());
    }
}
