//! Clicks are exact: every click that was appended is counted once, whichever instances are killed.

use crate::web::client::Client;
use crate::web::server::Server;
use evenkeel::Keel;
use evenkeel::clock::Clock;
use evenkeel::link::LinkOptions;
use evenkeel::stream::admin::StreamAdmin;
use serde_json::json;
use shortlink::store::Store;
use testkit::park::SharedRedis;
use testkit::servers::{Redis, RedisOptions};
use testkit::{eventually, park};

const AGENT: [(&str, &str); 1] =
    [("user-agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")];

/// Links that are followed, so that an append has several entries.
const LINKS: usize = 12;

async fn make_links(client: &Client) {
    for number in 0..LINKS {
        client.make(&json!({ "target": "https://example.com/", "alias": format!("link-{number}") })).await;
    }
}

/// Follows every link so many times. Returns the number of redirects.
async fn follow_all(client: &Client, times: usize) -> u64 {
    for number in (0..times).flat_map(|_| 0..LINKS) {
        assert_eq!(client.send("GET", &format!("/link-{number}"), &AGENT, b"").await.status, 302);
    }
    u64::try_from(times * LINKS).unwrap()
}

/// The value of a metric, or 0.
async fn metric(client: &Client, name: &str) -> u64 {
    let metrics = client.get("/metrics").await;
    let value = metrics.text().lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    value.unwrap_or(0)
}

async fn appended(client: &Client, clicks: u64) {
    let all = eventually("the clicks are appended", || async {
        (metric(client, "shortlink_clicks_appended_total ").await == clicks).then_some(())
    });
    all.await.unwrap();
}

/// The clicks of all links.
async fn total(client: &Client) -> u64 {
    let mut sum = 0;
    for number in 0..LINKS {
        let answer = client.get(&format!("/api/links/link-{number}/clicks")).await;
        sum += answer.value()["total"]["clicks"].as_u64().unwrap();
    }
    sum
}

async fn counted(client: &Client, clicks: u64) {
    let all = eventually("the clicks are counted", || async { (total(client).await == clicks).then_some(()) });
    all.await.unwrap();
}

/// The stream of clicks of the services on this database.
async fn stream(redis: &SharedRedis, database: &str) -> StreamAdmin {
    let store = Store::open_as_is(&database.parse().unwrap(), Clock::system()).await.unwrap();
    let mut options = LinkOptions::from_url(&redis.url).unwrap();
    options.prefix = format!("{}-{}", redis.prefix, store.name());
    store.close().await;
    Keel::builder().connect_with(options).await.unwrap().stream_admin("clicks").await.unwrap()
}

/// Each instance is killed right after its commit of folded clicks, before it settles their entries: the next one gets them again. The
/// last one is not killed, and finds every click counted once.
// shows: S13
#[tokio::test]
async fn clicks_are_counted_once_after_kills_before_settlement() {
    let database = park::mariadb_database().await.unwrap();
    let redis = park::redis().await.unwrap();
    let address = format!("{}?prefix={}", redis.url, redis.prefix);
    let arguments = ["--database", &database.url, "--redis", &address];
    let mut first = Server::start_with(&arguments);
    let stream = stream(&redis, &database.url).await;
    let exists = eventually("the group exists", || async { stream.pause("counters", None).await.ok() });
    exists.await.unwrap();
    make_links(&first.client).await;
    let redirects = follow_all(&first.client, 2).await;
    assert!(first.terminate().await.success(), "{}", first.log());
    stream.resume("counters").await.unwrap();
    for _ in 0..2 {
        // Its first commit is that of a batch of clicks.
        let mut killed = Server::start_as(&arguments, ("EVENKEEL_CRASH_AT", "after_commit"));
        assert!(!killed.child.wait().await.unwrap().success());
    }
    let last = Server::start_with(&arguments);
    counted(&last.client, redirects).await;
    let settled = eventually("everything is settled", || async {
        let groups = stream.groups().await.ok()?;
        groups.iter().all(|group| group.pending() == 0).then_some(())
    });
    settled.await.unwrap();
    counted(&last.client, redirects).await;
    // What was delivered again was added by the killed instances.
    let folded = metric(&last.client, "shortlink_clicks_folded_total ").await;
    assert!(folded < redirects, "{folded} of {redirects}");
}

/// Instances are killed at random points while clicks are appended and folded.
// shows: S13
#[tokio::test]
async fn appended_clicks_are_counted_once_after_random_kills() {
    let database = park::postgres_database().await.unwrap();
    let redis = park::redis().await.unwrap();
    let address = format!("{}?prefix={}", redis.url, redis.prefix);
    let arguments = ["--database", &database.url, "--redis", &address];
    let last = Server::start_with(&arguments);
    make_links(&last.client).await;
    let mut redirects = 0;
    for round in 1..4 {
        let mut killed = Server::start_with(&arguments);
        let served = follow_all(&killed.client, round).await;
        appended(&killed.client, served).await;
        killed.child.kill().unwrap();
        redirects += served + follow_all(&last.client, 1).await;
    }
    counted(&last.client, redirects).await;
}

