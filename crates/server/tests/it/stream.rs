//! `evenkeel stream` against a real Redis.

use crate::program::{Ran, evenkeel_async};
use evenkeel::Keel;
use evenkeel::stream::admin::{LetterFilter, StreamAdmin};
use evenkeel::stream::{Entry, OnFailure, Stream};
use serde_json::{Value, json};
use testkit::eventually;
use testkit::park::{self, SharedRedis};
use testkit::servers::{Redis, RedisOptions};

/// A Redis with a stream `orders` of two partitions.
struct Fixture {
    _redis: Option<SharedRedis>,
    url: String,
    keel: Keel,
    orders: Stream<Value>,
}

impl Fixture {
    async fn new() -> Self {
        let redis = park::redis().await.unwrap();
        let url = format!("{}?prefix={}", redis.url, redis.prefix);
        Self { _redis: Some(redis), ..Self::on(url).await }
    }

    /// On the Redis of a test that changes its keys.
    async fn on(url: String) -> Self {
        let keel = Keel::connect(&url).await.unwrap();
        let orders = keel.stream::<Value>("orders").partitions(2).open().await.unwrap();
        Self { _redis: None, url, keel, orders }
    }

    async fn stream(&self, arguments: &[&str]) -> Ran {
        evenkeel_async(&[&["stream", "--redis", &self.url], arguments].concat()).await
    }

    /// The parsed output with `--json`; the command must succeed.
    async fn json(&self, arguments: &[&str]) -> Value {
        let ran = self.stream(&[arguments, &["--json"]].concat()).await;
        assert_eq!(ran.code, 0, "{arguments:?}: {}{}", ran.out, ran.err);
        serde_json::from_str(&ran.out).unwrap()
    }

    /// Appends entries of eight keys.
    async fn append(&self, count: usize) {
        for number in 0..count {
            self.orders.append(format!("order/{}", number % 8), &json!({ "number": number })).await.unwrap();
        }
    }

    /// A consumer of `billing` handles everything there is; entries with an even number die.
    async fn handle_all(&self) {
        let consumer = self.orders.group("billing").per_key(OnFailure::BlockKey).retries(0);
        let consumer = consumer.handle(|entry: Entry<Value>| async move {
            let is_even = entry.value["number"].as_u64().unwrap().is_multiple_of(2);
            if is_even { Err("no route to host") } else { Ok(()) }
        });
        let admin = self.orders.admin();
        consumer.run(settled(&admin)).await.unwrap();
    }
}

/// Waits until `billing` has settled everything.
async fn settled(admin: &StreamAdmin) {
    let is_settled = || async {
        let groups = admin.groups().await.unwrap();
        let group = groups.iter().find(|group| group.name == "billing")?;
        (!group.is_missing() && group.pending() == 0 && group.lag().is_none()).then_some(())
    };
    eventually("everything is settled", is_settled).await.unwrap();
}

/// An operator may not know the prefix of a service.
#[tokio::test]
async fn ls_lists_prefixes_that_have_streams() {
    let redis = Redis::start(RedisOptions::new()).await.unwrap();
    let ls = async |url: String| evenkeel_async(&["stream", "--redis", &url, "ls"]).await;
    let empty = ls(redis.url()).await;
    assert_eq!(empty.code, 0, "{}", empty.err);
    assert!(empty.err.contains("no streams under the prefix \"evenkeel\" or any other prefix"), "{}", empty.err);
    let keel = Keel::connect(&format!("{}?prefix=shop", redis.url())).await.unwrap();
    keel.stream::<Value>("orders").open().await.unwrap();
    let other = ls(redis.url()).await;
    assert_eq!(other.code, 1, "{}", other.err);
    assert!(other.err.contains("there are streams under these prefixes: shop (add ?prefix="), "{}", other.err);
}

