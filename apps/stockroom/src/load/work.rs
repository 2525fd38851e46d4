//! [`work()`]: what a worker process does.

use super::Ended;
use super::drive::drive;
use super::slice::Slice;
use super::worker::PAUSE_ORDER;
use super::workers::{Addresses, open};
use crate::strategy::{Stall, Stalls};
use anyhow::Result;
use rustix::process::{Signal, getpid, kill_process};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What a worker tells at once.
const BATCH: usize = 50;

/// A program that trusts its lock takes its time between reading and writing.
const THOUGHT: Duration = Duration::from_millis(2);

/// Makes the changes of a slice, and tells batch by batch on standard output what became of them.
///
/// # Errors
/// One sentence on what is in the way.
pub async fn work(slice: &Slice, addresses: &Addresses) -> Result<()> {
    let is_to_pause = Arc::new(AtomicBool::new(false));
    listen(Arc::clone(&is_to_pause));
    let service = open(addresses, slice.cap, stalls(is_to_pause)).await?;
    let mut batch = Vec::new();
    drive(&service, slice, false, &mut |ended| {
        batch.push(ended);
        if batch.len() >= BATCH {
            tell(&mut batch);
        }
    })
    .await?;
    tell(&mut batch);
    service.close().await;
    Ok(())
}

/// Listens to orders, and ends this process when the one that started it does, however that ends.
fn listen(is_to_pause: Arc<AtomicBool>) {
    std::thread::spawn(move || {
        for order in std::io::stdin().lines().map_while(Result::ok) {
            if order == PAUSE_ORDER {
                is_to_pause.store(true, Ordering::SeqCst);
            }
        }
        std::process::exit(1);
    });
}

/// Stands still where it is told to: a lock is held there, and nothing is written.
#[expect(clippy::disallowed_methods, reason = "the fault is a delay")]
fn stalls(is_to_pause: Arc<AtomicBool>) -> Stalls {
    Stalls::new(move |stall| {
        if is_to_pause.swap(false, Ordering::SeqCst)
            && let Err(error) = kill_process(getpid(), Signal::STOP)
        {
            tracing::debug!(%error, "this process cannot be stopped");
        }
        async move {
            if stall == Stall::Read {
                tokio::time::sleep(THOUGHT).await;
            }
        }
    })
}

fn tell(batch: &mut Vec<Ended>) {
    if let Ok(line) = serde_json::to_string(batch) {
        let mut out = std::io::stdout().lock();
        // Whoever does not listen any more has ended.
        let _ = writeln!(out, "{line}").and_then(|()| out.flush());
    }
    batch.clear();
}
