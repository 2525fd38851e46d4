//! The keys of a cache. Text stays readable in Redis. This module escapes bytes that could make two keys equal;
//! [`keys`](evenkeel_protocol::cache::keys) escapes bytes that would change the hash slot.

use std::io::Write;
use std::rc::Rc;
use std::sync::Arc;

/// Bytes of a key that need no allocation; longer keys are on the heap.
const INLINE_MAX: usize = 64;

/// A value that identifies one entry.
///
/// Two unequal keys must write different bytes. [`KeyOf`](super::KeyOf) says in which other forms a key may be given. Implemented for integers, text, bytes, `bool`, `char`, UUID-like `[u8; 16]`, and
/// pairs and triples of keys.
///
/// ```
/// use evenkeel::cache::{CacheKey, KeyWriter};
///
/// struct Tenant(u32);
/// impl CacheKey for Tenant {
///     fn write(&self, to: &mut KeyWriter) {
///         to.text("tenant-");
///         self.0.write(to);
///     }
/// }
/// assert_eq!(evenkeel::cache::key_text(&Tenant(7)), "tenant-7");
/// ```
pub trait CacheKey {
    /// Writes the key.
    fn write(&self, to: &mut KeyWriter);

    /// The key as a number, if [`write`](Self::write) writes exactly its decimal digits: the near cache finds such a key
    /// without writing it. A wrapper type may return its inner number; a wrong number returns the value of another key.
    #[inline]
    fn number(&self) -> Option<u64> {
        None
    }
}

/// The output of a [`CacheKey`]: escapes bytes that must not appear unchanged in the hash tag.
#[derive(Clone, Debug)]
pub struct KeyWriter {
    bytes: Buffer,
}

/// The text of a key, for logs and operators. It stands between the braces of the Redis key, where `%` is `%25` and `}` is `%7D`.
///
/// **Not guaranteed.** That bytes which are not UTF-8 have a text that names the entry: they are shown as `\u{fffd}`, and only programs reach
/// such an entry.
#[must_use]
pub fn key_text<K: CacheKey + ?Sized>(key: &K) -> String {
    String::from_utf8_lossy(KeyBytes::new(key).as_slice()).into_owned()
}

impl KeyWriter {
    /// Writes bytes. A comma separates the parts of a tuple, so a comma inside a part is written as `\,` and a backslash as
    /// `\\`.
    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) {
        if !bytes.iter().any(|byte| matches!(byte, b',' | b'\\')) {
            return self.bytes.extend(bytes);
        }
        for &byte in bytes {
            if matches!(byte, b',' | b'\\') {
                self.bytes.extend(b"\\");
            }
            self.bytes.extend(&[byte]);
        }
    }

    /// Writes text.
    #[inline]
    pub fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// Separates two parts of a key; no part can write this byte itself.
    pub fn divide(&mut self) {
        self.bytes.extend(b",");
    }
}

/// The encoded user key, as every protocol step receives it.
#[derive(Clone, Debug)]
pub(crate) struct KeyBytes(KeyWriter);

impl KeyBytes {
    #[inline]
    pub(crate) fn new<K: CacheKey + ?Sized>(key: &K) -> Self {
        let mut this = Self(KeyWriter { bytes: Buffer::new() });
        key.write(&mut this.0);
        if this.as_slice().is_empty() {
            // An empty hash tag would make Redis Cluster hash the whole key. No key writes a lone backslash.
            this.0.bytes.extend(b"\\");
        }
        this
    }

    /// A key that is already encoded.
    pub(crate) fn written(bytes: &[u8]) -> Self {
        let mut buffer = Buffer::new();
        buffer.extend(bytes);
        Self(KeyWriter { bytes: buffer })
    }

    #[inline]
    pub(crate) fn as_slice(&self) -> &[u8] {
        self.0.bytes.as_slice()
    }

    /// The key in the first bytes of an array, padded with zeros, and its length; `None` if it is longer than `LENGTH`.
    #[inline]
    pub(crate) fn padded<const LENGTH: usize>(&self) -> Option<(&[u8; LENGTH], usize)> {
        match &self.0.bytes {
            Buffer::Inline { bytes, len } if *len <= LENGTH => Some((bytes.first_chunk()?, *len)),
            _ => None,
        }
    }
}

/// A short byte string on the stack, padded with zeros, or a long one on the heap: the hot path encodes a key without an
/// allocation.
#[derive(Clone, Debug)]
enum Buffer {
    Inline { bytes: [u8; INLINE_MAX], len: usize },
    Heap(Vec<u8>),
}

impl Buffer {
    #[inline]
    fn new() -> Self {
        Self::Inline { bytes: [0; INLINE_MAX], len: 0 }
    }

    #[inline]
    fn as_slice(&self) -> &[u8] {
        match self {
            Self::Inline { bytes, len } => &bytes[..*len],
            Self::Heap(bytes) => bytes,
        }
    }

    #[inline]
    fn extend(&mut self, more: &[u8]) {
        match self {
            Self::Inline { bytes, len } if *len + more.len() <= INLINE_MAX => {
                bytes[*len..*len + more.len()].copy_from_slice(more);
                *len += more.len();
            }
            Self::Inline { bytes, len } => {
                let mut heap = Vec::with_capacity(*len + more.len() + INLINE_MAX);
                heap.extend_from_slice(&bytes[..*len]);
                heap.extend_from_slice(more);
                *self = Self::Heap(heap);
            }
            Self::Heap(bytes) => bytes.extend_from_slice(more),
        }
    }
}

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

