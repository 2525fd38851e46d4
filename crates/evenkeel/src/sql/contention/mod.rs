//! Contention for rows: conflicts in terms common to all databases, locking reads, and retries after a conflict that lock the rows
//! once there were too many conflicts.

mod conflict;
mod locking;
mod policy;
mod retry;
mod setting;

pub use conflict::{Conflict, Contended, OptimisticError, Stale};
pub use locking::{ForUpdate, LockingTransaction};
pub use policy::ConflictPolicy;
pub(crate) use retry::retry_adaptively;
pub use retry::{Approach, ConflictError};
#[cfg(feature = "lock")]
pub(crate) use setting::SettingTransaction;
