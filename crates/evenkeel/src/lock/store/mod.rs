//! The steps of all locks of a keel, on the keel's store.

pub(crate) mod locks;

use evenkeel_protocol::lock::error::LockError;
use evenkeel_protocol::lock::pool::PoolBackend;
use evenkeel_protocol::lock::steps::LockSteps;
use std::ops::Deref;
use std::sync::Arc;

/// The store of a keel's locks. Cheap to clone.
#[derive(Clone)]
pub(crate) struct LockStore {
    steps: Arc<dyn LockSteps>,
    pools: Option<PoolBackend>,
}

impl LockStore {
    pub(crate) fn new(steps: Arc<dyn LockSteps>) -> Self {
        Self { pools: steps.pools(), steps }
    }

    /// What runs the steps of pools, for read/write locks and semaphores.
    pub(crate) fn pools(&self) -> Result<&PoolBackend, LockError> {
        // A Redlock and a database have no pools.
        let rejected = || "read/write locks and semaphores require one Redis or the embedded store";
        self.pools.as_ref().ok_or_else(|| LockError::Invalid(rejected().to_owned()))
    }
}

/// The steps of an exclusive lock.
impl Deref for LockStore {
    type Target = dyn LockSteps;
    fn deref(&self) -> &Self::Target {
        &*self.steps
    }
}
