//! How a load is run, and for which reader.

use crate::cache::reading::demand::ReadPolicy;
use crate::cache::settings::freshness::Source;
use evenkeel_link::LinkError;
use evenkeel_link::clock::Moment;
use evenkeel_link::support::guard;
use evenkeel_protocol::cache::error::CacheError;
use evenkeel_protocol::cache::steps::Why;

/// How a load is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    /// With a lease, after waiting for its current holder if there is one; the loaded value is stored.
    Fill(Why),
    /// Like `Fill`, but does not wait after a recently failed load, because an older value can be served.
    FillOrServe(Why),
    /// With a lease or not at all: no reader waits for it.
    Ahead(Why),
    /// Without a lease and without storing the value.
    Bypass(Bypass),
}

impl Plan {
    /// The reason in the lease request.
    pub(crate) fn why(self) -> Why {
        match self {
            Self::Fill(why) | Self::FillOrServe(why) | Self::Ahead(why) => why,
            Self::Bypass(_) => Why::Miss,
        }
    }
}

/// Why a load bypasses the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bypass {
    StoreUnavailable,
    StoreRefuses,
    InvalidationPending,
    OtherSchema,
    Undecodable,
    WaitedTooLong,
    ReadsBypassed,
    FillsBypassed,
    Writing,
}

impl Bypass {
    /// After a call of the store that failed: one that replies is not unavailable.
    pub(crate) fn of(error: &CacheError) -> Self {
        match error {
            CacheError::Link(LinkError::Refused { .. }) if guard("refused_load_reads_primary") => Self::StoreRefuses,
            _ => Self::StoreUnavailable,
        }
    }

    /// Whether the load must read the primary, because it is unknown which version a replica must have. While the store is unavailable, all
    /// loads of all keys come here, and a database may need its replicas to bear them.
    pub(crate) fn needs_primary(self) -> bool {
        self != Self::StoreUnavailable
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::StoreUnavailable => "store_unavailable",
            Self::StoreRefuses => "store_refuses",
            Self::InvalidationPending => "invalidation_pending",
            Self::OtherSchema => "other_schema",
            Self::Undecodable => "undecodable",
            Self::WaitedTooLong => "waited_too_long",
            Self::ReadsBypassed => "reads_bypassed",
            Self::FillsBypassed => "fills_bypassed",
            Self::Writing => "writing",
        }
    }
}

/// How many loads of other readers a reader joins before it insists on its own.
pub(crate) const JOINS_MAX: u32 = 2;

/// The read for which a load is run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader {
    pub(crate) policy: ReadPolicy,
    /// When it began; its waiting time counts from here.
    pub(crate) began: Moment,
    /// How many results of other readers' loads it has rejected.
    pub(crate) rejected_joins: u32,
}

impl Reader {
    /// A reader that has just begun.
    pub(crate) fn new(policy: ReadPolicy, began: Moment) -> Self {
        Self { policy, began, rejected_joins: 0 }
    }

    /// The source from which its load may read. A replica's value that is not stored proves nothing to waiting readers; once
    /// this has cost a reader a round, the next load reads the primary.
    pub(crate) fn source(self) -> Source {
        if self.rejected_joins > 0 && guard("refused_reader_reads_primary") {
            Source::Primary
        } else {
            self.policy.source()
        }
    }
}
