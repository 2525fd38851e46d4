//! Links that end are switched off by a delayed job, wherever their jobs are kept.

use crate::web::client::Client;
use crate::web::server::Server;
use evenkeel::Keel;
use evenkeel::clock::Clock;
use evenkeel::link::LinkOptions;
use evenkeel::queue::topic::Topic;
use evenkeel::queue::{End, JobId};
use evenkeel::queue::{Found, State};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use shortlink::store::Store;
use testkit::eventually;
use testkit::park;

/// A moment after now, to the millisecond.
fn after(span: SignedDuration) -> Timestamp {
    let moment = Timestamp::now() + span;
    Timestamp::from_millisecond(moment.as_millisecond()).unwrap()
}

async fn make(client: &Client, alias: &str, end: Option<Timestamp>) {
    let link = json!({ "target": "https://example.com/", "alias": alias, "expires_at": end });
    assert_eq!(client.json("POST", "/api/links", &link).await.status, 201);
}

/// How many links the service says it has switched off.
async fn switched_off(client: &Client) -> Option<u64> {
    let page = client.get("/metrics").await;
    page.text().lines().find_map(|line| line.strip_prefix("shortlink_links_ended_total ")?.parse().ok())
}

async fn is_switched_off(client: &Client, links: u64) {
    eventually("the job runs", async || (switched_off(client).await == Some(links)).then_some(())).await.unwrap();
}

#[tokio::test]
async fn expiry_job_marks_link_as_ended() {
    let server = Server::start();
    make(&server.client, "short", Some(after(SignedDuration::from_millis(700)))).await;
    make(&server.client, "long", Some(after(SignedDuration::from_hours(1)))).await;
    assert_eq!(server.client.get("/long").await.status, 302);
    is_switched_off(&server.client, 1).await;
    assert_eq!(server.client.get("/short").await.status, 410);
    assert_eq!(server.client.get("/long").await.status, 302);
}

/// The embedded store loses its jobs with its process; they are restored from the links' expiry times in the database.
// shows: S8
#[tokio::test]
async fn restart_restores_expiry_jobs_of_embedded_store() {
    let server = Server::start();
    let end = after(SignedDuration::from_secs(4));
    make(&server.client, "short", Some(end)).await;
    let server = server.restart().await;
    is_switched_off(&server.client, 1).await;
    assert!(Timestamp::now() >= end, "not before its end");
}

async fn job(topic: &Topic, code: &str) -> Option<Found> {
    topic.job(JobId::named(format!("end/{code}").as_bytes())).await.unwrap()
}

// shows: S8
#[tokio::test]
async fn expiry_job_follows_changes_of_link() {
    let redis = park::redis().await.unwrap();
    let address = format!("{}?prefix={}", redis.url, redis.prefix);
    let folder = tempfile::tempdir().unwrap();
    let database = format!("sqlite:{}", folder.path().join("links.db").display());
    let server = Server::start_with(&["--redis", &address, "--database", &database]);
    let client = &server.client;
    let (soon, later) = (after(SignedDuration::from_hours(1)), after(SignedDuration::from_hours(20)));
    make(client, "edited", Some(soon)).await;
    make(client, "freed", Some(soon)).await;
    make(client, "deleted", Some(soon)).await;
    make(client, "endless", None).await;

    // Services that share a Redis have a prefix each, named after their database.
    let store = Store::open_as_is(&database.parse().unwrap(), Clock::system()).await.unwrap();
    let mut options = LinkOptions::from_url(&redis.url).unwrap();
    options.prefix = format!("{}-{}", redis.prefix, store.name());
    let keel = Keel::builder().connect_with(options).await.unwrap();
    let pool = sqlx::SqlitePool::connect(&database).await.unwrap();
    let topic = keel.topic("link-ends").await.unwrap().sql(&pool);
    let due = async |code: &str| match job(&topic, code).await {
        Some(Found::Live { state: State::Waiting(_), score, .. }) => Some(score),
        _ => None,
    };
    let ms = |end: Timestamp| u64::try_from(end.as_millisecond()).ok();
    assert_eq!((due("edited").await, due("endless").await), (ms(soon), None));

    assert_eq!(client.json("PATCH", "/api/links/edited", &json!({ "expires_at": later })).await.status, 200);
    assert_eq!(due("edited").await, ms(later));
    assert_eq!(
        client.json("PATCH", "/api/links/edited", &json!({ "target": "https://example.org/" })).await.status,
        200
    );
    assert_eq!(due("edited").await, ms(later), "an edit of something else leaves it alone");
    assert_eq!(client.json("PATCH", "/api/links/freed", &json!({ "expires_at": null })).await.status, 200);
    assert_eq!(due("freed").await, None);
    assert_eq!(client.delete("/api/links/deleted").await.status, 204);
    let ended = job(&topic, "deleted").await;
    assert!(matches!(&ended, Some(Found::Ended(completion)) if completion.end == End::Revoked), "{ended:?}");
    // The same code again, with an end of its own.
    make(client, "deleted", Some(later)).await;
    assert_eq!(due("deleted").await, ms(later));
}
