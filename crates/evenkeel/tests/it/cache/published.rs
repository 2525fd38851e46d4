//! The published protocols on both backends: which stale fills each rejects, and which it accepts.

use evenkeel::Keel;
use evenkeel::cache::{Cache, CacheError};
use evenkeel_published::Protocol;
use serde::{Deserialize, Serialize};
use std::convert::Infallible;
use std::time::Duration;
use testkit::park::{self, SharedRedis};
use tokio::sync::oneshot;

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Row {
    version: u64,
}

/// Two processes that share a store.
struct Pair {
    reader: Cache<u64, Row>,
    writer: Cache<u64, Row>,
    /// Held while the pair lives: a test that runs alone has its own Redis.
    _server: Option<SharedRedis>,
}

/// The protocol of a cache of this keel; `None` for the fenced one.
type Choice = fn(&Keel) -> Option<Protocol>;

const FENCED: Choice = |_| None;
const LEASE: Choice = |_| Some(Protocol::Lease);
const VERSION: Choice = |_| Some(Protocol::Version);
/// Its second delete comes after 400 ms.
const DOUBLE_DELETE: Choice = |keel| Some(double_delete(keel, Duration::from_millis(400)));
/// Its second delete comes after the test.
const LATE_DOUBLE_DELETE: Choice = |keel| Some(double_delete(keel, Duration::from_secs(3_600)));

fn double_delete(keel: &Keel, delay: Duration) -> Protocol {
    Protocol::DelayedDoubleDelete { delay, keel: keel.clone() }
}

async fn open(keel: &Keel, choice: Choice) -> Cache<u64, Row> {
    let cache = keel.cache("published").ttl(Duration::from_secs(60)).version(|row: &Row| row.version);
    match choice(keel) {
        Some(protocol) => cache.protocol(protocol).open().await.unwrap(),
        None => cache.open().await.unwrap(),
    }
}

async fn in_memory(choice: Choice) -> Pair {
    let keel = Keel::memory();
    let (reader, writer) = (open(&keel.another_process(), choice).await, open(&keel.another_process(), choice).await);
    Pair { reader, writer, _server: None }
}

async fn on_redis(choice: Choice) -> Pair {
    let shared = park::redis().await.unwrap();
    let url = format!("{}?prefix={}", shared.url, shared.prefix);
    let keels = [Keel::connect(&url).await.unwrap(), Keel::connect(&url).await.unwrap()];
    Pair { reader: open(&keels[0], choice).await, writer: open(&keels[1], choice).await, _server: Some(shared) }
}

/// The classical stale fill: a reader reads version 1 and pauses, a writer commits version 2 and invalidates, the reader
/// fills. Returns the version that the next reader gets when its own load would return 2.
async fn after_a_stale_fill(pair: Pair) -> u64 {
    let (has_read, row_is_read) = oneshot::channel();
    let (go_on, may_go_on) = oneshot::channel::<()>();
    let Pair { reader, writer, _server } = pair;
    let slow = tokio::spawn(async move {
        let load = |_: &u64| async move {
            has_read.send(()).unwrap();
            may_go_on.await.unwrap();
            Ok::<_, Infallible>(Some(Row { version: 1 }))
        };
        reader.get(&7, load).await.unwrap().unwrap().version
    });
    row_is_read.await.unwrap();
    writer.invalidate_at(&7, 2).await.unwrap();
    go_on.send(()).unwrap();
    assert_eq!(slow.await.unwrap(), 1, "the slow reader began before the write");
    read(&writer, 2).await
}

/// The value that a reader receives if its own load returns `version`.
async fn read(cache: &Cache<u64, Row>, version: u64) -> u64 {
    let load = |_: &u64| async move { Ok::<_, Infallible>(Some(Row { version })) };
    cache.get(&7, load).await.unwrap().unwrap().version
}

/// A lease whose token a delete has voided stores nothing.
#[tokio::test]
async fn lease_protocol_rejects_stale_fill_in_memory() {
    assert_eq!(after_a_stale_fill(in_memory(LEASE).await).await, 2);
}

#[tokio::test]
async fn lease_protocol_rejects_stale_fill_on_redis() {
    assert_eq!(after_a_stale_fill(on_redis(LEASE).await).await, 2);
}

/// The mark that the writer left has version 2; version 1 is refused.
#[tokio::test]
async fn version_protocol_rejects_stale_fill_in_memory() {
    assert_eq!(after_a_stale_fill(in_memory(VERSION).await).await, 2);
}

#[tokio::test]
async fn version_protocol_rejects_stale_fill_on_redis() {
    assert_eq!(after_a_stale_fill(on_redis(VERSION).await).await, 2);
}

