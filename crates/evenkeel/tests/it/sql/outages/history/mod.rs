//! One history: a process commits units of work of random sizes; Redis may be away before, during or after each commit.

pub(super) mod tally;

use super::{quick, until_up};
use crate::sql::rig::{Sql, pool};
use evenkeel::Keel;
use evenkeel::cache::Cache;
use evenkeel::queue::Queue;
use evenkeel::queue::topic::JobState;
use evenkeel::sql::migrate;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use sqlx::Pool;
use std::time::Duration;
use tally::Tally;
use testkit::park::SharedRedis;
use testkit::{Door, eventually_within};

/// Entries of each unit of work that are read: its first, its last, and some between.
const SAMPLE: usize = 16;
/// Longer than any of them needs on a loaded machine.
const DONE_MAX: Duration = Duration::from_secs(120);

/// The scale of a history.
#[derive(Clone, Copy)]
pub(super) struct Plan {
    pub(super) units: u64,
    /// The effects of the first unit of work; the others have fewer.
    pub(super) effects_max: u64,
    pub(super) in_flight_max: u64,
}

/// When Redis goes away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outage {
    Never,
    Before,
    During,
}

/// A process.
struct Process {
    keel: Keel,
    items: Cache<i64, i64>,
    jobs: Queue<u64>,
}

impl Process {
    async fn start(url: &str) -> Self {
        let keel = Keel::connect(url).await.unwrap();
        let items = keel.cache("items").ttl(Duration::from_secs(600)).open().await.unwrap();
        let jobs = keel.queue("jobs").open().await.unwrap();
        Self { keel, items, jobs }
    }

    /// How many of these entries differ from SQL.
    async fn stale<DB: Sql>(&self, pool: &Pool<DB>, keys: &[i64]) -> u64 {
        let mut stale = 0;
        for key in keys {
            let sql = format!("SELECT units FROM items WHERE id = {key}");
            let expected = DB::number(&mut pool.acquire().await.unwrap(), &sql).await.unwrap();
            let load = async move { Ok::<_, std::io::Error>(expected) };
            let found = Box::pin(self.items.get(key, |_| load)).await.unwrap();
            stale += u64::from(found.map(|units| *units) != expected);
        }
        stale
    }
}

/// A size between 1 and `max`, each magnitude as likely as the others.
fn size(random: &mut StdRng, max: u64) -> u64 {
    let bits = random.random_range(0..=max.ilog2());
    random.random_range((1_u64 << bits)..(2_u64 << bits)).min(max)
}

