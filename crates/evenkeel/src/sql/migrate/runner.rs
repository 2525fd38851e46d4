//! Runs migrations, one process at a time, and continues where a killed process had stopped.

use super::text::{changes_rows, statements};
use crate::sql::database::{
    Connection, Kind, Pool, PooledConnection, Row, Value, class_of_error, is_done_already, translate,
};
use crate::sql::error::SqlError;
use crate::sql::transaction::Transaction;
use evenkeel_link::support::{crash_point, guard};
use sqlx::SqlSafeStr;

/// How long the runner waits for the lock of MySQL, MariaDB and PostgreSQL before it logs the wait.
const QUIET_SECONDS: u32 = 1;

/// One migration.
#[derive(Debug)]
pub(super) struct Migration<'a> {
    pub(super) version: i64,
    pub(super) name: &'a str,
    pub(super) script: &'a str,
    /// Empty for the library's own migrations.
    pub(super) checksum: &'a [u8],
}

/// A list of migrations and the table that records them.
pub(super) struct Plan<'a> {
    /// The table of completed migrations. Its name has letters, digits, `_` and dots.
    pub(super) table: &'a str,
    pub(super) migrations: Vec<Migration<'a>>,
    pub(super) format: Format,
    /// How long to wait for another process on MySQL, MariaDB and PostgreSQL.
    pub(super) wait_max_seconds: u32,
}

/// The columns of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// The library's own: version, name, time. Every statement of its migrations can be repeated.
    Own,
    /// sqlx's format, which earlier versions of a program that used sqlx's runner understand.
    Sqlx,
}

/// A recorded migration, completed or not.
struct Recorded {
    version: i64,
    checksum: Vec<u8>,
    /// `None` if the migration is complete.
    stopped: Option<Stopped>,
}

/// Where a migration stopped, stored as a negative number in the column `execution_time`, which sqlx sets to -1 until the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stopped {
    /// sqlx's runner stopped at an unknown statement.
    Somewhere,
    /// Before statement `step`, or (`begun`) after it was sent but before its outcome was known.
    At { step: usize, begun: bool },
}

impl Stopped {
    const FIRST: i64 = -10;

    fn of(recorded: i64) -> Self {
        match usize::try_from(Self::FIRST - recorded) {
            Ok(number) => Self::At { step: number / 2, begun: number % 2 == 1 },
            Err(_) => Self::Somewhere,
        }
    }

    fn recorded(step: usize, begun: bool) -> i64 {
        Self::FIRST - i64::try_from(step * 2 + usize::from(begun)).unwrap_or(0)
    }
}

