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
        let escaped = full.strip_prefix(&*self.front)?.strip_suffix(b"}")?;
        if !escaped.contains(&b'%') {
            return Some(Cow::Borrowed(escaped));
        }
        let mut key = Vec::with_capacity(escaped.len());
        let mut rest = escaped;
        while let Some((&byte, after)) = rest.split_first() {
            let (byte, after) = match (byte, after) {
                (b'%', [b'2', b'5', after @ ..]) => (b'%', after),
                (b'%', [b'7', b'D', after @ ..]) => (b'}', after),
                (byte, after) => (byte, after),
            };
            key.push(byte);
            rest = after;
        }
        Some(Cow::Owned(key))
    }
}

#[cfg(test)]
mod tests {
    //! Different keys map to different store keys, and the hash tag ends with the key.

    use super::CacheKeys;

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
}