fn sample(random: &mut StdRng, effects: u64) -> Vec<i64> {
    let last = i64::try_from(effects - 1).unwrap();
    let mut keys: Vec<i64> = (2..SAMPLE).map(|_| random.random_range(0..=last)).collect();
    keys.extend([0, last]);
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// The rows that units of work change.
async fn fill<DB: Sql>(pool: &Pool<DB>, rows: u64) {
    let mut connection = pool.acquire().await.unwrap();
    let table = "CREATE TABLE items (id BIGINT NOT NULL PRIMARY KEY, units BIGINT NOT NULL)";
    DB::run(&mut connection, table).await.unwrap();
    let ids: Vec<u64> = (0..=rows).collect();
    for part in ids.chunks(1_000) {
        let values: Vec<String> = part.iter().map(|id| format!("({id}, 0)")).collect();
        let insert = format!("INSERT INTO items (id, units) VALUES {}", values.join(", "));
        DB::run(&mut connection, &insert).await.unwrap();
    }
}

pub(super) async fn play<DB: Sql>(server: &SharedRedis, seed: u64, plan: Plan) -> Tally {
    let mut random = StdRng::seed_from_u64(seed);
    let mut tally = Tally::of(seed);
    let door = Door::closed(&server.url).unwrap();
    door.open();
    let prefix = format!("{}u{seed}", server.prefix);
    let url = format!("{}&in_flight_max={}", quick(&door.url(&server.url).unwrap(), &prefix), plan.in_flight_max);
    let (home, other) = (Process::start(&url).await, Process::start(&url).await);
    let database = DB::fresh().await;
    let pool = pool::<DB>(&database.url, 4).await;
    migrate(&pool).await.unwrap();
    fill(&pool, plan.effects_max).await;

    let (mut keys, mut jobs) = (Vec::new(), 0);
    for number in 0..plan.units {
        let effects = if number == 0 { plan.effects_max } else { size(&mut random, plan.effects_max) };
        let outage = [Outage::Never, Outage::Before, Outage::During][random.random_range(0..3)];
        let sampled = sample(&mut random, effects);
        tally.stale_elsewhere += other.stale(&pool, &sampled).await * u64::from(number == 0);
        tally.stale_at_home += home.stale(&pool, &sampled).await;
        jobs += commit(&mut random, (&home, &pool, &door), (effects, outage), &mut tally).await;
        tally.reads += sampled.len() as u64;
        tally.stale_at_home += home.stale(&pool, &sampled).await;
        if outage != Outage::Never && random.random() {
            // A relay meets the outage.
            due(&pool).await;
            _ = other.keel.relay(&pool).run_once().await;
        }
        door.open();
        if random.random() {
            tally.unfinished += u64::from(!is_done(&other.keel, &pool).await);
        }
        until_up(&home.keel, true).await;
        tally.stale_at_home += home.stale(&pool, &sampled).await;
        keys.extend(sampled);
    }
    tally.unfinished += u64::from(!is_done(&other.keel, &pool).await);
    keys.sort_unstable();
    keys.dedup();
    tally.stale_elsewhere += other.stale(&pool, &keys).await;
    let waiting = other.jobs.topic().list(JobState::Waiting, None, 500).await.unwrap();
    tally.jobs_wrong += jobs.abs_diff(waiting.len() as u64);
    tally
}

/// Commits a unit of work that changes `effects` rows, and sends a job now and then. Returns how many jobs it sent.
async fn commit<DB: Sql>(
    random: &mut StdRng,
    (home, pool, door): (&Process, &Pool<DB>, &Door),
    (effects, outage): (u64, Outage),
    tally: &mut Tally,
) -> u64 {
    let mut work = home.keel.begin(pool).await.unwrap();
    let change = format!("UPDATE items SET units = units + 1 WHERE id < {effects}");
    DB::run(work.tx(), &change).await.unwrap();
    for key in 0..i64::try_from(effects).unwrap() {
        work.invalidate(&home.items, &key).unwrap();
    }
    let jobs = if random.random() { random.random_range(1..=20) } else { 0 };
    for job in 0..jobs {
        work.enqueue(home.jobs.job(&job).delay(Duration::from_secs(3_600))).unwrap();
    }
    tally.outages += u64::from(outage != Outage::Never);
    if outage == Outage::Before {
        door.close();
    }
    let turns = random.random_range(0..2_000);
    let closing = async {
        for _ in 0..turns {
            tokio::task::yield_now().await;
        }
        if outage == Outage::During {
            door.close();
        }
    };
    let (committed, ()) = tokio::join!(Box::pin(work.commit()), closing);
    tally.left += u64::from(!committed.unwrap().carried_out);
    tally.units += 1;
    tally.effects += effects + jobs;
    tally.largest = tally.largest.max(effects);
    jobs
}

/// The rows that no relay has claimed are due now.
async fn due<DB: Sql>(pool: &Pool<DB>) {
    let due = "UPDATE evenkeel_outbox SET due_at = 1 WHERE state = 1 AND claim IS NULL";
    DB::run(&mut pool.acquire().await.unwrap(), due).await.unwrap();
}

/// Lets relays that have just started carry out what is left, and returns whether they did.
async fn is_done<DB: Sql>(keel: &Keel, pool: &Pool<DB>) -> bool {
    let pass = || async {
        due(pool).await;
        keel.relay(pool).run_once().await.unwrap();
        let left = "SELECT COUNT(*) FROM evenkeel_outbox WHERE state <> 2";
        let left = DB::number(&mut pool.acquire().await.unwrap(), left).await.unwrap();
        (left == Some(0)).then_some(())
    };
    eventually_within(DONE_MAX, "all units of work are done", pass).await.is_ok()
}
