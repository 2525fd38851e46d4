//! A connection outside the pool that may hold one advisory lock.

use crate::lock::fence::end_when_quiet;
use crate::sql::database::{Connection, Kind, Pool, Row, Statement, Value};
use evenkeel_link::support::guard;
use evenkeel_protocol::lock::name::LockName;
use sha2::{Digest, Sha256};
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;

macro_rules! mysql {
    ($before:literal, $after:literal) => {
        Statement::new(concat!("SELECT ", $before, "(CONVERT(? USING utf8mb4)", $after))
    };
}

static DATABASE_MYSQL: Statement = Statement::new("SELECT DATABASE()");

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
pub(super) struct Session {
    connection: Box<Connection>,
    /// The name of the database, where the server has locks for all of them together.
    database: String,
    /// Its place among the connections that this process may have for advisory locks.
    _place: OwnedSemaphorePermit,
}

impl Session {
    /// Connects. The server closes the connection once it has been idle for `lease`, or a little longer.
    pub(super) async fn open(pool: &Pool, place: OwnedSemaphorePermit, lease: Duration) -> Result<Self, sqlx::Error> {
        let mut connection = pool.connect().await?;
        let database = match connection.dialect().kind {
            Kind::MySql => Row::first(&mut *connection, &DATABASE_MYSQL, &[]).await?,
            Kind::Postgres | Kind::Sqlite => None,
        };
        let database = database.map_or(Ok(String::new()), |row| row.text(0))?;
        let mut session = Self { connection, database, _place: place };
        session.end_when_quiet(lease).await?;
        Ok(session)
    }

    pub(super) async fn end_when_quiet(&mut self, lease: Duration) -> Result<(), sqlx::Error> {
        if !guard("advisory_lock_quiet_ends") {
            return Ok(());
        }
        match self.connection.dialect().kind {
            Kind::Postgres => {
                let ms = lease.as_millis().max(1).to_string();
                Row::all(&mut *self.connection, &QUIET_POSTGRES, &[Value::Text(&ms)]).await.map(drop)
            }
            Kind::MySql | Kind::Sqlite => end_when_quiet(&mut *self.connection, lease).await,
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
        if self.connection.dialect().kind == Kind::Postgres {
            Row::all(&mut *self.connection, &UNLOCK_ALL_POSTGRES, &[]).await?;
        }
        Ok(was_held)
    }

    /// Closes the connection in order.
    pub(super) async fn close(self) {
        if let Err(error) = self.connection.close().await {
            tracing::debug!(%error, "the connection of an advisory lock could not be closed in order");
        }
    }

    async fn ask(&mut self, statements: [&'static Statement; 2], name: &LockName) -> Result<bool, sqlx::Error> {
        let [mysql, postgres] = statements;
        let row = if self.connection.dialect().kind == Kind::Postgres {
            Row::first(&mut *self.connection, postgres, &[Value::Int(number(name))]).await?
        } else {
            let hash = hash(&self.database, name);
            Row::first(&mut *self.connection, mysql, &[Value::Text(&hash)]).await?
        };
        Ok(row.map_or(Ok(0), |row| row.int(0))? > 0)
    }
}

/// The name of a lock for MySQL and MariaDB: 64 characters, the maximum, which every character set has. It includes the name of the
/// database, because their locks are those of the whole server.
fn hash(database: &str, name: &LockName) -> String {
    let digest = Sha256::new().chain_update("evenkeel/lock/").chain_update(database).chain_update("/");
    let digest = digest.chain_update(name.as_str()).finalize();
    let halves = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    halves.filter_map(|half| char::from_digit(half.into(), 16)).collect()
}

/// The number of a lock's name for PostgreSQL.
fn number(name: &LockName) -> i64 {
    let digest = Sha256::new().chain_update("evenkeel/lock/").chain_update(name.as_str()).finalize();
    digest.iter().take(8).fold(0_i64, |number, byte| (number << 8) | i64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::{LockName, hash, number};

    /// The hash that the version before had the server compute: `SHA2('evenkeel/lock/shop/stock/42', 256)`.
    // shows: KA1, hazard B8
    #[test]
    fn advisory_hash_of_a_name_never_changes() {
        let name = LockName::new("stock/42").unwrap_or_else(|error| unreachable!("{error}"));
        assert_eq!(hash("shop", &name), "2ae49f34bfee1a919b78bba9eefff4bdafa3f4a4951cc23f164ac7879d8c4192");
    }

    // shows: KA1
    #[test]
    fn advisory_number_of_a_name_never_changes() {
        let number = |name: &str| number(&LockName::new(name).unwrap_or_else(|error| unreachable!("{error}")));
        assert_eq!(number("stock/42"), number("stock/42"));
        assert_ne!(number("stock/42"), number("stock/43"));
        assert_ne!(number(&"x".repeat(511)), number(&"x".repeat(512)));
    }
}
