//! The steps of all locks of a keel, over whatever it keeps its state in.

pub(crate) mod locks;

use evenkeel_protocol::lock::error::LockError;
use evenkeel_protocol::lock::pool::PoolSteps;
use evenkeel_protocol::lock::steps::LockSteps;
use std::ops::Deref;
use std::sync::Arc;

/// Where the locks of a keel are. Cheap to clone.
#[derive(Clone)]
pub(crate) struct LockStore {
    steps: Arc<dyn LockSteps>,
    pools: Option<Arc<dyn PoolSteps>>,
}

impl LockStore {
    pub(crate) fn new(steps: Arc<dyn LockSteps>) -> Self {
        Self { pools: steps.pools(), steps }
    }

    /// The permits that several hold at once.
    pub(crate) fn pools(&self) -> Result<&dyn PoolSteps, LockError> {
        // Neither a Redlock nor a database offers them by its type.
        let refused = || "read/write locks and semaphores are kept on one Redis or in this process only";
        self.pools.as_deref().ok_or_else(|| LockError::Invalid(refused().to_owned()))
    }
}

/// The steps of an exclusive lock.
impl Deref for LockStore {
    type Target = dyn LockSteps;
    fn deref(&self) -> &Self::Target {
        &*self.steps
    }
}
