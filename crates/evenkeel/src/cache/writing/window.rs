//! [`WriteWindow`]: an update window, which a writer holds from before its first statement to after its commit.

use super::ledger::Demand;
use super::replay::Replayer;
use crate::cache::core::Core;
use crate::cache::key::KeyBytes;
use crate::cache::metrics::CacheMetrics;
use crate::cache::store::Store;
use evenkeel_link::Token;
use evenkeel_link::clock::{Clock, Moment};
use evenkeel_link::support::{guard, in_groups, ms};
use evenkeel_protocol::cache::error::CacheError;
use evenkeel_protocol::cache::steps::{BeginWrite, Begun, Ended, Renewed};
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// An open update window, for writers that manage their own transaction; opened by
/// [`Cache::begin_write`](crate::cache::Cache::begin_write). [`Cache::write`](crate::cache::Cache::write) does all of this by
/// itself.
///
/// While it is open, nothing is stored under its keys, so no reader can get the row as it was before the commit. It stays open
/// for the cache's `write_window` after the last [`renew`](Self::renew). The steps, in this order:
///
/// 1. `begin_write`; send the first statement only after it has returned;
/// 2. [`renew`](Self::renew) (or [`check`](Self::check)) right before the commit; roll back on [`CacheError::WindowLost`];
/// 3. commit within the time that `check` returned;
/// 4. [`end`](Self::end) once the commit or the rollback is known; [`abandon`](Self::abandon) if its outcome is unknown.
///
/// If it is dropped, it is abandoned: the window is left to expire, because the transaction may still commit.
#[derive(Debug)]
#[must_use = "a window that is dropped keeps readers waiting until it expires"]
pub struct WriteWindow(OpenWindow);

/// A handle to an open window, for the code that writes under it. Cheap to clone; it does not keep the window open.
#[derive(Clone)]
pub struct OpenWindow(Arc<Inner>);

/// How an update window ended. The write itself has happened in every case.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum WindowEnd {
    /// It was open until now: C2 holds for this write.
    Closed,
    /// It had expired before, or the store had lost it: readers may have got the older value in between. From now on they do
    /// not.
    Expired,
    /// The store did not confirm the end. The window expires by itself, and the invalidation is replayed until it succeeds;
    /// this process reads these keys from the database meanwhile.
    Unconfirmed(CacheError),
}

/// The readers of this process when a key is written.
pub(crate) trait LocalReaders: Send + Sync {
    /// Excludes new readers from loads of `key` that began before this.
    fn close(&self, key: &[u8]);
}

struct Inner {
    store: Store,
    clock: Clock,
    replayer: Arc<Replayer>,
    metrics: Arc<CacheMetrics>,
    readers: Arc<dyn LocalReaders>,
    keys: Vec<KeyBytes>,
    token: Token,
    window: Duration,
    demand: Demand,
    state: Mutex<State>,
}

#[derive(Clone, Copy)]
struct State {
    /// Counted from the sending of the last request that the store confirmed: the store itself counts from later.
    until: Moment,
    is_lost: bool,
    is_rolled_back: bool,
    version: Option<u64>,
}

impl WriteWindow {
    /// The remaining time of the window, as far as this process knows; zero if it is lost. It counts from the sending of the
    /// last request, so it is never too long, however long the reply took.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        self.0.remaining()
    }

    /// Extends the window to `write_window` from now.
    ///
    /// # Errors
    /// [`CacheError::WindowLost`]: roll back. [`CacheError::Link`]: the store did not reply; the window is open for at least
    /// [`remaining`](Self::remaining).
    pub async fn renew(&self) -> Result<Duration, CacheError> {
        self.0.renew().await
    }

    /// Checks whether it is safe to commit, as [`OpenWindow::check`].
    ///
    /// # Errors
    /// As [`OpenWindow::check`].
    pub async fn check(&self) -> Result<Duration, CacheError> {
        self.0.check().await
    }

    /// Renews the window for as long as the returned future is polled: run it concurrently with the transaction. It returns
    /// only when the window is lost.
    pub async fn keep_open(&self) {
        self.0.keep_open().await;
    }

    /// Ends the window after a commit, or a rollback, that is known to have happened. Invalidates in every case.
    pub async fn end(self) -> WindowEnd {
        self.0.end().await
    }

    /// Like [`end`](Self::end), for a writer that knows the row's new version: no older version is stored from now on.
    pub async fn end_at(self, version: u64) -> WindowEnd {
        self.0.wrote_version(version);
        self.0.end().await
    }

    /// Leaves the window to expire, because it is unknown whether the transaction committed or will commit. Until then reads
    /// follow [`WhileWriting`](crate::cache::WhileWriting) (by default they wait), and for `transaction_max` after it stored
    /// values have a short ttl.
    pub fn abandon(self) {
        self.0.0.metrics.windows.count("abandoned");
    }

    /// A cloneable handle to the window.
    #[must_use]
    pub fn watch(&self) -> OpenWindow {
        self.0.clone()
    }
}

