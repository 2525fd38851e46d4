//! The commit: the last checks, the commit itself, the decision of an unknown outcome, and the fast path.

use super::effects::Effects;
use super::outcome::{self, DECISION_MAX, Outcome};
use super::windows::{self, Windows};
use super::write::{self, RowState};
#[cfg(feature = "cache")]
use crate::cache::WindowEnd;
use crate::sql::Shared;
use crate::sql::database::Pool;
use crate::sql::error::SqlError;
use crate::sql::outbox::carry::Progress;
use crate::sql::outbox::{Effect, WorkId};
use crate::sql::transaction::Transaction;
use crate::trace::{self, OutboxOperation};
use evenkeel_link::support::{crash_point, guard};
use futures_util::future::BoxFuture;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tracing::Instrument;

/// The time limit of a commit, after which its row decides the outcome.
const COMMIT_MAX: Duration = Duration::from_secs(30);
/// How long the fast path may delay the caller; the remaining effects are left to a relay.
const FAST_PATH_MAX: Duration = Duration::from_secs(1);

/// A committed unit of work. Its effects happen in any case.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Committed {
    /// The id of the unit of work.
    pub id: WorkId,
    /// Whether all effects have been carried out already. `false` is not a failure: [`left`](Self::left) reports what a relay carries
    /// out.
    pub carried_out: bool,
    /// The effects that are left to a relay.
    pub left: Left,
    /// How the update windows of strong caches ended, if there were any: `Closed` means that no fresh read returned an older
    /// value after the commit.
    #[cfg(feature = "cache")]
    pub window: Option<WindowEnd>,
    /// The time from the acknowledged commit to the end of the fast path.
    pub took: Duration,
}

/// The effects that a commit leaves to a relay, which carries them out in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Left {
    /// All effects have been carried out.
    Nothing,
    /// Messages with a key, which only a relay sends, because they are ordered. All other effects have been carried out: this is the
    /// normal result of a commit with such a message.
    KeyedMessages,
    /// Effects that could not be carried out at once: Redis, a queue or a sink was unavailable, or took longer than a second.
    Effects,
}

/// Commits, unless the transaction is poisoned or not whole. Boxed, so that it is compiled here.
pub(super) fn commit(
    transaction: Transaction,
    pool: Pool,
    effects: Effects,
    poison: Option<Arc<str>>,
) -> BoxFuture<'static, Result<Committed, SqlError>> {
    Box::pin(async move {
        let is_whole = match poison {
            Some(poison) => Err(SqlError::Poisoned(poison)),
            None => transaction.check(),
        };
        if let Err(error) = is_whole {
            effects.shared.metrics().failed(&error);
            // A failed rollback has the same effect: the connection is closed.
            let _ = transaction.rollback().await;
            return Err(error);
        }
        commit_detached(transaction, pool, effects).await
    })
}

/// Rolls back without a commit. Boxed, as well.
pub(super) fn roll_back(transaction: Transaction) -> BoxFuture<'static, Result<(), SqlError>> {
    Box::pin(async move { Ok(transaction.rollback().await?) })
}

/// Commits in a separate task, which continues if the caller is dropped.
async fn commit_detached(transaction: Transaction, pool: Pool, effects: Effects) -> Result<Committed, SqlError> {
    let (reply, answer) = oneshot::channel();
    // Boxed, to keep the future of the caller small.
    let run = Box::pin(async move {
        let work = effects.work;
        let shared = Arc::clone(&effects.shared);
        let span = effects.span.clone();
        let decided = decided(transaction, &pool, effects).instrument(span.clone()).await;
        if let Err(error) = &decided {
            trace::failed(&span, error);
        }
        // The transaction is over; its effects have spans of their own.
        drop(span);
        match decided {
            Ok((after, windows)) => {
                crash_point("after_commit");
                let (committed, is_all) = after.carry_out(work, windows, &pool).await;
                crash_point("carried_out");
                // Before the reply, so that a caller that then waits for all marks also waits for this one.
                if is_all && after.has_row {
                    shared.finisher(&pool).done(work);
                }
                // The caller may be gone.
                let _ = reply.send(Ok(committed));
            }
            Err(error) => {
                shared.metrics().failed(&error);
                let _ = reply.send(Err(error));
            }
        }
    });
    if guard("commit_survives_its_caller") {
        evenkeel_link::support::spawn(run);
    } else {
        run.await;
    }
    answer.await.unwrap_or(Err(SqlError::Interrupted))
}

