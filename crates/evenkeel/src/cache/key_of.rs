//! The forms in which a key may be given to a cache.

use super::key::CacheKey;
use bytes::Bytes;
use std::rc::Rc;
use std::sync::Arc;

/// A key of a cache whose keys are of type `K`: a `K`, or a borrowed form of it, `&str` for a `String` for instance.
///
/// Both forms write the same bytes. [`Borrow`](std::borrow::Borrow) does not say that: `[u8; 16]` is written as a UUID and `[u8]` byte by
/// byte, so a slice of such an array would name another entry. For a type of your own, implement this where it holds.
///
/// ```
/// use evenkeel::cache::{CacheKey, KeyOf, KeyWriter};
///
/// struct Tenant(String);
/// impl CacheKey for Tenant {
///     fn write(&self, to: &mut KeyWriter) {
///         to.text(&self.0);
///     }
/// }
/// impl KeyOf<Tenant> for str {}
/// ```
///
/// An array and its slice are different keys:
///
/// ```compile_fail,E0277
/// # async fn invalidate(users: evenkeel::cache::Cache<[u8; 16], String>, id: [u8; 16]) {
/// users.invalidate(&id[..]).await.ok();
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not name an entry of a cache whose keys are `{K}`",
    note = "pass a `{K}`, or a borrowed form of it that writes the same bytes (`KeyOf`)"
)]
pub trait KeyOf<K: ?Sized>: CacheKey {}

impl<K: CacheKey + ?Sized> KeyOf<K> for K {}

impl KeyOf<String> for str {}
impl KeyOf<Vec<u8>> for [u8] {}
impl KeyOf<Bytes> for [u8] {}

impl<K: CacheKey + ?Sized> KeyOf<&K> for K {}
impl<K: CacheKey + ?Sized> KeyOf<Box<K>> for K {}
impl<K: CacheKey + ?Sized> KeyOf<Arc<K>> for K {}
impl<K: CacheKey + ?Sized> KeyOf<Rc<K>> for K {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::key::key_text;

    #[track_caller]
    fn check<K: CacheKey, Q: KeyOf<K> + ?Sized>(owned: &K, borrowed: &Q) {
        assert_eq!(key_text(owned), key_text(borrowed));
        assert_eq!(owned.number(), borrowed.number());
    }

    /// A slice of the array named another entry: `invalidate(&id[..])` was `Done`, and the entry of `id` was served. These are all pairs
    /// of `Borrow` whose two sides are keys, but for the array and its slice, which does not compile (see [`KeyOf`]).
    // shows: hazard BC2
    #[test]
    fn borrowed_key_names_the_entry_of_its_owned_form() {
        let id = [0x41, 0x2C, 0x5C, 0x25, 0x7D, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15_u8];
        check(&id, &id);
        check(&"a,\\b".to_owned(), "a,\\b");
        check(&id.to_vec(), &id[..]);
        check(&Bytes::copy_from_slice(&id), &id[..]);
        check(&"a,b", "a,b");
        check(&&id, &id);
        check(&Box::<str>::from("a,b"), "a,b");
        check(&Box::new(id), &id);
        check(&Box::<[u8]>::from(&id[..]), &id[..]);
        check(&Arc::<str>::from("a,b"), "a,b");
        check(&Arc::new(7_u64), &7_u64);
        check(&Rc::<str>::from("a,b"), "a,b");
        check(&Rc::new((7_u64, id)), &(7, id));
    }
}
