//! MariaDB and PostgreSQL as children: what a client sees of their signals and of their end.

use sqlx::{Connection, MySqlConnection, PgConnection};
use std::time::Duration;
use testkit::servers::{MariaDb, MariaDbOptions, Postgres, PostgresOptions};

const SILENCE: Duration = Duration::from_millis(200);

#[tokio::test]
async fn killed_mariadb_restarts_with_its_commits_and_port() {
    let mut server = MariaDb::start(MariaDbOptions::new()).await.unwrap();
    server.execute("CREATE DATABASE kept").await.unwrap();
    let url = server.database_url("kept");
    let mut connection = MySqlConnection::connect(&url).await.unwrap();
    sqlx::raw_sql("CREATE TABLE t (a INT); INSERT INTO t VALUES (7)").execute(&mut connection).await.unwrap();
    server.kill().unwrap();
    assert!(sqlx::raw_sql("SELECT 1").execute(&mut connection).await.is_err());
    server.restart().await.unwrap();
    let mut connection = MySqlConnection::connect(&url).await.unwrap();
    let kept: i32 = sqlx::query_scalar("SELECT a FROM t").fetch_one(&mut connection).await.unwrap();
    assert_eq!(kept, 7);
}

#[tokio::test]
async fn paused_mariadb_is_silent_until_resumed() {
    let mut server = MariaDb::start(MariaDbOptions::new()).await.unwrap();
    let mut connection = MySqlConnection::connect(&server.url()).await.unwrap();
    server.pause().unwrap();
    let mut query = Box::pin(sqlx::raw_sql("SELECT 1").execute(&mut connection));
    assert!(tokio::time::timeout(SILENCE, &mut query).await.is_err());
    server.resume().unwrap();
    query.await.unwrap();
}

#[tokio::test]
async fn mariadb_accepts_arguments() {
    let options = MariaDbOptions::new().arguments(["--log-bin=bin", "--server-id=3", "--binlog-format=ROW"]);
    let server = MariaDb::start(options).await.unwrap();
    let mut connection = MySqlConnection::connect(&server.url()).await.unwrap();
    let log_bin: i64 = sqlx::query_scalar("SELECT @@log_bin").fetch_one(&mut connection).await.unwrap();
    assert_eq!(log_bin, 1);
}

#[tokio::test]
async fn killed_postgres_restarts_with_its_commits_and_port() {
    let mut server = Postgres::start(PostgresOptions::new()).await.unwrap();
    server.execute("CREATE DATABASE kept").await.unwrap();
    let url = server.database_url("kept");
    let mut connection = PgConnection::connect(&url).await.unwrap();
    sqlx::raw_sql("CREATE TABLE t (a INT); INSERT INTO t VALUES (7)").execute(&mut connection).await.unwrap();
    server.kill().unwrap();
    assert!(sqlx::raw_sql("SELECT 1").execute(&mut connection).await.is_err());
    server.restart().await.unwrap();
    let mut connection = PgConnection::connect(&url).await.unwrap();
    let kept: i32 = sqlx::query_scalar("SELECT a FROM t").fetch_one(&mut connection).await.unwrap();
    assert_eq!(kept, 7);
}

/// Each backend of PostgreSQL is a process and a session of its own: stopping only the first process would leave the open
/// connections answering.
#[tokio::test]
async fn paused_postgres_is_silent_on_open_connections() {
    let mut server = Postgres::start(PostgresOptions::new()).await.unwrap();
    let mut connection = PgConnection::connect(&server.url()).await.unwrap();
    server.pause().unwrap();
    let mut query = Box::pin(sqlx::raw_sql("SELECT 1").execute(&mut connection));
    assert!(tokio::time::timeout(SILENCE, &mut query).await.is_err());
    server.resume().unwrap();
    query.await.unwrap();
}

#[tokio::test]
async fn postgres_accepts_settings_and_reports_failed_starts() {
    let server = Postgres::start(PostgresOptions::new().setting("wal_level=logical")).await.unwrap();
    let mut connection = PgConnection::connect(&server.url()).await.unwrap();
    let level: String = sqlx::query_scalar("SHOW wal_level").fetch_one(&mut connection).await.unwrap();
    assert_eq!(level, "logical");
    let error = Postgres::start(PostgresOptions::new().setting("wal_level=deep")).await.unwrap_err();
    assert!(format!("{error:#}").contains("invalid value for parameter"), "{error:#}");
}
