//! Redis fails under load: redirects continue, and edits are never lost or undone.

use super::load::Load;
use crate::web::client::Client;
use crate::web::server::Server;
use serde_json::{Value, json};
use testkit::eventually;
use testkit::park;
use testkit::servers::{Redis, RedisOptions};

/// Responses that show that visitors are served: every link a few times.
const MANY: u64 = 600;

/// Visited links; more than the limit of concurrent loads.
const LINKS: usize = 200;

/// Without a near cache: redirects come from Redis or from the database.
async fn start() -> (Redis, Server, Load) {
    start_with(&["--near", "0"]).await
}

async fn start_with(arguments: &[&str]) -> (Redis, Server, Load) {
    let redis = Redis::start(RedisOptions::new()).await.unwrap();
    let server = Server::start_with(&[&["--redis", &redis.url()], arguments].concat());
    let mut load = Load::start(&server.client, LINKS).await;
    load.answered_more(MANY).await;
    (redis, server, load)
}

/// Waits until the service reports this state of Redis.
async fn redis_is(client: &Client, state: &str) {
    let what = format!("Redis is {state}");
    let reported = eventually(&what, || async {
        let ready = client.get("/readyz").await;
        assert_eq!(ready.status, 200, "without Redis the service is ready all the same");
        (ready.value()["redis"] == state).then_some(())
    });
    reported.await.unwrap();
}

/// The value of one line of `/metrics`.
async fn metric(client: &Client, line: &str) -> f64 {
    let metrics = client.get("/metrics").await;
    let value = metrics.text().lines().find_map(|found| found.strip_prefix(line)?.trim().parse().ok());
    value.unwrap_or_else(|| panic!("{line} is not in\n{}", metrics.text()))
}

/// Waits until redirects come from Redis again.
async fn hits_again(client: &Client, load: &mut Load) {
    const HITS: &str = r#"evenkeel_cache_hits_total{cache="link",tier="store",state="fresh"}"#;
    let before = metric(client, HITS).await;
    let more = eventually("the cache serves again", || async { (metric(client, HITS).await > before).then_some(()) });
    more.await.unwrap();
    load.answered_more(MANY).await;
}

