//! Ten instances start at once on one database: empty, older, or under load. Some of them are killed while they start.

use super::program::{SHORTLINK, Workdir};
use super::upgrade;
use anyhow::Result;
use evenkeel::clock::Clock;
use evenkeel::sql::{Database, SqlError, run_migrations};
use shortlink::domain::Code;
use shortlink::store::Store;
use sqlx::{Connection, MySql, MySqlPool, PgConnection, PgPool, Pool, Postgres};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use testkit::fleet::{Fate, SchemaOwner, killed_at_random, started_at_once};
use testkit::park::{postgres_database, redis};
use testkit::schema::described;
use url::Url;

const INSTANCES: usize = 10;

struct Shortlink;

impl SchemaOwner for Shortlink {
    const OLDER_LIBRARY: usize = 2;

    fn program(&self) -> PathBuf {
        SHORTLINK.into()
    }

    async fn create_older(&self, url: &str) -> Result<()> {
        upgrade::former(url).await;
        Ok(())
    }

    async fn check(&self, url: &str, is_older: bool) -> Result<()> {
        let store = Store::open_as_is(&url.parse()?, Clock::system()).await?;
        assert_eq!(store.rows_after(0, 10).await?.len(), if is_older { 3 } else { 0 });
        store.close().await;
        Ok(())
    }
}

#[tokio::test]
async fn mariadb_instances_started_at_once_create_tables() -> Result<()> {
    started_at_once(&Shortlink, "mariadb", false).await
}

#[tokio::test]
async fn postgres_instances_started_at_once_create_tables() -> Result<()> {
    started_at_once(&Shortlink, "postgres", false).await
}

// shows: hazard S1
#[tokio::test]
async fn mariadb_instances_started_at_once_upgrade_an_older_schema() -> Result<()> {
    started_at_once(&Shortlink, "mariadb", true).await
}

#[tokio::test]
async fn postgres_instances_started_at_once_upgrade_an_older_schema() -> Result<()> {
    started_at_once(&Shortlink, "postgres", true).await
}

// shows: hazard S8
#[tokio::test]
async fn sqlite_instances_killed_at_random_leave_one_schema() -> Result<()> {
    killed_at_random(&Shortlink, "sqlite", 0..2).await
}

// shows: U5, hazard S8
#[tokio::test]
async fn mariadb_instances_killed_at_random_leave_one_schema() -> Result<()> {
    killed_at_random(&Shortlink, "mariadb", 0..2).await
}

// shows: U5, hazard S8
#[tokio::test]
async fn postgres_instances_killed_at_random_leave_one_schema() -> Result<()> {
    killed_at_random(&Shortlink, "postgres", 0..2).await
}

#[tokio::test]
#[ignore = "twenty rounds, with five kills each"]
async fn sqlite_instances_killed_a_hundred_times_leave_one_schema() -> Result<()> {
    killed_at_random(&Shortlink, "sqlite", 100..120).await
}

#[tokio::test]
#[ignore = "twenty rounds, with five kills each"]
async fn mariadb_instances_killed_a_hundred_times_leave_one_schema() -> Result<()> {
    killed_at_random(&Shortlink, "mariadb", 100..120).await
}

#[tokio::test]
#[ignore = "twenty rounds, with five kills each"]
async fn postgres_instances_killed_a_hundred_times_leave_one_schema() -> Result<()> {
    killed_at_random(&Shortlink, "postgres", 100..120).await
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
        let database = Shortlink.database($kind, true).await.unwrap();
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
            let instances =
                Shortlink.fleet(&database.url).start(folder.path(), &[const { Fate::Listens }; INSTANCES]).await;
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
        assert_eq!(described(&database.url).await.unwrap(), Shortlink.expected_schema($kind, true).await.unwrap());
        // An old program that starts now is refused.
        let error = run_migrations(&pool, &upgrade::first($kind).await, "link_migrations").await.unwrap_err();
        assert!(matches!(error, SqlError::NewerSchema { found: 2, known: 1 }), "{error}");
    }};
}

// shows: hazard S8
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

// shows: hazard S8
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
// shows: hazard S3, hazard S18
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
    let reported = dir.refuse(&[&serve[..], &["--database", unknown.as_str()]].concat());
    assert!(reported.contains("cannot open the database postgres://"), "{reported}");
    let both = ["--database", &postgres.url, "--redis", password.as_str()];
    dir.write("in.tsv", "target\nhttps://example.com/\n");
    for command in [&serve[..], &["import", "in.tsv"]] {
        let reported = dir.refuse(&[command, &both].concat());
        assert!(reported.contains("cannot use Redis: Redis refused: WRONGPASS"), "{reported}");
    }
    // Redis refused before tables were created.
    let mut connection = PgConnection::connect(&postgres.url).await.unwrap();
    let tables: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM pg_tables WHERE schemaname = current_schema()")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    assert_eq!(tables, 0);
}
