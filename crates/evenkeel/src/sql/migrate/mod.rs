//! Migrations of the library's own tables, and the runner of a program's migrations.

mod runner;
mod text;

use super::database::{Database, Kind, Pool};
use super::error::SqlError;
use futures_util::future::BoxFuture;
use runner::{Format, Migration, Plan};
use sqlx::migrate::Migrator;
use std::future::Future;

macro_rules! migration {
    ($version:literal, $name:literal) => {
        (
            $version,
            $name,
            [
                include_str!(concat!("../migrations/mysql/", $name, ".sql")),
                include_str!(concat!("../migrations/postgres/", $name, ".sql")),
                include_str!(concat!("../migrations/sqlite/", $name, ".sql")),
            ],
        )
    };
}

/// The library's migrations in the order in which they are run: version, name, and the scripts for MySQL, PostgreSQL and SQLite, in the
/// order of the kinds of databases. A released one is never changed; changes are added as new ones. Each statement for MySQL can be
/// repeated: it has `IF NOT EXISTS`, or the server's error says that the object exists already.
const MIGRATIONS: &[(i64, &str, [&str; 3])] = &[
    migration!(1, "0001_outbox"),
    migration!(2, "0002_source"),
    migration!(3, "0003_inbox"),
    migration!(4, "0004_jobs"),
    migration!(5, "0005_guards"),
    migration!(6, "0006_locks"),
    migration!(7, "0007_topics"),
    migration!(8, "0008_attempts"),
    migration!(9, "0009_json"),
    migration!(10, "0010_streams"),
    migration!(11, "0011_json_times"),
    migration!(12, "0012_sequences"),
    migration!(13, "0013_cdc"),
];

/// How long a process waits for another one that migrates the library's tables.
const OWN_WAIT_MAX_SECONDS: u32 = 60;

/// How long a process waits for another one that runs the program's migrations, which may rewrite large tables.
const WAIT_MAX_SECONDS: u32 = 600;

/// Creates or upgrades the library's tables (`evenkeel_...`) in the database of `pool`. Call it once when a program starts; if the
/// schema is up to date it costs one statement.
///
/// **Guarantee.** Any number of processes may call it at once: one runs the missing migrations and the others wait for it. It is safe
/// to repeat after a crash at any point. It changes none of your tables.
///
/// The future can be spawned with its own handle of the pool:
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
/// [`SqlError::Database`]: only completed migrations were recorded; call again. [`SqlError::NewerSchema`] if a newer version of the
/// library has upgraded the schema: update this program. [`SqlError::Busy`] if another process takes longer than a minute.
pub fn migrate<DB: Database>(pool: &sqlx::Pool<DB>) -> impl Future<Output = Result<(), SqlError>> + Send {
    run_own(DB::erased(pool))
}

/// Compares the library's tables in the database of `pool` with those that this version expects. Changes nothing. For programs that
/// operate the tables of others: a program that opens them calls [`migrate`].
///
/// # Errors
/// [`SqlError::NotMigrated`] if there are no tables, [`SqlError::OlderSchema`] if a migration is missing, [`SqlError::NewerSchema`] if
/// a newer version of the library has upgraded them, [`SqlError::Database`] if they cannot be read.
pub fn check_schema<DB: Database>(pool: &sqlx::Pool<DB>) -> impl Future<Output = Result<(), SqlError>> + Send {
    check_own(DB::erased(pool))
}

/// Boxed, so that it is compiled here, as the next one.
fn run_own(pool: Pool) -> BoxFuture<'static, Result<(), SqlError>> {
    Box::pin(async move { own_plan(pool.dialect().kind).run(&pool).await })
}

fn check_own(pool: Pool) -> BoxFuture<'static, Result<(), SqlError>> {
    Box::pin(async move { own_plan(pool.dialect().kind).check(&pool).await })
}

/// The library's own migrations.
fn own_plan(kind: Kind) -> Plan<'static> {
    let migrations = MIGRATIONS.iter().map(|(version, name, scripts)| Migration {
        version: *version,
        name,
        script: scripts[kind as usize],
        checksum: &[],
    });
    Plan {
        table: "evenkeel_migrations",
        migrations: migrations.collect(),
        format: Format::Own,
        wait_max_seconds: OWN_WAIT_MAX_SECONDS,
    }
}

/// Runs a program's own migrations, as [`Migrator::run`](sqlx::migrate::Migrator::run) does, but also correctly on MariaDB and after
/// a crash on MySQL and MariaDB. Migrations are recorded in `table` in sqlx's format (sqlx's own name for it is `_sqlx_migrations`),
/// so either runner can continue after the other.
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
/// **Guarantee.** Any number of processes may call it at once: one runs the missing migrations and the others wait for it (sqlx's
/// runner takes no lock on MariaDB, where `GET_LOCK` rejects an unlimited wait). A process may be killed at any point: on PostgreSQL
/// and SQLite each migration is a transaction; on MySQL and MariaDB, which cannot roll back a schema change, each statement is
/// recorded before it is sent, and the next call continues with that statement. If the server then replies that a table, column or
/// index exists already, the statement had been executed. A migration at which sqlx's runner had stopped is repeated in the same way.
///
/// **Not guaranteed.** On MySQL and MariaDB, a statement whose repetition fails with another error or has another effect (`RENAME
/// TABLE`, `TRUNCATE`). Programs that run sqlx's runner at the same time are not waited for. Down migrations are not run, and
/// migrations without a transaction are rejected.
///
/// # Errors
/// [`SqlError::Database`]: the database returned an error; later statements were not run. [`SqlError::NewerSchema`] if `table` has a
/// later migration than the last of these. [`SqlError::Migration`] if it has one that was changed since, or that is not among these.
/// [`SqlError::Busy`] if another process takes longer than ten minutes.
pub fn run_migrations<'a, DB: Database>(
    pool: &sqlx::Pool<DB>,
    migrations: &'a Migrator,
    table: &'a str,
) -> impl Future<Output = Result<(), SqlError>> + Send {
    run_program(DB::erased(pool), migrations, table)
}

/// Boxed, so that it is compiled here.
fn run_program<'a>(pool: Pool, migrations: &'a Migrator, table: &'a str) -> BoxFuture<'a, Result<(), SqlError>> {
    Box::pin(async move {
        if table.is_empty() || !table.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.') {
            return Err(SqlError::Migration(format!("{table:?} is not a valid name of a migrations table")));
        }
        let up = migrations.iter().filter(|migration| migration.migration_type.is_up_migration());
        let up: Vec<_> = up.collect();
        if let Some(migration) = up.iter().find(|migration| migration.no_tx) {
            let text = format!("migration {} disables its transaction, which is not supported", migration.version);
            return Err(SqlError::Migration(text));
        }
        let list = up.into_iter().map(|migration| Migration {
            version: migration.version,
            name: &migration.description,
            script: migration.sql.as_str(),
            checksum: &migration.checksum,
        });
        let plan = Plan { table, migrations: list.collect(), format: Format::Sqlx, wait_max_seconds: WAIT_MAX_SECONDS };
        plan.run(&pool).await
    })
}
