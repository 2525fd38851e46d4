//! Children end with their parent, and workers are processes of their own.

use crate::servers::client::ping;
use testkit::process::{Launch, Station, Worker};
use testkit::servers::{Redis, RedisOptions};

#[tokio::test]
#[ignore = "a worker of `worker_is_another_process_that_replies`"]
async fn echo() {
    let Some(mut station) = Station::open().unwrap() else { return };
    station.say(&std::process::id()).unwrap();
    while let Ok(text) = station.receive::<String>().await {
        station.say(&format!("{text}, {text}")).unwrap();
    }
}

#[tokio::test]
async fn worker_is_another_process_that_replies() {
    let mut worker = Worker::start("servers::process::echo").unwrap();
    let id: u32 = worker.receive().await.unwrap();
    assert_ne!(id, std::process::id());
    assert_eq!(id, worker.process().id());
    worker.say("ahoy\n").unwrap();
    assert_eq!(worker.receive::<String>().await.unwrap(), "ahoy\n, ahoy\n");
    worker.finish().await.unwrap();
}

#[tokio::test]
async fn killed_worker_is_reported() {
    let mut worker = Worker::start("servers::process::echo").unwrap();
    worker.receive::<u32>().await.unwrap();
    worker.process().kill().unwrap();
    let error = worker.receive::<u32>().await.unwrap_err().to_string();
    assert!(error.contains("servers::process::echo ended") && error.contains("signal: 9"), "{error}");
}

#[tokio::test]
#[ignore = "a worker of `failing_worker_is_reported_with_its_output`"]
async fn failing() {
    if Station::open().unwrap().is_some() {
        std::fs::read("/no/such/file").unwrap();
    }
}

#[tokio::test]
async fn failing_worker_is_reported_with_its_output() {
    let error = Worker::start("servers::process::failing").unwrap().finish().await.unwrap_err().to_string();
    assert!(error.contains("No such file"), "{error}");
}

#[tokio::test]
#[ignore = "a worker of `servers_die_with_the_process_that_started_them`"]
async fn server_owner() {
    let Some(mut station) = Station::open().unwrap() else { return };
    // Started from a thread that ends: the server has to outlive the thread and not the process.
    let start = || tokio::runtime::Runtime::new().unwrap().block_on(Redis::start(RedisOptions::new())).unwrap();
    let redis = std::thread::spawn(start).join().unwrap();
    redis.command::<()>(&["PING"]).await.unwrap();
    station.say(&(redis.url(), redis.folder())).unwrap();
    station.until_finish().await;
}

/// A death signal is bound to the thread that started the child, so children were killed as soon as a test's thread ended; and
/// without it a killed test left its servers behind for ever.
#[tokio::test]
async fn servers_die_with_the_process_that_started_them() {
    let mut worker = Worker::start("servers::process::server_owner").unwrap();
    let (url, folder): (String, std::path::PathBuf) = worker.receive().await.unwrap();
    ping(&url).await.unwrap();
    worker.process().kill_alone().unwrap();
    let gone = testkit::eventually("the server of the killed process is gone", || async {
        ping(&url).await.err().filter(redis::RedisError::is_connection_refusal)
    });
    gone.await.unwrap();
    // A process that was killed cleans up nothing; the next one that makes a folder does.
    assert!(folder.exists());
    let mut next = Worker::start("servers::process::server_owner").unwrap();
    next.receive::<(String, std::path::PathBuf)>().await.unwrap();
    assert!(!folder.exists());
}

#[tokio::test]
async fn missing_or_failing_program_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let error = Launch::new("/no/such/program", &log).run().unwrap_err().to_string();
    assert!(error.contains("/no/such/program"), "{error}");
    let error = Launch::new("ls", &log).argument("/no/such/folder").run().unwrap_err().to_string();
    assert!(error.contains("ls failed") && error.contains("/no/such/folder"), "{error}");
}

#[tokio::test]
async fn paused_child_can_be_asked_to_end() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = Launch::new("cat", folder.path().join("log")).piped().start().unwrap();
    child.pause().unwrap();
    let status = child.terminate().await.unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(15));
    assert!(child.pause().is_err(), "what has ended cannot be paused");
}
