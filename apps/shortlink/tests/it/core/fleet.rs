//! Ten instances that start at once on one database, half of which are killed while they make or upgrade the tables.

use super::program::{Place, SHORTLINK};
use super::upgrade;
use evenkeel::clock::Clock;
use shortlink::store::Store;
use sqlx::{Connection, PgConnection};
use std::io::{BufRead, BufReader};
use testkit::park::{mariadb_database, postgres_database, redis};
use testkit::process::{Child, Launch};
use url::Url;

const INSTANCES: usize = 10;

/// Starts them; each one that is not to be killed must listen in the end.
async fn start_at_once(url: &str) {
    let folder = tempfile::tempdir().unwrap();
    let start = |at: usize| {
        let launch = Launch::new(SHORTLINK, folder.path().join(format!("log-{at}"))).piped();
        let launch = launch.arguments(["--listen", "127.0.0.1:0", "--database", url, "--data"]);
        let launch = launch.argument(folder.path().join(format!("data-{at}")));
        if is_killed(at) {
            launch.environment("EVENKEEL_CRASH_AT", format!("migration_step:{}", at + 1))
        } else {
            launch
        }
        .start()
        .unwrap()
    };
    let mut instances: Vec<_> = (0..INSTANCES).map(start).collect();
    for (at, instance) in instances.iter_mut().enumerate() {
        let first = first_line(instance);
        let listens = first.starts_with("listening on http://");
        assert!(listens || (is_killed(at) && first.is_empty()), "{at}: {first:?}\n{}", instance.log_tail());
    }
}

/// Only the instance that makes the tables comes to a step, so not all of these are killed.
fn is_killed(at: usize) -> bool {
    at.is_multiple_of(2)
}

fn first_line(instance: &mut Child) -> String {
    let mut line = String::new();
    BufReader::new(instance.take_output().unwrap()).read_line(&mut line).unwrap();
    line
}

/// The schema is complete, and what was in it is there.
async fn has_links(url: &str, links: usize) {
    let store = Store::open_as_is(&url.parse().unwrap(), Clock::system()).await.unwrap();
    assert_eq!(store.rows_after(0, 10).await.unwrap().len(), links);
    store.close().await;
}

#[tokio::test]
async fn mariadb_instances_started_at_once_make_the_tables() {
    let database = mariadb_database().await.unwrap();
    start_at_once(&database.url).await;
    has_links(&database.url, 0).await;
}

#[tokio::test]
async fn postgres_instances_started_at_once_make_the_tables() {
    let database = postgres_database().await.unwrap();
    start_at_once(&database.url).await;
    has_links(&database.url, 0).await;
}

#[tokio::test]
async fn mariadb_instances_started_at_once_upgrade_an_older_schema() {
    let database = mariadb_database().await.unwrap();
    upgrade::former_mariadb(&database.url).await;
    start_at_once(&database.url).await;
    has_links(&database.url, 3).await;
}

#[tokio::test]
async fn postgres_instances_started_at_once_upgrade_an_older_schema() {
    let database = postgres_database().await.unwrap();
    upgrade::former_postgres(&database.url).await;
    start_at_once(&database.url).await;
    has_links(&database.url, 3).await;
}

/// A server that answers and refuses is not away.
#[tokio::test]
async fn server_that_refuses_ends_the_start_with_one_sentence() {
    let (postgres, redis) = (postgres_database().await.unwrap(), redis().await.unwrap());
    let mut unknown: Url = postgres.url.parse().unwrap();
    unknown.set_path("/there_is_no_such_database");
    let mut password: Url = redis.url.parse().unwrap();
    password.set_username("nobody").unwrap();
    password.set_password(Some("wrong")).unwrap();
    let place = Place::new();
    let serve = ["--listen", "127.0.0.1:0"];
    let told = place.refuse(&[&serve[..], &["--database", unknown.as_str()]].concat());
    assert!(told.contains("cannot open the database postgres://"), "{told}");
    let both = ["--database", &postgres.url, "--redis", password.as_str()];
    place.write("in.tsv", "target\nhttps://example.com/\n");
    for command in [&serve[..], &["import", "in.tsv"]] {
        let told = place.refuse(&[command, &both].concat());
        assert!(told.contains("cannot use Redis: Redis refused: WRONGPASS"), "{told}");
    }
    // It was refused before anything was made.
    let mut connection = PgConnection::connect(&postgres.url).await.unwrap();
    let tables: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM pg_tables WHERE schemaname = current_schema()")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    assert_eq!(tables, 0);
}
