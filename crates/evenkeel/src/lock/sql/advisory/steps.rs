//! The steps of advisory locks. The lease is the connection: the server closes a connection that is idle for the length of the lease, and
//! each renewal checks that the connection still holds the lock.

use super::session::Session;
use super::shared::{Found, Holding, Shared};
use super::waiter::Waiter;
use crate::lock::sql::bounded;
use crate::sql::SqlError;
use crate::sql::database::Pool;
use async_trait::async_trait;
use evenkeel_link::Token;
use evenkeel_link::clock::{Clock, Moment};
use evenkeel_link::support::{guard, ms};
use evenkeel_protocol::lock::error::LockError;
use evenkeel_protocol::lock::name::LockName;
use evenkeel_protocol::lock::steps::{
    Acquire, Acquired, Fence, Holder, LockSteps, Release, Released, Renewed, WakeListener, check,
};
use std::sync::Arc;
use std::time::Duration;

/// The interval at which a waiter checks its place in the server's queue.
const LOOK_MS: u64 = 1_000;
/// The longest lease.
const LEASE_MS_MAX: u64 = 86_400_000;
const FULL: &str = "all connections that this process may have for advisory locks are in use: try again, or raise \
    `max_connections` of the pool";
const ASK_THE_SERVER: &str =
    "the library cannot list advisory locks; query `pg_locks` or `performance_schema.metadata_locks`";

/// The steps on one server.
pub(super) struct AdvisorySteps {
    pool: Pool,
    clock: Clock,
    shared: Arc<Shared>,
}

impl AdvisorySteps {
    pub(super) fn new(pool: Pool, clock: Clock) -> Self {
        let shared = Arc::new(Shared::new(pool.connections_max()));
        Self { pool, clock, shared }
    }

    /// A connection that holds the lock; `None` if another connection has it.
    async fn session(&self, name: &LockName, lease: Duration) -> Result<Option<Session>, sqlx::Error> {
        match self.shared.take(name) {
            Found::Waiting => Ok(None),
            Found::Granted(mut session) => {
                // The lease counts from now, and a lock that was granted earlier may be lost already.
                session.end_when_quiet(lease).await?;
                Ok(session.is_held(name).await?.then_some(session))
            }
            Found::Nothing => {
                // A waiter then waits for a place.
                let Some(place) = self.shared.place_now() else { return Ok(None) };
                let mut session = Session::open(&self.pool, place, lease).await?;
                if session.try_lock(name).await? {
                    return Ok(Some(session));
                }
                session.close().await;
                Ok(None)
            }
        }
    }

    /// Whether the holder's connection still has the lock. Runs in a task of its own, so that a dropped caller does not interrupt the
    /// statement.
    async fn is_held(&self, name: &LockName, holding: Arc<Holding>) -> Result<bool, LockError> {
        let (clock, name) = (self.clock.clone(), name.clone());
        let asked = evenkeel_link::support::spawn(async move {
            let mut session = holding.session.lock().await;
            let Some(mut open) = session.take() else { return Ok(false) };
            let answer = bounded(&clock, open.is_held(&name)).await;
            if let Err(error) = &answer {
                tracing::debug!(%name, %error, "the connection of an advisory lock has ended");
            }
            let is_held = matches!(answer, Ok(true));
            if is_held {
                *session = Some(open);
            }
            // Otherwise the connection is dropped, because the state of an unanswered connection is unknown.
            Ok(is_held)
        });
        asked.await.unwrap_or_else(|_| Err(LockError::from(SqlError::Interrupted)))
    }
}

#[async_trait]
impl LockSteps for AdvisorySteps {
    async fn acquire(&self, name: &LockName, call: &Acquire) -> Result<Acquired, LockError> {
        LockSteps::check(self, call)?;
        let now = self.clock.now();
        if let Some(holding) = self.shared.holding(call.owner) {
            // The reply to an earlier attempt was lost.
            if self.is_held(name, Arc::clone(&holding)).await? {
                return Ok(granted(lease(call.lease_ms, &holding, now)));
            }
            self.shared.let_go(call.owner);
        }
        let hold = call.hold_ms_max.map(Duration::from_millis);
        let session = self.session(name, Duration::from_millis(call.lease_ms));
        let Some(session) = bounded(&self.clock, session).await? else {
            // Without a connection the server was not asked.
            if !call.waits && self.shared.is_full() {
                let (is_retryable, outcome_unknown) = (true, false);
                return Err(LockError::Database {
                    is_retryable,
                    outcome_unknown,
                    error: Arc::new(SqlError::Busy(FULL)),
                });
            }
            return Ok(Acquired::Taken { free_in_ms: LOOK_MS });
        };
        self.shared.hold(call.owner, session, hold.map(|hold| now + hold));
        Ok(granted(call.hold_ms_max.map_or(call.lease_ms, |hold| call.lease_ms.min(hold))))
    }