#[tokio::test]
async fn streams_and_groups_are_shown_with_their_lag() {
    let fixture = Fixture::new().await;
    assert_eq!(fixture.json(&["ls"]).await[0]["state"], "no groups");
    assert!(fixture.stream(&["groups", "orders"]).await.out.contains("no groups"));
    fixture.append(16).await;
    fixture.handle_all().await;
    fixture.append(3).await;

    let listed = fixture.json(&["ls"]).await;
    assert_eq!((&listed[0]["stream"], &listed[0]["entries"]), (&json!("orders"), &json!(19)));
    assert_eq!((&listed[0]["dead"], &listed[0]["pending"]), (&json!(8), &json!(0)));
    let groups = fixture.json(&["groups", "orders"]).await;
    assert_eq!(
        (&groups[0]["group"], &groups[0]["order"], &groups[0]["unread"]),
        (&json!("billing"), &json!("ordered"), &json!(3))
    );
    let shown = fixture.json(&["show", "orders"]).await;
    assert_eq!(shown["partitions_of_groups"].as_array().unwrap().len(), 2);
    let text = fixture.stream(&["show", "orders"]).await.out;
    assert!(text.starts_with("stream orders: 2 partitions, 19 entries\n"), "{text}");

    assert_eq!(fixture.json(&["lag", "--entries", "3", "--late", "1h"]).await[0]["behind"], false);
    let behind = fixture.stream(&["lag", "orders", "--entries", "2"]).await;
    assert!(behind.code == 1 && behind.out.contains("behind"), "{}", behind.out);
    let unknown = fixture.stream(&["lag", "--group", "nobody"]).await;
    assert!(unknown.code == 2 && unknown.err.contains("no stream has a group nobody"), "{}", unknown.err);
}

#[tokio::test]
async fn entries_are_paged_over_all_partitions() {
    let fixture = Fixture::new().await;
    assert!(fixture.stream(&["peek", "orders"]).await.out.contains("no entries"));
    fixture.append(11).await;
    let (mut seen, mut after) = (Vec::new(), None::<String>);
    loop {
        let cursor = after.clone();
        let more: Vec<&str> = cursor.iter().flat_map(|cursor| ["--after", cursor]).collect();
        let page = fixture.json(&[&["peek", "orders", "--limit", "4"], more.as_slice()].concat()).await;
        seen.extend(page["entries"].as_array().unwrap().iter().map(|entry| entry["value"]["number"].as_u64().unwrap()));
        after = page["next"].as_str().map(str::to_owned);
        if after.is_none() {
            break;
        }
    }
    seen.sort_unstable();
    assert_eq!(seen, (0..11).collect::<Vec<_>>());
    let one = fixture.json(&["peek", "orders", "--partition", "1"]).await;
    assert!(one["entries"].as_array().unwrap().iter().all(|entry| entry["partition"] == 1));
    let none = fixture.json(&["peek", "orders", "--from", "2100-01-01T00:00:00Z"]).await;
    assert_eq!(none["entries"], json!([]));
}

#[tokio::test]
async fn group_is_paused_moved_and_trimmed() {
    let fixture = Fixture::new().await;
    fixture.append(8).await;
    fixture.handle_all().await;
    fixture.json(&["pause", "orders", "billing", "--for", "15m"]).await;
    assert!(fixture.stream(&["groups", "orders"]).await.out.contains("paused until"));
    fixture.json(&["resume", "orders", "billing"]).await;
    assert_eq!(fixture.json(&["groups", "orders"]).await[0]["paused"], false);

    let dry = fixture.stream(&["seek", "orders", "billing", "--start", "--dry-run"]).await;
    assert!(dry.code == 0 && dry.out.contains("8 entries are handled again, 0 are skipped"), "{}", dry.out);
    let ahead = fixture.stream(&["seek", "orders", "billing", "--time", "2100-01-01T00:00:00Z", "--dry-run"]).await;
    assert!(ahead.code == 2 && ahead.err.contains("which is in the future"), "{}", ahead.err);
    let unconfirmed = fixture.stream(&["seek", "orders", "billing", "--start"]).await;
    assert!(unconfirmed.code == 2 && unconfirmed.err.contains("add --confirm billing"), "{}", unconfirmed.err);
    assert_eq!(fixture.json(&["groups", "orders"]).await[0]["unread"], 0);
    fixture.json(&["seek", "orders", "billing", "--start", "--confirm", "billing"]).await;
    assert_eq!(fixture.json(&["groups", "orders"]).await[0]["unread"], 8);
    let end = fixture.json(&["seek", "orders", "billing", "--end", "--confirm", "billing"]).await;
    let skipped: u64 = end["partitions"].as_array().unwrap().iter().map(|part| part["skipped"].as_u64().unwrap()).sum();
    assert_eq!(skipped, 8);
    let entry =
        fixture.json(&["peek", "orders", "--limit", "1"]).await["entries"][0]["id"].as_str().unwrap().to_owned();
    let one = fixture.json(&["seek", "orders", "billing", "--entry", &entry, "--dry-run"]).await;
    assert_eq!(one["partitions"].as_array().unwrap().len(), 1);

    let unconfirmed = fixture.stream(&["trim", "orders", "--older-than", "0ms"]).await;
    assert!(unconfirmed.code == 2 && unconfirmed.err.contains("add --confirm orders"), "{}", unconfirmed.err);
    let young = fixture.json(&["trim", "orders", "--older-than", "1h", "--confirm", "orders"]).await;
    assert_eq!(young["removed"], 0);
    let trimmed = async || {
        let trimmed = fixture.json(&["trim", "orders", "--older-than", "0ms", "--confirm", "orders"]).await;
        trimmed["removed"].as_u64().unwrap()
    };
    assert_eq!(trimmed().await, 8);
}