impl Plan<'_> {
    /// Runs the missing migrations. If there are none it costs one statement.
    pub(super) async fn run(&self, pool: &Pool) -> Result<(), SqlError> {
        let mut connection = pool.acquire().await?;
        match self.missing(&mut *connection).await {
            Ok(None) => return Ok(()),
            Ok(Some(_)) | Err(SqlError::NotMigrated) => {}
            Err(error @ (SqlError::NewerSchema { .. } | SqlError::Migration(_))) => return Err(error),
            // Any other problem is reported by the statements that follow.
            Err(error) => tracing::debug!(%error, table = self.table, "the recorded migrations cannot be read"),
        }
        match pool.dialect().kind {
            Kind::MySql => self.run_step_by_step(connection).await,
            Kind::Postgres | Kind::Sqlite => {
                while self.run_next(&mut connection).await? {}
                Ok(())
            }
        }
    }

    /// An error unless exactly these migrations are complete.
    pub(super) async fn check(&self, pool: &Pool) -> Result<(), SqlError> {
        let mut connection = pool.acquire().await?;
        match self.missing(&mut *connection).await? {
            None => Ok(()),
            Some((next, _)) => Err(SqlError::OlderSchema { missing: next.version, known: self.known() }),
        }
    }

    /// The version of the last of these migrations.
    fn known(&self) -> i64 {
        self.migrations.last().map_or(0, |last| last.version)
    }

    /// The first migration that is not complete, and where it stopped.
    async fn missing(
        &self,
        connection: &mut Connection,
    ) -> Result<Option<(&Migration<'_>, Option<Stopped>)>, SqlError> {
        let recorded = self.recorded(connection).await?;
        let known = self.known();
        for recorded in &recorded {
            let Some(migration) = self.migrations.iter().find(|migration| migration.version == recorded.version) else {
                if recorded.version > known {
                    return Err(SqlError::NewerSchema { found: recorded.version, known });
                }
                let text = format!("{} has a migration {} that this program lacks", self.table, recorded.version);
                return Err(SqlError::Migration(text));
            };
            if recorded.stopped.is_none() && self.format == Format::Sqlx && recorded.checksum != migration.checksum {
                let text = format!("migration {} was changed after it was run ({})", recorded.version, self.table);
                return Err(SqlError::Migration(text));
            }
        }
        let find = |version| recorded.iter().find(|recorded| recorded.version == version);
        Ok(self.migrations.iter().find_map(|migration| match find(migration.version) {
            None => Some((migration, None)),
            Some(Recorded { stopped: None, .. }) => None,
            // The text has changed, so the recorded statement number is meaningless.
            Some(recorded) if recorded.checksum != migration.checksum => Some((migration, Some(Stopped::Somewhere))),
            Some(recorded) => Some((migration, recorded.stopped)),
        }))
    }

    async fn recorded(&self, connection: &mut Connection) -> Result<Vec<Recorded>, sqlx::Error> {
        let table = self.table;
        if self.format == Format::Own {
            let rows = connection.rows_of_text(format!("SELECT version FROM {table}")).await?;
            let read = |row: &Row| Ok(Recorded { version: row.int(0)?, checksum: Vec::new(), stopped: None });
            return rows.iter().map(read).collect();
        }
        let done = format!("SELECT version, checksum FROM {table} WHERE success");
        let begun = format!("SELECT version, checksum, execution_time FROM {table} WHERE NOT success");
        let mut recorded = Vec::new();
        for row in connection.rows_of_text(done).await? {
            recorded.push(Recorded { version: row.int(0)?, checksum: row.bytes(1)?, stopped: None });
        }
        for row in connection.rows_of_text(begun).await? {
            let stopped = Some(Stopped::of(row.int(2)?));
            recorded.push(Recorded { version: row.int(0)?, checksum: row.bytes(1)?, stopped });
        }
        Ok(recorded)
    }

    /// Runs the next migration in a transaction under the lock; returns whether there was one.
    async fn run_next(&self, connection: &mut PooledConnection) -> Result<bool, SqlError> {
        // A stricter level would read the records as they were before the lock was granted.
        let is_postgres = connection.dialect().kind == Kind::Postgres;
        let begin = if is_postgres { "BEGIN ISOLATION LEVEL READ COMMITTED" } else { connection.dialect().begin };
        let mut transaction = Transaction::begin_on(&mut *connection, begin.into_sql_str()).await?;
        if is_postgres && guard("migrations_take_turns") {
            self.lock_by_number(&mut *transaction).await?;
        }
        self.make_table(&mut *transaction).await?;
        let Some((migration, _)) = self.missing(&mut *transaction).await? else {
            transaction.rollback().await?;
            return Ok(false);
        };
        crash_point("migration_step");
        transaction.send_text(migration.script.to_owned(), &[]).await?;
        crash_point("migration_step");
        self.record(&mut *transaction, migration, None).await?;
        crash_point("migration_step");
        transaction.commit().await?;
        tracing::info!(version = migration.version, name = migration.name, table = self.table, "schema upgraded");
        Ok(true)
    }

    /// Takes the advisory lock of PostgreSQL until the end of the transaction.
    async fn lock_by_number(&self, transaction: &mut Connection) -> Result<(), SqlError> {
        // The library's lock number is older than those of other tables and may not change.
        let number = match self.format {
            Format::Own => "7309453286123".to_owned(),
            Format::Sqlx => format!("hashtextextended('evenkeel/{}', 0)", self.table),
        };
        let mut seconds = QUIET_SECONDS;
        loop {
            // The savepoint keeps the transaction usable after a wait that was in vain.
            let limit = format!("SAVEPOINT evenkeel_lock; SET LOCAL lock_timeout = '{seconds}s'");
            let wait = format!("{limit}; SELECT 1 FROM pg_advisory_xact_lock({number})");
            match transaction.send_text(wait, &[]).await {
                Err(error) if class_of_error(&error).is_contention() => {}
                answer => {
                    answer?;
                    // The limit is not meant for the migration.
                    return Ok(transaction.script("SET LOCAL lock_timeout TO DEFAULT").await?);
                }
            }
            transaction.script("ROLLBACK TO SAVEPOINT evenkeel_lock").await?;
            seconds = self.next_wait(seconds)?;
        }
    }

    /// The length of the next wait for the lock: a short one is followed by a long one, which is logged.
    fn next_wait(&self, seconds: u32) -> Result<u32, SqlError> {
        if seconds == self.wait_max_seconds {
            return Err(SqlError::Busy("another process has been running migrations for too long; try again"));
        }
        tracing::info!(table = self.table, "waiting for another process that upgrades the schema");
        Ok(self.wait_max_seconds)
    }

    /// MySQL and MariaDB commit before and after each schema change, so each statement is recorded before it is sent.
    async fn run_step_by_step(&self, mut connection: PooledConnection) -> Result<(), SqlError> {
        // The lock ends with the connection, also if this future is dropped.
        connection.close_on_drop();
        let named = connection.rows_of_text("SELECT DATABASE()".to_owned()).await?.into_iter().next();
        if named.map(|row| row.optional_text(0)).transpose()?.flatten().is_none() {
            let text = "the database URL has no database name: use mysql://USER:PASSWORD@HOST/NAME";
            return Err(SqlError::Migration(text.to_owned()));
        }
        self.lock_by_name(&mut *connection).await?;
        self.make_table(&mut *connection).await?;
        while let Some((migration, stopped)) = self.missing(&mut *connection).await? {
            if self.format == Format::Own {
                for statement in statements(migration.script) {
                    crash_point("migration_step");
                    let sent = connection.send_text(statement.to_owned(), &[]).await;
                    // A killed process may have executed the statement: each creates an object of the library only.
                    accept(sent, guard("own_migration_repeats"))?;
                }
                crash_point("migration_step");
                self.record(&mut *connection, migration, None).await?;
            } else {
                self.run_statements(&mut connection, migration, stopped).await?;
            }
            tracing::info!(version = migration.version, name = migration.name, table = self.table, "schema upgraded");
        }
        Ok(connection.close().await?)
    }

    async fn run_statements(
        &self,
        connection: &mut PooledConnection,
        migration: &Migration<'_>,
        stopped: Option<Stopped>,
    ) -> Result<(), SqlError> {
        let (from, begun) = match stopped {
            Some(Stopped::At { step, begun }) => (step, begun),
            Some(Stopped::Somewhere) | None => (0, false),
        };
        if stopped.is_none() {
            self.record(&mut **connection, migration, Some(Stopped::recorded(0, false))).await?;
        }
        for (step, statement) in statements(migration.script).into_iter().enumerate().skip(from) {
            crash_point("migration_step");
            let may_be_done = stopped == Some(Stopped::Somewhere) || (begun && step == from);
            if changes_rows(statement) {
                let begin = connection.dialect().begin.into_sql_str();
                let mut transaction = Transaction::begin_on(&mut *connection, begin).await?;
                let sent = transaction.send_text(statement.to_owned(), &[]).await;
                accept(sent, may_be_done)?;
                self.record_position(&mut *transaction, migration, step + 1, false).await?;
                crash_point("migration_step");
                transaction.commit().await?;
                continue;
            }
            if stopped != Some(Stopped::Somewhere) && guard("migration_step_noted") {
                self.record_position(&mut **connection, migration, step, true).await?;
            }
            crash_point("migration_step");
            let sent = connection.send_text(statement.to_owned(), &[]).await;
            crash_point("migration_step");
            let is_refused = matches!(sent, Err(sqlx::Error::Database(_)));
            if let Err(error) = accept(sent, may_be_done) {
                if is_refused && stopped != Some(Stopped::Somewhere) {
                    // The statement was not executed: the next run must not mistake an object of another program for its own.
                    self.record_position(&mut **connection, migration, step, false).await?;
                }
                return Err(error);
            }
        }
        let text = format!("UPDATE {} SET success = TRUE, execution_time = 0 WHERE version = ?", self.table);
        connection.send_text(text, &[Value::Int(migration.version)]).await?;
        Ok(())
    }

    async fn record_position(
        &self,
        connection: &mut Connection,
        migration: &Migration<'_>,
        step: usize,
        begun: bool,
    ) -> Result<(), sqlx::Error> {
        let text = format!("UPDATE {} SET checksum = ?, execution_time = ? WHERE version = ?", self.table);
        let at = Value::Int(Stopped::recorded(step, begun));
        let values = [Value::Bytes(migration.checksum), at, Value::Int(migration.version)];
        connection.send_text(text, &values).await.map(drop)
    }

    /// Records a migration as complete, or the statement at which it stands.
    async fn record(
        &self,
        connection: &mut Connection,
        migration: &Migration<'_>,
        position: Option<i64>,
    ) -> Result<(), sqlx::Error> {
        let (version, name) = (Value::Int(migration.version), Value::Text(migration.name));
        let table = self.table;
        if self.format == Format::Own {
            let text = format!("INSERT INTO {table} (version, name, run_at) VALUES (?, ?, {{now}})");
            let text = translate(&text, connection.dialect());
            return connection.send_text(text, &[version, name]).await.map(drop);
        }
        let (success, at) = position.map_or(("TRUE", 0), |position| ("FALSE", position));
        let text = format!(
            "INSERT INTO {table} (version, description, success, checksum, execution_time) VALUES (?, ?, {success}, ?, {at})"
        );
        let values = [version, name, Value::Bytes(migration.checksum)];
        let text = translate(&text, connection.dialect());
        connection.send_text(text, &values).await.map(drop)
    }

    async fn make_table(&self, connection: &mut Connection) -> Result<(), sqlx::Error> {
        let columns = match (self.format, connection.dialect().kind) {
            (Format::Own, Kind::MySql) => {
                "version BIGINT NOT NULL PRIMARY KEY, name VARBINARY(255) NOT NULL, run_at BIGINT NOT NULL"
            }
            (Format::Own, _) => "version BIGINT NOT NULL PRIMARY KEY, name TEXT NOT NULL, run_at BIGINT NOT NULL",
            (Format::Sqlx, kind) if kind != Kind::Postgres => {
                "version BIGINT PRIMARY KEY, description TEXT NOT NULL, \
                 installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, success BOOLEAN NOT NULL, \
                 checksum BLOB NOT NULL, execution_time BIGINT NOT NULL"
            }
            (Format::Sqlx, _) => {
                "version BIGINT PRIMARY KEY, description TEXT NOT NULL, \
                 installed_on TIMESTAMPTZ NOT NULL DEFAULT now(), success BOOLEAN NOT NULL, \
                 checksum BYTEA NOT NULL, execution_time BIGINT NOT NULL"
            }
        };
        let engine = if connection.dialect().kind == Kind::MySql { " ENGINE = InnoDB" } else { "" };
        let text = format!("CREATE TABLE IF NOT EXISTS {} ({columns}){engine}", self.table);
        connection.send_text(text, &[]).await.map(drop)
    }

    /// Takes the named lock, which is global to the server. `GET_LOCK(.., -1)`, which waits forever on MySQL, takes no lock on
    /// MariaDB.
    async fn lock_by_name(&self, connection: &mut Connection) -> Result<(), SqlError> {
        if !guard("migrations_take_turns") {
            return Ok(());
        }
        let list = match self.format {
            Format::Own => String::new(),
            Format::Sqlx => format!(", '/{}'", self.table),
        };
        let mut seconds = QUIET_SECONDS;
        loop {
            let text = format!("SELECT GET_LOCK(SHA2(CONCAT('evenkeel/', DATABASE(){list}), 256), {seconds})");
            let answer = connection.rows_of_text(text).await?.into_iter().next();
            if answer.map(|row| row.int(0)).transpose()? == Some(1) {
                return Ok(());
            }
            seconds = self.next_wait(seconds)?;
        }
    }
}

/// Treats the reply that an object exists already (or no longer exists) as success if an earlier run may have executed the statement.
fn accept(sent: Result<u64, sqlx::Error>, may_be_done: bool) -> Result<(), SqlError> {
    match sent {
        Err(sqlx::Error::Database(error)) if may_be_done && is_done_already(&*error) => Ok(()),
        other => Ok(other.map(drop)?),
    }
}

#[cfg(test)]
mod tests {
    use super::{Format, Plan, Stopped};
    use crate::sql::SqlError;

    #[test]
    fn migration_position_round_trips() {
        assert_eq!(Stopped::of(-1), Stopped::Somewhere);
        for (step, begun) in [(0, false), (0, true), (7, true), (8, false)] {
            assert_eq!(Stopped::of(Stopped::recorded(step, begun)), Stopped::At { step, begun });
        }
    }

    // shows: hazard B7
    #[test]
    fn second_wait_for_the_migrations_is_the_last() {
        let plan = Plan { table: "t", migrations: Vec::new(), format: Format::Own, wait_max_seconds: 60 };
        assert!(matches!(plan.next_wait(1), Ok(60)));
        assert!(matches!(plan.next_wait(60), Err(SqlError::Busy(_))));
    }
}
