//! `evenkeel queue` on a topic with `Durability::Sql`: its results hold, also after Redis has lost all data.

use crate::program::{Ran, evenkeel_async};
use evenkeel::Keel;
use evenkeel::queue::Queue;
use evenkeel::queue::{Found, State};
use evenkeel::sql::{Database, migrate};
use evenkeel_protocol::queue::steps::{Outcome, SettleAndClaim, Settled};
use serde_json::{Value, json};
use sqlx::Pool;
use std::time::Duration;
use testkit::conformance::queue::Consumer;
use testkit::park;
use testkit::servers::{Redis, RedisOptions};

const HOUR: Duration = Duration::from_secs(3_600);

struct Fixture<DB: Database> {
    redis: Redis,
    keel: Keel,
    pool: Pool<DB>,
    database: park::Database,
    queue: Queue<Value>,
}

impl<DB: Database> Fixture<DB> {
    async fn new(database: park::Database) -> Self {
        let redis = Redis::start(RedisOptions::new()).await.unwrap();
        let pool = Pool::<DB>::connect(&database.url).await.unwrap();
        migrate(&pool).await.unwrap();
        let keel = Keel::connect(&redis.url()).await.unwrap();
        let queue = keel.queue("mail").sql(&pool).open().await.unwrap();
        Self { redis, keel, pool, database, queue }
    }

    async fn run(&self, arguments: &[&str]) -> Ran {
        self.without_database(&[&["--database", &self.database.url], arguments].concat()).await
    }

    async fn without_database(&self, arguments: &[&str]) -> Ran {
        evenkeel_async(&[&["queue", "--redis", &self.redis.url()], arguments].concat()).await
    }

    async fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.run(&[arguments, &["--json"]].concat()).await.out).unwrap()
    }

    async fn add(&self, id: &str) {
        self.queue.job(&json!({ "to": id })).id(id).delay(HOUR).enqueue().await.unwrap();
    }

    /// Flushes Redis if `is_flushed`, then opens the queue again and runs its sweep.
    async fn reopen(&self, is_flushed: bool) {
        if is_flushed {
            self.redis.command::<()>(&["FLUSHALL"]).await.unwrap();
        }
        let again: Queue<Value> = self.keel.queue("mail").sql(&self.pool).open().await.unwrap();
        again.sweep_once().await.unwrap();
    }

    /// The due time of a job in Redis, if it is waiting.
    async fn due(&self, name: &str) -> Option<u64> {
        let id = evenkeel::queue::JobId::named(name.as_bytes());
        let (steps, shard) = self.queue.steps(&id);
        match steps.job(&shard, id).await.unwrap() {
            Some(Found::Live { state: State::Waiting(_), score, .. }) => Some(score),
            _ => None,
        }
    }

    async fn add_dead_letter(&self, name: &str) {
        let id = self.queue.job(&json!(1)).id(name).enqueue().await.unwrap().id;
        let (steps, shard) = self.queue.steps(&id);
        let mut worker = Consumer::default();
        // The clock of Redis may be slightly behind that of this process.
        let receipt = loop {
            let settled = steps.run(&shard, &worker.call(1)).await.unwrap();
            if let Settled::Done(claimed) = settled
                && let Some(delivered) = claimed.deliveries.first()
            {
                break delivered.receipt;
            }
        };
        let dead = vec![(receipt, Outcome::Dead { reason: "no".into() })];
        steps.run(&shard, &SettleAndClaim { settlements: dead, ..worker.call(0) }).await.unwrap();
    }
}