// shows: hazard CL26
#[tokio::test]
async fn dead_letters_of_a_group_are_listed_replayed_and_deleted() {
    let fixture = Fixture::new().await;
    fixture.append(8).await;
    fixture.handle_all().await;
    let listed = fixture.json(&["dead", "ls", "orders", "billing"]).await;
    let letters = listed["letters"].as_array().unwrap();
    assert_eq!((letters.len(), &letters[0]["reason"]), (4, &json!("no route to host")));
    let ids: Vec<&str> = letters.iter().map(|letter| letter["id"].as_str().unwrap()).collect();
    let of_key = fixture.json(&["dead", "ls", "orders", "billing", "--key", "order/2"]).await;
    assert_eq!(of_key["letters"].as_array().unwrap().len(), 1);

    let dry = fixture.stream(&["dead", "replay", "orders", "billing", "--error", "no route", "--dry-run"]).await;
    assert_eq!(dry.out, "4 dead letters would be replayed\n");
    let nothing = fixture.stream(&["dead", "replay", "orders", "billing"]).await;
    assert!(nothing.code == 2 && nothing.err.contains("nothing to replay"), "{}", nothing.err);
    let unconfirmed = fixture.stream(&["dead", "replay", "orders", "billing", "--all"]).await;
    assert!(unconfirmed.code == 2 && unconfirmed.err.contains("add --confirm billing"), "{}", unconfirmed.err);
    let one = fixture.json(&["dead", "replay", "orders", "billing", ids[0]]).await;
    assert_eq!(one[0]["ok"], true);
    let again = fixture.stream(&["dead", "replay", "orders", "billing", ids[0]]).await;
    assert_eq!((again.code, again.out.clone()), (1, format!("{}: not a dead letter\n", ids[0])));
    let words = ["dead", "replay", "orders", "billing", "--error", "no route", "--limit", "1", "--confirm", "billing"];
    assert_eq!(fixture.json(&words).await["replayed"], 1);
    assert_eq!(fixture.json(&["groups", "orders"]).await[0]["unread"], 2);

    let page = fixture.orders.admin().dead("billing").unwrap().page(&LetterFilter::default(), None, 10).await.unwrap();
    let left = page.letters[0].0.to_string();
    let words = ["dead", "rm", "orders", "billing", &left, ids[0]];
    let unconfirmed = fixture.stream(&words).await;
    assert!(unconfirmed.code == 2 && unconfirmed.err.contains("add --confirm billing"), "{}", unconfirmed.err);
    let removed = fixture.stream(&[&words[..], &["--confirm", "billing"]].concat()).await;
    assert_eq!((removed.code, removed.out.contains("deleted\n")), (1, true), "{}", removed.out);
    let unconfirmed = fixture.stream(&["dead", "rm", "orders", "billing", "--all"]).await;
    assert!(unconfirmed.code == 2 && unconfirmed.err.contains("1 dead letters of billing"), "{}", unconfirmed.err);
    let rest = fixture.json(&["dead", "rm", "orders", "billing", "--all", "--confirm", "billing"]).await;
    assert_eq!(rest["deleted"], 1);
}

#[tokio::test]
async fn group_without_consumers_is_unregistered() {
    let fixture = Fixture::new().await;
    fixture.append(4).await;
    fixture.handle_all().await;
    let unconfirmed = fixture.stream(&["unregister", "orders", "billing"]).await;
    assert!(
        unconfirmed.code == 2 && unconfirmed.err.contains("2 dead letters are no longer listed"),
        "{}",
        unconfirmed.err
    );
    assert!(unconfirmed.err.contains("add --confirm billing"), "{}", unconfirmed.err);
    assert_eq!(fixture.json(&["groups", "orders"]).await.as_array().unwrap().len(), 1);
    let confirmed = ["unregister", "orders", "billing", "--confirm", "billing"];
    assert_eq!(fixture.json(&confirmed).await["partitions_left"], json!([0, 1]));
    assert_eq!(fixture.json(&["groups", "orders"]).await, json!([]));
    let again = fixture.stream(&confirmed).await;
    assert!(again.code == 2 && again.err.contains("stream orders has no group billing"), "{}", again.err);
}

