//! One process of `cargo xtask mixed`: two versions of the library run it in turn on one Redis. `driver STAGE URL`.
//!
//! `leave`: the first version leaves entries, jobs and locks, and dies. `meet`: the second version checks them and changes them.
//! `back`: the first version checks what the second one made of them.

use crate::version::{JobState, metadata};
use anyhow::{Result, bail, ensure};
use evenkeel::Keel;
use evenkeel::cache::{Cache, CacheBuilder, CacheError, Freshness, Tier, WhileWriting};
use evenkeel::lock::LockError;
use evenkeel::queue::{Delivery, JobId, Queue, RetryDelay};
use serde::{Deserialize, Serialize};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

mod version;

const HOUR: Duration = Duration::from_secs(3600);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Row {
    version: u64,
    text: String,
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [stage, url] = &arguments[..] else { bail!("usage: driver leave|meet|back URL") };
    let keel = Keel::connect(url).await?;
    match stage.as_str() {
        "leave" => leave(&keel).await?,
        "meet" => meet(&keel).await?,
        "back" => back(&keel).await?,
        _ => bail!("unknown stage {stage}"),
    }
    println!("{stage}: passed");
    // The process dies with its locks and its window.
    std::process::exit(0)
}

async fn leave(keel: &Keel) -> Result<()> {
    let rows = rows(keel).await?;
    read(&rows, 1, Some("one"), Tier::Loader).await?;
    read(&rows, 2, None, Tier::Loader).await?;
    read(&rows, 3, Some("three"), Tier::Loader).await?;
    rows.invalidate(&3).await?;
    read(&rows, 5, Some("five"), Tier::Loader).await?;
    let large = "large ".repeat(2_000);
    read(&rows, 6, Some(&large), Tier::Loader).await?;
    let versioned = versioned(keel).await?;
    read_version(&versioned, 7, 7, Tier::Loader).await?;
    versioned.invalidate_at(&1, 9).await?;
    std::mem::forget(windows(keel).await?.begin_write(&4).await?);

    let mail = mail(keel).await?;
    mail.job(&"done".to_owned()).id("done").enqueue().await?;
    run_one(&mail, |job| job.body == "done" && job.attempt == 1, true).await?;
    mail.job(&"twice".to_owned()).id("twice").enqueue().await?;
    run_one(&mail, |job| job.body == "twice" && job.attempt == 1, false).await?;
    mail.job(&"late".to_owned()).id("late").delay(HOUR).enqueue().await?;
    let fragile = keel.queue::<String>("fragile").retries(0).open().await?;
    fragile.job(&"dead".to_owned()).id("dead").enqueue().await?;
    run_one(&fragile, |job| job.body == "dead", false).await?;

    std::mem::forget(keel.lock("exclusive").ttl(HOUR).metadata("left by the first").acquire().await?);
    std::mem::forget(keel.rw_lock("rows").read().ttl(HOUR).acquire().await?);
    std::mem::forget(keel.semaphore("permits", 2).take(1).ttl(HOUR).acquire().await?);
    keel.striped_lock("striped", 8)?.acquire(b"key").await?.release().await?;
    Ok(())
}

async fn meet(keel: &Keel) -> Result<()> {
    let rows = rows(keel).await?;
    read(&rows, 1, Some("one"), Tier::Store).await?;
    read(&rows, 2, None, Tier::Store).await?;
    read(&rows, 3, Some("three again"), Tier::Loader).await?;
    read(&rows, 6, Some(&"large ".repeat(2_000)), Tier::Store).await?;
    rows.invalidate(&5).await?;
    let versioned = versioned(keel).await?;
    // A row below the version of the invalidation is not stored; the next read loads again.
    let _ = load_version(&versioned, 8).await;
    read_version(&versioned, 9, 9, Tier::Loader).await?;
    read_version(&versioned, 9, 10, Tier::Store).await?;
    let written = load(&windows(keel).await?, 4, Some("four")).await;
    ensure!(matches!(written, Err(CacheError::Writing { .. })), "the window is not open: {written:?}");

    let mail = mail(keel).await?;
    ensure!(!mail.job(&"done".to_owned()).id("done").enqueue().await?.is_new(), "the completion record is unknown");
    ensure!(!mail.job(&"late".to_owned()).id("late").enqueue().await?.is_new(), "the delayed job is unknown");
    run_one(&mail, |job| job.body == "twice" && job.attempt == 2, true).await?;
    mail.revoke(&JobId::named(b"late")).await?;
    let fragile = keel.queue::<String>("fragile").retries(0).open().await?;
    let topic = fragile.topic();
    ensure!(topic.list(JobState::Dead, None, 10).await?.len() == 1, "the dead letter is unknown");
    ensure!(topic.redrive("mixed").run().await?.taken == 1, "the dead letter is not redriven");
    run_one(&fragile, |job| job.body == "dead", true).await?;

    let held = keel.lock("exclusive").inspect().await?;
    let Some(held) = held else { bail!("the lock is not held") };
    ensure!(metadata(&held) == b"left by the first", "the holder's metadata is {:?}", metadata(&held));
    ensure!(keel.lock("exclusive").try_acquire().await?.is_none(), "two processes hold the lock");
    keel.lock("exclusive").break_lock(Some(held.fence)).await?;
    let guard = keel.lock("exclusive").ttl(HOUR).metadata("left by the second").acquire().await?;
    ensure!(guard.fence() > held.fence, "the fencing token did not grow");
    std::mem::forget(guard);
    ensure!(keel.rw_lock("rows").write().try_acquire().await?.is_none(), "a writer ignores a reader");
    std::mem::forget(keel.rw_lock("rows").read().ttl(HOUR).acquire().await?);
    std::mem::forget(keel.semaphore("permits", 2).take(1).ttl(HOUR).acquire().await?);
    ensure!(keel.semaphore("permits", 2).take(1).try_acquire().await?.is_none(), "there are three permits");
    keel.striped_lock("striped", 8)?.acquire(b"key").await?.release().await?;
    let differs = keel.striped_lock("striped", 4)?.acquire(b"key").await;
    ensure!(matches!(differs, Err(LockError::Differs { .. })), "the number of stripes is unknown");
    Ok(())
}

