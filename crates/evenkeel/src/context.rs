//! What the capabilities of one [`Keel`](crate::Keel) stand on: Redis or the memory of this process, the clock, and the spool.

#[cfg(feature = "spool")]
use crate::spool::Spool;
use evenkeel_link::Link;
use evenkeel_link::clock::Clock;

/// What the capabilities of one [`Keel`](crate::Keel) stand on.
#[derive(Clone)]
pub(crate) struct Context {
    /// `None`: the data is in the memory of this process, and is lost when the process ends.
    pub(crate) link: Option<Link>,
    pub(crate) clock: Clock,
    #[cfg(feature = "spool")]
    pub(crate) spool: Option<Spool>,
}