    async fn renew(&self, name: &LockName, owner: Token, lease_ms: u64) -> Result<Renewed, LockError> {
        let Some(holding) = self.shared.holding(owner) else { return Ok(Renewed::Lost) };
        let now = self.clock.now();
        if guard("advisory_lock_asks") && !self.is_held(name, Arc::clone(&holding)).await? {
            self.shared.let_go(owner);
            return Ok(Renewed::Lost);
        }
        let lease_left_ms = lease(lease_ms, &holding, now);
        let is_at_limit = lease_left_ms < lease_ms;
        Ok(if is_at_limit { Renewed::Held { lease_left_ms } } else { Renewed::Renewed { lease_left_ms } })
    }

    async fn release(&self, name: &LockName, call: Release) -> Result<Released, LockError> {
        let Some(holding) = self.shared.let_go(call.owner) else { return Ok(Released::Nothing) };
        let Some(mut session) = holding.session.lock().await.take() else { return Ok(Released::Nothing) };
        match bounded(&self.clock, session.unlock(name)).await {
            Ok(was_held) => {
                evenkeel_link::support::spawn(session.close());
                Ok(if was_held { Released::Released { others_waiting: 0 } } else { Released::Nothing })
            }
            // Dropping the connection releases the lock.
            Err(error) => {
                tracing::debug!(%name, %error, "the connection of an advisory lock had ended");
                Ok(Released::Nothing)
            }
        }
    }

    async fn raise(&self, _name: &LockName, _owner: Token, _seen: Fence) -> Result<Option<Fence>, LockError> {
        Ok(None)
    }

    async fn inspect(&self, _name: &LockName) -> Result<Option<Holder>, LockError> {
        Err(LockError::Invalid(ASK_THE_SERVER.to_owned()))
    }

    async fn break_lock(&self, _name: &LockName, _seen: Option<Fence>) -> Result<Option<Holder>, LockError> {
        Err(LockError::Invalid(ASK_THE_SERVER.to_owned()))
    }

    async fn held(&self) -> Result<Vec<LockName>, LockError> {
        Err(LockError::Invalid(ASK_THE_SERVER.to_owned()))
    }

    async fn listen(&self, name: &LockName) -> Result<Box<dyn WakeListener>, LockError> {
        let (shared, pool) = (Arc::clone(&self.shared), self.pool.clone());
        Ok(Box::new(Waiter::start(shared, pool, self.clock.clone(), name.clone())))
    }

    fn check(&self, call: &Acquire) -> Result<(), LockError> {
        check(call)?;
        // The lease is the idle timeout of the connection, which MySQL and PostgreSQL limit.
        if call.lease_ms > LEASE_MS_MAX && guard("advisory_lock_lease_bounded") {
            return Err(LockError::Invalid(format!(
                "a ttl of {} ms; choose 50ms to a day for an advisory lock, which its guard renews",
                call.lease_ms
            )));
        }
        if call.cooling_ms > 0 || !call.metadata.is_empty() {
            return Err(LockError::Invalid("an advisory lock does not support a lock delay or metadata".to_owned()));
        }
        Ok(())
    }

    fn no_answer(&self) -> LockError {
        SqlError::Busy("the database did not answer within the time to wait for the lock").into()
    }
}

fn granted(lease_left_ms: u64) -> Acquired {
    Acquired::Granted { fence: Fence(0), lease_left_ms }
}

/// The remaining time of a lease that counts from `now`, up to the limit of the hold.
fn lease(lease_ms: u64, holding: &Holding, now: Moment) -> u64 {
    let left = holding.limit.map(|limit| ms(limit.since(now)));
    left.map_or(lease_ms, |left| left.min(lease_ms))
}
