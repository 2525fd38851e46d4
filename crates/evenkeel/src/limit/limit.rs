//! [`Limit`]: the handle of a program.

use super::decision::{DecidedBy, Decision};
use super::fallback::Fallback;
use super::metrics::LimitMetrics;
use super::settings::LevelSettings;
use super::store::LimitStore;
use evenkeel_link::clock::Clock;
use evenkeel_link::support::{Recurring, ms};
use evenkeel_protocol::limit::error::LimitError;
use evenkeel_protocol::limit::name::check_subject;
use evenkeel_protocol::limit::quota::Quota;
use evenkeel_protocol::limit::steps::{Debit, Debited, Level};
use evenkeel_protocol::step::Step as _;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A limit that all instances of a program share. Cheap to clone.
///
/// A call names a subject for each level, in the order of the levels: 1 to 256 bytes each. Subjects nest: the bucket of `key-7` of `acme` is not that of
/// `key-7` of another tenant. Store no secrets or addresses as they are: subjects are parts of keys in Redis, so hash them.
///
/// **Guarantees.** In every interval of length *t* on the clock of Redis, all instances together are admitted at most the burst of a
/// [`Rate`](super::Rate) and its rate times *t*, and at most the tokens of a [`Window`](super::Window) in every interval of its length. A refused call
/// has taken tokens of no level. Without Redis a call is decided within 50 ms as [chosen](super::WithoutRedis).
///
/// **Not guaranteed.** That the bound holds across a loss of buckets in Redis (a restart, a failover, an eviction), after which a burst can be used once
/// more. That a call whose reply was lost has taken no tokens.
#[derive(Clone)]
pub struct Limit(Arc<Inner>);

pub(super) struct Inner {
    pub(super) name: Arc<str>,
    pub(super) levels: Vec<LevelSettings>,
    pub(super) store: LimitStore,
    pub(super) fallback: Fallback,
    pub(super) clock: Clock,
    pub(super) metrics: LimitMetrics,
    pub(super) failures: Recurring,
}

impl Limit {
    pub(super) fn new(inner: Inner) -> Self {
        Self(Arc::new(inner))
    }

    /// Takes one token of every level, or refuses. An unavailable Redis is no error.
    ///
    /// # Errors
    /// [`LimitError::Invalid`]: there are not as many subjects as levels, or one is empty or too long.
    pub async fn check(&self, subjects: &[&str]) -> Result<Decision, LimitError> {
        self.check_n(subjects, 1).await
    }

    /// Takes so many tokens of every level, or refuses: from 1 to the smallest burst of the levels.
    ///
    /// # Errors
    /// As [`check`](Self::check); [`LimitError::Invalid`] also for a number of tokens that is never admitted.
    pub async fn check_n(&self, subjects: &[&str], tokens: u32) -> Result<Decision, LimitError> {
        self.decide(subjects, tokens, Duration::ZERO).await
    }

    /// Takes one token of every level, if necessary by a reservation, and waits until its time has come: for at most `max_wait`, up to an hour. Refuses at
    /// once if it would be longer.
    ///
    /// Guaranteed: the place is reserved in one call; reservations of a limit with one level are served in the order in which Redis received them; and it
    /// does not return before its time.
    ///
    /// Not guaranteed: the tokens of a reservation whose future is dropped are returned. While a call waits for one level, its other levels are debited
    /// for that time, too: until then a rate that it shares with other subjects has so much less of its burst, and a window that it shares admits
    /// nobody.
    ///
    /// # Errors
    /// As [`check`](Self::check); [`LimitError::Invalid`] also for a `max_wait` above an hour.
    pub async fn acquire(&self, subjects: &[&str], max_wait: Duration) -> Result<Decision, LimitError> {
        self.acquire_n(subjects, 1, max_wait).await
    }

    /// As [`acquire`](Self::acquire), for so many tokens: from 1 to the smallest burst of the levels.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire); [`LimitError::Invalid`] also for a number of tokens that is never admitted.
    pub async fn acquire_n(&self, subjects: &[&str], tokens: u32, max_wait: Duration) -> Result<Decision, LimitError> {
        let decision = self.decide(subjects, tokens, max_wait).await?;
        if let Decision::Admitted(admitted) = &decision {
            self.0.metrics.wait_seconds.record(admitted.waited);
            if !admitted.waited.is_zero() {
                self.0.clock.sleep(admitted.waited).await;
            }
        }
        Ok(decision)
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The number of instances that have used this limit within a minute, as last seen: by it the quotas are divided without Redis. 1 unless
    /// [`WithoutRedis::Local`](super::WithoutRedis::Local) is chosen.
    #[must_use]
    pub fn instances(&self) -> u32 {
        self.0.store.instances()
    }

    async fn decide(&self, subjects: &[&str], tokens: u32, max_wait: Duration) -> Result<Decision, LimitError> {
        let inner = &*self.0;
        let first = inner.check(subjects)?;
        let debit = inner.debit(subjects, tokens, max_wait, |quota| quota);
        debit.check()?;
        let debited = inner.store.debit(first, &debit).await;
        inner.failures.log("debit", &debited, |error, times| {
            tracing::warn!(limit = &*inner.name, %error, times, "Redis did not decide about calls; {}", inner.fallback.says());
        });
        let decision = match debited {
            Ok(debited) => inner.decision(debited, DecidedBy::Store),
            Err(LimitError::Link(_)) => {
                let share = || inner.debit(subjects, tokens, max_wait, |quota| quota.share(inner.store.instances()));
                inner.fallback.decide(&inner.name, first, share, |debited| inner.decision(debited, DecidedBy::Local))?
            }
            Err(error) => return Err(error),
        };
        inner.metrics.decided(&decision);
        Ok(decision)
    }
}

impl Inner {
    /// Checks the subjects; returns the first.
    fn check<'a>(&self, subjects: &[&'a str]) -> Result<&'a str, LimitError> {
        match subjects.first() {
            Some(&first) if subjects.len() == self.levels.len() => {
                subjects.iter().try_for_each(|subject| check_subject(subject))?;
                Ok(first)
            }
            _ => Err(LimitError::Invalid(format!(
                "the limit {} has {} levels, and the call names {} subjects; name one for each",
                self.name,
                self.levels.len(),
                subjects.len()
            ))),
        }
    }

    fn debit(&self, subjects: &[&str], tokens: u32, max_wait: Duration, quota: impl Fn(Quota) -> Quota) -> Debit {
        let level = |(place, level): (usize, &LevelSettings)| {
            Level::new(&level.name, quota(level.quota), subjects.get(1..=place).unwrap_or_default())
        };
        let levels = self.levels.iter().enumerate().map(level).collect();
        Debit { tokens, wait_ms_max: ms(max_wait), levels }
    }

    fn decision(&self, debited: Debited, by: DecidedBy) -> Decision {
        Decision::of(debited, by, |place| self.levels.get(place).map(|level| Arc::clone(&level.name)))
    }
}

impl fmt::Debug for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limit").field("name", &self.0.name).finish_non_exhaustive()
    }
}