// shows: hazard SF11
#[tokio::test]
async fn group_whose_consumer_runs_is_not_unregistered() {
    let fixture = Fixture::new().await;
    let consumer = fixture.orders.group("billing").per_key(OnFailure::BlockKey);
    let consumer = consumer.handle(|_: Entry<Value>| async move { Ok::<_, String>(()) });
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let consumer = tokio::spawn(async move { consumer.run(async { drop(stopped.await) }).await });
    let admin = fixture.orders.admin();
    let is_owned = || async {
        let groups = admin.groups().await.unwrap();
        let stats = groups.first()?.partitions.first()?.as_ref()?;
        stats.owner.map(drop)
    };
    eventually("a partition is owned", is_owned).await.unwrap();
    let lag = fixture.stream(&["lag", "orders"]).await;
    assert!(lag.code == 0 && lag.out.contains("active"), "{}", lag.out);
    let refused = fixture.stream(&["unregister", "orders", "billing", "--confirm", "billing"]).await;
    assert!(refused.code == 2 && refused.err.contains("stop them first"), "{}{}", refused.out, refused.err);
    drop(stop);
    consumer.await.unwrap().unwrap();
    fixture.json(&["unregister", "orders", "billing", "--confirm", "billing"]).await;
}

/// Every error is one line on standard error with exit code 2.
#[tokio::test]
async fn stream_errors_are_one_line_and_exit_code_2() {
    let fixture = Fixture::new().await;
    let cases: &[(&[&str], &str)] = &[
        (&["show", "odrers"], "there is no stream \"odrers\""),
        (&["pause", "orders", "nobody"], "has no group \"nobody\""),
        (&["seek", "orders", "nobody", "--end"], "has no group \"nobody\""),
        (&["pause", "orders", "nobody", "--for", "0s"], "--for must be between 1ms and a hundred years"),
        (&["pause", "orders", "nobody", "--for", "36501d"], "--for must be between 1ms and a hundred years"),
        (&["dead", "ls", "orders", "nobody"], "has no group nobody"),
        (&["peek", "orders", "--partition", "2"], "the stream has no partition 2; it has 2, counted from 0"),
        (&["peek", "orders", "--partition", "0", "--after", "1:1-0"], "is in partition 1, and --partition is 0"),
    ];
    for (arguments, expected) in cases {
        let ran = fixture.stream(arguments).await;
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{arguments:?}");
        assert!(ran.err.contains(expected) && ran.err.lines().count() == 1, "{arguments:?}: {}", ran.err);
    }
    let unreachable = evenkeel_async(&["stream", "--redis", "redis://u:hidden@127.0.0.1:1", "ls"]).await;
    assert_eq!((unreachable.code, unreachable.err.contains("hidden")), (2, false), "{}", unreachable.err);
    drop(fixture.keel);
}

/// A group that Redis has lost reads nothing, and nothing is late.
// shows: hazard SF11
#[tokio::test]
async fn lost_group_is_behind() {
    let redis = Redis::start(RedisOptions::new()).await.unwrap();
    let fixture = Fixture::on(redis.url()).await;
    fixture.append(1).await;
    fixture.handle_all().await;
    let lag = fixture.stream(&["lag", "orders"]).await;
    // Its consumer has given its partitions back: "active" would say that the group is read.
    assert!(lag.code == 0 && lag.out.contains("no consumer"), "{}", lag.out);
    let log = "{evenkeel:s:orders:0}:log";
    redis.command::<()>(&["XGROUP", "DESTROY", log, "billing"]).await.unwrap();
    let lost = fixture.stream(&["lag", "orders"]).await;
    assert!(lost.code == 1 && lost.out.contains("missing: Redis has lost it"), "{}{}", lost.out, lost.err);
}

/// Redis says only that a key has another type.
#[tokio::test]
async fn foreign_value_under_a_key_of_a_stream_is_explained() {
    let redis = Redis::start(RedisOptions::new()).await.unwrap();
    let fixture = Fixture::on(redis.url()).await;
    fixture.append(1).await;
    fixture.handle_all().await;
    let log = "{evenkeel:s:orders:0}:log";
    redis.command::<()>(&["SET", log, "foreign"]).await.unwrap();
    for arguments in [&["ls"][..], &["show", "orders"], &["peek", "orders"], &["seek", "orders", "billing", "--start"]]
    {
        let ran = fixture.stream(arguments).await;
        assert_eq!((ran.code, ran.out.as_str(), ran.err.lines().count()), (2, "", 1), "{arguments:?}: {}", ran.err);
        assert!(ran.err.contains("another program has put it under"), "{arguments:?}: {}", ran.err);
        assert!(ran.err.contains("{evenkeel:s:orders:0}:"), "{arguments:?}: {}", ran.err);
    }
}