/// While Redis is unreachable: visitors are served with at most 64 concurrent loads, and an edit commits.
async fn serve_through_redis_outage(server: &Server, load: &mut Load) -> String {
    load.answered_more(MANY).await;
    for _ in 0..20 {
        let loads = metric(&server.client, r#"evenkeel_cache_loads_in_progress{cache="link"}"#).await;
        assert!(loads <= 64.0, "{loads} loads at once");
    }
    let code = load.code();
    let consistency = load.edit(&server.client, &code, "https://example.com/edited/meanwhile").await;
    assert_eq!(consistency, "eventual", "the database has the edit, the invalidation is pending");
    // From now on this instance must not serve the cached state, which the visitors check as well.
    let followed = server.client.get(&format!("/{code}")).await;
    assert_eq!(followed.header("location"), Some("https://example.com/edited/meanwhile"));
    load.answered_more(MANY).await;
    code
}

// shows: S3
#[tokio::test]
async fn redirects_continue_while_redis_is_killed() {
    let (mut redis, server, mut load) = start().await;
    redis.kill().unwrap();
    redis_is(&server.client, "down").await;
    serve_through_redis_outage(&server, &mut load).await;
    redis.restart().await.unwrap();
    redis_is(&server.client, "up").await;
    hits_again(&server.client, &mut load).await;
}

/// A paused Redis keeps its entries, also the one from before the edit: the invalidation must come before the first hit.
// shows: S3, S4
#[tokio::test]
async fn redirects_continue_while_redis_is_paused() {
    let (mut redis, server, mut load) = start().await;
    redis.pause().unwrap();
    redis_is(&server.client, "down").await;
    let code = serve_through_redis_outage(&server, &mut load).await;
    redis.resume().unwrap();
    redis_is(&server.client, "up").await;
    let followed = server.client.get(&format!("/{code}")).await;
    assert_eq!(followed.header("location"), Some("https://example.com/edited/meanwhile"));
    hits_again(&server.client, &mut load).await;
    assert_eq!(load.edit(&server.client, &code, "https://example.com/edited/after").await, "consistent");
    load.answered_more(MANY).await;
}

/// A demoted primary still answers reads, with entries that cannot be invalidated.
// shows: S3, S4
#[tokio::test]
async fn redirects_continue_while_redis_is_replica() {
    let (redis, server, mut load) = start().await;
    // A replica of a primary that does not exist keeps its data and refuses writes.
    redis.command::<()>(&["REPLICAOF", "127.0.0.1", "1"]).await.unwrap();
    let code = load.code();
    let consistency = load.edit(&server.client, &code, "https://example.com/edited/first").await;
    assert_eq!(consistency, "eventual");
    redis_is(&server.client, "down").await;
    serve_through_redis_outage(&server, &mut load).await;
    redis.command::<()>(&["REPLICAOF", "NO", "ONE"]).await.unwrap();
    redis_is(&server.client, "up").await;
    hits_again(&server.client, &mut load).await;
}

// shows: S3
#[tokio::test]
async fn redirects_continue_while_redis_restarts() {
    let (mut redis, server, mut load) = start().await;
    restart_and_edit(&mut redis, &server, &mut load).await;
    redis_is(&server.client, "up").await;
    hits_again(&server.client, &mut load).await;
}

/// The near cache is served while Redis is unreachable, and never the state before an edit of this instance: the load checks every
/// response.
#[tokio::test]
async fn near_cache_stays_current_while_redis_restarts() {
    let (mut redis, server, mut load) = start_with(&[]).await;
    restart_and_edit(&mut redis, &server, &mut load).await;
    redis_is(&server.client, "up").await;
    load.answered_more(MANY).await;
}

async fn restart_and_edit(redis: &mut Redis, server: &Server, load: &mut Load) {
    for turn in 0..3 {
        redis.restart().await.unwrap();
        let code = load.code();
        load.edit(&server.client, &code, &format!("https://example.com/edited/{turn}")).await;
        load.answered_more(MANY).await;
    }
}

// shows: S3
#[tokio::test]
async fn redirects_continue_while_redis_is_flushed() {
    let (redis, server, mut load) = start().await;
    for turn in 0..5 {
        redis.command::<()>(&["FLUSHALL"]).await.unwrap();
        let code = load.code();
        let consistency = load.edit(&server.client, &code, &format!("https://example.com/edited/{turn}")).await;
        assert_eq!(consistency, "consistent");
        load.answered_more(MANY).await;
    }
    hits_again(&server.client, &mut load).await;
}

/// The other instance received no invalidation of an edit during the outage. It may serve the former target for a moment after
/// Redis is back, and serves the new one from then on.
// shows: S4
#[tokio::test]
async fn edit_during_redis_outage_reaches_other_instance() {
    let database = park::postgres_database().await.unwrap();
    let mut redis = Redis::start(RedisOptions::new()).await.unwrap();
    let start = || Server::start_with(&["--database", &database.url, "--redis", &redis.url()]);
    let (one, other) = (start(), start());
    let code = one.client.make(&json!({ "target": "https://example.com/before" })).await;
    let path = format!("/{code}");
    assert_eq!(other.client.get(&path).await.header("location"), Some("https://example.com/before"));

    redis.pause().unwrap();
    let patch = json!({ "target": "https://example.com/after" });
    let edited = one.client.json("PATCH", &format!("/api/links/{code}"), &patch).await;
    assert_eq!((edited.status, edited.consistency()), (200, "eventual"));
    assert_eq!(one.client.get(&path).await.header("location"), Some("https://example.com/after"));
    redis.resume().unwrap();

    let leads_to = async |server: &Server| server.client.get(&path).await.header("location").map(str::to_owned);
    let arrived = eventually("the edit reaches the other instance", || async {
        (leads_to(&other).await.as_deref() == Some("https://example.com/after")).then_some(())
    });
    arrived.await.unwrap();
    redis_is(&one.client, "up").await;
    redis_is(&other.client, "up").await;
    for server in [&one, &other, &one, &other] {
        assert_eq!(leads_to(server).await.as_deref(), Some("https://example.com/after"));
    }
}

/// The database is unreachable: cached redirects are served, everything else is refused with `Retry-After`.
#[tokio::test]
async fn cached_redirects_are_served_without_database() {
    let mut postgres = testkit::servers::Postgres::start(testkit::servers::PostgresOptions::new()).await.unwrap();
    let server = Server::start_with(&["--database", &postgres.url()]);
    let api = &server.client;
    let code = api.make(&json!({ "target": "https://example.com/cached" })).await;
    assert_eq!(api.get(&format!("/{code}")).await.status, 302);

    postgres.kill().unwrap();
    assert_eq!(api.get(&format!("/{code}")).await.header("location"), Some("https://example.com/cached"));
    for path in ["/never-asked-for", "/api/links", "/readyz", "/api/export"] {
        let answer = api.get(path).await;
        answer.problem(503, "unavailable");
        assert_eq!(answer.header("retry-after"), Some("1"), "{path}");
    }
    assert_eq!(api.get("/healthz").await.status, 200, "a restart of the service would not help");
    let refused = api.json("POST", "/api/links", &json!({ "target": "https://example.com/" })).await;
    assert_eq!(refused.status, 503, "{}", refused.text());
    let kinds = ["/docs#unavailable", "/docs#outcome-unknown"].map(Value::from);
    assert!(kinds.contains(&refused.value()["type"]), "{}", refused.text());
    let is_unknown = refused.value()["type"] == "/docs#outcome-unknown";
    assert_eq!(refused.consistency() == "unknown", is_unknown);

    postgres.restart().await.unwrap();
    let back = eventually("the database is back", || async { (api.get("/readyz").await.status == 200).then_some(()) });
    back.await.unwrap();
    api.make(&json!({ "target": "https://example.com/back" })).await;
}

/// Regression: a process was killed between its commit and the invalidation, and other instances served the former state until its
/// TTL of ten minutes ended. Now the invalidation is committed with the edit, and another instance carries it out.
// shows: S8, hazard D5
#[tokio::test]
async fn effects_of_killed_process_are_done_by_other_instance() {
    let database = park::postgres_database().await.unwrap();
    let redis = Redis::start(RedisOptions::new()).await.unwrap();
    // A batch of clicks is a commit, too.
    let (url, arguments) = (redis.url(), ["--clicks", "off", "--database", &database.url, "--redis"]);
    let arguments = [&arguments[..], &[&url]].concat();
    let other = Server::start_with(&arguments);
    // Its first commit is the edit.
    let mut one = Server::start_as(&arguments, ("EVENKEEL_CRASH_AT", "after_commit"));
    let code = other.client.make(&json!({ "target": "https://example.com/before" })).await;
    let path = format!("/{code}");
    let leads_to = async || other.client.get(&path).await.header("location").map(str::to_owned);
    assert_eq!(leads_to().await.as_deref(), Some("https://example.com/before"));

    let headers = [("content-type", "application/json")];
    let body = br#"{"target":"https://example.com/after"}"#;
    let edit = one.client.try_send("PATCH", &format!("/api/links/{code}"), &headers, body).await;
    assert!(edit.is_err(), "the client received no response to its edit");
    assert!(!one.child.wait().await.unwrap().success());
    assert_eq!(other.client.get(&format!("/api/links/{code}")).await.value()["target"], "https://example.com/after");
    let reported = eventually("the other instance sees to it", || async {
        (leads_to().await.as_deref() == Some("https://example.com/after")).then_some(())
    });
    reported.await.unwrap();
}