impl OpenWindow {
    /// The remaining time of the window, as [`WriteWindow::remaining`].
    #[must_use]
    pub fn remaining(&self) -> Duration {
        let state = *self.0.state.lock();
        if state.is_lost { Duration::ZERO } else { state.until.since(self.0.clock.now()) }
    }

    /// Checks whether it is safe to commit: renews the window and returns how long the commit may take. Call it right before
    /// the commit.
    ///
    /// **Guarantee (C2).** If the commit ends within that time, no [`Fresh`](crate::cache::Freshness::Fresh) read that begins
    /// after it returns an older value.
    /// **Not guaranteed.** That the commit ends in time: this library cannot cancel it. The end of the window reports whether
    /// it did.
    ///
    /// # Errors
    /// [`CacheError::WindowLost`], or a [`CacheError::Link`] with no time left: roll back.
    pub async fn check(&self) -> Result<Duration, CacheError> {
        match self.renew().await {
            Err(CacheError::WindowLost) => Err(CacheError::WindowLost),
            // The earlier confirmation of the store is still valid.
            Err(error) => Some(self.remaining()).filter(|left| !left.is_zero()).ok_or(error),
            Ok(left) => Ok(left),
        }
    }

    /// Declares that the transaction was rolled back for certain, so that the window ends at once although the write failed.
    pub fn rolled_back(&self) {
        self.0.state.lock().is_rolled_back = true;
    }

    /// Declares the row's version after this write: once the window ends, no older version is stored, and readers of other
    /// processes can ask for it with [`Freshness::AtLeast`](crate::cache::Freshness::AtLeast).
    pub fn wrote_version(&self, version: u64) {
        let mut state = self.0.state.lock();
        state.version = state.version.max(Some(version));
    }

    pub(crate) fn is_rolled_back(&self) -> bool {
        self.0.state.lock().is_rolled_back
    }

    async fn renew(&self) -> Result<Duration, CacheError> {
        let inner = &*self.0;
        if inner.state.lock().is_lost {
            return Err(CacheError::WindowLost);
        }
        let sent = inner.clock.now();
        let window_ms = ms(inner.window);
        let renewals = inner.keys.iter().map(|key| inner.store.renew_write(key.as_slice(), inner.token, window_ms));
        let mut until: Option<Moment> = None;
        for renewed in in_groups(inner.store.together_max(), renewals).await {
            match renewed? {
                Renewed::Open { remaining_ms } => {
                    let open_until = sent + Duration::from_millis(remaining_ms);
                    until = Some(until.map_or(open_until, |until| until.min(open_until)));
                }
                Renewed::Lost if !guard("lost_window_is_reported") => {}
                Renewed::Lost => {
                    inner.state.lock().is_lost = true;
                    return Err(CacheError::WindowLost);
                }
            }
        }
        let mut state = inner.state.lock();
        state.until = until.unwrap_or(state.until);
        Ok(state.until.since(inner.clock.now()))
    }

    pub(crate) async fn keep_open(&self) {
        loop {
            self.0.clock.sleep(self.0.window / 3).await;
            if !guard("window_is_renewed") {
                continue;
            }
            // A store that did not reply may reply the next time; the window is open until it has expired.
            if let Err(CacheError::WindowLost) = self.renew().await {
                tracing::warn!(
                    "an update window expired before its writer had finished; readers may see a commit after this point late"
                );
                return;
            }
        }
    }

    pub(crate) async fn end(&self) -> WindowEnd {
        let ends = self.0.keys.iter().map(|key| self.0.end(key.as_slice()));
        let ends = in_groups(self.0.store.together_max(), ends).await;
        let end = ends.into_iter().fold(WindowEnd::Closed, WindowEnd::and);
        self.0.metrics.windows.count(end.as_str());
        end
    }
}

