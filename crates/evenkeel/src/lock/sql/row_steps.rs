//! The steps of docs/spec/lock.md on rows of `evenkeel_locks`. Each decision is one statement by the database's clock; the row is read
//! after it.

use super::{bounded, row_statements as say};
#[cfg(feature = "testing")]
use crate::sql::database::Database;
use crate::sql::database::{Connection, Kind, Pool, Row, Statement, Value};
use crate::sql::{SqlError, close_if_over};
use async_trait::async_trait;
use evenkeel_link::Token;
use evenkeel_link::clock::Clock;
use evenkeel_link::support::{Backoff, guard};
use evenkeel_protocol::lock::error::LockError;
use evenkeel_protocol::lock::name::LockName;
use evenkeel_protocol::lock::steps::{
    Acquire, Acquired, Call, Fence, Holder, LockSteps, Release, Released, Renewed, WakeListener, check,
};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::watch;

/// The longest hold, also of locks without a limit.
const HOLD_MS_MAX: u64 = 1 << 48;
/// The polling interval of waiters, with jitter from half of this to all of it.
const ASK: Backoff = Backoff { delay_min: Duration::from_millis(100), delay_max: Duration::from_millis(100) };

/// The steps of [`RowLocks`](super::RowLocks) in rows of one database. [`migrate`](crate::sql::migrate) must have run.
#[derive(Clone)]
pub struct RowLock {
    pool: Pool,
    /// A pool of one connection, for renewals and releases.
    apart: Arc<OnceLock<Pool>>,
    clock: Clock,
    /// The number of acquisitions in progress, by owner. One whose caller was dropped may still reach the database on a connection of its
    /// own, and its release must not overtake it.
    asking: Arc<watch::Sender<HashMap<Token, usize>>>,
}

/// Counts an acquisition as in progress until it is dropped.
struct InProgress {
    asking: Arc<watch::Sender<HashMap<Token, usize>>>,
    owner: Token,
}

impl InProgress {
    fn begin(asking: &Arc<watch::Sender<HashMap<Token, usize>>>, owner: Token) -> Self {
        asking.send_modify(|asking| *asking.entry(owner).or_default() += 1);
        Self { asking: Arc::clone(asking), owner }
    }
}

impl Drop for InProgress {
    fn drop(&mut self) {
        self.asking.send_modify(|asking| {
            if let Some(count) = asking.get_mut(&self.owner) {
                *count -= 1;
                if *count == 0 {
                    asking.remove(&self.owner);
                }
            }
        });
    }
}

/// A row as it was read.
struct Seen {
    owner: Option<Token>,
    fence: Fence,
    /// Negative once the lease has expired.
    lease_left_ms: i64,
    cooling_ms: i64,
    held_ms: u64,
    lease_ms: i64,
    metadata: Vec<u8>,
}

impl RowLock {
    /// The steps on this pool. `clock` is used for deadlines of statements; leases use the database's clock.
    #[cfg(feature = "testing")]
    #[must_use]
    pub fn new<DB: Database>(pool: &sqlx::Pool<DB>, clock: Clock) -> Self {
        Self::over(DB::erased(pool), clock)
    }

    pub(super) fn over(pool: Pool, clock: Clock) -> Self {
        Self { pool, apart: Arc::default(), clock, asking: Arc::new(watch::Sender::new(HashMap::new())) }
    }

    /// The pool for statements about held locks. Their holders' own transactions may have every connection of the program's pool, and a
    /// renewal that waited for one of them would come too late. SQLite has one writer at a time, however many connections there are.
    fn apart(&self) -> &Pool {
        if self.pool.dialect().kind == Kind::Sqlite {
            return &self.pool;
        }
        self.apart.get_or_init(|| self.pool.apart())
    }

