//! The library's own tables: made and changed by versioned migrations, which note what they did in a table of their own.

use super::database::{Database, Kind, Row, Statement, Value};
use super::error::SqlError;
use crate::guard::guard;
use sqlx::Connection;
use sqlx::pool::PoolConnection;

/// One step of the schema. A released one is never changed; what comes later is a new one.
struct Migration {
    version: i64,
    name: &'static str,
    mysql: &'static str,
    postgres: &'static str,
    sqlite: &'static str,
}

macro_rules! migration {
    ($version:literal, $name:literal) => {
        Migration {
            version: $version,
            name: $name,
            mysql: include_str!(concat!("migrations/mysql/", $name, ".sql")),
            postgres: include_str!(concat!("migrations/postgres/", $name, ".sql")),
            sqlite: include_str!(concat!("migrations/sqlite/", $name, ".sql")),
        }
    };
}

/// All of them, in the order in which they are run.
const MIGRATIONS: &[Migration] = &[
    migration!(1, "0001_outbox"),
    migration!(2, "0002_source"),
    migration!(3, "0003_inbox"),
    migration!(4, "0004_jobs"),
    migration!(5, "0005_guards"),
    migration!(6, "0006_locks"),
    migration!(7, "0007_topics"),
];

static RUN: Statement = Statement::new("SELECT COALESCE(MAX(version), 0) FROM evenkeel_migrations");
static NOTE: Statement = Statement::new("INSERT INTO evenkeel_migrations (version, name, run_at) VALUES (?, ?, {now})");

/// Makes or brings up to date the tables of the unit of work (`evenkeel_...`) in the database of `pool`. Call it once when a
/// program starts; where there is nothing to do it costs one statement.
///
/// **Guarantee.** Any number of processes may call it at once: one runs what is missing and the others wait for it. It is safe
/// to repeat after a crash at any point. It touches no table of yours.
///
/// # Errors
/// [`SqlError::Database`]: nothing was noted as done that was not; call again. [`SqlError::NewerSchema`] if a newer version of
/// the library has been here: update this program.
pub async fn migrate<DB: Database>(pool: &sqlx::Pool<DB>) -> Result<(), SqlError> {
    let mut connection = pool.acquire().await?;
    match Row::<DB>::first(&mut connection, &RUN, &[]).await {
        Ok(row) => {
            let run = row.map_or(Ok(0), |row| row.int(0))?;
            if !is_behind(run)? {
                return Ok(());
            }
        }
        // There is no table yet. (Whatever else is wrong shows in the statements that follow.)
        Err(error) => tracing::debug!(%error, "evenkeel's tables are not there yet"),
    }
    run_alone::<DB>(connection).await
}

fn is_behind(run: i64) -> Result<bool, SqlError> {
    let known = MIGRATIONS.last().map_or(0, |last| last.version);
    if run > known {
        return Err(SqlError::NewerSchema { found: run, known });
    }
    Ok(run < known)
}

/// Runs what is missing while nobody else does.
async fn run_alone<DB: Database>(mut connection: PoolConnection<DB>) -> Result<(), SqlError> {
    match DB::KIND {
        // No DDL of MySQL can be taken back, so each statement is one that can be repeated; the lock is by name, and the
        // name holds the database's, for it counts on the whole server.
        Kind::MySql => {
            lock_by_name::<DB>(&mut connection).await?;
            let ran = run_missing::<DB>(&mut connection).await;
            let freed = Row::<DB>::all(&mut connection, &UNLOCK, &[]).await;
            if ran.is_err() || freed.is_err() {
                connection.close_on_drop(); // the lock goes with it
            }
            ran
        }
        Kind::Postgres | Kind::Sqlite => {
            let mut transaction = connection.begin_with(DB::BEGIN).await?;
            if DB::KIND == Kind::Postgres && guard("migrations_take_turns") {
                Row::<DB>::all(&mut transaction, &LOCK_POSTGRES, &[]).await?;
            }
            run_missing::<DB>(&mut transaction).await?;
            Ok(transaction.commit().await?)
        }
    }
}

/// Ends with the transaction. The number only has to differ from other programs'.
static LOCK_POSTGRES: Statement = Statement::new("SELECT 1 FROM pg_advisory_xact_lock(7309453286123)");
static LOCK: Statement = Statement::new("SELECT GET_LOCK(SHA2(CONCAT('evenkeel/', DATABASE()), 256), 60)");
static UNLOCK: Statement = Statement::new("SELECT RELEASE_LOCK(SHA2(CONCAT('evenkeel/', DATABASE()), 256))");

async fn lock_by_name<DB: Database>(connection: &mut DB::Connection) -> Result<(), SqlError> {
    if !guard("migrations_take_turns") {
        return Ok(());
    }
    let answer = Row::<DB>::first(connection, &LOCK, &[]).await?;
    match answer.map(|row| row.int(0)).transpose()? {
        Some(1) => Ok(()),
        _ => Err(SqlError::Busy("another process has been running evenkeel's migrations for a minute; try again")),
    }
}

async fn run_missing<DB: Database>(connection: &mut DB::Connection) -> Result<(), SqlError> {
    DB::script(
        connection,
        match DB::KIND {
            Kind::MySql => {
                "CREATE TABLE IF NOT EXISTS evenkeel_migrations (version BIGINT NOT NULL PRIMARY KEY, \
             name VARBINARY(255) NOT NULL, run_at BIGINT NOT NULL) ENGINE = InnoDB"
            }
            Kind::Postgres | Kind::Sqlite => {
                "CREATE TABLE IF NOT EXISTS evenkeel_migrations (version BIGINT NOT NULL PRIMARY KEY, \
             name TEXT NOT NULL, run_at BIGINT NOT NULL)"
            }
        },
    )
    .await?;
    let run = Row::<DB>::first(connection, &RUN, &[]).await?.map_or(Ok(0), |row| row.int(0))?;
    is_behind(run)?;
    let missing: Vec<_> = MIGRATIONS.iter().filter(|migration| migration.version > run).collect();
    for migration in &missing {
        let script = match DB::KIND {
            Kind::MySql => migration.mysql,
            Kind::Postgres => migration.postgres,
            Kind::Sqlite => migration.sqlite,
        };
        DB::script(connection, script).await?;
        let values = [Value::Int(migration.version), Value::Text(migration.name)];
        DB::execute(connection, NOTE.text::<DB>(), &values).await?;
    }
    if let Some(last) = missing.last() {
        tracing::info!(to = last.name, "evenkeel changed its tables");
    }
    Ok(())
}
