//! Another program puts values of every type under our keys at random, and programs open our caches and queues with other settings, while
//! work goes on. Calls that need such a key are refused with the type's error or treat it as absent; other keys are not affected, and when the
//! value is gone, the accepted jobs are done.

use super::Round;
use crate::foreign::Neighbor;
use crate::rig::Fleet;
use evenkeel::Keel;
use evenkeel::cache::{Cache, CacheError};
use evenkeel::codec::MessagePack;
use evenkeel::link::Link;
use evenkeel::lock::Wait;
use evenkeel::queue::topic::JobState;
use evenkeel::queue::{Delivery, Handled, JobId, Queue};
use evenkeel::stream::{Entry, Handled as Settled, Stream};
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::fmt::Display;
use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::JoinHandle;

/// The names whose keys another program uses.
const ATTACKED: [&str; 4] = [":q:mail:", ":c:row:", ":l:{till}", ":s:orders:"];

/// The numbers in the jobs or entries that were handled.
type Seen = Arc<Mutex<BTreeSet<u64>>>;

/// One capability of each kind.
struct Shop {
    queue: Queue<u64>,
    rows: Cache<u64, String>,
    stream: Stream<u64>,
    lock: &'static str,
    done: Seen,
    handled: Seen,
    consumers: Vec<JoinHandle<()>>,
}