    /// Executes the step of an acquisition.
    async fn ask(&self, name: &LockName, call: &Acquire) -> Result<Acquired, LockError> {
        let hold_ms = call.hold_ms_max.unwrap_or(HOLD_MS_MAX).min(HOLD_MS_MAX);
        let lease = Value::count(call.lease_ms.min(hold_ms));
        let values = [
            Value::count(call.fence_floor),
            Value::Bytes(call.owner.as_bytes()),
            lease,
            Value::count(call.cooling_ms),
            Value::count(hold_ms),
            Value::Bytes(&call.metadata),
            lease,
            Value::Text(name.as_str()),
        ];
        let statement = match (guard("row_lock_only_free"), guard("row_lock_fence_previous")) {
            (false, _) => &say::ACQUIRE_WITHOUT_FREE,
            (true, false) => &say::ACQUIRE_WITHOUT_PREVIOUS,
            (true, true) => &say::ACQUIRE,
        };
        let mut seen = self.then_see(&self.pool, name, statement, &values).await?.1;
        if seen.is_none() {
            self.send(&self.pool, &say::CREATE, &[Value::Text(name.as_str())]).await?;
            seen = self.then_see(&self.pool, name, statement, &values).await?.1;
        }
        // The row was deleted in between twice: try later.
        let Some(seen) = seen else { return Ok(Acquired::Taken { free_in_ms: 1 }) };
        if seen.is_held_by(call.owner) {
            return Ok(Acquired::Granted { fence: seen.fence, lease_left_ms: seen.lease_left_ms() });
        }
        if let Some(owner) = seen.owner.filter(|_| seen.is_from_future()) {
            let values = [Value::Text(name.as_str()), Value::Bytes(owner.as_bytes())];
            self.send(&self.pool, &say::MEND, &values).await?;
        }
        Ok(Acquired::Taken { free_in_ms: seen.free_in_ms().unwrap_or(1) })
    }

    /// Executes a statement, then reads the row; `None` if there is none.
    async fn then_see(
        &self,
        pool: &Pool,
        name: &LockName,
        statement: &'static Statement,
        values: &[Value<'_>],
    ) -> Result<(bool, Option<Seen>), LockError> {
        let step = async {
            let mut connection = pool.acquire().await?;
            let answer = statement.execute(&mut *connection, values).await;
            let found = close_if_over(&mut connection, answer)?;
            Ok((found > 0, see(&mut *connection, name).await?))
        };
        bounded(&self.clock, step).await
    }

    async fn see(&self, name: &LockName) -> Result<Option<Seen>, LockError> {
        let step = async { see(&mut *self.pool.acquire().await?, name).await };
        bounded(&self.clock, step).await
    }

    async fn send(&self, pool: &Pool, statement: &'static Statement, values: &[Value<'_>]) -> Result<bool, LockError> {
        let step = async {
            let mut connection = pool.acquire().await?;
            let answer = statement.execute(&mut *connection, values).await;
            close_if_over(&mut connection, answer)
        };
        Ok(bounded(&self.clock, step).await? > 0)
    }
}

async fn see(connection: &mut Connection, name: &LockName) -> Result<Option<Seen>, sqlx::Error> {
    let Some(row) = Row::first(connection, &say::SEE, &[Value::Text(name.as_str())]).await? else {
        return Ok(None);
    };
    Ok(Some(Seen {
        owner: row.id(0)?.map(Token::from),
        fence: Fence(row.count(1)?),
        lease_left_ms: row.int(2)?,
        cooling_ms: row.int(3)?,
        held_ms: row.count(4)?,
        lease_ms: row.int(5)?,
        metadata: row.bytes(6)?,
    }))
}

impl Seen {
    /// Whether the lease was written before the clock was set back.
    fn is_from_future(&self) -> bool {
        self.owner.is_some() && self.lease_left_ms > self.lease_ms && guard("row_lock_lease_from_future")
    }

    fn lease_left_ms(&self) -> u64 {
        let left = if self.is_from_future() { self.lease_ms } else { self.lease_left_ms };
        u64::try_from(left).unwrap_or(0)
    }

    /// The time until the lock is free at the earliest; `None` if it is free.
    fn free_in_ms(&self) -> Option<u64> {
        self.owner?;
        let left = if self.is_from_future() { self.lease_ms } else { self.lease_left_ms };
        u64::try_from(left + self.cooling_ms).ok().filter(|left| *left > 0)
    }

    fn is_held_by(&self, owner: Token) -> bool {
        self.owner == Some(owner) && self.lease_left_ms > 0
    }
}

#[async_trait]
impl LockSteps for RowLock {
    /// Runs in a task of its own, so that it completes when its caller is dropped.
    async fn acquire(&self, name: &LockName, call: &Acquire) -> Result<Acquired, LockError> {
        check(call)?;
        let (me, name, call) = (self.clone(), name.clone(), call.clone());
        let in_progress = InProgress::begin(&self.asking, call.owner);
        let asked = evenkeel_link::support::spawn(async move {
            let answer = me.ask(&name, &call).await;
            drop(in_progress);
            answer
        });
        asked.await.unwrap_or_else(|_| Err(LockError::from(SqlError::Interrupted)))
    }

