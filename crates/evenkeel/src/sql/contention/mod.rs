//! Several transactions want the same rows: what the databases say then, in one set of words; rows that are locked while they are read;
//! work that is done again after a conflict, and that locks once it has met too many.

mod conflict;
mod locking;
mod policy;
mod retry;

pub use conflict::{Conflict, Contended, OptimisticError, Stale};
pub use locking::{ForUpdate, LockingTransaction};
pub use policy::ConflictPolicy;
pub use retry::{Approach, ConflictError};
