//! Decides about a commit that nobody answered. The work's row decides, and it is made to: whoever inserts the same id first,
//! the commit or this tombstone, has the last word.

use crate::sql::database::{Database, Dialect, Trouble};
use crate::sql::outbox::{State, WorkId, rows};
use evenkeel_link::clock::Clock;
use evenkeel_link::support::{Backoff, guard};
use sqlx::Pool;
use std::time::Duration;

/// How long it is tried to learn the outcome. Rows are kept far longer than this.
pub(super) const DECISION_MAX: Duration = Duration::from_secs(60);
const BACKOFF: Backoff = Backoff { delay_min: Duration::from_millis(20), delay_max: Duration::from_secs(1) };

/// What became of a transaction.
#[derive(Debug)]
pub(super) enum Outcome {
    /// It was committed, with its effects.
    Committed,
    /// It was not, and never will be.
    RolledBack,
    /// The database could not be asked in time.
    Unknown(sqlx::Error),
}

/// Asks until it is known, for at most `patience`.
pub(super) async fn decide<DB: Database>(clock: &Clock, pool: &Pool<DB>, work: WorkId, patience: Duration) -> Outcome {
    if !guard("unknown_outcome_is_decided") {
        return Outcome::RolledBack;
    }
    let until = clock.now() + patience;
    let mut attempt = 0;
    loop {
        let error = match ask::<DB>(pool, work).await {
            Ok(outcome) => return outcome,
            Err(error) => error,
        };
        if clock.now() >= until {
            return Outcome::Unknown(error);
        }
        tracing::debug!(%work, %error, "the outcome of a commit is not known yet");
        clock.sleep(BACKOFF.delay(attempt)).await;
        attempt += 1;
    }
}

async fn ask<DB: Database>(pool: &Pool<DB>, work: WorkId) -> Result<Outcome, sqlx::Error> {
    let mut connection = pool.acquire().await?;
    if DB::KIND != crate::sql::database::Kind::Sqlite {
        // The transaction may still be under way on a connection that the server takes for alive: the wait for its row must
        // end, and this connection must not come back with the short wait.
        connection.close_on_drop();
        <DB as Dialect>::script(&mut connection, DB::LOCK_WAIT).await?;
    }
    match rows::bury::<DB>(&mut connection, work).await {
        Ok(()) => Ok(Outcome::RolledBack),
        Err(error) if DB::trouble(&error) == Trouble::Duplicate => {
            match rows::read::<DB>(&mut connection, work).await?.map(|row| row.state) {
                Some(state) if state.is_committed() => Ok(Outcome::Committed),
                Some(State::Aborted) => Ok(Outcome::RolledBack),
                _ => Err(error),
            }
        }
        Err(error) => Err(error),
    }
}
