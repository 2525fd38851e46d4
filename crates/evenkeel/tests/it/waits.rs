//! Every wait at the start of a program has a bound of its own while Redis does not reply. (Those for a database: `migrations`, `locks`,
//! `settings`; that of an idle consumer at its end: `queue::side::failures::faults`.)

use evenkeel::Keel;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use std::fmt::Debug;
use std::time::Duration;
use testkit::servers::{Redis, RedisOptions};

/// Far above every bound.
const BOUND: Duration = Duration::from_secs(40);

fn quick(url: &str) -> String {
    format!("{url}?response_timeout_ms=300&connect_timeout_ms=300&heartbeat_ms=200")
}

/// Fails if the wait does not end.
fn bounded<'a, T: Send>(what: &'a str, wait: impl Future<Output = T> + Send + 'a) -> BoxFuture<'a, ()> {
    async move {
        assert!(tokio::time::timeout(BOUND, wait).await.is_ok(), "{what} waits without a bound");
    }
    .boxed()
}

/// The same of a start, which must fail.
fn refused<'a, T: Debug + Send, E: Send>(
    what: &'a str,
    start: impl Future<Output = Result<T, E>> + Send + 'a,
) -> BoxFuture<'a, ()> {
    let start = async move { start.await.is_err() };
    async move {
        let Ok(is_refused) = tokio::time::timeout(BOUND, start).await else { panic!("{what} waits without a bound") };
        assert!(is_refused, "{what}, without a server");
    }
    .boxed()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn start_without_a_reply_of_redis_ends() {
    let mut redis = Redis::start(RedisOptions::new()).await.unwrap();
    redis.pause().unwrap();
    let url = quick(&redis.url());
    let keel = Keel::connect_lazy(&url).await.unwrap();
    let (stock, desks, shelf) = (keel.lock("stock/1"), keel.semaphore("desks", 3), keel.rw_lock("shelf"));
    let wait = Duration::from_secs(1);
    join_all([
        refused("connect", async { Keel::connect(&url).await.map(drop) }),
        bounded("a cache", async { keel.cache::<u64, u64>("users").ttl(BOUND).open().await.map(drop) }),
        refused("a queue", async { keel.queue::<u64>("mail").open().await.map(drop) }),
        refused("a topic", async { keel.topic("mail").await.map(drop) }),
        refused("a stream", async { keel.stream::<u64>("orders").open().await.map(drop) }),
        refused("a lock", async { stock.wait(wait).acquire().await.map(drop) }),
        refused("permits", async { desks.take(1).wait(wait).acquire().await.map(drop) }),
        refused("a read lock", async { shelf.read().wait(wait).acquire().await.map(drop) }),
        refused("a write lock", async { shelf.write().wait(wait).acquire().await.map(drop) }),
        refused("the processes", async { keel.processes().await.map(drop) }),
    ])
    .await;
}
