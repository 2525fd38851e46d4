//! The steps of a pool. Each is a value, with its script next to it; docs/spec/lock.md specifies them.

mod acquire;
mod hold;
mod operate;

pub use acquire::*;
pub use hold::*;
pub use operate::*;

/// What the files of the steps use.
mod prelude {
    pub(super) use crate::lock::error::LockError;
    pub(super) use crate::lock::pool::backend::{Pool, scripts};
    pub(super) use crate::lock::pool::state::State;
    pub(super) use crate::lock::redis::unexpected;
    pub(super) use crate::lock::steps::Fence;
    pub(super) use crate::step::reply::typed;
    pub(super) use crate::step::{Args, Call, Step};
    pub(super) use evenkeel_link::Token;
    pub(super) use evenkeel_link::support::guard;
    pub(super) use redis::Value;

    pub(super) type Replied<T> = Result<T, LockError>;
}

use prelude::*;

/// The maximum number of permits of a pool, and thus of concurrent holders. A read/write lock has this many: a writer takes all.
pub const PERMITS_MAX: u32 = 500;

/// The maximum length of a pool's queue. Later requests have no place in it and come after all others.
pub const WAITERS_MAX: usize = 500;

/// How long a place in the queue is valid after the last attempt.
pub const WAITING_MS: u64 = 2_000;

/// For this long a waiter has precedence over later requests; for as long afterwards it lets them pass; and so on.
pub const TURN_MS: u64 = 10_000;

/// The waiters that poll check the pool at least this often, one of them for all.
pub const WATCH_MS: u64 = 1_000;

/// The longest lease, in ms: a day. It is shorter than the two days after which an unused pool is removed.
pub const LEASE_MS_MAX: u64 = 86_400_000;

/// The kind of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A read/write lock: its holders have a fencing token.
    ReadWrite,
    /// A semaphore: its holders have no fencing token.
    Semaphore,
}

/// The owner in a reply.
fn token(bytes: Vec<u8>) -> Replied<Token> {
    let bytes: [u8; 16] = bytes.try_into().map_err(|_| unexpected("acquire"))?;
    Ok(Token::from(bytes))
}

/// Rejects an invalid number of permits.
pub(crate) fn check_size(permits_in_all: u32) -> Replied<()> {
    if permits_in_all == 0 || permits_in_all > PERMITS_MAX {
        return Err(LockError::Invalid(format!("{permits_in_all} permits; a semaphore must have 1 to {PERMITS_MAX}")));
    }
    Ok(())
}
