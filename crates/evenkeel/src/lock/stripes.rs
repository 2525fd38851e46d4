//! The number of stripes of a striped lock, agreed upon by all programs that use it.

use super::error::LockError;
use super::locks::Locks;
use super::name::LockName;
use super::store::LockStore;
use crate::clock::Moment;
use crate::guard::guard;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The number may be changed: it is looked at anew after so long.
const LOOK: Duration = Duration::from_secs(10);

/// The number of stripes of one lock, as this program says it. Cheap to clone.
#[derive(Clone)]
pub(super) struct Stripes(Arc<Inner>);

struct Inner {
    locks: Locks,
    name: LockName,
    count: u32,
    /// When the stored number was last seen to be this one.
    agreed: Mutex<Option<Moment>>,
}

impl Stripes {
    pub(super) fn new(locks: &Locks, name: LockName, count: u32) -> Self {
        Self(Arc::new(Inner { locks: locks.clone(), name, count, agreed: Mutex::default() }))
    }

    pub(super) fn count(&self) -> u32 {
        self.0.count
    }

    /// Refuses to go on if another number is stored; stores this one if none is.
    pub(super) async fn check(&self) -> Result<(), LockError> {
        let Inner { locks, name, count, .. } = &*self.0;
        // Before it is asked: from then on it may change.
        let now = locks.clock.now();
        if self.agreed().is_some_and(|agreed| now.since(agreed) < LOOK) {
            return Ok(());
        }
        let stored = match &locks.store {
            LockStore::Memory(memory) => memory.stripes(name, *count),
            LockStore::Redis(redis) => redis.stripes(name, *count).await?,
            // Striped locks are a keel's.
            #[cfg(feature = "sql")]
            LockStore::Other(_) => *count,
            LockStore::Redlock(_) => *count,
        };
        if stored != *count && guard("lock_stripes_agree") {
            let (what, name, asked) = ("striped lock", name.to_string(), *count);
            return Err(LockError::Differs { what, name, asked, stored });
        }
        self.agree(now);
        Ok(())
    }

    /// Stores this number, whatever was stored before.
    pub(super) async fn store(&self) -> Result<(), LockError> {
        let Inner { locks, name, count, .. } = &*self.0;
        match &locks.store {
            LockStore::Memory(memory) => memory.restripe(name, *count),
            LockStore::Redis(redis) => redis.restripe(name, *count).await?,
            #[cfg(feature = "sql")]
            LockStore::Other(_) => {}
            LockStore::Redlock(_) => {}
        }
        Ok(())
    }

    fn agreed(&self) -> Option<Moment> {
        *self.0.agreed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn agree(&self, now: Moment) {
        *self.0.agreed.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
    }
}
