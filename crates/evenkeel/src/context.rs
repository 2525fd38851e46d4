//! What the capabilities of one [`Keel`](crate::Keel) stand on: Redis or the memory of this process, the clock, the
//! reporter, and the spool.

use crate::process::reporter::Reporter;
#[cfg(feature = "spool")]
use crate::spool::Spool;
use evenkeel_link::Link;
use evenkeel_link::clock::Clock;
use std::sync::Arc;

/// What the capabilities of one [`Keel`](crate::Keel) stand on.
#[derive(Clone)]
pub(crate) struct Context {
    /// `None`: the data is in the memory of this process, and is lost when the process ends.
    pub(crate) link: Option<Link>,
    pub(crate) clock: Clock,
    /// Where the capabilities enter what the report of this process shows.
    pub(crate) reporter: Arc<Reporter>,
    #[cfg(feature = "spool")]
    pub(crate) spool: Option<Spool>,
}
