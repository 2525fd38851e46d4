//! The last handle of a keel is dropped: tasks, descriptors and connections are as many as before it was opened.

use evenkeel::Keel;
use evenkeel::cache::Freshness;
use evenkeel::lock::{Redlock, Wait};
use evenkeel::queue::Delivery;
use evenkeel::spool::SpoolOptions;
use evenkeel::sql::migrate;
use evenkeel::sql::sink::{Sinks, StreamSink};
use evenkeel::sql::{Message, SqlError};
use evenkeel::stream::Entry;
use sqlx::SqlitePool;
use sqlx::sqlite::SqlitePoolOptions;
use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use testkit::eventually;
use testkit::memory::Growth;
use testkit::servers::{Redis, RedisOptions};
use tokio::sync::Notify;

/// Each use as a test on the embedded store and on Redis.
macro_rules! on_both {
    ($($story:ident)+) => {
        mod memory {
            $(#[tokio::test]
            async fn $story() {
                super::all_is_given_back(None, super::$story).await;
            })+
        }

        mod redis {
            $(#[tokio::test]
            async fn $story() {
                super::all_is_given_back(Some(&super::server().await), super::$story).await;
            })+
        }
    };
}

on_both! {
    dropped_idle_keel_frees_everything
    released_lock_frees_everything
    dropped_lock_frees_everything
    dropped_acquisition_frees_everything
    dropped_shared_locks_free_everything
    dropped_near_cache_frees_everything
    thousand_caches_run_as_many_tasks_as_one
    dropped_queue_with_a_consumer_frees_everything
    dropped_consumer_frees_everything
    dropped_stream_consumer_frees_everything
    dropped_schedule_frees_everything
    dropped_update_window_frees_everything
    dropped_unit_of_work_and_relay_free_everything
    dropped_row_locks_free_everything
    dropped_capabilities_together_free_everything
}

pub(crate) async fn server() -> Redis {
    Redis::start(RedisOptions::new()).await.unwrap()
}

async fn open(redis: Option<&Redis>) -> Keel {
    match redis {
        Some(redis) => Keel::connect(&redis.url()).await.unwrap(),
        None => Keel::memory(),
    }
}

/// Tasks of this test's runtime, and descriptors of its process.
pub(crate) fn held() -> (usize, usize) {
    let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let files = std::fs::read_dir("/proc/self/fd").unwrap().count();
    (tasks, files)
}

/// The same once nothing runs: the server's own helpers have ended.
pub(crate) async fn at_rest() -> (usize, usize) {
    eventually("no task is left", async || (held().0 == 0).then_some(())).await.unwrap();
    held()
}

/// Waits until as much is held as `before`, and no client is connected any more.
pub(crate) async fn until_held(before: (usize, usize), redis: Option<&Redis>) {
    let given_back = eventually("tasks and descriptors are freed", async || (held() == before).then_some(()));
    let given_back = given_back.await;
    assert!(given_back.is_ok(), "tasks and descriptors: {before:?} before, {:?} after", held());
    let Some(redis) = redis else { return };
    eventually("all connections are closed", async || {
        let clients: String = redis.command(&["CLIENT", "LIST"]).await.ok()?;
        (clients.lines().filter(|line| !line.contains("cmd=client")).count() == 0).then_some(())
    })
    .await
    .unwrap();
}

async fn all_is_given_back<F: Future<Output = ()>>(redis: Option<&Redis>, story: impl Fn(Keel) -> F) {
    let before = at_rest().await;
    story(open(redis).await).await;
    until_held(before, redis).await;
}

async fn dropped_idle_keel_frees_everything(keel: Keel) {
    assert!(keel.spool().is_none());
}

// shows: K5, hazard AL1
async fn released_lock_frees_everything(keel: Keel) {
    keel.lock("stock/42").acquire().await.unwrap().release().await.unwrap();
}

async fn dropped_lock_frees_everything(keel: Keel) {
    let guard = keel.lock("stock/42").acquire().await.unwrap();
    drop(keel);
    drop(guard);
}

async fn dropped_acquisition_frees_everything(keel: Keel) {
    let _guard = keel.lock("stock/42").acquire().await.unwrap();
    let waiting = keel.lock("stock/42").wait(Wait::Forever).acquire();
    assert!(tokio::time::timeout(Duration::from_millis(20), waiting).await.is_err());
    let _writer = keel.rw_lock("stock/42").write().acquire().await.unwrap();
    let waiting = keel.rw_lock("stock/42").read().wait(Wait::Forever).acquire();
    assert!(tokio::time::timeout(Duration::from_millis(20), waiting).await.is_err());
}