async fn job_changes_hold_after_flush<DB: Database>(database: park::Database) {
    let fixture = Fixture::<DB>::new(database).await;
    let now = fixture.queue.topic().now_ms();
    for is_flushed in [false, true] {
        let name = |what: &str| format!("{what} {is_flushed}");
        let [gone, moved, soon, edited, amended] = ["gone", "moved", "soon", "edited", "amended"].map(name);
        for id in [&gone, &moved, &soon, &edited, &amended] {
            fixture.add(id).await;
        }
        for words in [
            vec!["revoke", "mail", &gone],
            vec!["reschedule", "mail", &moved, "--in", "2d"],
            vec!["run", "mail", &soon],
            vec!["reschedule", "mail", &edited, "--in", "2d", "--body", "7"],
            vec!["amend", "mail", &amended, "8"],
            vec!["pause", "mail"],
        ] {
            let ran = fixture.run(&words).await;
            assert_eq!(ran.code, 0, "{words:?}: {}{}", ran.out, ran.err);
        }
        let added = fixture.run(&["add", "mail", "{}", "--id", &name("added"), "--in", "1h"]).await;
        assert_eq!(added.code, 0, "{}{}", added.out, added.err);
        fixture.reopen(is_flushed).await;
        assert_eq!(fixture.due(&gone).await, None, "revoked, flushed: {is_flushed}");
        assert!(fixture.due(&moved).await.unwrap() > now + 86_400_000, "moved, flushed: {is_flushed}");
        assert!(fixture.due(&soon).await.unwrap() < now + 1_800_000, "run now, flushed: {is_flushed}");
        for (id, body) in [(&edited, 7), (&amended, 8)] {
            let job = fixture.json(&["job", "mail", id]).await;
            assert_eq!((&job["state"], &job["body"]), (&json!("waiting"), &json!(body)), "{id}, flushed: {is_flushed}");
        }
        assert_eq!(fixture.json(&["why", "mail", &amended]).await["reason"], "not_due", "flushed: {is_flushed}");
        let newest = fixture.json(&["newest", "mail"]).await;
        let listed = newest["jobs"].as_array().unwrap().iter().any(|job| job["name"] == json!(amended));
        assert!(listed, "flushed: {is_flushed}: {newest}");
        assert!(fixture.due(&name("added")).await.is_some(), "added, flushed: {is_flushed}");
        assert!(fixture.queue.topic().stats().await.unwrap().is_paused(), "paused, flushed: {is_flushed}");
        let again = fixture.run(&["revoke", "mail", &gone]).await;
        assert_eq!((again.code, again.out.contains("revoked")), (0, true), "the same answer: {}", again.out);
        assert_eq!(fixture.run(&["resume", "mail"]).await.code, 0);
        fixture.run(&["revoke", "mail", &soon, &moved, &edited, &amended, &name("added")]).await;

        fixture.add_dead_letter(&name("dead")).await;
        let removed = fixture.run(&["dead", "rm", "mail", &name("dead"), "--confirm", "mail"]).await;
        assert_eq!(removed.code, 0, "{}{}", removed.out, removed.err);
        fixture.add_dead_letter(&name("all")).await;
        let removed = fixture.run(&["dead", "rm", "mail", "--all", "--confirm", "mail"]).await;
        assert_eq!(removed.code, 0, "{}{}", removed.out, removed.err);
        fixture.add_dead_letter(&name("back")).await;
        assert_eq!(fixture.json(&["dead", "redrive", "mail"]).await["taken"], 1);
        fixture.reopen(is_flushed).await;
        for id in ["dead", "all"].map(name) {
            assert_eq!(fixture.due(&id).await, None, "{id}: deleted, flushed: {is_flushed}");
        }
        assert_eq!(fixture.json(&["dead", "ls", "mail"]).await["jobs"], json!([]), "flushed: {is_flushed}");
        assert!(fixture.due(&name("back")).await.is_some(), "sent back, flushed: {is_flushed}");
        assert_eq!(fixture.run(&["revoke", "mail", &name("back")]).await.code, 0);
        let stats: Value = serde_json::from_str(&fixture.run(&["stats", "mail", "--json"]).await.out).unwrap();
        assert_eq!((&stats["rows"], &stats["redis_only"]), (&json!(0), &json!(false)));
    }
}

#[tokio::test]
async fn queue_answers_hold_after_flush_sqlite() {
    job_changes_hold_after_flush::<sqlx::Sqlite>(park::sqlite_database().unwrap()).await;
}

// shows: hazard F4
#[tokio::test]
async fn queue_answers_hold_after_flush_mariadb() {
    job_changes_hold_after_flush::<sqlx::MySql>(park::mariadb_database().await.unwrap()).await;
}

#[tokio::test]
async fn queue_answers_hold_after_flush_postgres() {
    job_changes_hold_after_flush::<sqlx::Postgres>(park::postgres_database().await.unwrap()).await;
}