    async fn renew(&self, name: &LockName, owner: Token, lease_ms: u64) -> Result<Renewed, LockError> {
        let (lease, text, bytes) = (Value::count(lease_ms), Value::Text(name.as_str()), Value::Bytes(owner.as_bytes()));
        let statement = match (guard("row_lock_renew_owner"), guard("row_lock_renew_ended")) {
            (false, _) => &say::RENEW_WITHOUT_OWNER,
            (true, false) => &say::RENEW_WITHOUT_ENDED,
            (true, true) => &say::RENEW,
        };
        let values = [lease, lease, text, lease, bytes];
        let (found, seen) = self.then_see(self.apart(), name, statement, &values).await?;
        match seen {
            Some(seen) if found => Ok(Renewed::Renewed { lease_left_ms: seen.lease_left_ms() }),
            Some(seen) if seen.is_held_by(owner) && seen.is_from_future() => {
                self.send(self.apart(), &say::MEND, &[text, bytes]).await?;
                Ok(Renewed::Renewed { lease_left_ms: seen.lease_left_ms() })
            }
            Some(seen) if seen.is_held_by(owner) => Ok(Renewed::Held { lease_left_ms: seen.lease_left_ms() }),
            _ => Ok(Renewed::Lost),
        }
    }

    async fn release(&self, name: &LockName, call: Release) -> Result<Released, LockError> {
        // The wait ends, because each statement of an acquisition has a deadline. The sender is in `self`.
        let _ = self.asking.subscribe().wait_for(|asking| !asking.contains_key(&call.owner)).await;
        let statement = match (guard("row_lock_release_owner"), guard("row_lock_release_ended")) {
            (false, _) => &say::RELEASE_WITHOUT_OWNER,
            (true, false) => &say::RELEASE_WITHOUT_ENDED,
            (true, true) => &say::RELEASE,
        };
        let values = [Value::Text(name.as_str()), Value::Bytes(call.owner.as_bytes())];
        if self.send(self.apart(), statement, &values).await? {
            // The number of waiters is unknown, because they poll.
            return Ok(Released::Released { others_waiting: 0 });
        }
        let is_held = self.see(name).await?.is_some_and(|seen| seen.free_in_ms().is_some());
        Ok(if is_held { Released::Lost } else { Released::Nothing })
    }

    async fn raise(&self, name: &LockName, owner: Token, seen: Fence) -> Result<Option<Fence>, LockError> {
        let (number, text) = (Value::count(seen.0), Value::Text(name.as_str()));
        let statement = if guard("row_lock_raise_owner") { &say::RAISE } else { &say::RAISE_WITHOUT_OWNER };
        let values = [number, text, number, Value::Bytes(owner.as_bytes())];
        let (_, row) = self.then_see(&self.pool, name, statement, &values).await?;
        Ok(row.filter(|row| row.is_held_by(owner)).map(|row| row.fence))
    }

    async fn inspect(&self, name: &LockName) -> Result<Option<Holder>, LockError> {
        Ok(self.see(name).await?.and_then(|seen| {
            Some(Holder {
                owner: seen.owner?,
                fence: seen.fence,
                lease_left_ms: seen.lease_left_ms(),
                free_in_ms: seen.free_in_ms()?,
                held_ms: seen.held_ms,
                waiting: 0,
                metadata: seen.metadata.into(),
            })
        }))
    }

    async fn break_lock(&self, name: &LockName, seen: Option<Fence>) -> Result<Option<Holder>, LockError> {
        let Some(holder) = self.inspect(name).await? else { return Ok(None) };
        if seen.is_some_and(|seen| seen != holder.fence) && guard("row_lock_break_fence") {
            return Ok(None);
        }
        let values = [Value::Text(name.as_str()), Value::Bytes(holder.owner.as_bytes()), Value::count(holder.fence.0)];
        Ok(self.send(&self.pool, &say::BREAK, &values).await?.then_some(holder))
    }

    async fn held(&self) -> Result<Vec<LockName>, LockError> {
        let step = async { Row::all(&mut *self.pool.acquire().await?, &say::HELD, &[]).await };
        let rows = bounded(&self.clock, step).await?;
        let mut names: Vec<LockName> = rows.iter().filter_map(|row| LockName::new(&row.text(0).ok()?).ok()).collect();
        names.sort();
        Ok(names)
    }

    async fn listen(&self, _name: &LockName) -> Result<Box<dyn WakeListener>, LockError> {
        Ok(Box::new(Asking(self.clock.clone())))
    }

    fn no_answer(&self) -> LockError {
        SqlError::Busy("the database did not answer within the time to wait for the lock").into()
    }
}

/// Polls instead of listening, because a database sends no notification; with jitter, so that waiters do not poll in step.
struct Asking(Clock);

#[async_trait]
impl WakeListener for Asking {
    async fn called(&mut self, _process: Token) -> Call {
        self.0.sleep(ASK.delay(0)).await;
        Call::You
    }
}
