//! Ten instances start at once on one database: empty, older, or under load. Some of them are killed while they start.

use super::program::{SHORTLINK, Workdir};
use super::upgrade;
use evenkeel::clock::Clock;
use evenkeel::sql::{Database, SqlError, run_migrations};
use rand::SeedableRng;
use rand::rngs::StdRng;
use shortlink::domain::Code;
use shortlink::store::Store;
use sqlx::{Connection, MySql, MySqlPool, PgConnection, PgPool, Pool, Postgres};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use testkit::fleet::{Fate, Fleet};
use testkit::park::{self, mariadb_database, postgres_database, redis, sqlite_database};
use testkit::schema::{described, make_older_library};
use url::Url;

const INSTANCES: usize = 10;

fn fleet(url: &str) -> Fleet {
    // Instances on one SQLite file share its data folder, which one of them holds.
    let shares_data = url.starts_with("sqlite");
    Fleet { program: SHORTLINK.into(), arguments: vec!["--database".to_owned(), url.to_owned()], shares_data }
}

/// A database of the kind, empty or with the first schema.
async fn database(kind: &str, is_older: bool) -> park::Database {
    let database = match kind {
        "sqlite" => sqlite_database().unwrap(),
        "mariadb" => mariadb_database().await.unwrap(),
        _ => postgres_database().await.unwrap(),
    };
    if is_older {
        upgrade::former(&database.url).await;
        make_older_library(&database.url, 2).await.unwrap();
    }
    database
}

/// The schema that a single instance creates.
async fn right_schema(kind: &str, is_older: bool) -> Vec<String> {
    let database = database(kind, is_older).await;
    let folder = tempfile::tempdir().unwrap();
    fleet(&database.url).start(folder.path(), &[Fate::Listens]).await.unwrap();
    described(&database.url).await.unwrap()
}

/// Checks that the schema is current and has `links` links.
async fn has_links(url: &str, links: usize) {
    let store = Store::open_as_is(&url.parse().unwrap(), Clock::system()).await.unwrap();
    assert_eq!(store.rows_after(0, 10).await.unwrap().len(), links);
    store.close().await;
}

/// Every second instance is killed at a step of the migrations. Only the instance that migrates reaches a step, so not all of these
/// are killed.
async fn start_at_once(kind: &str, is_older: bool) {
    let database = database(kind, is_older).await;
    let crash = |at: usize| Fate::CrashesAt(format!("migration_step:{}", at + 1));
    let fates = (0..INSTANCES).map(|at| if at.is_multiple_of(2) { crash(at) } else { Fate::Listens });
    let folder = tempfile::tempdir().unwrap();
    fleet(&database.url).start(folder.path(), &fates.collect::<Vec<_>>()).await.unwrap();
    assert_eq!(described(&database.url).await.unwrap(), right_schema(kind, is_older).await);
    has_links(&database.url, if is_older { 3 } else { 0 }).await;
}

#[tokio::test]
async fn mariadb_instances_started_at_once_create_tables() {
    start_at_once("mariadb", false).await;
}

#[tokio::test]
async fn postgres_instances_started_at_once_create_tables() {
    start_at_once("postgres", false).await;
}

#[tokio::test]
async fn mariadb_instances_started_at_once_upgrade_an_older_schema() {
    start_at_once("mariadb", true).await;
}

#[tokio::test]
async fn postgres_instances_started_at_once_upgrade_an_older_schema() {
    start_at_once("postgres", true).await;
}

/// On an empty database and on an older one in turn. One instance holds a SQLite file, so all that start are killed; the next one
/// holds it.
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
        has_links(&database.url, if is_older { 3 } else { 0 }).await;
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

/// An instance of the first schema that inserts links during the upgrade. Returns the codes that the database has confirmed.
async fn old_instance<DB: Database>(
    pool: Pool<DB>,
    name: usize,
    is_over: &AtomicBool,
    insert: impl AsyncFn(&Pool<DB>, String) -> Result<(), sqlx::Error>,
) -> Vec<String> {
    let mut made = Vec::new();
    while !is_over.load(Ordering::SeqCst) {
        let code = format!("old-{name}-{}", made.len());
        insert(&pool, code.clone()).await.unwrap_or_else(|error| panic!("{code}: {error}"));
        made.push(code);
    }
    made
}