/// While Redis is unreachable redirects go on, their clicks wait in the process, and are counted afterwards.
// shows: S13
#[tokio::test]
async fn clicks_during_redis_outage_are_counted_afterwards() {
    let mut redis = Redis::start(RedisOptions::new()).await.unwrap();
    let server = Server::start_with(&["--redis", &redis.url()]);
    make_links(&server.client).await;
    let mut redirects = follow_all(&server.client, 1).await;
    counted(&server.client, redirects).await;
    redis.pause().unwrap();
    redirects += follow_all(&server.client, 2).await;
    redis.resume().unwrap();
    counted(&server.client, redirects).await;
    assert_eq!(metric(&server.client, "shortlink_clicks_dropped_total{reason=\"buffer_full\"} ").await, 0);
}

/// The counters are in the database: while it is unreachable the entries stay in the stream.
// shows: S13
#[tokio::test]
async fn clicks_during_database_outage_are_counted_afterwards() {
    let mut postgres = testkit::servers::Postgres::start(testkit::servers::PostgresOptions::new()).await.unwrap();
    let redis = park::redis().await.unwrap();
    let address = format!("{}?prefix={}", redis.url, redis.prefix);
    let server = Server::start_with(&["--database", &postgres.url(), "--redis", &address]);
    make_links(&server.client).await;
    let mut redirects = follow_all(&server.client, 1).await;
    postgres.kill().unwrap();
    redirects += follow_all(&server.client, 2).await;
    appended(&server.client, redirects).await;
    postgres.restart().await.unwrap();
    let back = eventually("the database is back", || async {
        (server.client.get("/readyz").await.status == 200).then_some(())
    });
    back.await.unwrap();
    counted(&server.client, redirects).await;
}

/// Entries that another program appends do not hold up those of this one: a malformed one becomes a dead letter.
// shows: S13, hazard S23
#[tokio::test]
async fn malformed_entry_is_a_dead_letter_and_others_are_counted() {
    let database = park::postgres_database().await.unwrap();
    let redis = park::redis().await.unwrap();
    let address = format!("{}?prefix={}", redis.url, redis.prefix);
    let server = Server::start_with(&["--database", &database.url, "--redis", &address]);
    make_links(&server.client).await;
    let stream = stream(&redis, &database.url).await;
    let exists = eventually("the group exists", || async { stream.pause("counters", None).await.ok() });
    exists.await.unwrap();
    let entry = |source: &str, day: i64, people: u64| {
        let link = |day: i64, people: u64| json!({ "code": "link-0", "day": day, "people": people, "bots": 0 });
        // One well-formed link does not make it count.
        json!({ "source": source, "number": 1, "links": [link(20_000, 1), link(day, people)] })
    };
    let malformed = [
        entry(&"x".repeat(300), 20_000, 1),
        entry("a\0b", 20_000, 1),
        entry("far", i64::MAX, 1),
        entry("many", 20_000, u64::MAX),
        json!({ "source": "code", "number": 1, "links": [{ "code": "a/b", "day": 1, "people": 1, "bots": 0 }] }),
        json!({ "source": 1 }),
    ];
    for value in &malformed {
        stream.append(b"link-0", value.to_string().into(), None).await.unwrap();
    }
    let redirects = follow_all(&server.client, 1).await;
    appended(&server.client, redirects).await;
    stream.resume("counters").await.unwrap();
    counted(&server.client, redirects).await;
    let dead = eventually("the malformed entries are dead letters", || async {
        let groups = stream.groups().await.ok()?;
        let dead: u64 = groups.iter().map(|group| group.dead()).sum();
        (dead == malformed.len() as u64 && groups.iter().all(|group| group.pending() == 0)).then_some(())
    });
    dead.await.unwrap();
    let log = server.log();
    for problem in ["its source is not", "its day is not", "more clicks than a process counts", "one of its codes"] {
        assert!(log.contains(problem), "{problem}: {log}");
    }
}

/// A stop appends what is in the buffer; another instance counts it.
// shows: S13
#[tokio::test]
async fn stopped_instance_appends_its_clicks() {
    let database = park::mariadb_database().await.unwrap();
    let redis = park::redis().await.unwrap();
    let address = format!("{}?prefix={}", redis.url, redis.prefix);
    let arguments = ["--database", &database.url, "--redis", &address];
    let (mut one, other) = (Server::start_with(&arguments), Server::start_with(&arguments));
    make_links(&one.client).await;
    let redirects = follow_all(&one.client, 2).await;
    assert!(one.terminate().await.success(), "{}", one.log());
    counted(&other.client, redirects).await;
}