async fn back(keel: &Keel) -> Result<()> {
    let rows = rows(keel).await?;
    read(&rows, 3, Some("three again"), Tier::Store).await?;
    read(&rows, 5, Some("five again"), Tier::Loader).await?;
    read_version(&versioned(keel).await?, 9, 11, Tier::Store).await?;

    let mail = mail(keel).await?;
    ensure!(!mail.job(&"twice".to_owned()).id("twice").enqueue().await?.is_new(), "the completion record is unknown");
    ensure!(mail.topic().stats().await?.waiting() == 0, "a job waits that was revoked or done");
    let fragile = keel.queue::<String>("fragile").retries(0).open().await?;
    ensure!(fragile.topic().stats().await?.dead() == 0, "the dead letter was redriven and done");

    let held = keel.lock("exclusive").inspect().await?;
    let Some(held) = held else { bail!("the lock is not held") };
    ensure!(metadata(&held) == b"left by the second", "the holder's metadata is {:?}", metadata(&held));
    ensure!(keel.lock("exclusive").try_acquire().await?.is_none(), "two processes hold the lock");
    ensure!(keel.rw_lock("rows").write().try_acquire().await?.is_none(), "a writer ignores two readers");
    ensure!(keel.semaphore("permits", 2).take(1).try_acquire().await?.is_none(), "there are three permits");
    Ok(())
}

fn cache<V>(keel: &Keel, name: &str) -> CacheBuilder<u64, V> {
    keel.cache(name).ttl(HOUR)
}

async fn rows(keel: &Keel) -> Result<Cache<u64, String>> {
    Ok(cache(keel, "row").open().await?)
}

async fn versioned(keel: &Keel) -> Result<Cache<u64, Row>> {
    Ok(cache(keel, "versioned").version(|row: &Row| row.version).open().await?)
}

/// Its windows outlive the test.
async fn windows(keel: &Keel) -> Result<Cache<u64, String>> {
    let builder = cache(keel, "window").write_window(HOUR).while_writing(WhileWriting::Fail);
    Ok(builder.open().await?)
}

async fn load(rows: &Cache<u64, String>, key: u64, text: Option<&str>) -> Result<(Option<String>, Tier), CacheError> {
    let text = text.map(str::to_owned);
    let found = rows.get_with(&key, Freshness::Eventual, |_| async move { Ok::<_, Infallible>(text) }).await?;
    Ok((found.value.map(|value| value.to_string()), found.tier))
}

/// Reads a row; the database has `text`.
async fn read(rows: &Cache<u64, String>, key: u64, text: Option<&str>, tier: Tier) -> Result<()> {
    let found = load(rows, key, text).await?;
    ensure!(found == (text.map(str::to_owned), tier), "row {key} is {found:?} instead of {text:?} from {tier:?}");
    Ok(())
}

async fn load_version(rows: &Cache<u64, Row>, version: u64) -> Result<(Option<u64>, Tier), CacheError> {
    let row = Row { version, text: "text".to_owned() };
    let found = rows.get_with(&1, Freshness::Eventual, |_| async move { Ok::<_, Infallible>(Some(row)) }).await?;
    Ok((found.value.map(|row| row.version), found.tier))
}

/// Reads the versioned row; the database has `in_database`.
async fn read_version(rows: &Cache<u64, Row>, version: u64, in_database: u64, tier: Tier) -> Result<()> {
    let found = load_version(rows, in_database).await?;
    ensure!(found == (Some(version), tier), "the version is {found:?} instead of {version} from {tier:?}");
    Ok(())
}

async fn mail(keel: &Keel) -> Result<Queue<String>> {
    let builder = keel.queue::<String>("mail").retries(5).retry_delay(RetryDelay::fixed(Duration::from_secs(2)));
    Ok(builder.open().await?)
}

/// Runs one job, which must be as `expected`, and lets it succeed or fail.
async fn run_one(
    queue: &Queue<String>,
    expected: impl Fn(&Delivery<String>) -> bool + Send + Sync + 'static,
    succeeds: bool,
) -> Result<()> {
    let ended = Arc::new(Notify::new());
    let (notify, expected) = (Arc::clone(&ended), Arc::new(expected));
    let consumer = queue.consume(move |job: Delivery<String>| {
        let (notify, expected) = (Arc::clone(&notify), Arc::clone(&expected));
        async move {
            if !expected(&job) {
                eprintln!("unexpected job: {:?}, attempt {}", job.body, job.attempt);
                std::process::exit(1);
            }
            notify.notify_one();
            if succeeds { Ok(()) } else { Err("as the test wants") }
        }
    });
    consumer.concurrency(1).run(ended.notified()).await?;
    Ok(())
}