/// Three instances of the first schema write and read while ten new ones start.
macro_rules! upgrades_under_load {
    ($kind:literal, $database:ty, $pool:ty, $insert:literal, $select:literal) => {{
        let database = database($kind, true).await;
        let is_over = AtomicBool::new(false);
        let pool = <$pool>::connect(&database.url).await.unwrap();
        let insert = async |pool: &Pool<$database>, code: String| {
            sqlx::query($insert).bind(&code).execute(pool).await?;
            let target: String = sqlx::query_scalar($select).bind(&code).fetch_one(pool).await?;
            assert_eq!(target, "https://example.com/old");
            Ok(())
        };
        let old = async |name| old_instance(pool.clone(), name, &is_over, insert).await;
        let folder = tempfile::tempdir().unwrap();
        let start = async {
            let instances = fleet(&database.url).start(folder.path(), &[const { Fate::Listens }; INSTANCES]).await;
            is_over.store(true, Ordering::SeqCst);
            instances.unwrap()
        };
        let (_instances, first, second, third) = tokio::join!(start, old(0), old(1), old(2));
        let made: Vec<String> = [first, second, third].concat();
        assert!(made.len() > 10, "no load: {}", made.len());
        let store = Store::open_as_is(&database.url.parse().unwrap(), Clock::system()).await.unwrap();
        for code in &made {
            assert!(store.find(&Code::parse(code).unwrap()).await.unwrap().is_some(), "{code} is lost");
        }
        store.close().await;
        assert_eq!(described(&database.url).await.unwrap(), right_schema($kind, true).await);
        // An old program that starts now is refused.
        let error = run_migrations(&pool, &upgrade::first($kind).await, "link_migrations").await.unwrap_err();
        assert!(matches!(error, SqlError::NewerSchema { found: 2, known: 1 }), "{error}");
    }};
}

#[tokio::test]
async fn mariadb_fleet_upgrades_an_older_schema_under_load() {
    upgrades_under_load!(
        "mariadb",
        MySql,
        MySqlPool,
        "INSERT INTO links (code, target, target_hash, alias, created_at, updated_at, expires_at, version)
         VALUES (?, 'https://example.com/old', x'00000000000000000000000000000000', TRUE, 1000, 1000, NULL, 1)",
        "SELECT target FROM links WHERE code = ?"
    );
}

#[tokio::test]
async fn postgres_fleet_upgrades_an_older_schema_under_load() {
    upgrades_under_load!(
        "postgres",
        Postgres,
        PgPool,
        "INSERT INTO links (code, target, target_hash, alias, created_at, updated_at, expires_at, version)
         VALUES ($1, 'https://example.com/old', '\\x00000000000000000000000000000000', TRUE, 1000, 1000, NULL, 1)",
        "SELECT target FROM links WHERE code = $1"
    );
}

/// A server that refuses a login is reachable, so the start fails.
#[tokio::test]
async fn server_that_refuses_ends_the_start_with_one_sentence() {
    let (postgres, redis) = (postgres_database().await.unwrap(), redis().await.unwrap());
    let mut unknown: Url = postgres.url.parse().unwrap();
    unknown.set_path("/there_is_no_such_database");
    let mut password: Url = redis.url.parse().unwrap();
    password.set_username("nobody").unwrap();
    password.set_password(Some("wrong")).unwrap();
    let dir = Workdir::new();
    let serve = ["--listen", "127.0.0.1:0"];
    let told = dir.refuse(&[&serve[..], &["--database", unknown.as_str()]].concat());
    assert!(told.contains("cannot open the database postgres://"), "{told}");
    let both = ["--database", &postgres.url, "--redis", password.as_str()];
    dir.write("in.tsv", "target\nhttps://example.com/\n");
    for command in [&serve[..], &["import", "in.tsv"]] {
        let told = dir.refuse(&[command, &both].concat());
        assert!(told.contains("cannot use Redis: Redis refused: WRONGPASS"), "{told}");
    }
    // Redis refused before tables were created.
    let mut connection = PgConnection::connect(&postgres.url).await.unwrap();
    let tables: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM pg_tables WHERE schemaname = current_schema()")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    assert_eq!(tables, 0);
}
