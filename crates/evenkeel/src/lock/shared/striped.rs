//! [`StripedLock`]: many keys share a few locks.

use super::stripes::Stripes;
use crate::lock::acquire::builder::LockBuilder;
use crate::lock::acquire::many::Guards;
use crate::lock::hold::guard::Guard;
use crate::lock::store::locks::Locks;
use evenkeel_protocol::lock::error::LockError;
use evenkeel_protocol::lock::name::LockName;

/// The maximum number of stripes.
const STRIPES_MAX: u32 = 4_096;

/// A fixed number of locks that many keys share: a key always has the same lock. (Also called lock striping or a segmented lock.)
///
/// It limits the number of lock names (rows of `evenkeel_guards`, keys of fences) for millions of keys; keys of one stripe wait for each
/// other. The number of stripes is stored when the first lock is acquired; a program with another number is rejected
/// ([`LockError::Differs`]), because two programs that divide the keys differently would not exclude each other.
#[derive(Clone)]
pub struct StripedLock {
    locks: Locks,
    name: String,
    stripes: Stripes,
}

impl StripedLock {
    pub(crate) fn new(locks: &Locks, name: &str, stripes: u32) -> Result<Self, LockError> {
        if stripes == 0 || stripes > STRIPES_MAX {
            return Err(LockError::Invalid(format!("{stripes} stripes; a striped lock has 1 to {STRIPES_MAX}")));
        }
        if name.is_empty() {
            return Err(LockError::Invalid("a striped lock needs a name".to_owned()));
        }
        let stripes = Stripes::new(locks, LockName::new(name)?, stripes);
        Ok(Self { locks: locks.clone(), name: name.to_owned(), stripes })
    }

    /// Stores this handle's number of stripes as that of the lock, to change it: programs with the old number are rejected at most ten
    /// seconds later. Held locks of the old number do not exclude those of the new one: call this when no program uses the old number any
    /// more.
    ///
    /// # Errors
    /// [`LockError::Link`].
    pub async fn restripe(&self) -> Result<(), LockError> {
        self.stripes.store().await
    }

    /// The stripe of a key: the same in every process and every version of this library.
    #[must_use]
    pub fn stripe(&self, key: &[u8]) -> u32 {
        // FNV-1a: fixed forever, and good enough to distribute keys among a few stripes.
        let hash = key.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        // The low bits of the product are the weakest.
        u32::try_from((hash ^ (hash >> 32)) % u64::from(self.stripes.count())).unwrap_or(0)
    }

    /// The lock of a key, to be acquired like any other.
    pub fn lock(&self, key: &[u8]) -> LockBuilder {
        LockBuilder::new(&self.locks, &self.name_of(self.stripe(key))).of_stripes(self.stripes.clone())
    }

    /// Acquires the locks of several keys, each once and in order, as [`Keel::lock_many`](crate::Keel::lock_many).
    ///
    /// # Errors
    /// As [`LockBuilder::acquire`], and [`LockError::Differs`].
    pub async fn lock_many(
        &self,
        keys: &[&[u8]],
        with: impl Fn(LockBuilder) -> LockBuilder,
    ) -> Result<Guards, LockError> {
        self.stripes.check().await?;
        let names: Vec<String> = keys.iter().map(|key| self.name_of(self.stripe(key))).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        Guards::acquire(&self.locks, &names, with).await
    }

    /// Waits for the lock of a key, with the defaults of [`Keel::lock`](crate::Keel::lock).
    ///
    /// # Errors
    /// As [`LockBuilder::acquire`], and [`LockError::Differs`].
    pub async fn acquire(&self, key: &[u8]) -> Result<Guard, LockError> {
        self.lock(key).acquire().await
    }

    fn name_of(&self, stripe: u32) -> String {
        format!("{}:{}/{stripe}", self.name, self.stripes.count())
    }
}

impl std::fmt::Debug for StripedLock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StripedLock")
            .field("name", &self.name)
            .field("stripes", &self.stripes.count())
            .finish_non_exhaustive()
    }
}
