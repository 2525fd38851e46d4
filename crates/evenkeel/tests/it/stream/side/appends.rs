//! What producers get.

use super::rig::{Desk, Rig, append, open};
use bytes::Bytes;
use evenkeel::Keel;
use evenkeel::codec::{Codec, CodecError, Json};
use evenkeel::stream::{Stream, StreamError};
use testkit::servers::{Redis, RedisOptions};

on_both! {
    entries_of_a_key_are_in_one_partition_in_order
    numbered_entry_is_appended_once
    numbered_entry_without_its_predecessor_is_rejected
    many_entries_keep_the_order_of_each_key
    full_stream_rejects_entries
    large_value_is_rejected
    other_number_of_partitions_is_rejected
    entry_carries_headers_and_trace
    lost_partition_is_created_again
    codec_with_a_reserved_id_is_rejected
}

async fn entries_of_a_key_are_in_one_partition_in_order(rig: Rig) {
    let orders = rig.orders(8).await;
    let first = orders.append("order/7", &"a".to_owned()).await.unwrap();
    let second = orders.append("order/7", &"b".to_owned()).await.unwrap();
    assert!(first.is_new && second.is_new);
    assert_eq!(first.partition, second.partition);
    assert!(first.id < second.id);
    let mut partitions = std::collections::BTreeSet::new();
    for number in 0..64 {
        partitions.insert(orders.append(format!("order/{number}"), &String::new()).await.unwrap().partition);
    }
    assert_eq!(partitions.len(), 8);
}

/// The caller does not know whether its last call arrived, and makes it again, from another process.
async fn numbered_entry_is_appended_once(rig: Rig) {
    let (here, there) = (rig.orders(4).await, rig.orders(4).await);
    let entry = |orders: &Stream<String>, number| {
        let orders = orders.clone();
        async move { orders.entry("order/7", &"a".to_owned()).numbered("shop", number).append().await.unwrap() }
    };
    let first = entry(&here, 1).await;
    let again = entry(&there, 1).await;
    assert_eq!((first.is_new, again.is_new, again.id), (true, false, first.id));
    assert!(entry(&there, 2).await.is_new);
    // Another key has numbers of its own.
    assert!(here.entry("order/8", &"a".to_owned()).numbered("shop", 1).append().await.unwrap().is_new);
    let page = here.admin().peek(first.partition, evenkeel::stream::EntryId::MIN, 10).await.unwrap();
    assert_eq!(page.iter().filter(|entry| entry.key == "order/7").count(), 2);
}

// shows: stream::NewEntry::append
async fn numbered_entry_without_its_predecessor_is_rejected(rig: Rig) {
    let orders = rig.orders(1).await;
    orders.entry("a", &"1".to_owned()).numbered("shop", 1).append().await.unwrap();
    let early = orders.entry("a", &"3".to_owned()).numbered("shop", 3).append().await;
    assert!(matches!(early, Err(StreamError::OutOfOrder { last: 1, .. })), "{early:?}");
    let zero = orders.entry("a", &"0".to_owned()).numbered("shop", 0).append().await;
    assert!(matches!(zero, Err(StreamError::Invalid(_))), "{zero:?}");
}

// shows: hazard X12
async fn many_entries_keep_the_order_of_each_key(rig: Rig) {
    let orders = rig.orders(4).await;
    let values: Vec<(String, String)> =
        (0..1_200).map(|number| (format!("{}", number % 7), format!("{number}"))).collect();
    let entries = values.iter().map(|(key, value)| orders.entry(key, value));
    let appended = orders.append_many(entries).await.unwrap();
    let mut last = std::collections::HashMap::new();
    for ((key, _), appended) in values.iter().zip(appended) {
        let appended = appended.unwrap();
        let place = (appended.partition, appended.id.unwrap());
        let before = last.insert(key.clone(), place);
        assert!(before.is_none_or(|(partition, id)| partition == place.0 && id < place.1), "{key}");
    }
}

// shows: stream::Stream::append, stream::Stream::append_many, stream::NewEntry::append
async fn full_stream_rejects_entries(rig: Rig) {
    let orders = rig.orders_with(|builder| builder.entries_max(2)).await;
    let values = ["a", "b", "c", "d"].map(str::to_owned);
    let appended = orders.append_many(values.iter().map(|value| orders.entry("a", value))).await.unwrap();
    let is_full = |result: &Result<_, StreamError>| matches!(result, Err(StreamError::Full { .. }));
    assert!(appended[..2].iter().all(Result::is_ok) && appended[2..].iter().all(is_full), "{appended:?}");
    let more = orders.append("a", &"e".to_owned()).await;
    assert!(matches!(more, Err(StreamError::Full { .. })), "{more:?}");
}