macro_rules! integer_keys {
    ($($integer:ty: $number:expr),*) => {$(
        impl CacheKey for $integer {
            #[inline]
            fn write(&self, to: &mut KeyWriter) {
                // Digits and a sign need no escape.
                to.bytes.extend(itoa::Buffer::new().format(*self).as_bytes());
            }

            #[inline]
            fn number(&self) -> Option<u64> {
                $number(*self)
            }
        }
    )*};
}

integer_keys!(
    u8: into_number, u16: into_number, u32: into_number, u64: Some,
    u128: as_number, usize: as_number, i8: as_number, i16: as_number, i32: as_number, i64: as_number, i128: as_number, isize: as_number
);

#[inline]
fn into_number(key: impl Into<u64>) -> Option<u64> {
    Some(key.into())
}

/// `None` for a negative number or one that is too large.
#[inline]
fn as_number(key: impl TryInto<u64>) -> Option<u64> {
    key.try_into().ok()
}

impl CacheKey for bool {
    fn write(&self, to: &mut KeyWriter) {
        to.text(if *self { "true" } else { "false" });
    }
}

impl CacheKey for char {
    fn write(&self, to: &mut KeyWriter) {
        to.text(self.encode_utf8(&mut [0; 4]));
    }
}

impl CacheKey for str {
    #[inline]
    fn write(&self, to: &mut KeyWriter) {
        to.text(self);
    }
}

impl CacheKey for [u8] {
    fn write(&self, to: &mut KeyWriter) {
        to.bytes(self);
    }
}

/// Sixteen bytes are written as a UUID, so that `redis-cli` shows the same text as the database.
impl CacheKey for [u8; 16] {
    fn write(&self, to: &mut KeyWriter) {
        for (at, byte) in self.iter().enumerate() {
            if matches!(at, 4 | 6 | 8 | 10) {
                to.bytes.extend(b"-");
            }
            let _ = write!(to.bytes, "{byte:02x}");
        }
    }
}

/// Types whose key is that of what they dereference to.
macro_rules! pointer_keys {
    ($($pointer:ty $(where $key:ident)?),*) => {$(
        impl$(<$key: CacheKey + ?Sized>)? CacheKey for $pointer {
            #[inline]
            fn write(&self, to: &mut KeyWriter) {
                (**self).write(to);
            }

            #[inline]
            fn number(&self) -> Option<u64> {
                (**self).number()
            }
        }
    )*};
}

pointer_keys!(&K where K, Box<K> where K, Arc<K> where K, Rc<K> where K, String, Vec<u8>, bytes::Bytes);

impl<A: CacheKey, B: CacheKey> CacheKey for (A, B) {
    fn write(&self, to: &mut KeyWriter) {
        self.0.write(to);
        to.divide();
        self.1.write(to);
    }
}

impl<A: CacheKey, B: CacheKey, C: CacheKey> CacheKey for (A, B, C) {
    fn write(&self, to: &mut KeyWriter) {
        self.0.write(to);
        to.divide();
        self.1.write(to);
        to.divide();
        self.2.write(to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check<K: CacheKey + ?Sized>(key: &K, text: &str) {
        assert_eq!(key_text(key), text);
    }

    #[test]
    fn keys_stay_readable() {
        check(&42_u64, "42");
        check(&-1_i8, "-1");
        check("ada@example.org/α:1", "ada@example.org/α:1");
        check(&("acme", 7_u32, true), "acme,7,true");
        check(&[0x55_u8; 16], "55555555-5555-5555-5555-555555555555");
        check(&Arc::<str>::from("x"), "x");
    }

    #[test]
    fn number_key_is_its_decimal_text() {
        assert_eq!([0, 7, u64::MAX].map(|key| key.number()), [0, 7, u64::MAX].map(Some));
        assert_eq!((42_u8.number(), 42_i128.number(), Arc::new(42_usize).number()), (Some(42), Some(42), Some(42)));
        assert_eq!(((-1_i64).number(), u128::MAX.number()), (None, None));
        assert_eq!(("42".number(), (4_u64, 2_u64).number()), (None, None));
    }

    #[test]
    fn different_keys_have_different_text() {
        let mut seen = std::collections::HashSet::new();
        for text in ["", "\\", "\\\\", ",", "\\,", "a,b", "a\\,b", "a\\"] {
            assert!(!key_text(text).is_empty());
            assert!(seen.insert(key_text(text)), "{text}");
        }
        let pairs = [("", ""), ("a", "b,c"), ("a,b", "c"), ("a\\", "b"), ("a", "\\b"), (",", ""), ("", ",")];
        for pair in pairs {
            assert!(seen.insert(key_text(&pair)), "{pair:?}");
        }
        assert_ne!(key_text(&("", "")), key_text(&("", "", "")));
    }

    #[test]
    fn long_key_moves_to_the_heap() {
        for length in [INLINE_MAX - 1, INLINE_MAX, INLINE_MAX + 1, 5_000] {
            let key = "k".repeat(length);
            check(&key, &key);
        }
    }
}
