//! [`work()`]: the main function of a worker process.

use super::Ended;
use super::processes::{Urls, open};
use super::run::run;
use super::share::Share;
use super::worker::PAUSE_COMMAND;
use crate::strategy::{PausePoint, Pauses};
use anyhow::Result;
use rustix::process::{Signal, getpid, kill_process};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Results per line of output.
const BATCH: usize = 50;

/// The time that the demonstration computes between reading and writing.
const COMPUTATION: Duration = Duration::from_millis(2);

/// Executes the operations of a share and writes their results to standard output in batches.
///
/// # Errors
/// A server is unreachable.
pub async fn work(share: &Share, urls: &Urls) -> Result<()> {
    let pause_requested = Arc::new(AtomicBool::new(false));
    listen(Arc::clone(&pause_requested));
    let service = open(urls, share.cap, pauses(pause_requested)).await?;
    let mut batch = Vec::new();
    run(&service, share, false, &mut |ended| {
        batch.push(ended);
        if batch.len() >= BATCH {
            write(&mut batch);
        }
    })
    .await?;
    write(&mut batch);
    service.close().await;
    Ok(())
}

/// Receives commands on standard input, and ends this process when the parent process ends.
fn listen(pause_requested: Arc<AtomicBool>) {
    std::thread::spawn(move || {
        for command in std::io::stdin().lines().map_while(Result::ok) {
            if command == PAUSE_COMMAND {
                pause_requested.store(true, Ordering::SeqCst);
            }
        }
        std::process::exit(1);
    });
}

/// Stops this process at the next pause point after a command: a lock is held, and nothing is written.
#[expect(clippy::disallowed_methods, reason = "the fault is a delay")]
fn pauses(pause_requested: Arc<AtomicBool>) -> Pauses {
    Pauses::new(move |point| {
        if pause_requested.swap(false, Ordering::SeqCst)
            && let Err(error) = kill_process(getpid(), Signal::STOP)
        {
            tracing::debug!(%error, "cannot stop this process");
        }
        async move {
            if point == PausePoint::StockRead {
                tokio::time::sleep(COMPUTATION).await;
            }
        }
    })
}

fn write(batch: &mut Vec<Ended>) {
    if let Ok(line) = serde_json::to_string(batch) {
        let mut out = std::io::stdout().lock();
        // A write fails if the parent process has ended.
        let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    }
    batch.clear();
}
