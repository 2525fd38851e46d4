//! The lease of a load: its request, what to do after the reply, and its end with a fill or a release.

use super::fill::FillOutcome;
use super::load::Loaded;
use super::plan::{Bypass, Reader};
use super::single_flight::{Completion, Known, Outcome, Tick};
use crate::cache::core::Core;
use crate::cache::metrics::Shed;
use crate::cache::reading::found::Found;
use crate::cache::settings::AfterWait;
use crate::cache::settings::freshness::{Source, WhileWriting};
use crate::cache::store::StoreEpoch;
use evenkeel_link::Token;
use evenkeel_link::clock::Moment;
use evenkeel_link::support::{guard, ms};
use evenkeel_protocol::cache::error::CacheError;
use evenkeel_protocol::cache::steps::{Generation, Grant, Lease, Leased, Why};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// A granted lease, and the data against which its load is checked.
pub(crate) struct HeldLease {
    pub(crate) grant: Grant,
    /// The source from which its load may read.
    pub(crate) source: Source,
    pub(crate) token: Token,
    /// The store's epoch when the lease was requested; `None` if it was unknown.
    pub(crate) epoch: Option<StoreEpoch>,
    /// When the lease was requested: the load budget counts from the sending of the request, not from the reply.
    pub(crate) sent: Moment,
}

/// The result of a lease request.
pub(crate) enum LeaseReply<V> {
    Granted(HeldLease),
    AlreadyStored(Found<V>),
    /// Request again, at the latest after this.
    Later {
        retry_after: Duration,
        is_failing: bool,
    },
    /// Load without a lease.
    Bypass(Bypass),
    /// Do not load.
    Failed(CacheError),
}

/// What a load does after the reply to its lease request.
pub(crate) enum NextStep<V> {
    Load(HeldLease),
    LoadPastStore(Bypass),
    AlreadyStored(Found<V>),
    Wait {
        retry_after: Duration,
        is_failing: bool,
        /// The remaining time until `wait_max`.
        left: Duration,
    },
    /// Fails all readers of the load.
    FailCall(CacheError),
    /// Fails this reader only: other readers, which have no older value to serve, may wait longer.
    FailReader(CacheError),
}