async fn dropped_shared_locks_free_everything(keel: Keel) {
    let prices = keel.rw_lock("prices");
    let (_one, two) = (prices.read().acquire().await.unwrap(), prices.read().acquire().await.unwrap());
    two.release().await.unwrap();
    let permits = keel.semaphore("exports", 3).acquire().await.unwrap();
    keel.striped_lock("carts", 8).unwrap().acquire(b"42").await.unwrap().release().await.unwrap();
    permits.release().await.unwrap();
}

async fn dropped_near_cache_frees_everything(keel: Keel) {
    let users = keel.cache::<u64, String>("user").ttl(Duration::from_secs(600)).near(100).open().await.unwrap();
    for freshness in [Freshness::Eventual, Freshness::Fresh] {
        let found = users.get_with(&42, freshness, |_| async { Ok::<_, Infallible>(Some("Ada".to_owned())) }).await;
        assert!(found.unwrap().value.is_some());
    }
    users.invalidate(&42).await.unwrap();
}

/// A cache for each of many tenants.
// shows: hazard A36
async fn thousand_caches_run_as_many_tasks_as_one(keel: Keel) {
    let open = async |tenant: u32| {
        let rows =
            keel.cache::<u64, String>(&format!("tenant-{tenant}")).ttl(Duration::from_secs(600)).open().await.unwrap();
        rows.get(&1, |_| async { Ok::<_, Infallible>(None) }).await.unwrap();
        rows.invalidate(&1).await.unwrap();
        rows.until_idle().await;
        rows
    };
    let _first = open(0).await;
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let with_one = tasks();
    let mut caches = Vec::new();
    for tenant in 1..1_000 {
        caches.push(open(tenant).await);
    }
    let as_many =
        eventually("the tasks are about as many as with one", async || (tasks() <= with_one + 8).then_some(())).await;
    assert!(as_many.is_ok(), "{with_one} tasks with one cache, {} with a thousand", tasks());
}

async fn dropped_queue_with_a_consumer_frees_everything(keel: Keel) {
    let mail = keel.queue::<String>("mail").open().await.unwrap();
    mail.now(&"welcome".to_owned()).await.unwrap();
    let sent = Arc::new(Notify::new());
    let notify = Arc::clone(&sent);
    let consumer = mail.consume(move |_: Delivery<String>| {
        notify.notify_one();
        async { Ok::<_, Infallible>(()) }
    });
    consumer.run(sent.notified()).await.unwrap();
}

async fn dropped_consumer_frees_everything(keel: Keel) {
    let mail = keel.queue::<String>("mail").open().await.unwrap();
    let received = Arc::new(Notify::new());
    let notify = Arc::clone(&received);
    let consumer = mail.consume(move |_: Delivery<String>| {
        notify.notify_one();
        async { Ok::<_, Infallible>(()) }
    });
    mail.now(&"welcome".to_owned()).await.unwrap();
    tokio::select! {
        ran = consumer.run(std::future::pending()) => ran.unwrap(),
        () = received.notified() => {}
    }
}

// shows: hazard X13, hazard AL1
async fn dropped_stream_consumer_frees_everything(keel: Keel) {
    let orders = keel.stream::<String>("orders").partitions(2).open().await.unwrap();
    orders.append("a", &"placed".to_owned()).await.unwrap();
    for per_key in [false, true] {
        let handled = Arc::new(Notify::new());
        let notify = Arc::clone(&handled);
        let group = if per_key { orders.group("shipping") } else { orders.group("billing").unordered() };
        let consumer = group.handle(move |_: Entry<String>| {
            notify.notify_one();
            async { Ok::<_, Infallible>(()) }
        });
        // It is dropped in the middle.
        tokio::select! {
            ran = consumer.run(std::future::pending()) => ran.unwrap(),
            () = handled.notified() => {}
        }
    }
    let consumer = orders.group("billing").unordered().handle(|_: Entry<String>| async { Ok::<_, Infallible>(()) });
    consumer.run(async {}).await.unwrap();
}

// shows: hazard AL1
async fn dropped_schedule_frees_everything(keel: Keel) {
    let mail = keel.queue::<String>("mail").open().await.unwrap();
    let schedule = mail.periodic("minutely", "* * * * *".parse().unwrap(), |_| "tick".to_owned());
    assert!(tokio::time::timeout(Duration::from_millis(20), schedule.run(std::future::pending())).await.is_err());
}

// shows: hazard AL1
async fn dropped_update_window_frees_everything(keel: Keel) {
    let builder = keel.cache::<u64, String>("user").ttl(Duration::from_secs(600)).freshness(Freshness::Fresh);
    let users = builder.open().await.unwrap();
    let _window = users.begin_write(&42).await.unwrap();
}

