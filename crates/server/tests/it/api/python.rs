//! The examples in Python against the running program.

use crate::console::server::Console;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;
use testkit::eventually_within;
use testkit::process::{Child, Launch};

/// A thousand jobs on a loaded machine.
const LONG: Duration = Duration::from_secs(240);

const HANDLER: &str = r#"
import os

def handle(job):
    # One write to a file that is opened for appending is not torn.
    ledger = os.open("ledger", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(ledger, f"{job['body']['n']}\n".encode())
    os.close(ledger)
"#;

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/python").join(name)
}

fn python(folder: &Path, log: &str) -> Launch {
    // The handler and its ledger are in the folder.
    Launch::new("env", folder.join(log)).argument("-C").argument(folder).arguments([
        "PYTHONDONTWRITEBYTECODE=1",
        "EVENKEEL_LEASE_S=2",
        "python3",
    ])
}

fn worker(console: &Console, folder: &Path) -> Child {
    let url = format!("http://{}", console.address);
    let launch = python(folder, "worker").argument(example("evenkeel_worker.py"));
    launch.arguments([url.as_str(), "orders", "handler:handle"]).start().unwrap()
}

fn handled(folder: &Path) -> BTreeSet<u64> {
    let ledger = std::fs::read_to_string(folder.join("ledger")).unwrap_or_default();
    ledger.lines().filter_map(|line| line.parse().ok()).collect()
}

#[tokio::test]
async fn python_worker_that_is_killed_loses_no_job() {
    let console = Console::start(false).await;
    console.keel.queue::<Value>("orders").shards(2).open().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("handler.py"), HANDLER).unwrap();
    let jobs: String =
        (0..1_000).map(|n| format!("{}\n", json!({ "id": format!("order/{n}"), "body": { "n": n } }))).collect();
    std::fs::write(folder.join("jobs"), jobs).unwrap();
    let feed = "exec python3 \"$0\" \"$1\" orders < jobs";
    let url = format!("http://{}", console.address);
    let client = Launch::new("env", folder.join("client")).argument("-C").argument(folder);
    let client = client.arguments(["sh", "-c", feed]).argument(example("evenkeel_client.py")).argument(&url);
    tokio::task::spawn_blocking(move || client.run()).await.unwrap().unwrap();
    assert_eq!(console.keel.topic("orders").await.unwrap().stats().await.unwrap().waiting(), 1_000);

    for until in [100, 300, 600] {
        let mut child = worker(&console, folder);
        eventually_within(LONG, "the worker handles jobs", || async { (handled(folder).len() > until).then_some(()) })
            .await
            .unwrap();
        child.kill().unwrap();
    }
    let mut child = worker(&console, folder);
    eventually_within(LONG, "every job is handled and settled", || async {
        let stats = console.keel.topic("orders").await.unwrap().stats().await.unwrap();
        (stats.total.totals.done == 1_000).then_some(())
    })
    .await
    .unwrap();
    child.kill().unwrap();
    let stats = console.keel.topic("orders").await.unwrap().stats().await.unwrap();
    assert_eq!((handled(folder).len(), stats.dead(), stats.waiting()), (1_000, 0, 0));
}
