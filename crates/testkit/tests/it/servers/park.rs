//! A test's own corner of the shared servers.

use crate::servers::client::ping;
use sqlx::Connection;
use std::io::{BufRead, BufReader};
use testkit::park::{self, Database};
use testkit::process::Launch;

#[tokio::test]
async fn two_tests_on_one_redis_have_different_prefixes() {
    let (first, second) = (park::redis().await.unwrap(), park::redis().await.unwrap());
    assert_ne!(first.prefix, second.prefix);
    assert_eq!(ping(&first.url).await.unwrap(), "PONG");
}

#[tokio::test]
async fn mariadb_database_is_empty_and_accepts_any_text() {
    let database = park::mariadb_database().await.unwrap();
    let mut connection = sqlx::MySqlConnection::connect(&database.url).await.unwrap();
    let tables: i64 =
        sqlx::query_scalar("SELECT count(*) FROM information_schema.tables WHERE table_schema = database()")
            .fetch_one(&mut connection)
            .await
            .unwrap();
    assert_eq!(tables, 0);
    sqlx::raw_sql("CREATE TABLE texts (text VARCHAR(100))").execute(&mut connection).await.unwrap();
    sqlx::query("INSERT INTO texts VALUES (?)").bind("žluťoučký 🐎").execute(&mut connection).await.unwrap();
    let text: String = sqlx::query_scalar("SELECT text FROM texts").fetch_one(&mut connection).await.unwrap();
    assert_eq!(text, "žluťoučký 🐎");
}

#[tokio::test]
async fn postgres_database_is_empty_and_accepts_any_text() {
    let database = park::postgres_database().await.unwrap();
    let mut connection = sqlx::PgConnection::connect(&database.url).await.unwrap();
    sqlx::raw_sql("CREATE TABLE texts (text TEXT)").execute(&mut connection).await.unwrap();
    sqlx::query("INSERT INTO texts VALUES ($1)").bind("žluťoučký 🐎").execute(&mut connection).await.unwrap();
    let text: String = sqlx::query_scalar("SELECT text FROM texts").fetch_one(&mut connection).await.unwrap();
    assert_eq!(text, "žluťoučký 🐎");
}

#[test]
fn sqlite_database_is_removed_with_its_folder() {
    let database = park::sqlite_database().unwrap();
    let file = database.url.strip_prefix("sqlite:").unwrap().split('?').next().unwrap().to_owned();
    std::fs::write(&file, "").unwrap();
    drop(database);
    assert!(!std::path::Path::new(&file).exists());
}

/// The whole life of a park as `xtask test` sees it: addresses, a fresh database, the database gone with its handle, the
/// servers gone with their input.
#[tokio::test]
async fn park_prints_its_addresses_and_ends_with_its_input() {
    let folder = tempfile::tempdir().unwrap();
    let launch =
        Launch::new(env!("CARGO_BIN_EXE_evenkeel-testkit"), folder.path().join("log")).argument("park").piped();
    let mut park = launch.start().unwrap();
    let lines: Vec<String> = BufReader::new(park.take_output().unwrap())
        .lines()
        .map_while(Result::ok)
        .take_while(|line| line != park::READY)
        .collect();
    assert_eq!(lines.len(), 3, "{lines:?} {}", park.log_tail());
    let url = |name: &str| lines.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix('=')).unwrap().to_owned();

    ping(&url(park::REDIS_VARIABLE)).await.unwrap();
    let mariadb = Database::on_mariadb(&url(park::MARIADB_VARIABLE)).await.unwrap();
    let postgres = Database::on_postgres(&url(park::POSTGRES_VARIABLE)).await.unwrap();
    let (mariadb_url, postgres_url) = (mariadb.url.clone(), postgres.url.clone());
    sqlx::MySqlConnection::connect(&mariadb_url).await.unwrap();
    // Left open: it must not keep the database from being dropped.
    let _open = sqlx::PgConnection::connect(&postgres_url).await.unwrap();
    drop((mariadb, postgres));
    let gone = sqlx::MySqlConnection::connect(&mariadb_url).await.unwrap_err().to_string();
    assert!(gone.contains("Unknown database"), "{gone}");
    let gone = sqlx::PgConnection::connect(&postgres_url).await.unwrap_err().to_string();
    assert!(gone.contains("does not exist"), "{gone}");

    drop(park.take_input());
    assert!(park.wait().await.unwrap().success());
    assert!(ping(&url(park::REDIS_VARIABLE)).await.is_err());
    assert!(sqlx::PgConnection::connect(&url(park::POSTGRES_VARIABLE)).await.is_err());
}