/// A pause and a resume hold because the rows store them. Redis alone stores the number of shards; jobs are found with any number.
async fn topic_changes_hold_after_flush<DB: Database>(database: park::Database) {
    let fixture = Fixture::<DB>::new(database).await;
    let stats = async || serde_json::from_str::<Value>(&fixture.run(&["stats", "mail", "--json"]).await.out).unwrap();
    let shards = stats().await["shards"].as_u64().unwrap();
    for is_flushed in [false, true] {
        let name = format!("kept {is_flushed}");
        fixture.add(&name).await;
        assert_eq!(fixture.run(&["pause", "mail", "--for", "1d"]).await.code, 0);
        fixture.reopen(is_flushed).await;
        let paused = stats().await;
        assert_eq!(paused["paused"], json!(true), "flushed: {is_flushed}");
        let until = paused["paused_until_ms"].as_u64().unwrap();
        assert!(until > fixture.queue.topic().now_ms() + 80_000_000, "the same pause, flushed: {is_flushed}");
        assert_eq!(fixture.run(&["resume", "mail"]).await.code, 0);
        fixture.reopen(is_flushed).await;
        assert_eq!(stats().await["paused"], json!(false), "flushed: {is_flushed}");
        let grown = fixture.run(&["grow", "mail", &(shards * 2).to_string()]).await;
        assert_eq!(grown.code, 0, "{}{}", grown.out, grown.err);
        fixture.reopen(is_flushed).await;
        let expected = if is_flushed { shards } else { shards * 2 };
        assert_eq!(stats().await["shards"], json!(expected), "flushed: {is_flushed}");
        assert_eq!(fixture.run(&["job", "mail", &name]).await.code, 0, "it is known, flushed: {is_flushed}");
        assert_eq!(fixture.run(&["revoke", "mail", &name]).await.code, 0);
        fixture.reopen(is_flushed).await;
        assert_eq!(fixture.due(&name).await, None, "flushed: {is_flushed}");
    }
}

/// A dead letter stays dead until an operator redrives or deletes it, and is listed before the first sweep.
async fn dead_letters_hold_after_flush<DB: Database>(database: park::Database) {
    let fixture = Fixture::<DB>::new(database).await;
    let listed = async || {
        let page: Value = serde_json::from_str(&fixture.run(&["dead", "ls", "mail", "--json"]).await.out).unwrap();
        page["jobs"].as_array().unwrap().len()
    };
    for is_flushed in [false, true] {
        let [kept, back] = ["kept", "back"].map(|what| format!("{what} {is_flushed}"));
        for name in [&kept, &back] {
            fixture.add_dead_letter(name).await;
        }
        fixture.reopen(false).await;
        if is_flushed {
            fixture.redis.command::<()>(&["FLUSHALL"]).await.unwrap();
            let _: Queue<Value> = fixture.keel.queue("mail").sql(&fixture.pool).open().await.unwrap();
        }
        assert_eq!(listed().await, 2, "flushed: {is_flushed}");
        let redriven = fixture.run(&["dead", "redrive", "mail", &back, "--json"]).await;
        assert_eq!(serde_json::from_str::<Value>(&redriven.out).unwrap()["taken"], 1, "flushed: {is_flushed}");
        fixture.reopen(is_flushed).await;
        assert!(fixture.due(&back).await.is_some(), "it was sent back, flushed: {is_flushed}");
        assert_eq!((fixture.due(&kept).await, listed().await), (None, 1), "it was not, flushed: {is_flushed}");
        assert_eq!(fixture.run(&["dead", "rm", "mail", &kept, "--confirm", "mail"]).await.code, 0);
        fixture.reopen(is_flushed).await;
        assert_eq!((fixture.due(&kept).await, listed().await), (None, 0), "flushed: {is_flushed}");
        assert_eq!(fixture.run(&["revoke", "mail", &back]).await.code, 0);
    }
}

#[tokio::test]
async fn queue_dead_letters_hold_after_flush_sqlite() {
    dead_letters_hold_after_flush::<sqlx::Sqlite>(park::sqlite_database().unwrap()).await;
}

