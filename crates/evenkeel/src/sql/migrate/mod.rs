//! Migrations: the library's own tables, and those of a program that has its migrations run by the same runner.

mod runner;
mod text;

use super::database::{Database, Kind};
use super::error::SqlError;
use runner::{Format, Migration, Plan};
use sqlx::migrate::Migrator;
use std::future::Future;

/// One step of the library's schema. A released one is never changed; what comes later is a new one. Each statement for MySQL can
/// be repeated: it says `IF NOT EXISTS`, or the server answers that what it adds is there already.
struct Own {
    version: i64,
    name: &'static str,
    mysql: &'static str,
    postgres: &'static str,
    sqlite: &'static str,
}

macro_rules! migration {
    ($version:literal, $name:literal) => {
        Own {
            version: $version,
            name: $name,
            mysql: include_str!(concat!("../migrations/mysql/", $name, ".sql")),
            postgres: include_str!(concat!("../migrations/postgres/", $name, ".sql")),
            sqlite: include_str!(concat!("../migrations/sqlite/", $name, ".sql")),
        }
    };
}

/// All of them, in the order in which they are run.
const MIGRATIONS: &[Own] = &[
    migration!(1, "0001_outbox"),
    migration!(2, "0002_source"),
    migration!(3, "0003_inbox"),
    migration!(4, "0004_jobs"),
    migration!(5, "0005_guards"),
    migration!(6, "0006_locks"),
    migration!(7, "0007_topics"),
    migration!(8, "0008_attempts"),
];

/// How long an instance waits for another one that makes the library's tables.
const OWN_PATIENCE_SECONDS: u32 = 60;

/// A program's own migrations may rewrite large tables.
const PATIENCE_SECONDS: u32 = 600;

/// Makes or brings up to date the tables of the unit of work (`evenkeel_...`) in the database of `pool`. Call it once when a
/// program starts; where there is nothing to do it costs one statement.
///
/// **Guarantee.** Any number of processes may call it at once: one runs what is missing and the others wait for it. It is safe
/// to repeat after a crash at any point. It touches no table of yours.
///
/// The future may be spawned, with a pool of its own:
///
/// ```
/// # #[cfg(feature = "sqlite")]
/// # fn spawn(pool: &sqlx::SqlitePool) -> tokio::task::JoinHandle<Result<(), evenkeel::sql::SqlError>> {
/// let pool = pool.clone();
/// tokio::spawn(async move { evenkeel::sql::migrate(&pool).await })
/// # }
/// ```
///
/// # Errors
/// [`SqlError::Database`]: nothing was noted as done that was not; call again. [`SqlError::NewerSchema`] if a newer version of
/// the library has been here: update this program. [`SqlError::Busy`] if another process takes longer than a minute.
#[expect(
    clippy::manual_async_fn,
    reason = "the written-out future is `Send` for every lifetime, so that callers may spawn it"
)]
pub fn migrate<DB: Database>(pool: &sqlx::Pool<DB>) -> impl Future<Output = Result<(), SqlError>> + Send {
    async move {
        let migrations = MIGRATIONS.iter().map(|own| Migration {
            version: own.version,
            name: own.name,
            script: match DB::KIND {
                Kind::MySql => own.mysql,
                Kind::Postgres => own.postgres,
                Kind::Sqlite => own.sqlite,
            },
            checksum: &[],
        });
        let plan = Plan {
            table: "evenkeel_migrations",
            migrations: migrations.collect(),
            format: Format::Own,
            patience_seconds: OWN_PATIENCE_SECONDS,
        };
        plan.run(pool).await
    }
}

/// Runs a program's own migrations, as [`Migrator::run`](sqlx::migrate::Migrator::run) does, in a way that is also correct on
/// MariaDB and after a crash on MySQL and MariaDB. What was run is noted in `table` in sqlx's format (sqlx's own name for it is
/// `_sqlx_migrations`), so either runner understands what the other one did.
///
/// ```no_run
/// # #[cfg(feature = "sqlite")]
/// # async fn run(pool: &sqlx::SqlitePool) -> Result<(), Box<dyn std::error::Error>> {
/// # let text = sqlx::SqlSafeStr::into_sql_str("CREATE TABLE goods (id BIGINT PRIMARY KEY)");
/// # let kind = sqlx::migrate::MigrationType::Simple;
/// # let list = vec![sqlx::migrate::Migration::new(1, "goods".into(), kind, text, false)];
/// let migrations = sqlx::migrate::Migrator::with_migrations(list); // or sqlx::migrate!()
/// evenkeel::sql::run_migrations(pool, &migrations, "_sqlx_migrations").await?;
/// # Ok(())
/// # }
/// ```
///
/// **Guarantee.** Any number of processes may call it at once: one runs what is missing and the others wait for it (sqlx's runner
/// locks nothing on MariaDB, where `GET_LOCK` refuses to wait for ever). A process may be killed at any point: on PostgreSQL and
/// SQLite each migration is a transaction; on MySQL and MariaDB, which cannot take back a change of the schema, each statement is
/// noted before it is sent, and the next call goes on with that statement. If the server says then that a table, column or index
/// is there already, it was executed. A migration at which sqlx's runner had stopped is repeated in the same way.
///
/// **Not guaranteed.** On MySQL and MariaDB, a statement that fails otherwise when it is repeated, or does something else
/// (`RENAME TABLE`, `TRUNCATE`). Programs that call sqlx's runner at the same time are not waited for. Migrations that revert are not
/// run, and those that ask for no transaction are refused.
///
/// # Errors
/// [`SqlError::Database`]: what the database refused; what comes after it was not run. [`SqlError::NewerSchema`] if `table` has a
/// later migration than the last of these. [`SqlError::Migration`] if it has one that was changed since, or is not among these.
/// [`SqlError::Busy`] if another process takes longer than ten minutes.
#[expect(
    clippy::manual_async_fn,
    reason = "the written-out future is `Send` for every lifetime, so that callers may spawn it"
)]
pub fn run_migrations<DB: Database>(
    pool: &sqlx::Pool<DB>,
    migrations: &Migrator,
    table: &str,
) -> impl Future<Output = Result<(), SqlError>> + Send {
    async move {
        if table.is_empty() || !table.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.') {
            return Err(SqlError::Migration(format!("{table:?} is not a name for a table of migrations")));
        }
        let up = migrations.iter().filter(|migration| migration.migration_type.is_up_migration());
        let up: Vec<_> = up.collect();
        if let Some(migration) = up.iter().find(|migration| migration.no_tx) {
            let text = format!("migration {} asks for no transaction, which is not supported", migration.version);
            return Err(SqlError::Migration(text));
        }
        let list = up.into_iter().map(|migration| Migration {
            version: migration.version,
            name: &migration.description,
            script: migration.sql.as_str(),
            checksum: &migration.checksum,
        });
        let plan = Plan { table, migrations: list.collect(), format: Format::Sqlx, patience_seconds: PATIENCE_SECONDS };
        plan.run(pool).await
    }
}
