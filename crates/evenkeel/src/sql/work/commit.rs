//! The commit: the last look, the commit itself, the verdict if nobody answers, and the fast path after it.

use super::effects::Effects;
use super::outcome::{self, DECISION_MAX, Outcome};
use super::windows::Windows;
use super::write::{self, Place};
use crate::cache::WindowEnd;
use crate::keel::Keel;
use crate::sql::database::{Database, Kind};
use crate::sql::error::SqlError;
use crate::sql::outbox::{Carrier, Effect, WorkId};
use evenkeel_link::support::{crash_point, guard};
use sqlx::{Pool, Transaction};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// A commit that is not answered for so long is decided by its row.
const COMMIT_MAX: Duration = Duration::from_secs(30);
/// How long the fast path may keep the caller; what it has not done then is done a moment later, or by a relay.
const FAST_PATH_MAX: Duration = Duration::from_secs(1);

/// What is known of a work that was committed. Its effects happen in every case.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Committed {
    /// The work.
    pub id: WorkId,
    /// Whether all effects have been carried out already. `false` is no failure: [`left`](Self::left) says what a relay does.
    pub carried_out: bool,
    /// What is left to a relay.
    pub left: Left,
    /// How the update windows of strong caches ended, where there were any: `Closed` says that no fresh reader was given an older
    /// value after the commit.
    pub window: Option<WindowEnd>,
    /// How long after the acknowledged commit the fast path was over.
    pub took: Duration,
}

/// What a commit leaves to a relay. It happens in every case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Left {
    /// Everything has been carried out.
    Nothing,
    /// Messages with a key, which only a relay sends, because their order counts. Everything else has been carried out: this is how a
    /// healthy commit of such a message ends.
    KeyedMessages,
    /// Effects that could not be carried out at once: Redis, a queue or a sink was away, or took longer than a second.
    Effects,
}

/// Commits in a task of its own: whoever waits for it may go away.
pub(super) async fn commit<DB: Database>(
    transaction: Transaction<'static, DB>,
    pool: Pool<DB>,
    effects: Effects,
) -> Result<Committed, SqlError> {
    let (reply, answer) = oneshot::channel();
    // Boxed, so that its caller does not carry the room of a whole commit.
    let run = Box::pin(async move {
        let work = effects.work;
        let keel = effects.keel.clone();
        match decided::<DB>(transaction, &pool, effects).await {
            Ok((after, windows)) => {
                crash_point("after_commit");
                let (committed, is_all) = after.carry_out(work, windows, &pool).await;
                crash_point("carried_out");
                // Nobody may listen any more; what follows concerns the row alone.
                let _ = reply.send(Ok(committed));
                if is_all && after.has_row {
                    keel.sql().finisher(&pool, keel.clock()).done(work);
                }
            }
            Err(error) => {
                keel.sql().metrics().failed(&error);
                let _ = reply.send(Err(error));
            }
        }
    });
    if guard("commit_survives_its_caller") {
        tokio::spawn(run);
    } else {
        run.await;
    }
    answer.await.unwrap_or(Err(SqlError::Interrupted))
}

/// Everything up to the moment when it is known that the transaction was committed.
async fn decided<DB: Database>(
    mut transaction: Transaction<'static, DB>,
    pool: &Pool<DB>,
    mut effects: Effects,
) -> Result<(After, Windows), SqlError> {
    let wanted = std::mem::take(&mut effects.windows);
    let windows = match Windows::open(effects.work, wanted).await {
        Ok(windows) => windows,
        Err(error) => return Err(roll_back(transaction, None, error).await),
    };
    if let Err(error) = write::write::<DB>(&mut transaction, &mut effects, Place::New).await {
        return Err(roll_back(transaction, Some(windows), error).await);
    }
    if let Err(error) = windows.check().await {
        return Err(roll_back(transaction, Some(windows), error).await);
    }
    crash_point("before_commit");
    let clock = effects.keel.clock().clone();
    let unanswered =
        || sqlx::Error::Io(std::io::Error::new(std::io::ErrorKind::TimedOut, "the commit was not answered"));
    let answer = tokio::select! {
        biased;
        answer = transaction.commit() => answer,
        () = clock.sleep(COMMIT_MAX) => Err(unanswered()),
        never = windows.keep_open() => match never {},
    };
    let Err(error) = answer else { return Ok((After::of(effects), windows)) };
    match outcome::decide(&clock, pool, effects.work, DECISION_MAX).await {
        Outcome::Committed => Ok((After::of(effects), windows)),
        Outcome::RolledBack => {
            windows.end().await;
            Err(SqlError::Database { error: Arc::new(error), is_retryable: true })
        }
        Outcome::Unknown(last) => {
            tracing::warn!(work = %effects.work, %error, "nobody can say whether a work was committed");
            windows.abandon();
            Err(SqlError::OutcomeUnknown { work: effects.work.to_string(), error: Arc::new(last) })
        }
    }
}