// shows: hazard SF11, stream::Stream::append, stream::Stream::append_many, stream::NewEntry::append
async fn large_value_is_rejected(rig: Rig) {
    let orders = rig.orders_with(|builder| builder.value_bytes_max(10)).await;
    let large = orders.append("a", &"123456789".to_owned()).await;
    assert!(matches!(large, Err(StreamError::TooLarge { bytes: 11, limit: 10 })), "{large:?}");
    let key = orders.append("k".repeat(513), &"a".to_owned()).await;
    let limit = "the key of an entry has 513 bytes; the limit is 512";
    assert!(matches!(&key, Err(StreamError::Invalid(why)) if why.contains(limit)), "{key:?}");
}

/// Keys would change their partition, and their order would be lost.
// shows: stream::StreamBuilder::open
async fn other_number_of_partitions_is_rejected(rig: Rig) {
    let orders = rig.orders(4).await;
    let keel = rig.process().await;
    let refused = keel.stream::<String>("orders").partitions(8).open().await.err().unwrap();
    assert!(matches!(&refused, StreamError::Settings { reason, .. } if reason.contains("partitions(4)")), "{refused}");
    assert_eq!(keel.stream::<String>("orders").open().await.unwrap().admin().partitions(), 4);
    assert_eq!(orders.admin().name(), "orders");
}

async fn entry_carries_headers_and_trace(rig: Rig) {
    let orders = rig.orders(1).await;
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    orders.entry("a", &"x".to_owned()).header("from", "shop").trace(trace).append().await.unwrap();
    let desk = Desk::new();
    let office = open(desk.consumer(orders.group("billing")));
    let case = desk.next().await;
    assert_eq!((case.entry.trace(), case.entry.headers()["from"].as_str()), (Some(trace), "shop"));
    assert_eq!((case.entry.attempt, case.entry.appended_at(), &case.entry.key[..]), (1, rig.now_ms(), &b"a"[..]));
    case.done();
    office.close().await;
}

/// An append never creates a stream without its groups; the groups read everything that is appended afterwards.
// shows: hazard X11, stream::Stream
async fn lost_partition_is_created_again(rig: Rig) {
    let orders = rig.orders(1).await;
    let desk = Desk::new();
    let office = open(desk.consumer(orders.group("billing")));
    append(&orders, "a", &["before"]).await;
    assert_eq!(desk.done().await, "before");
    office.close().await;
    if let crate::rig::Store::Redis { .. } = rig.store {
        let (_, partitions) = orders.steps();
        let tag = partitions[0].tag();
        let keys = ::redis::cmd("DEL").arg(format!("{tag}:log")).arg(format!("{tag}:g:billing")).clone();
        rig.command(tag.as_bytes(), &keys).await;
    }
    append(&orders, "a", &["after"]).await;
    let office = open(desk.consumer(orders.group("billing")));
    assert_eq!(desk.done().await, "after");
    office.close().await;
}

struct Reserved;

impl Codec<String> for Reserved {
    fn id(&self) -> u8 {
        5
    }

    fn encode(&self, value: &String, out: &mut Vec<u8>) -> Result<(), CodecError> {
        Json.encode(value, out)
    }

    fn decode(&self, bytes: Bytes) -> Result<String, CodecError> {
        Json.decode(bytes)
    }
}

/// Another codec would get bytes that it did not encode.
// shows: hazard A3, stream::StreamBuilder::open
async fn codec_with_a_reserved_id_is_rejected(rig: Rig) {
    let refused = rig.process().await.stream("orders").codec(Reserved).open().await.err().unwrap();
    assert!(matches!(&refused, StreamError::Settings { reason, .. } if reason.contains("64 to 127")), "{refused}");
}

/// On a full Redis with `volatile-lru` the groups of a stream vanished, with `allkeys-lru` its entries, without an error.
// shows: hazard BL3, stream::StreamBuilder::open
#[tokio::test]
async fn stream_on_redis_with_eviction_is_rejected_by_default() {
    let redis = Redis::start(RedisOptions::new().memory("64mb", "volatile-lru")).await.unwrap();
    let keel = Keel::connect(&redis.url()).await.unwrap();
    let refused = keel.stream::<String>("orders").open().await.err().unwrap();
    assert!(matches!(&refused, StreamError::Settings { .. }), "{refused}");
    let sentence = refused.to_string();
    assert!(sentence.contains("volatile-lru") && sentence.contains("allow_eviction"), "{sentence}");
    let allowed = keel.stream::<String>("orders").allow_eviction().open().await.unwrap();
    assert!(allowed.append("order/7", &"a".to_owned()).await.unwrap().is_new);
}
