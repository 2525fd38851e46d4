//! How a user's key becomes a key of the store (docs/keyspace.md).

use std::borrow::Cow;
use std::sync::Arc;

/// What every key of a cache has behind the program's prefix and its colon.
pub const FRONT: &str = "c:";

/// The keys of one cache: `ns:c:cache:{key}`. The braces make the key alone decide the slot on a Redis Cluster.
#[derive(Clone, Debug)]
pub struct CacheKeys {
    front: Arc<[u8]>,
}

impl CacheKeys {
    /// `prefix` is the namespace of the program, `cache` the name of the cache; neither may contain a brace (the builders
    /// see to that), for Redis Cluster takes the first brace for the tag's.
    #[must_use]
    pub fn new(prefix: &str, cache: &str) -> Self {
        Self { front: format!("{prefix}:{FRONT}{cache}:{{").into_bytes().into() }
    }

    /// The key of the entry. `%` and `}` are escaped (`%25`, `%7D`): Redis Cluster takes the first closing brace for the
    /// tag's end, so keys with one would share slots or spread over several.
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
    /// What every key begins with, up to its first brace.
    pub fn front(&self) -> &[u8] {
        &self.front
    }

    /// The user's key of a key in the store; `None` if that is none of this cache's. The way back of [`key`](Self::key).
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
    //! Keys stay apart, and the tag ends where the key ends.

    use super::CacheKeys;

    #[test]
    fn a_brace_in_a_key_does_not_end_the_hash_tag() {
        let keys = CacheKeys::new("shop", "user");
        assert_eq!(keys.key(b"42"), b"shop:c:user:{42}");
        assert_eq!(keys.key(b"a}b"), b"shop:c:user:{a%7Db}");
        assert_ne!(keys.key(b"a}b"), keys.key(b"a%7Db"));
        assert_eq!(keys.key(b"\xff\x00{"), b"shop:c:user:{\xff\x00{}");
    }

    #[test]
    fn a_key_finds_its_way_back() {
        let keys = CacheKeys::new("shop", "user");
        for key in [&b"42"[..], b"a}b", b"a%7Db", b"%", b"}}", b"%25", b"\xff\x00{"] {
            assert_eq!(keys.user_key(&keys.key(key)).as_deref(), Some(key));
        }
        for foreign in [&b"shop:c:users:{42}"[..], b"shop:c:user:{42", b"shop:c:user:42", b""] {
            assert_eq!(keys.user_key(foreign), None);
        }
    }
}
