//! The number of stripes of a striped lock, which all its programs must share.

use crate::lock::store::locks::Locks;
use evenkeel_link::clock::Moment;
use evenkeel_link::support::guard;
use evenkeel_protocol::lock::error::LockError;
use evenkeel_protocol::lock::name::LockName;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

/// The interval after which the stored number is read again, because it may change.
const LOOK: Duration = Duration::from_secs(10);

/// The number of stripes of one lock in this program. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Stripes(Arc<Inner>);

struct Inner {
    locks: Locks,
    name: LockName,
    count: u32,
    /// When the stored number last equaled this one.
    agreed_at: Mutex<Option<Moment>>,
}

impl Stripes {
    pub(crate) fn new(locks: &Locks, name: LockName, count: u32) -> Self {
        Self(Arc::new(Inner { locks: locks.clone(), name, count, agreed_at: Mutex::default() }))
    }

    pub(crate) fn count(&self) -> u32 {
        self.0.count
    }

    /// Fails if another number is stored; stores this one if none is.
    pub(crate) async fn check(&self) -> Result<(), LockError> {
        let Inner { locks, name, count, agreed_at } = &*self.0;
        // Read before the call, because the number may change from then on.
        let now = locks.clock.now();
        if agreed_at.lock().is_some_and(|agreed| now.since(agreed) < LOOK) {
            return Ok(());
        }
        let stored = locks.store.stripes(name, *count).await?;
        if stored != *count && guard("lock_stripes_agree") {
            let (what, name, asked) = ("striped lock", name.to_string(), *count);
            return Err(LockError::Differs { what, name, asked, stored });
        }
        *agreed_at.lock() = Some(now);
        Ok(())
    }

    /// Stores this number, replacing any other.
    pub(crate) async fn store(&self) -> Result<(), LockError> {
        let Inner { locks, name, count, .. } = &*self.0;
        locks.store.restripe(name, *count).await
    }
}