// shows: hazard F4d
#[tokio::test]
async fn queue_dead_letters_hold_after_flush_mariadb() {
    dead_letters_hold_after_flush::<sqlx::MySql>(park::mariadb_database().await.unwrap()).await;
}

#[tokio::test]
async fn queue_dead_letters_hold_after_flush_postgres() {
    dead_letters_hold_after_flush::<sqlx::Postgres>(park::postgres_database().await.unwrap()).await;
}

// shows: hazard F4e
#[tokio::test]
async fn queue_topic_changes_hold_after_flush_sqlite() {
    topic_changes_hold_after_flush::<sqlx::Sqlite>(park::sqlite_database().unwrap()).await;
}

#[tokio::test]
async fn queue_topic_changes_hold_after_flush_mariadb() {
    topic_changes_hold_after_flush::<sqlx::MySql>(park::mariadb_database().await.unwrap()).await;
}

#[tokio::test]
async fn queue_topic_changes_hold_after_flush_postgres() {
    topic_changes_hold_after_flush::<sqlx::Postgres>(park::postgres_database().await.unwrap()).await;
}

/// A job beyond the horizon is in its row alone.
#[tokio::test]
async fn queue_knows_jobs_beyond_the_horizon() {
    let mut fixture = Fixture::<sqlx::Sqlite>::new(park::sqlite_database().unwrap()).await;
    let far: Queue<Value> = fixture.keel.queue("far").sql(&fixture.pool).horizon(HOUR).open().await.unwrap();
    fixture.queue = far;
    for is_flushed in [false, true] {
        let name = format!("far {is_flushed}");
        fixture.queue.job(&json!(1)).id(&name).delay(10 * HOUR).enqueue().await.unwrap();
        assert_eq!(fixture.due(&name).await, None, "it is not in Redis");
        if is_flushed {
            fixture.redis.command::<()>(&["FLUSHALL"]).await.unwrap();
            let _: Queue<Value> = fixture.keel.queue("far").sql(&fixture.pool).horizon(HOUR).open().await.unwrap();
        }
        let json = async |words: &[&str]| {
            serde_json::from_str::<Value>(&fixture.run(&[words, &["--json"]].concat()).await.out).unwrap()
        };
        assert_eq!(json(&["job", "far", &name]).await["state"], "waiting", "flushed: {is_flushed}");
        assert_eq!(json(&["stats", "far"]).await["rows"], 1, "flushed: {is_flushed}");
        assert_eq!(json(&["peek", "far"]).await["jobs"].as_array().unwrap().len(), 1, "flushed: {is_flushed}");
        assert_eq!(fixture.run(&["revoke", "far", &name]).await.code, 0, "flushed: {is_flushed}");
        assert_eq!(json(&["stats", "far"]).await["rows"], 0, "flushed: {is_flushed}");
    }
}

// shows: hazard F4
#[tokio::test]
async fn queue_refuses_changes_without_the_database() {
    let fixture = Fixture::<sqlx::Sqlite>::new(park::sqlite_database().unwrap()).await;
    fixture.add("a").await;
    for words in [
        vec!["revoke", "mail", "a"],
        vec!["reschedule", "mail", "a", "--in", "1d"],
        vec!["run", "mail", "a"],
        vec!["amend", "mail", "a", "1"],
        vec!["pause", "mail"],
        vec!["resume", "mail"],
        vec!["add", "mail", "{}"],
        vec!["dead", "rm", "mail", "a", "--confirm", "mail"],
        vec!["dead", "rm", "mail", "--all", "--confirm", "mail"],
        vec!["dead", "redrive", "mail"],
        vec!["job", "mail", "unknown"],
    ] {
        let ran = fixture.without_database(&words).await;
        assert_eq!(
            (ran.code, ran.out.as_str(), ran.err.contains("--database URL")),
            (2, "", true),
            "{words:?}: {}",
            ran.err
        );
    }
    for words in [vec!["peek", "mail"], vec!["stats", "mail"], vec!["dead", "ls", "mail"]] {
        let ran = fixture.without_database(&words).await;
        assert_eq!((ran.code, ran.out.contains("Redis only")), (0, true), "{words:?}: {}", ran.out);
        assert!(!fixture.run(&words).await.out.contains("Redis only"), "{words:?}");
    }
    assert!(fixture.due("a").await.is_some());
}