async fn pool() -> SqlitePool {
    let pool = SqlitePoolOptions::new().max_connections(1).connect("sqlite::memory:").await.unwrap();
    migrate(&pool).await.unwrap();
    pool
}

async fn dropped_unit_of_work_and_relay_free_everything(keel: Keel) {
    let pool = pool().await;
    let mail = keel.queue::<String>("mail").open().await.unwrap();
    let relay = keel.relay(&pool).sinks(Sinks::to(StreamSink::new(&keel)));
    let committed = async {
        let mut work = keel.begin(&pool).await?;
        work.publish(Message::new("orders", "sold").key("order/7"))?;
        work.enqueue(mail.job(&"sold".to_owned()))?;
        work.commit().await?;
        Ok::<_, SqlError>(())
    };
    let running = relay.run(async { committed.await.unwrap() });
    running.await;
    pool.close().await;
}

// shows: hazard AL1
async fn dropped_row_locks_free_everything(keel: Keel) {
    let pool = pool().await;
    let locks = keel.row_locks(&pool);
    drop(locks.lock("stock/42").acquire().await.unwrap());
    locks.lock("stock/42").acquire().await.unwrap().release().await.unwrap();
    pool.close().await;
}

// shows: hazard AL1
async fn dropped_capabilities_together_free_everything(keel: Keel) {
    dropped_shared_locks_free_everything(keel.clone()).await;
    dropped_near_cache_frees_everything(keel.clone()).await;
    dropped_queue_with_a_consumer_frees_everything(keel.clone()).await;
    dropped_stream_consumer_frees_everything(keel.clone()).await;
    dropped_lock_frees_everything(keel).await;
}

/// What hundreds of keels may add to the memory of the process, after the first ones.
const GROWTH_MAX: u64 = 2 << 20;

/// How much the process grows over so many keels, of which each leaves so many bytes behind for good.
async fn growth_of_keels(redis: Option<&Redis>, keels: usize, left_behind: usize) -> u64 {
    let rounds = async |count: usize, left_behind: usize| {
        for _ in 0..count {
            dropped_capabilities_together_free_everything(open(redis).await).await;
            let _ = at_rest().await;
            // Written, because the kernel provides no memory for pages that were never written.
            Box::leak(vec![1_u8; left_behind].into_boxed_slice());
        }
    };
    // Until the allocator has what it reuses.
    rounds(keels / 4, 0).await;
    let growth = Growth::begin().unwrap();
    rounds(keels, left_behind).await;
    growth.peak().unwrap()
}

/// A keel that leaves something behind adds up: the process is as large after hundreds of keels as after the first ones.
// shows: hazard AL1
#[tokio::test]
async fn memory_of_a_process_does_not_grow_with_its_keels() {
    let grown = growth_of_keels(None, 400, 0).await;
    assert!(grown < GROWTH_MAX, "{grown} bytes");
}

/// The test above can fail: it notices 16 KiB for each keel.
// shows: hazard AL1
#[tokio::test]
async fn leak_of_each_keel_is_noticed_in_the_memory_of_the_process() {
    let grown = growth_of_keels(None, 400, 16 << 10).await;
    assert!(grown > GROWTH_MAX, "{grown} bytes");
}

/// Opening takes longer on Redis, so that these are fewer.
// shows: hazard AL1
#[tokio::test]
async fn memory_of_a_process_does_not_grow_with_its_connections() {
    let grown = growth_of_keels(Some(&server().await), 20, 0).await;
    assert!(grown < GROWTH_MAX, "{grown} bytes");
}

#[tokio::test]
async fn dropped_keel_with_a_spool_frees_everything() {
    let redis = server().await;
    let story = async || {
        let folder = tempfile::tempdir().unwrap();
        let builder = Keel::builder().spool(folder.path(), SpoolOptions::default()).await.unwrap();
        let keel = builder.connect(&redis.url()).await.unwrap();
        let users = keel.cache::<u64, String>("user").ttl(Duration::from_secs(600)).open().await.unwrap();
        users.invalidate(&42).await.unwrap();
    };
    let before = at_rest().await;
    story().await;
    until_held(before, Some(&redis)).await;
}

#[tokio::test]
async fn dropped_redlock_frees_everything() {
    let redis = [server().await, server().await, server().await];
    let urls: Vec<String> = redis.iter().map(Redis::url).collect();
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    let story = async || {
        let locks = Redlock::connect(&urls).await.unwrap();
        drop(locks.lock("stock/42").acquire().await.unwrap());
        locks.lock("stock/42").acquire().await.unwrap().release().await.unwrap();
    };
    let before = at_rest().await;
    story().await;
    until_held(before, None).await;
}