impl<V: Send + Sync + 'static> Core<V> {
    pub(crate) async fn ask(&self, key: &[u8], why: Why, reader: Reader) -> LeaseReply<V> {
        if self.bypass_fills.load(Relaxed) {
            return LeaseReply::Bypass(Bypass::FillsBypassed); // without a fill there is no need for a lease
        }
        let token = Token::random();
        let lease = Lease {
            token,
            generation: Generation::random(),
            lease_ms: ms(self.settings.lease),
            life_ms: self.settings.life_ms(),
            why,
            schema: self.schema,
            lag_ms_max: self.settings.lag_ms(),
        };
        let (epoch, sent) = (self.store.epoch(), self.clock.now());
        let later = |ms, is_failing| LeaseReply::Later { retry_after: Duration::from_millis(ms), is_failing };
        match self.store.lease(key, &lease).await {
            Ok(Leased::Granted(grant)) => {
                let source = self.settings.source(reader.source(), grant.primary_required);
                LeaseReply::Granted(HeldLease { grant, source, token, epoch, sent })
            }
            Ok(Leased::AlreadyStored(bytes)) => self
                .already_stored(key, bytes)
                .map_or(LeaseReply::Bypass(Bypass::Undecodable), LeaseReply::AlreadyStored),
            Ok(Leased::Wait { retry_after_ms }) => later(retry_after_ms, false),
            Ok(Leased::Writing { retry_after_ms }) => match self.settings.while_writing {
                WhileWriting::Wait => later(retry_after_ms, false),
                WhileWriting::Load => LeaseReply::Bypass(Bypass::Writing),
                WhileWriting::Fail => {
                    LeaseReply::Failed(CacheError::Writing { retry_after: Duration::from_millis(retry_after_ms) })
                }
            },
            Ok(Leased::Failing { retry_after_ms }) => later(retry_after_ms, true),
            Ok(Leased::OtherSchema) => {
                self.log_other_schema(key);
                LeaseReply::Bypass(Bypass::OtherSchema)
            }
            Err(error) => LeaseReply::Bypass(Bypass::of(&error)),
        }
    }

    /// The step after a lease request. `waits_for_pause`: whether the reader waits until the pause after a failed load has elapsed.
    pub(crate) fn next_step(&self, reply: LeaseReply<V>, waits_for_pause: bool, began: Moment) -> NextStep<V> {
        let (retry_after, is_failing) = match reply {
            LeaseReply::Granted(lease) => return NextStep::Load(lease),
            LeaseReply::AlreadyStored(found) => return NextStep::AlreadyStored(found),
            LeaseReply::Bypass(reason) => return NextStep::LoadPastStore(reason),
            LeaseReply::Failed(error) => return NextStep::FailCall(error),
            LeaseReply::Later { retry_after, is_failing } => (retry_after, is_failing),
        };
        let waited = self.clock.now().since(began);
        let left = self.settings.wait_max.saturating_sub(waited);
        if is_failing && !waits_for_pause && guard("rescued_do_not_wait") {
            NextStep::FailReader(CacheError::Failing { waited })
        } else if !left.is_zero() {
            NextStep::Wait { retry_after, is_failing, left }
        } else if is_failing {
            NextStep::FailCall(CacheError::Failing { waited })
        } else {
            match self.may_load_after_waiting(began) {
                Ok(()) => NextStep::LoadPastStore(Bypass::WaitedTooLong),
                Err(error) => NextStep::FailCall(error),
            }
        }
    }

    /// Applies the cache's `after_wait` setting to a reader that has waited for `wait_max`.
    pub(crate) fn may_load_after_waiting(&self, began: Moment) -> Result<(), CacheError> {
        match self.settings.after_wait {
            AfterWait::Load => Ok(()),
            AfterWait::Fail => {
                self.metrics.shed(Shed::WaitMax);
                Err(CacheError::WaitedTooLong { waited: self.clock.now().since(began) })
            }
        }
    }

    /// Stores the loaded value, or releases the lease.
    pub(crate) async fn settle(
        &self,
        lease: &HeldLease,
        completion: &Completion<V>,
        loaded: Result<Loaded<V>, CacheError>,
    ) -> Outcome<V> {
        match loaded {
            Ok(Loaded { found, known }) => {
                let mut sent_at = self.calls.tick();
                let fate = self.fill(lease, completion, &found).await;
                if !guard("confirmed_since_the_read_began") {
                    sent_at = self.calls.tick();
                }
                if matches!(fate, FillOutcome::Dropped | FillOutcome::Outdated)
                    && guard("dropped_fill_gives_lease_back")
                {
                    // No reader needs to wait for a value that will not be stored.
                    self.give_back(lease, completion, Duration::ZERO).await;
                }
                // The store rejects a value that an invalidation has superseded, so none arrived before this was sent.
                let at = if fate == FillOutcome::Stored { sent_at } else { known.at };
                Outcome::Found { found, known: Known { at, ..known } }
            }
            Err(error) => {
                let pause =
                    if guard("failed_load_asks_for_pause") { self.settings.retry_after } else { Duration::ZERO };
                self.give_back(lease, completion, pause).await;
                Outcome::Failed(error)
            }
        }
    }

    /// Releases the lease of a load that found no row, although there may be one: the absence is not stored, and proves nothing to other
    /// readers.
    pub(crate) async fn settle_unproven(
        &self,
        lease: &HeldLease,
        completion: &Completion<V>,
        Loaded { found, known }: Loaded<V>,
    ) -> Outcome<V> {
        self.metrics.refused_fills.count("other_keys");
        self.give_back(lease, completion, Duration::ZERO).await;
        Outcome::Found { found, known: Known { at: Tick::NEVER, read_at: Tick::NEVER, ..known } }
    }

    /// Best effort: a lease that is not released expires.
    async fn give_back(&self, lease: &HeldLease, completion: &Completion<V>, retry_after: Duration) {
        let given_back = self.store.abandon(completion.key(), lease.token, ms(retry_after)).await;
        if let Err(error) = given_back {
            tracing::debug!(cache = %self.name, %error, "the release of a lease failed; the lease expires by itself");
        }
    }
}