impl Inner {
    async fn end(&self, key: &[u8]) -> WindowEnd {
        let demand = Demand { floor: self.state.lock().version, ..self.demand };
        let pending = self.replayer.begin(key, demand);
        self.readers.close(key);
        let ended = self.store.end_write(key, self.token, &pending.demand().invalidation()).await;
        self.readers.close(key);
        match ended {
            Ok(ended) => {
                pending.done();
                if ended == Ended::Closed { WindowEnd::Closed } else { WindowEnd::Expired }
            }
            Err(error) => WindowEnd::Unconfirmed(error),
        }
    }
}

impl WindowEnd {
    /// Whether C2 holds for the write.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        matches!(self, Self::Closed)
    }

    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Unconfirmed(error), _) | (_, Self::Unconfirmed(error)) => Self::Unconfirmed(error),
            (Self::Closed, Self::Closed) => Self::Closed,
            _ => Self::Expired,
        }
    }

    fn as_str(&self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Expired => "expired",
            Self::Unconfirmed(_) => "unconfirmed",
        }
    }
}

impl<V: Send + Sync + 'static> Core<V> {
    /// Opens a window over all `keys`, or none.
    pub(crate) async fn begin_write(self: &Arc<Self>, keys: Vec<KeyBytes>) -> Result<WriteWindow, CacheError> {
        self.begin_write_as(Token::random(), keys).await
    }

    /// Like `begin_write`, for a writer that has a token already.
    pub(crate) async fn begin_write_as(
        self: &Arc<Self>,
        token: Token,
        keys: Vec<KeyBytes>,
    ) -> Result<WriteWindow, CacheError> {
        let demand = self.expiring_demand();
        let sent = self.clock.now();
        let begun = keys.iter().map(|key| self.begin_one(key.as_slice(), token, demand));
        let begun = in_groups(self.store.together_max(), begun).await;
        let opened = begun.iter().try_fold(self.settings.window, |left, open| Ok(left.min(open.clone()?)));
        let opened = if guard("confirmed_begin") { opened } else { Ok(self.settings.window) };
        match opened {
            Ok(left) => {
                let state = State { until: sent + left, is_lost: false, is_rolled_back: false, version: None };
                Ok(WriteWindow(OpenWindow(Arc::new(Inner {
                    store: self.store.clone(),
                    clock: self.clock.clone(),
                    replayer: Arc::clone(&self.replayer),
                    metrics: Arc::clone(&self.metrics),
                    readers: Arc::<Self>::clone(self),
                    keys,
                    token,
                    window: self.settings.window,
                    demand,
                    state: Mutex::new(state),
                }))))
            }
            Err(error) => {
                self.metrics.windows.count(if matches!(error, CacheError::WritersBusy { .. }) {
                    "busy"
                } else {
                    "refused"
                });
                self.take_back(&keys, &begun, token, demand).await;
                Err(error)
            }
        }
    }

    async fn begin_one(&self, key: &[u8], token: Token, demand: Demand) -> Result<Duration, CacheError> {
        if !guard("update_window") {
            return Ok(self.settings.window);
        }
        let begin = BeginWrite {
            token,
            invalidation: demand.invalidation(),
            window_ms: ms(self.settings.window),
            suspect_ms: ms(self.settings.transaction_max),
            schema: self.schema,
        };
        match self.store.begin_write(key, &begin).await? {
            Begun::Open { remaining_ms } => Ok(Duration::from_millis(remaining_ms)),
            Begun::Busy { retry_after_ms } => {
                Err(CacheError::WritersBusy { retry_after: Duration::from_millis(retry_after_ms) })
            }
        }
    }

    /// Ends the windows that were opened, or may have been, because nothing was written. Best effort.
    async fn take_back(&self, keys: &[KeyBytes], begun: &[Result<Duration, CacheError>], token: Token, demand: Demand) {
        let may_be_open = keys.iter().zip(begun).filter(|(_, begun)| match begun {
            Ok(_) => true,
            Err(error) => error.outcome_unknown() || matches!(error, CacheError::WindowNotReplicated { .. }),
        });
        let ends = may_be_open.map(|(key, _)| {
            let invalidation = demand.invalidation();
            async move { self.store.end_write(key.as_slice(), token, &invalidation).await }
        });
        for error in in_groups(self.store.together_max(), ends).await.into_iter().filter_map(Result::err) {
            tracing::debug!(cache = %self.name, %error, "the end of an unused window failed; the window expires by itself");
        }
    }
}

impl<V: Send + Sync> LocalReaders for Core<V> {
    fn close(&self, key: &[u8]) {
        self.calls.close(key);
    }
}

// Not derived, because the fields are of no use in a log.
impl fmt::Debug for OpenWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenWindow").field("remaining", &self.remaining()).finish_non_exhaustive()
    }
}