impl Shop {
    async fn open(keel: &Keel, [queue, row, lock, stream]: [&'static str; 4]) -> Self {
        let queue: Queue<u64> = keel.queue(queue).open().await.unwrap();
        let rows = keel.cache(row).ttl(Duration::from_secs(600)).store_timeout(Duration::from_secs(10));
        let stream: Stream<u64> = keel.stream(stream).partitions(1).open().await.unwrap();
        let (done, handled) = (Seen::default(), Seen::default());
        let (jobs, entries) = (Arc::clone(&done), Arc::clone(&handled));
        let consumer = queue.consume(move |delivery: Delivery<u64>| {
            jobs.lock().unwrap().insert(delivery.body);
            async { Ok::<_, Infallible>(Handled::Done) }
        });
        let group = stream.group("billing").handle(move |entry: Entry<u64>| {
            entries.lock().unwrap().insert(entry.value);
            async { Ok::<_, Infallible>(Settled::Done) }
        });
        let consumers = vec![
            tokio::spawn(async { consumer.run(pending()).await.unwrap() }),
            tokio::spawn(async { group.run(pending()).await.unwrap() }),
        ];
        let rows = rows.open().await.unwrap();
        Self { queue, rows, stream, lock, done, handled, consumers }
    }

    async fn read(&self, key: u64) -> Result<(), CacheError> {
        let row = self.rows.get(&key, |key| {
            let row = format!("row {key}");
            async move { Ok::<_, Infallible>(Some(row)) }
        });
        assert_eq!(row.await?.as_deref(), Some(&format!("row {key}")));
        Ok(())
    }

    async fn until_done(&self, jobs: &BTreeSet<u64>, entries: &BTreeSet<u64>) {
        while !self.done.lock().unwrap().is_superset(jobs) || !self.handled.lock().unwrap().is_superset(entries) {
            tokio::task::yield_now().await;
        }
    }
}

/// Redis refuses the type, or the library names it.
fn is_refusal(error: &impl Display) -> bool {
    error.to_string().contains("WRONGTYPE")
}

fn never(_: &impl Display) -> bool {
    false
}

/// What was accepted under the attacked names.
#[derive(Default)]
struct Accepted {
    /// Numbers of jobs, by their ids.
    jobs: BTreeMap<Vec<u8>, u64>,
    entries: BTreeSet<u64>,
    number: u64,
}

pub(super) async fn neighbors(mut round: Round) {
    let fleet = Fleet::redis().await;
    let keel = fleet.process().await;
    let link = keel.link().unwrap();
    let ours = Shop::open(&keel, ["mail", "row", "till", "orders"]).await;
    let others = Shop::open(&keel, ["parcels", "steady", "safe", "letters"]).await;
    let mut accepted = Accepted::default();
    for _ in 0..8 {
        work(&mut round, &keel, &ours, &mut accepted).await;
    }
    for _ in 0..round.number(3, 8) {
        let keys = keys(link, fleet.prefix(), round.one::<&str>(&ATTACKED)).await;
        if keys.is_empty() {
            continue;
        }
        let key = round.one(&keys).clone();
        let kinds: Vec<usize> = Neighbor::types().collect();
        let (kind, name) = (*round.one(&kinds), String::from_utf8_lossy(&key).into_owned());
        // What is accepted into another program's value of the same type is deleted with it. A cache heals also then.
        if !name.contains(":c:") && is_of_type(link, &key, kind).await {
            continue;
        }
        let neighbor = Neighbor::new(link, &name);
        neighbor.occupy(&key, "", kind).await.unwrap();
        round.misbehaves(format!("another program stores type {kind} under {name}"));
        for _ in 0..round.number(2, 8) {
            work(&mut round, &keel, &ours, &mut accepted).await;
        }
        serves(&round, &keel, &others).await;
        if name.contains(":c:") || name.contains(":l:") {
            // The library may have replaced it: an entry or a lock of the past is not put back.
            command(link, redis::cmd("DEL").arg(&key)).await;
            command(link, redis::cmd("DEL").arg(format!("{name}:aside"))).await;
        } else {
            neighbor.give_back(&key).await.unwrap();
        }
        round.step("the other program deletes its value");
        // A record that was replaced may be gone.
        if let Some(place) = key.windows(5).position(|part| part == b":job:") {
            accepted.jobs.remove(&key[place + 5..]);
        }
    }
    let jobs: BTreeSet<u64> = accepted.jobs.into_values().collect();
    fleet.while_time_passes(ours.until_done(&jobs, &accepted.entries)).await;
    round.checked((jobs.len() + accepted.entries.len()) as u64);
    fleet.while_time_passes(serves(&round, &keel, &ours)).await;
    for consumer in ours.consumers.iter().chain(&others.consumers) {
        assert!(!consumer.is_finished(), "a consumer ended");
        consumer.abort();
    }
}

/// One call under the attacked names.
async fn work(round: &mut Round, keel: &Keel, ours: &Shop, accepted: &mut Accepted) {
    accepted.number += 1;
    let (number, key, topic) = (accepted.number, round.number(1, 3), ours.queue.topic());
    match round.number(0, 12) {
        0..=2 => {
            let delay = Duration::from_millis(round.number(0, 1) * 1_000);
            let sent = ours.queue.job(&number).delay(delay).enqueue().await;
            let sent = round.result(format!("enqueue {number}"), sent, is_refusal);
            accepted.jobs.extend(sent.map(|sent| (sent.id.0.to_vec(), number)));
        }
        3..=4 => {
            let appended = ours.stream.append("a", &number).await;
            accepted.entries.extend(round.result(format!("append {number}"), appended, is_refusal).map(|_| number));
        }
        // A cache replaces foreign values.
        5 => drop(round.result(format!("get {key}"), ours.read(key).await, never)),
        6 => drop(round.result(format!("invalidate {key}"), ours.rows.invalidate(&key).await, never)),
        7 => {
            let written = ours.rows.write(&key, || async { Ok::<_, Infallible>(()) }).await;
            round.result(format!("write {key}"), written.map_err(|error| error.to_string()), never);
        }
        8 => {
            let guard = keel.lock(ours.lock).wait(Wait::No).acquire().await;
            if let Some(guard) = round.result("acquire", guard, never) {
                round.result("release", guard.release().await, never);
            }
        }
        9 => drop(round.result("stats", topic.stats().await, is_refusal)),
        10 => drop(round.result("peek", topic.peek(JobState::Waiting, None, 10).await, is_refusal)),
        11 => drop(round.result("revoke", topic.revoke(&[JobId([7; 16])]).await, is_refusal)),
        _ => other_settings(round, keel, key).await,
    }
}

/// Another program opens the same names with another codec, schema or shape.
async fn other_settings(round: &Round, keel: &Keel, key: u64) {
    let rows = keel.cache::<u64, String>("row").ttl(Duration::from_secs(5)).schema(7).open().await;
    let Some(rows) = round.result("open the cache with another schema", rows, |_| true) else { return };
    let load = async move { Ok::<_, Infallible>(Some(format!("row {key}"))) };
    let row = rows.get(&key, |_| load).await;
    round.result(format!("get {key} with another schema"), row, never);
    let opened = keel.queue::<u64>("mail").codec(MessagePack).open().await;
    round.result("open the queue with another codec", opened.map(drop), |_| true);
    let opened = keel.stream::<u64>("orders").partitions(3).open().await;
    round.result("open the stream with other partitions", opened.map(drop), |_| true);
}

/// Each capability does its work.
async fn serves(round: &Round, keel: &Keel, shop: &Shop) {
    shop.read(1).await.unwrap();
    shop.rows.invalidate(&1).await.unwrap();
    shop.read(1).await.unwrap();
    keel.lock(shop.lock).acquire().await.unwrap().release().await.unwrap();
    let number = u64::MAX - round.checked(4);
    shop.queue.now(&number).await.unwrap();
    shop.stream.append("b", &number).await.unwrap();
    shop.until_done(&BTreeSet::from([number]), &BTreeSet::from([number])).await;
}

/// Whether the value under this key has the type that this number means to [`Neighbor`].
async fn is_of_type(link: &Link, key: &[u8], kind: usize) -> bool {
    let found: String = redis::from_redis_value(command(link, redis::cmd("TYPE").arg(key)).await).unwrap();
    found == ["string", "hash", "list", "set", "zset", "stream"][kind]
}

async fn command(link: &Link, command: &redis::Cmd) -> redis::Value {
    link.command(b"", command).await.unwrap()
}

/// The keys under this prefix whose names contain this.
async fn keys(link: &Link, prefix: &str, part: &str) -> Vec<Vec<u8>> {
    let found = command(link, redis::cmd("KEYS").arg(format!("*{prefix}{part}*"))).await;
    let mut keys: Vec<Vec<u8>> = redis::from_redis_value(found).unwrap();
    keys.sort();
    keys
}
