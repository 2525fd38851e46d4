//! A connection outside the pool that may hold one advisory lock.

use super::AdvisoryDatabase;
use crate::lock::fence::end_when_quiet;
use crate::sql::{Kind, Row, Statement, Value};
use evenkeel_link::support::guard;
use evenkeel_protocol::lock::name::LockName;
use sha2::{Digest, Sha256};
use sqlx::{ConnectOptions, Connection, Pool};
use std::time::Duration;

// The name includes that of the database, because MySQL's locks are those of the whole server; its hash has 64 characters, the maximum.
macro_rules! mysql {
    ($before:literal, $after:literal) => {
        Statement::new(concat!(
            "SELECT ",
            $before,
            "(SHA2(CONCAT('evenkeel/lock/', COALESCE(DATABASE(), ''), '/', ?), 256)",
            $after
        ))
    };
}

static TRY_MYSQL: Statement = mysql!("GET_LOCK", ", 0)");
static WAIT_MYSQL: Statement = mysql!("GET_LOCK", ", 1)");
static HELD_MYSQL: Statement = mysql!("CONNECTION_ID() = IS_USED_LOCK", ")");
static UNLOCK_MYSQL: Statement = mysql!("RELEASE_LOCK", ")");

static TRY_POSTGRES: Statement = Statement::new("SELECT pg_try_advisory_lock(?)::int::bigint");
/// Waits for at most `lock_timeout`, after which it is an error.
static WAIT_POSTGRES: Statement = Statement::new("SELECT 1::bigint FROM pg_advisory_lock(?)");
static HELD_POSTGRES: Statement = Statement::new(
    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND pid = pg_backend_pid() \
     AND objsubid = 1 AND ((classid::bigint << 32) | objid::bigint) = ?",
);
static UNLOCK_POSTGRES: Statement = Statement::new("SELECT pg_advisory_unlock(?)::int::bigint");
/// A wait that timed out when it was granted may have counted twice.
static UNLOCK_ALL_POSTGRES: Statement = Statement::new("SELECT 1::bigint FROM pg_advisory_unlock_all()");
static QUIET_POSTGRES: Statement =
    Statement::new("SELECT set_config('idle_session_timeout', ?, false), set_config('lock_timeout', '1000', false)");

/// A connection outside the pool. Dropping it closes it, and the server releases its lock.
pub(super) struct Session<DB: AdvisoryDatabase>(DB::Connection);

impl<DB: AdvisoryDatabase> Session<DB> {
    /// Connects. The server closes the connection once it has been idle for `lease`, or a little longer.
    pub(super) async fn open(pool: &Pool<DB>, lease: Duration) -> Result<Self, sqlx::Error> {
        let mut session = Self(pool.connect_options().connect().await?);
        session.end_when_quiet(lease).await?;
        Ok(session)
    }

    pub(super) async fn end_when_quiet(&mut self, lease: Duration) -> Result<(), sqlx::Error> {
        if !guard("advisory_lock_quiet_ends") {
            return Ok(());
        }
        match DB::KIND {
            Kind::Postgres => {
                let ms = lease.as_millis().max(1).to_string();
                Row::<DB>::all(&mut self.0, &QUIET_POSTGRES, &[Value::Text(&ms)]).await.map(drop)
            }
            Kind::MySql | Kind::Sqlite => end_when_quiet::<DB>(&mut self.0, lease).await,
        }
    }

    /// Takes the lock if it is free.
    pub(super) async fn try_lock(&mut self, name: &LockName) -> Result<bool, sqlx::Error> {
        self.ask([&TRY_MYSQL, &TRY_POSTGRES], name).await
    }

    /// Waits for the lock in the server's queue, for about a second.
    pub(super) async fn wait_lock(&mut self, name: &LockName) -> Result<bool, sqlx::Error> {
        match self.ask([&WAIT_MYSQL, &WAIT_POSTGRES], name).await {
            // The lock may be granted at the moment of the timeout; another attempt then finds it.
            Err(sqlx::Error::Database(error)) if error.code().as_deref() == Some("55P03") => self.try_lock(name).await,
            answer => answer,
        }
    }

    /// Whether this connection holds the lock, and not another one that a pooler has substituted.
    pub(super) async fn is_held(&mut self, name: &LockName) -> Result<bool, sqlx::Error> {
        self.ask([&HELD_MYSQL, &HELD_POSTGRES], name).await
    }

    /// Releases the lock; returns whether it was held.
    pub(super) async fn unlock(&mut self, name: &LockName) -> Result<bool, sqlx::Error> {
        let was_held = self.ask([&UNLOCK_MYSQL, &UNLOCK_POSTGRES], name).await?;
        if DB::KIND == Kind::Postgres {
            Row::<DB>::all(&mut self.0, &UNLOCK_ALL_POSTGRES, &[]).await?;
        }
        Ok(was_held)
    }

    /// Closes the connection in order.
    pub(super) async fn close(self) {
        if let Err(error) = self.0.close().await {
            tracing::debug!(%error, "the connection of an advisory lock could not be closed in order");
        }
    }

    async fn ask(&mut self, statements: [&'static Statement; 2], name: &LockName) -> Result<bool, sqlx::Error> {
        let [mysql, postgres] = statements;
        let row = if DB::KIND == Kind::Postgres {
            Row::<DB>::first(&mut self.0, postgres, &[Value::Int(number(name))]).await?
        } else {
            Row::<DB>::first(&mut self.0, mysql, &[Value::Bytes(name.as_str().as_bytes())]).await?
        };
        Ok(row.map_or(Ok(0), |row| row.int(0))? > 0)
    }
}

/// The number of a lock's name for PostgreSQL.
fn number(name: &LockName) -> i64 {
    let digest = Sha256::new().chain_update("evenkeel/lock/").chain_update(name.as_str()).finalize();
    digest.iter().take(8).fold(0_i64, |number, byte| (number << 8) | i64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::{LockName, number};

    #[test]
    fn advisory_number_of_a_name_never_changes() {
        let number = |name: &str| number(&LockName::new(name).unwrap_or_else(|error| unreachable!("{error}")));
        assert_eq!(number("stock/42"), number("stock/42"));
        assert_ne!(number("stock/42"), number("stock/43"));
        assert_ne!(number(&"x".repeat(511)), number(&"x".repeat(512)));
    }
}