/// All steps until the transaction is known to be committed.
async fn decided(
    mut transaction: Transaction,
    pool: &Pool,
    mut effects: Effects,
) -> Result<(PostCommit, Windows), SqlError> {
    let requested = std::mem::take(&mut effects.windows);
    let windows = match Windows::open(effects.work, requested).await {
        Ok(windows) => windows,
        Err(error) => return Err(give_up(transaction, None, error).await),
    };
    if let Err(error) = write::write(&mut *transaction, &mut effects, RowState::New).await {
        return Err(give_up(transaction, Some(windows), error).await);
    }
    if let Err(error) = windows.check().await {
        return Err(give_up(transaction, Some(windows), error).await);
    }
    crash_point("before_commit");
    let clock = effects.shared.clock.clone();
    let unanswered = || sqlx::Error::Io(std::io::Error::new(std::io::ErrorKind::TimedOut, "the commit got no reply"));
    let answer = tokio::select! {
        biased;
        answer = transaction.commit() => answer,
        () = clock.sleep(COMMIT_MAX) => Err(unanswered()),
        never = windows.keep_open() => match never {},
    };
    let Err(error) = answer else { return Ok((PostCommit::of(effects), windows)) };
    let error = match SqlError::of_commit(error) {
        SqlError::CommitUnknown(error) => error,
        // The database has replied that it did not commit.
        known => {
            windows.end().await;
            return Err(known);
        }
    };
    match outcome::decide(&clock, pool, effects.work, DECISION_MAX).await {
        Outcome::Committed => Ok((PostCommit::of(effects), windows)),
        Outcome::RolledBack => {
            windows.end().await;
            Err(SqlError::Database { error, is_retryable: true })
        }
        Outcome::Unknown(last) => {
            tracing::warn!(work = %effects.work, %error, "the outcome of a commit is unknown");
            windows.abandon();
            Err(SqlError::OutcomeUnknown { work: effects.work.to_string(), error: Arc::new(last) })
        }
    }
}

async fn give_up(mut transaction: Transaction, windows: Option<Windows>, error: SqlError) -> SqlError {
    if error.ends_session() {
        transaction.close_at_end();
    }
    // A failed rollback has the same effect: no commit was sent on this connection.
    if let Err(error) = transaction.rollback().await {
        tracing::debug!(%error, "the database did not reply to a rollback");
    }
    if let Some(windows) = windows {
        windows.end().await;
    }
    error
}

/// The steps that remain after a commit.
pub(super) struct PostCommit {
    shared: Arc<Shared>,
    effects: Vec<Effect>,
    has_ordered: bool,
    has_row: bool,
    trace: Option<String>,
}

impl PostCommit {
    fn of(effects: Effects) -> Self {
        Self {
            has_ordered: !effects.ordered.is_empty(),
            has_row: !effects.is_row_empty(),
            effects: effects.in_row(),
            trace: effects.trace,
            shared: effects.shared,
        }
    }

    /// The steps for a row that was read back.
    pub(super) fn read_back(
        shared: Arc<Shared>,
        effects: Vec<Effect>,
        has_ordered: bool,
        trace: Option<String>,
    ) -> Self {
        Self { shared, has_row: !effects.is_empty(), effects, has_ordered, trace }
    }

    /// The fast path: carries out at once what a relay would carry out later. Also returns whether all effects of the row were
    /// carried out.
    pub(super) async fn carry_out(&self, work: WorkId, windows: Windows, pool: &Pool) -> (Committed, bool) {
        let span = trace::outbox(OutboxOperation::Send, work, self.trace.as_deref());
        // Boxed, to keep the future of the commit small.
        Box::pin(self.carry_out_now(work, windows, pool)).instrument(span).await
    }

    async fn carry_out_now(&self, work: WorkId, windows: Windows, pool: &Pool) -> (Committed, bool) {
        let clock = &self.shared.clock;
        let began = clock.now();
        let window = windows.end().await;
        let is_closed = window.as_ref().is_none_or(|end| !windows::is_unconfirmed(end));
        // The end of a window includes its invalidation. Effects keep their numbers, which are a part of the ids of messages.
        let progress = Progress::default();
        let with_window = self.effects.iter().enumerate().filter(|(_, effect)| is_closed && effect.has_window());
        with_window.for_each(|(number, _)| progress.add(number));
        let carried = clock.timeout(FAST_PATH_MAX, self.shared.carry_out(work, &self.effects, &progress)).await;
        let is_all = match carried {
            Ok(Ok(())) => true,
            Ok(Err(error)) => {
                tracing::debug!(%work, %error, "effects were not carried out at once and are left to a relay");
                false
            }
            Err(_) => false,
        };
        if self.has_ordered || !is_all {
            self.shared.notify_relays(pool);
        }
        let took = clock.now().since(began);
        let left = match (is_all, self.has_ordered) {
            (true, false) => Left::Nothing,
            (true, true) if guard("left_names_keyed_messages") => Left::KeyedMessages,
            _ => Left::Effects,
        };
        let committed = Committed {
            id: work,
            carried_out: left == Left::Nothing,
            left,
            #[cfg(feature = "cache")]
            window,
            took,
        };
        self.shared.metrics().committed(&committed);
        (committed, is_all)
    }

    pub(super) fn has_row(&self) -> bool {
        self.has_row
    }
}
