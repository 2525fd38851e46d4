//! Maps user keys to keys of the store (docs/keyspace.md).

use std::borrow::Cow;
use std::sync::Arc;

/// The prefix of all cache keys, after the program's prefix and its colon.
pub const FRONT: &str = "c:";

/// The keys of one cache: `ns:c:cache:{key}`. With the braces the user's key alone determines the slot on a Redis Cluster.
#[derive(Clone, Debug)]
pub struct CacheKeys {
    front: Arc<[u8]>,
}

impl CacheKeys {
    /// `prefix` is the program's namespace, `cache` the name of the cache; the builders ensure that neither contains a brace, because
    /// Redis Cluster uses the first opening brace as the start of the hash tag.
    #[must_use]
    pub fn new(prefix: &str, cache: &str) -> Self {
        Self { front: format!("{prefix}:{FRONT}{cache}:{{").into_bytes().into() }
    }

    /// The key of the entry. `%` and `}` are escaped (`%25`, `%7D`): Redis Cluster uses the first closing brace as the end of the
    /// hash tag, so otherwise keys with a brace would share slots or be distributed over several.
    #[must_use]
    pub fn key(&self, key: &[u8]) -> Vec<u8> {
        let mut full = Vec::with_capacity(self.front.len() + key.len() + 1);
        full.extend_from_slice(&self.front);
        if key.iter().any(|byte| matches!(byte, b'%' | b'}')) {
            for &byte in key {
                match byte {
                    b'%' => full.extend_from_slice(b"%25"),
                    b'}' => full.extend_from_slice(b"%7D"),
                    other => full.push(other),
                }
            }
        } else {
            full.extend_from_slice(key);
        }
        full.push(b'}');
        full
    }
}

impl CacheKeys {
    /// The prefix of every key, up to its first brace.
    pub fn front(&self) -> &[u8] {
        &self.front
    }

    /// The user's key of a key in the store; `None` if the key is not of this cache. The inverse of [`key`](Self::key).
    #[must_use]
    pub fn user_key<'a>(&self, full: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        full.strip_prefix(&*self.front)?.strip_suffix(b"}").map(unescaped)
    }
}

/// What stands between the braces of a Redis key, without the escapes of the hash tag.
fn unescaped(shown: &[u8]) -> Cow<'_, [u8]> {
    if !shown.contains(&b'%') {
        return Cow::Borrowed(shown);
    }
    let mut key = Vec::with_capacity(shown.len());
    let mut rest = shown;
    while let Some((&byte, after)) = rest.split_first() {
        let (byte, after) = match (byte, after) {
            (b'%', [b'2', b'5', after @ ..]) => (b'%', after),
            (b'%', [b'7', b'D', after @ ..]) => (b'}', after),
            (byte, after) => (byte, after),
        };
        key.push(byte);
        rest = after;
    }
    Cow::Owned(key)
}

/// The keys that a text may name, encoded as the cache's own keys are. The text is
///
/// 1. what Redis shows between the braces, where `%25` is `%` and `%7D` is `}`,
/// 2. or the encoded key: a comma separates the parts of a tuple; in a part a comma is `\,` and a backslash `\\`,
/// 3. or, for a cache whose keys are text, the key itself.
///
/// One cache has keys of one type, so a text that can be read in several ways names one of its entries. Only a text with `%25`, `%7D`, a
/// comma or two backslashes can.
#[must_use]
pub fn keys_of_text(text: &str) -> Vec<String> {
    let shown = String::from_utf8_lossy(&unescaped(text.as_bytes())).into_owned();
    let mut keys = vec![with_whole_escapes(&shown)];
    for key in [with_whole_escapes(text), escaped_part(text)] {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}

/// A part of a key as a cache encodes it.
fn escaped_part(part: &str) -> String {
    part.replace('\\', r"\\").replace(',', r"\,")
}

/// An encoded key in which every backslash that escapes nothing is itself escaped. A lone backslash is the empty key.
fn with_whole_escapes(key: &str) -> String {
    if key == r"\" {
        return key.to_owned();
    }
    let mut whole = String::with_capacity(key.len());
    let mut rest = key.chars().peekable();
    while let Some(char) = rest.next() {
        whole.push(char);
        if char == '\\' {
            whole.push(rest.next_if(|next| matches!(next, ',' | '\\')).unwrap_or('\\'));
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    //! Different keys map to different store keys, and the hash tag ends with the key.

    #![expect(clippy::unwrap_used, reason = "a failed unwrap is the failure the test reports")]

    use super::{CacheKeys, keys_of_text};

    #[test]
    fn brace_in_a_key_does_not_end_the_hash_tag() {
        let keys = CacheKeys::new("shop", "user");
        assert_eq!(keys.key(b"42"), b"shop:c:user:{42}");
        assert_eq!(keys.key(b"a}b"), b"shop:c:user:{a%7Db}");
        assert_ne!(keys.key(b"a}b"), keys.key(b"a%7Db"));
        assert_eq!(keys.key(b"\xff\x00{"), b"shop:c:user:{\xff\x00{}");
    }

    #[test]
    fn key_is_parsed_from_its_redis_key() {
        let keys = CacheKeys::new("shop", "user");
        for key in [&b"42"[..], b"a}b", b"a%7Db", b"%", b"}}", b"%25", b"\xff\x00{"] {
            assert_eq!(keys.user_key(&keys.key(key)).as_deref(), Some(key));
        }
        for foreign in [&b"shop:c:users:{42}"[..], b"shop:c:user:{42", b"shop:c:user:42", b""] {
            assert_eq!(keys.user_key(foreign), None);
        }
    }

    /// An operator copied a key from Redis, or a service in another language sent the text, and the invalidation was `Done` for an entry
    /// that does not exist.
    // shows: hazard BC3
    #[test]
    fn text_names_its_key_as_redis_shows_it_and_as_it_is() {
        let keys = CacheKeys::new("shop", "user");
        for text in ["42", "100%", "/a%20b", "Müller, Ada", r"a\b", r"a\", r"\,", "{x}", "%25", "%7D", r"\", " "] {
            let encoded = super::escaped_part(text);
            let full = String::from_utf8(keys.key(encoded.as_bytes())).unwrap();
            let shown = &full["shop:c:user:{".len()..full.len() - 1];
            for text in [text, &encoded, shown] {
                assert!(keys_of_text(text).contains(&encoded), "{text} names {encoded}");
            }
        }
        assert_eq!(keys_of_text("user/42"), ["user/42"], "usual texts have one reading");
        assert_eq!(keys_of_text("7,42"), ["7,42", r"7\,42"], "a pair, or one text");
        assert_eq!(keys_of_text(r"\"), [r"\", r"\\"], "the empty text, or a backslash");
    }
}
