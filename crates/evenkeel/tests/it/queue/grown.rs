//! A topic that grows while its mover is killed, wherever that happens; and movers that meet.

use anyhow::{Context, Result, ensure};
use evenkeel::Keel;
use evenkeel::link::LinkOptions;
use evenkeel::queue::topic::Topic;
use evenkeel::queue::{Handled, JobId, Queue};
use evenkeel_protocol::queue::steps::{Enqueued, Found, Shard, State};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use testkit::conformance::queue::invariants;
use testkit::proxy::Proxy;
use testkit::servers::{Redis, RedisOptions};
use tokio::sync::watch;

/// Fewer would mean that the mover has shrunk.
const POINTS_MIN: usize = 60;
const JOBS: usize = 8;

async fn keel(url: &str) -> Result<Keel> {
    let mut options = LinkOptions::from_url(url)?;
    // It says nothing by itself, so that every run has the same commands.
    options.heartbeat = Duration::from_secs(3_600);
    Ok(Keel::builder().connect_with(options).await?)
}

/// A topic with jobs that wait, one that is dead, and one that is done and has a completion record.
async fn filled(keel: &Keel) -> Result<(Queue<String>, BTreeMap<String, JobId>)> {
    let mail = keel.queue::<String>("mail").shards(2).open().await?;
    let (done, is_done) = watch::channel(0);
    let consumer =
        mail.consume(move |job| {
            done.send_modify(|count| *count += 1);
            async move {
                Ok::<_, Infallible>(if job.body == "dead" { Handled::Dead("no".to_owned()) } else { Handled::Done })
            }
        });
    for name in ["dead", "done"] {
        mail.job(&name.to_owned()).id(name).enqueue().await?;
    }
    let mut is_done = is_done;
    consumer.run(async { assert!(is_done.wait_for(|count| *count == 2).await.is_ok()) }).await?;
    let names: Vec<String> = (0..JOBS).map(|number| format!("job/{number}")).collect();
    let orders = names.iter().map(|name| mail.job(name).id(name).delay(Duration::from_secs(3_600)));
    let sent = mail.enqueue_all(orders).await?;
    Ok((mail, names.into_iter().zip(sent.into_iter().map(|sent| sent.id)).collect()))
}

/// Every job is where it was, for a handle from before and for a new one; and each runs once.
async fn check(url: &str, old: &Queue<String>, jobs: &BTreeMap<String, JobId>) -> Result<()> {
    let keel = keel(url).await?;
    let new = keel.queue::<String>("mail").open().await?;
    ensure!(new.topic().shards() == 4, "{} shards", new.topic().shards());
    for mail in [old, &new] {
        for (name, id) in jobs {
            let found = mail.find(id).await?;
            ensure!(matches!(found, Some(Found::Live { state: State::Waiting(_), .. })), "{name}: {found:?}");
            let again = mail.job(name).id(name).enqueue().await?.answer;
            ensure!(again == Enqueued::Duplicate, "{name}: {again:?}");
        }
        let dead = mail.job(&String::new()).id("dead").enqueue().await?.answer;
        ensure!(dead == Enqueued::Dead, "{dead:?}");
        let done = mail.job(&String::new()).id("done").enqueue().await?.answer;
        ensure!(matches!(done, Enqueued::Ended(_)), "{done:?}");
    }
    let link = keel.link().context("it has one")?;
    for number in 0..4 {
        invariants::check(link, &Shard::new(link.prefix(), "mail", number))
            .await
            .with_context(|| format!("{number}"))?;
    }
    new.topic().run_now(&jobs.values().copied().collect::<Vec<_>>()).await?;
    let runs = Arc::new(Mutex::new(Vec::new()));
    let (done, mut is_done) = watch::channel(0);
    let seen = Arc::clone(&runs);
    let consumer = new.consume(move |job| {
        seen.lock().unwrap().push(job.body);
        done.send_modify(|count| *count += 1);
        async { Ok::<_, Infallible>(()) }
    });
    consumer.run(async { assert!(is_done.wait_for(|count| *count >= JOBS).await.is_ok()) }).await?;
    let mut runs = runs.lock().unwrap().clone();
    runs.sort();
    ensure!(runs.iter().eq(jobs.keys()), "each once: {runs:?}");
    keel.shutdown(Duration::ZERO).await;
    Ok(())
}

/// A migration that copies and then deletes runs a job twice if it is killed in between; one that deletes first loses it. This one
/// is cut off before each of its commands and before each reply, and the next migration completes it.
// shows: Q1, queue::Topic::grow, queue::Topic::grow_with
#[tokio::test]
async fn killed_migration_is_completed_by_the_next_one() -> Result<()> {
    let redis = Redis::start(RedisOptions::new()).await?;
    let proxy = Proxy::start(redis.port(), 1).await?;
    let direct = keel(&redis.url()).await?;
    let link = direct.link().context("it has one")?;
    let mut points = 0;
    let mut commands = u64::MAX;
    let mut number = 0;
    while number < commands {
        for before_reply in [false, true] {
            link.command(b"", &redis::cmd("FLUSHALL")).await?;
            let (mail, jobs) = filled(&direct).await?;
            let mover = keel(&proxy.url(&redis.url())).await?;
            let topic = mover.topic("mail").await?;
            proxy.forget_commands();
            match (number, before_reply) {
                // The first run says how many commands there are.
                (0, _) => {}
                (number, false) => proxy.cut_before_command(number),
                (number, true) => proxy.cut_before_reply(number),
            }
            // Whether the process notices or not, it is gone afterwards.
            let grown = topic.grow(4).await;
            if number == 0 {
                ensure!(grown.is_ok(), "{grown:?}");
                commands = u64::try_from(proxy.commands().len())?;
            }
            mover.shutdown(Duration::ZERO).await;
            let story = || format!("cut {number} of {commands}, before the reply: {before_reply}");
            direct.topic("mail").await?.grow(4).await.with_context(story)?;
            check(&redis.url(), &mail, &jobs).await.with_context(story)?;
            points += 1;
        }
        number += 1;
    }
    println!("{points} cut points of a mover, each followed by another one");
    ensure!(points >= POINTS_MIN, "only {points} cut points");
    Ok(())
}

/// Regression: a process was paused before the last step of its migration. When it resumed after a later migration, it reset the
/// number of shards, and half of the jobs were looked up in the wrong shard.
#[tokio::test(flavor = "multi_thread")]
async fn overtaken_growth_changes_nothing() -> Result<()> {
    let redis = Redis::start(RedisOptions::new()).await?;
    let slow = keel(&redis.url()).await?;
    let (mail, jobs) = filled(&slow).await?;
    let others: Topic = keel(&redis.url()).await?.topic("mail").await?;
    let mut looks = 0;
    let overtaken = mail.topic();
    let grown = overtaken.grow_with(4, |_| {
        looks += 1;
        // After its last check, before it reports that.
        if looks == 4 {
            tokio::task::block_in_place(|| {
                tokio::runtime::Handle::current().block_on(async {
                    assert!(others.grow(4).await.is_ok());
                    assert!(others.grow(8).await.is_ok());
                });
            });
        }
    });
    grown.await?;
    ensure!(looks == 4, "{looks} looks");
    let fresh = keel(&redis.url()).await?.topic("mail").await?;
    ensure!(fresh.shards() == 8, "{} shards", fresh.shards());
    for (name, id) in jobs {
        ensure!(fresh.job(id).await?.is_some(), "{name} is lost");
    }
    Ok(())
}
