//! Ten instances that start at once on one database, half of which are killed while they make the tables.

use evenkeel::clock::Clock;
use std::io::{BufRead, BufReader};
use stockroom::domain::Name;
use stockroom::store::Store;
use testkit::park::{mariadb_database, postgres_database};
use testkit::process::{Child, Launch};

const INSTANCES: usize = 10;

/// Starts them; each one that is not to be killed must listen in the end. The tables are complete then.
async fn start_at_once(url: &str) {
    let folder = tempfile::tempdir().unwrap();
    let start = |at: usize| {
        let program = env!("CARGO_BIN_EXE_stockroom");
        let launch = Launch::new(program, folder.path().join(format!("log-{at}"))).piped();
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
    let store = Store::open(&url.parse().unwrap(), Clock::system()).await.unwrap();
    assert!(store.add_product(&Name::parse("tea").unwrap()).await.is_ok());
    store.close().await;
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

#[tokio::test]
async fn mariadb_instances_started_at_once_make_the_tables() {
    start_at_once(&mariadb_database().await.unwrap().url).await;
}

#[tokio::test]
async fn postgres_instances_started_at_once_make_the_tables() {
    start_at_once(&postgres_database().await.unwrap().url).await;
}