/// The halves of a version are compared as numbers: 2^32 is above 2^32 - 1 although its lower half is smaller.
#[tokio::test]
async fn version_protocol_compares_the_upper_half_on_redis() {
    let Pair { writer, _server, .. } = on_redis(VERSION).await;
    writer.invalidate_at(&7, 1 << 32).await.unwrap();
    assert_eq!(read(&writer, (1 << 32) - 1).await, (1 << 32) - 1, "returned to its own reader");
    assert_eq!(read(&writer, (1 << 32) + 5).await, (1 << 32) + 5, "but not stored");
    assert_eq!(read(&writer, 1 << 40).await, (1 << 32) + 5, "this one was stored");
}

/// Until the second delete the old value is served: a limit of this protocol.
#[tokio::test]
async fn double_delete_serves_stale_fill_until_second_delete() {
    assert_eq!(after_a_stale_fill(in_memory(LATE_DOUBLE_DELETE).await).await, 1);
    assert_eq!(after_a_stale_fill(on_redis(LATE_DOUBLE_DELETE).await).await, 1);
}

/// A timer dies with its process, and the old value stays for as long as its ttl: a writer that ends between its two deletes.
async fn second_delete_survives_its_writer(reader: Cache<u64, Row>, writer: impl Future<Output = ()> + Send + 'static) {
    let (has_read, row_is_read) = oneshot::channel();
    let (go_on, may_go_on) = oneshot::channel::<()>();
    let slow_reader = reader.clone();
    let slow = tokio::spawn(async move {
        let load = |_: &u64| async move {
            has_read.send(()).unwrap();
            may_go_on.await.unwrap();
            Ok::<_, Infallible>(Some(Row { version: 1 }))
        };
        slow_reader.get(&7, load).await.unwrap().unwrap().version
    });
    row_is_read.await.unwrap();
    // Its runtime ends with it, and so do its pending deletes.
    let ended = tokio::task::spawn_blocking(|| tokio::runtime::Runtime::new().unwrap().block_on(writer));
    ended.await.unwrap();
    go_on.send(()).unwrap();
    assert_eq!(slow.await.unwrap(), 1);
    let wait_max = tokio::time::timeout(Duration::from_secs(20), async {
        while read(&reader, 2).await != 2 {
            tokio::task::yield_now().await;
        }
    });
    wait_max.await.expect("the second delete comes");
}

#[tokio::test]
async fn second_delete_survives_its_process_in_memory() {
    let keel = Keel::memory();
    let other = keel.another_process();
    let writer = async move { open(&other, DOUBLE_DELETE).await.invalidate_at(&7, 2).await.map(drop).unwrap() };
    second_delete_survives_its_writer(open(&keel, DOUBLE_DELETE).await, writer).await;
}

#[tokio::test]
async fn second_delete_survives_its_process_on_redis() {
    let shared = park::redis().await.unwrap();
    let url = format!("{}?prefix={}", shared.url, shared.prefix);
    let reader = open(&Keel::connect(&url).await.unwrap(), DOUBLE_DELETE).await;
    let writer = async move {
        open(&Keel::connect(&url).await.unwrap(), DOUBLE_DELETE).await.invalidate_at(&7, 2).await.map(drop).unwrap();
    };
    second_delete_survives_its_writer(reader, writer).await;
}

#[tokio::test]
async fn fenced_protocol_rejects_stale_fill() {
    assert_eq!(after_a_stale_fill(in_memory(FENCED).await).await, 2);
    assert_eq!(after_a_stale_fill(on_redis(FENCED).await).await, 2);
}

/// A value is found again, and by the other process, under each of them.
#[tokio::test]
async fn every_protocol_loads_a_value_once() {
    for (at, choice) in [LEASE, VERSION, LATE_DOUBLE_DELETE, FENCED].into_iter().enumerate() {
        for Pair { reader, writer, _server } in [in_memory(choice).await, on_redis(choice).await] {
            assert_eq!((read(&reader, 1).await, read(&writer, 2).await), (1, 1), "protocol {at}");
        }
    }
}

// shows: cache::CacheBuilder::open
#[tokio::test]
async fn version_protocol_requires_a_version_function() {
    let cache = Keel::memory().cache::<u64, Row>("published").ttl(Duration::from_secs(60));
    let error = cache.protocol(Protocol::Version).open().await.unwrap_err();
    assert!(matches!(&error, CacheError::Settings { .. }), "{error}");
    assert!(error.to_string().contains("version(..)"), "{error}");
}
