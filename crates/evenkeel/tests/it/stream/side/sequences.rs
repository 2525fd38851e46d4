//! Histories of `OnFailure::DeadLetterSequence` while Redis refuses settlements of dead letters: once an entry of a key has been decided to be
//! a dead letter, no later entry of the key is handled, whenever it was read.

use super::rig::{Rig, all_settled, in_time, letters, open};
use evenkeel::stream::{Entry, Handled, OnFailure, RetryDelay};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng};
use serde::Serialize;
use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Says which seeds the long run tries: `A..B`, both included.
const SEEDS: &str = "EVENKEEL_SIM_SEEDS";
const KEYS: [&str; 3] = ["a", "b", "c"];
const RETRIES: u32 = 2;
/// An id after which a log accepts no other one.
const LAST_ID: &str = "18446744073709551615-18446744073709551615";

#[derive(Debug, Default, Serialize)]
struct Tally {
    /// The last of the seeds counted.
    sequence_seed: u64,
    sequence_histories: u64,
    entries: u64,
    handled: u64,
    dead: u64,
    /// How often settlements of dead letters were refused for a time.
    refusals: u64,
    violations: u64,
}

/// Entries 9 to 12 of a key were handled although entry 8 had died: its settlement had failed, and they were read before it was repeated.
// shows: T4, hazard SF1
#[tokio::test]
async fn no_entry_overtakes_a_dead_letter_whose_settlement_is_refused() {
    let tally = run(1..=3).await;
    assert_eq!(tally.violations, 0, "{tally:?}");
    assert!(tally.dead > 20 && tally.refusals > 3, "a check of nothing: {tally:?}");
}

/// The long run of `cargo xtask sim sequences`: one line a seed, and one with the sums.
#[tokio::test]
#[ignore = "the long run, for `cargo xtask sim sequences`"]
async fn long_run() {
    let Ok(seeds) = std::env::var(SEEDS) else { return };
    let (first, last) = seeds.split_once("..").unwrap();
    let tally = run(first.parse().unwrap()..=last.parse().unwrap()).await;
    println!("{}", serde_json::to_string(&tally).unwrap());
    assert_eq!(tally.violations, 0, "{tally:?}");
}

async fn run(seeds: RangeInclusive<u64>) -> Tally {
    let mut all = Tally::default();
    for seed in seeds {
        let mut one = Tally::default();
        in_time(async { one = play(seed).await }).await;
        println!("{}", serde_json::to_string(&one).unwrap());
        all.sequence_seed = one.sequence_seed;
        all.sequence_histories += one.sequence_histories;
        all.entries += one.entries;
        all.handled += one.handled;
        all.dead += one.dead;
        all.refusals += one.refusals;
        all.violations += one.violations;
    }
    all
}

/// What the handlers have seen and decided.
#[derive(Default)]
struct Ledger {
    handled: u64,
    /// The number of the first dead entry of a key.
    died: HashMap<String, u64>,
    violations: Vec<String>,
}

impl Ledger {
    /// Decides about an entry, as its numbers say.
    fn decide(&mut self, seed: u64, entry: &Entry<String>) -> Result<Handled, String> {
        let key = String::from_utf8_lossy(&entry.key).into_owned();
        let number: u64 = entry.value.parse().unwrap();
        if let Some(died) = self.died.get(&key)
            && number > *died
        {
            self.violations.push(format!("seed {seed}: entry {number} of {key} was handled after {died} had died"));
        }
        let drawn = StdRng::seed_from_u64(seed ^ (number << 8) ^ (u64::from(entry.attempt) << 32)).random_range(0..100);
        let dies = drawn < 6 || (drawn < 30 && entry.attempt > RETRIES);
        if dies {
            self.died.entry(key).or_insert(number);
        }
        match drawn {
            0..6 => Ok(Handled::Dead("drawn".to_owned())),
            6..30 => Err("drawn".to_owned()),
            _ => {
                self.handled += 1;
                Ok(Handled::Done)
            }
        }
    }
}

async fn play(seed: u64) -> Tally {
    let rig = Rig::redis().await;
    let orders = rig.orders(1).await;
    let dead_log = format!("{{{}:s:orders:0}}:g:billing:dead", rig.prefix());
    let ledger = Arc::new(Mutex::new(Ledger::default()));
    let group = orders.group("billing").per_key(OnFailure::DeadLetterSequence);
    let group = group.retries(2).retry_delay(RetryDelay::fixed(Duration::from_millis(700)));
    let consumer = group.handle({
        let ledger = Arc::clone(&ledger);
        move |entry: Entry<String>| {
            let decided = ledger.lock().unwrap().decide(seed, &entry);
            async move { decided }
        }
    });
    let office = open(consumer.concurrency(2).buffer(4));
    let random = &mut StdRng::seed_from_u64(seed);
    let mut tally = Tally { sequence_seed: seed, sequence_histories: 1, ..Tally::default() };
    for _ in 0..8 {
        let heals_at = match random.random_bool(0.6) {
            true => Some(refuse_dead_letters(&rig, &dead_log).await),
            false => None,
        };
        tally.refusals += u64::from(heals_at.is_some());
        for _ in 0..random.random_range(4..16) {
            tally.entries += 1;
            let key = KEYS[random.random_range(0..KEYS.len())];
            orders.append(key, &tally.entries.to_string()).await.unwrap();
        }
        let calls = random.random_range(1..12);
        rig.while_time_passes(async {
            for _ in 0..calls {
                orders.admin().groups().await.unwrap();
            }
        })
        .await;
        if let Some(last) = heals_at {
            rig.command(dead_log.as_bytes(), redis::cmd("XSETID").arg(&dead_log).arg(last)).await;
        }
    }
    rig.while_time_passes(all_settled(&orders)).await;
    office.close().await;
    tally.dead = letters(&orders).await.len() as u64;
    let ledger = ledger.lock().unwrap();
    tally.handled = ledger.handled;
    let mut violations = ledger.violations.clone();
    if tally.handled + tally.dead != tally.entries {
        violations.push(format!("seed {seed}: an entry is neither done nor a dead letter, or both: {tally:?}"));
    }
    for violation in &violations {
        eprintln!("{violation}; `cargo xtask sim sequences {seed}` plays it again");
    }
    tally.violations = violations.len() as u64;
    tally
}

/// Makes the log of dead letters refuse every further one; returns the id to which it is set back.
async fn refuse_dead_letters(rig: &Rig, dead_log: &str) -> String {
    let send = async |cmd: &redis::Cmd| rig.command(dead_log.as_bytes(), cmd).await;
    send(redis::cmd("XGROUP").arg("CREATE").arg(dead_log).arg("test").arg("$").arg("MKSTREAM")).await;
    send(redis::cmd("XGROUP").arg("DESTROY").arg(dead_log).arg("test")).await;
    send(redis::cmd("XSETID").arg(dead_log).arg(LAST_ID)).await;
    // Only now, because a settlement may have added a letter before.
    let last = send(redis::cmd("XREVRANGE").arg(dead_log).arg("+").arg("-").arg("COUNT").arg(1)).await;
    let last: Vec<(String, Vec<Vec<u8>>)> = redis::from_redis_value(last).unwrap();
    last.into_iter().next().map_or_else(|| "0-1".to_owned(), |(id, _)| id)
}
