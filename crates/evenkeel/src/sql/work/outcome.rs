//! Decides the outcome of a commit whose reply was lost. The row of the unit of work decides: either the commit inserted the id, or
//! this module inserts it as a tombstone, after which the commit can only fail.

use crate::sql::database::{Kind, Pool, SqlErrorClass, class_of_error};
use crate::sql::outbox::{State, WorkId, rows};
use evenkeel_link::clock::Clock;
use evenkeel_link::support::{Backoff, guard};
use std::time::Duration;

/// How long to try to determine the outcome. Rows are kept far longer.
pub(super) const DECISION_MAX: Duration = Duration::from_secs(60);
const BACKOFF: Backoff = Backoff { delay_min: Duration::from_millis(20), delay_max: Duration::from_secs(1) };

/// The outcome of a transaction.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The transaction was committed, with its effects.
    Committed,
    /// The effects were not committed, and never will be.
    RolledBack,
    /// The database could not be queried in time.
    Unknown(sqlx::Error),
}

/// Queries the database until the outcome is known, for at most `wait_max`.
pub(super) async fn decide(clock: &Clock, pool: &Pool, work: WorkId, wait_max: Duration) -> Outcome {
    if !guard("unknown_outcome_is_decided") {
        return Outcome::RolledBack;
    }
    let until = clock.now() + wait_max;
    let mut attempt = 0;
    loop {
        let error = match ask(pool, work).await {
            Ok(outcome) => return outcome,
            Err(error) => error,
        };
        if clock.now() >= until {
            return Outcome::Unknown(error);
        }
        tracing::debug!(%work, %error, "the outcome of a commit is still unknown");
        clock.sleep(BACKOFF.delay(attempt)).await;
        attempt += 1;
    }
}

async fn ask(pool: &Pool, work: WorkId) -> Result<Outcome, sqlx::Error> {
    let (mut connection, dialect) = (pool.acquire().await?, pool.dialect());
    if dialect.kind != Kind::Sqlite {
        // The transaction may still be open on a connection that the server considers alive: the wait for its row must be limited,
        // and the connection with that limit must not return to the pool.
        connection.close_on_drop();
        connection.script(dialect.lock_wait).await?;
    }
    match rows::insert_tombstone(&mut *connection, work).await {
        Ok(()) => Ok(Outcome::RolledBack),
        Err(error) if class_of_error(&error) == SqlErrorClass::Duplicate => {
            match rows::read(&mut *connection, work).await?.map(|row| row.state) {
                Some(state) if state.is_committed() => Ok(Outcome::Committed),
                // An open row that another transaction sees was committed, and the savepoint that stored its effects rolled back.
                Some(State::Open) if guard("rolled_back_seal_is_decided") => Ok(Outcome::RolledBack),
                Some(State::Aborted) => Ok(Outcome::RolledBack),
                _ => Err(error),
            }
        }
        Err(error) => Err(error),
    }
}