async fn roll_back<DB: Database>(
    mut transaction: Transaction<'static, DB>,
    windows: Option<Windows>,
    error: SqlError,
) -> SqlError {
    // SQLite refuses to end a transaction that is gone, and sqlx would take this connection for one inside a transaction for
    // ever: it is given one to end.
    if matches!(error, SqlError::Lost) && DB::KIND == Kind::Sqlite && guard("lost_connection_is_mended") {
        let _ = DB::script(&mut transaction, "BEGIN").await;
    }
    // A rollback that fails is one all the same: nothing was sent that could commit.
    if let Err(error) = transaction.rollback().await {
        tracing::debug!(%error, "the database did not answer a rollback");
    }
    if let Some(windows) = windows {
        windows.end().await;
    }
    error
}

/// What is left to do after a commit.
pub(super) struct After {
    keel: Keel,
    effects: Vec<Effect>,
    has_ordered: bool,
    has_row: bool,
}

impl After {
    fn of(effects: Effects) -> Self {
        Self {
            has_ordered: !effects.ordered.is_empty(),
            has_row: !effects.is_row_empty(),
            effects: effects.in_row(),
            keel: effects.keel,
        }
    }

    /// After a row that was read back.
    pub(super) fn read_back(keel: Keel, effects: Vec<Effect>, has_ordered: bool) -> Self {
        Self { keel, has_row: !effects.is_empty(), effects, has_ordered }
    }

    /// The fast path: what a relay would do, at once. Also whether the row has nothing left to ask for.
    pub(super) async fn carry_out<DB: Database>(
        &self,
        work: WorkId,
        windows: Windows,
        pool: &Pool<DB>,
    ) -> (Committed, bool) {
        let clock = self.keel.clock();
        let began = clock.now();
        let window = windows.end().await;
        let is_closed = window.as_ref().is_none_or(|end| !matches!(end, WindowEnd::Unconfirmed(_)));
        // What a window stood for has happened with its end.
        let left: Vec<Effect> =
            self.effects.iter().filter(|effect| !(is_closed && has_window(effect))).cloned().collect();
        let carrier = Carrier::new(self.keel.clone(), self.keel.sql().publisher());
        let carried = clock.timeout(FAST_PATH_MAX, carrier.carry_out(work, &left)).await;
        let is_all = match carried {
            Ok(Ok(())) => true,
            Ok(Err(error)) => {
                tracing::debug!(%work, %error, "effects were not carried out at once; the relay will");
                false
            }
            Err(_) => false,
        };
        if self.has_ordered || !is_all {
            self.keel.sql().left_something(pool, clock);
        }
        let took = clock.now().since(began);
        let left = match (is_all, self.has_ordered) {
            (true, false) => Left::Nothing,
            (true, true) => Left::KeyedMessages,
            (false, _) => Left::Effects,
        };
        let committed = Committed { id: work, carried_out: left == Left::Nothing, left, window, took };
        self.keel.sql().metrics().committed(&committed);
        (committed, is_all)
    }

    pub(super) fn has_row(&self) -> bool {
        self.has_row
    }
}

fn has_window(effect: &Effect) -> bool {
    matches!(effect, Effect::Invalidate(invalidate) if invalidate.window)
}
