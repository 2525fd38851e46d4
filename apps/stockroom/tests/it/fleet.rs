//! Ten instances that start at once on one database, empty or older. Some of them are killed on their way.

use evenkeel::clock::Clock;
use rand::SeedableRng;
use rand::rngs::StdRng;
use sqlx::migrate::Migrator;
use sqlx::{MySqlPool, PgPool, SqlitePool};
use std::ops::Range;
use std::path::Path;
use stockroom::domain::Name;
use stockroom::store::Store;
use testkit::fleet::{Fate, Fleet};
use testkit::park::{self, mariadb_database, postgres_database, sqlite_database};
use testkit::schema::{described, make_older_library};

const INSTANCES: usize = 10;

fn fleet(url: &str) -> Fleet {
    // Instances that share a file share the data folder, too: one of them serves it.
    let shares_data = url.starts_with("sqlite");
    let arguments = vec!["--database".to_owned(), url.to_owned()];
    Fleet { program: env!("CARGO_BIN_EXE_stockroom").into(), arguments, shares_data }
}

/// A database of the kind; an older one has the service's tables, and those of the library's third version.
async fn database(kind: &str, is_older: bool) -> park::Database {
    let database = match kind {
        "sqlite" => sqlite_database().unwrap(),
        "mariadb" => mariadb_database().await.unwrap(),
        _ => postgres_database().await.unwrap(),
    };
    if !is_older {
        return database;
    }
    let folder = if kind == "mariadb" { "mysql" } else { kind };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations").join(folder);
    let mut migrator = Migrator::new(folder).await.unwrap();
    migrator.dangerous_set_table_name("stock_migrations");
    match kind {
        "sqlite" => migrator.run(&SqlitePool::connect(&database.url).await.unwrap()).await.unwrap(),
        "mariadb" => migrator.run(&MySqlPool::connect(&database.url).await.unwrap()).await.unwrap(),
        _ => migrator.run(&PgPool::connect(&database.url).await.unwrap()).await.unwrap(),
    }
    make_older_library(&database.url, 3).await.unwrap();
    database
}

/// The tables as one instance makes them that starts alone.
async fn right_schema(kind: &str, is_older: bool) -> Vec<String> {
    let database = database(kind, is_older).await;
    let folder = tempfile::tempdir().unwrap();
    fleet(&database.url).start(folder.path(), &[Fate::Listens]).await.unwrap();
    described(&database.url).await.unwrap()
}

/// The tables are complete.
async fn works(url: &str) {
    let store = Store::open(&url.parse().unwrap(), Clock::system()).await.unwrap();
    assert!(store.add_product(&Name::parse("tea").unwrap()).await.is_ok());
    store.close().await;
}

/// Every other one is killed at a step of the migrations. Only the instance that makes the tables comes to a step, so not all of
/// these are killed.
async fn start_at_once(kind: &str, is_older: bool) {
    let database = database(kind, is_older).await;
    let crash = |at: usize| Fate::CrashesAt(format!("migration_step:{}", at + 1));
    let fates = (0..INSTANCES).map(|at| if at.is_multiple_of(2) { crash(at) } else { Fate::Listens });
    let folder = tempfile::tempdir().unwrap();
    fleet(&database.url).start(folder.path(), &fates.collect::<Vec<_>>()).await.unwrap();
    assert_eq!(described(&database.url).await.unwrap(), right_schema(kind, is_older).await);
    works(&database.url).await;
}

#[tokio::test]
async fn mariadb_instances_started_at_once_make_the_tables() {
    start_at_once("mariadb", false).await;
    start_at_once("mariadb", true).await;
}

#[tokio::test]
async fn postgres_instances_started_at_once_make_the_tables() {
    start_at_once("postgres", false).await;
    start_at_once("postgres", true).await;
}

/// On an empty database and on an older one in turn. A file is served by one instance, so all that try are killed; the next one
/// serves it.
async fn killed_at_random(kind: &str, seeds: Range<u64>) {
    let right = [right_schema(kind, false).await, right_schema(kind, true).await];
    for seed in seeds {
        let is_older = seed % 2 == 1;
        let database = database(kind, is_older).await;
        let mut fates = Fate::half_killed(&mut StdRng::seed_from_u64(seed));
        if kind == "sqlite" {
            fates.retain(|fate| *fate != Fate::Listens);
        }
        let folder = tempfile::tempdir().unwrap();
        let told = |error| panic!("seed {seed}: {error}");
        drop(fleet(&database.url).start(folder.path(), &fates).await.unwrap_or_else(told));
        drop(fleet(&database.url).start(folder.path(), &[Fate::Listens]).await.unwrap_or_else(told));
        assert_eq!(described(&database.url).await.unwrap(), right[usize::from(is_older)], "seed {seed}");
        works(&database.url).await;
    }
}

#[tokio::test]
async fn sqlite_instances_killed_at_random_leave_one_schema() {
    killed_at_random("sqlite", 0..2).await;
}

#[tokio::test]
async fn mariadb_instances_killed_at_random_leave_one_schema() {
    killed_at_random("mariadb", 0..2).await;
}

#[tokio::test]
async fn postgres_instances_killed_at_random_leave_one_schema() {
    killed_at_random("postgres", 0..2).await;
}

#[tokio::test]
#[ignore = "twenty rounds, with five kills each"]
async fn sqlite_instances_killed_a_hundred_times_leave_one_schema() {
    killed_at_random("sqlite", 100..120).await;
}

#[tokio::test]
#[ignore = "twenty rounds, with five kills each"]
async fn mariadb_instances_killed_a_hundred_times_leave_one_schema() {
    killed_at_random("mariadb", 100..120).await;
}

#[tokio::test]
#[ignore = "twenty rounds, with five kills each"]
async fn postgres_instances_killed_a_hundred_times_leave_one_schema() {
    killed_at_random("postgres", 100..120).await;
}
