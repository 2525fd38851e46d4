//! The steps of scopes and sequences. Each is a value, with its script next to it; docs/spec/id.md specifies them.

mod acquire;
mod extend;
mod raise;
mod range;
mod release;

pub use acquire::Acquire;
pub use extend::Extend;
pub use raise::{Below, Raise};
pub use range::{Load, Loaded, Take};
pub use release::Release;

/// What the files of the steps use.
mod prelude {
    pub(super) use super::{Call as Request, Refused, Replied, Reserved, refused, typed_reply};
    pub(super) use crate::id::backend::{Scope, scripts};
    pub(super) use crate::id::error::IdError;
    pub(super) use crate::id::scope::{Row, State};
    pub(super) use crate::step::{Call, Step};
    pub(super) use evenkeel_link::support::guard;
    pub(super) use redis::Value;
}

use super::error::IdError;
use super::settings::Settings;
use crate::step::Args;
use crate::step::reply::typed;
use evenkeel_link::{LinkError, Token};
use redis::Value;

/// What each step says of its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The owner: drawn anew for each acquisition, the same for repeats of the call.
    pub owner: Token,
    /// The settings of the scope, according to the caller.
    pub settings: Settings,
    /// The time of the caller: that of its wall clock when it acquired, advanced by a clock that is never set.
    pub own_ms: u64,
}

/// A worker id and its reserved time, in ms since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reserved {
    /// The worker id.
    pub worker: u16,
    /// The beginning of the reserved time.
    pub from_ms: u64,
    /// Its end. Empty after an acquisition: the first extension reserves.
    pub until_ms: u64,
    /// The store's time.
    pub now_ms: u64,
}

/// Why nothing was reserved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// All worker ids are leased; the next lease ends in so many ms.
    Taken {
        /// The time until then.
        free_in_ms: u64,
    },
    /// The worker id has another owner, was released, or its lease is over: acquire another one.
    Lost,
    /// The scope has other settings.
    Differs {
        /// The stored ones.
        stored: String,
    },
    /// The clocks are an hour or more apart.
    ClocksApart {
        /// The store's time.
        store_ms: u64,
    },
}

/// The reply to a step.
pub type Replied = Result<Reserved, Refused>;

impl Call {
    fn args(&self) -> Args {
        Args::default().bytes(self.owner.as_bytes()).shown(self.settings).number(self.own_ms)
    }

    /// With what the scripts compute.
    fn lease_args(&self, args: Args) -> Args {
        args.number(self.settings.ahead_ms).number(self.settings.lease_ms)
    }
}

/// The reply of a script: a verdict, four numbers, a text.
type Parts = (i8, u64, u64, u64, u64, String);

fn typed_reply(value: Value) -> Result<Parts, IdError> {
    Ok(typed(value)?)
}

/// Decodes a reply; `zero` is what the verdict 0 means.
fn refused((verdict, worker, from_ms, until_ms, now_ms, stored): Parts, zero: Refused) -> Result<Replied, IdError> {
    let unexpected = || IdError::Link(LinkError::Unexpected("the reply of a step of worker ids".to_owned()));
    Ok(match verdict {
        1 => Ok(Reserved { worker: u16::try_from(worker).map_err(|_| unexpected())?, from_ms, until_ms, now_ms }),
        0 => Err(zero),
        -1 => Err(Refused::Differs { stored }),
        -2 => Err(Refused::ClocksApart { store_ms: now_ms }),
        _ => return Err(unexpected()),
    })
}
