//! Every wait at the start and at the end of a program has a bound of its own while Redis does not reply: a consumer that is told to stop does
//! not take the whole of its drain with nothing running. (Those for a database: `migrations`, `locks`, `settings`.)

use evenkeel::Keel;
use evenkeel::cache::Cache;
use evenkeel::queue::{Cron, Delivery, Queue};
use evenkeel::sql::{Message, migrate};
use evenkeel::stream::{Entry, OnFailure, Stream};
use evenkeel_protocol::queue::steps::Found;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use sqlx::sqlite::SqlitePoolOptions;
use std::convert::Infallible;
use std::fmt::Debug;
use std::time::Duration;
use testkit::eventually;
use testkit::park::sqlite_database;
use testkit::servers::{Redis, RedisOptions};
use tokio::sync::{mpsc, watch};

/// Far above every bound, and far below [`DRAIN`].
const BOUND: Duration = Duration::from_secs(40);
/// How long a program lets its handlers end.
const DRAIN: Duration = Duration::from_secs(3_600);

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

// shows: hazard SF7
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
        bounded("a cache", async { keel.cache::<u64, u64>("users").ttl(DRAIN).open().await.map(drop) }),
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

/// An idle consumer waited for the reply to its claim as long as its drain.
// shows: hazard SF7
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn end_without_a_reply_of_redis_ends() {
    let mut redis = Redis::start(RedisOptions::new()).await.unwrap();
    let keel = Keel::connect(&quick(&redis.url())).await.unwrap();
    let database = sqlite_database().unwrap();
    // More than the unit of work has: a consumer asks the databases of all relays whether its stream is registered there, and waits for that.
    let pool = SqlitePoolOptions::new().max_connections(4).connect(&database.url).await.unwrap();
    migrate(&pool).await.unwrap();
    let users: Cache<u64, u64> = keel.cache("users").ttl(DRAIN).open().await.unwrap();
    let mail: Queue<u64> = keel.queue("mail").open().await.unwrap();
    let orders: Stream<u64> = keel.stream("orders").open().await.unwrap();
    let window = users.begin_write(&1).await.unwrap();
    let lock = keel.lock("stock/1").ttl(Duration::from_secs(2)).acquire().await.unwrap();
    let dropped = keel.lock("stock/2").ttl(Duration::from_secs(2)).acquire().await.unwrap();
    let permits = keel.semaphore("desks", 3).take(1).ttl(Duration::from_secs(2)).acquire().await.unwrap();
    let mut work = keel.begin(&pool).await.unwrap();
    work.publish(Message::new("orders", "sold")).unwrap();
    work.invalidate(&users, &2).unwrap();

    let (stop, stopped) = watch::channel(false);
    let told = || {
        let mut stopped = stopped.clone();
        async move { _ = stopped.wait_for(|stop| *stop).await }
    };
    let (handled, mut all) = mpsc::unbounded_channel();
    let of_job = handled.clone();
    let handle_entries = || {
        let handled = handled.clone();
        move |_: Entry<u64>| {
            _ = handled.send(());
            async { Ok::<_, Infallible>(()) }
        }
    };
    let jobs = mail.consume(move |_: Delivery<u64>| {
        _ = of_job.send(());
        async { Ok::<_, Infallible>(()) }
    });
    let relay = keel.relay(&pool);
    let ordered = orders.group("ordered").per_key(OnFailure::BlockKey).handle(handle_entries()).drain(DRAIN);
    let unordered = orders.group("unordered").unordered().handle(handle_entries()).drain(DRAIN);
    let minutely = mail.periodic("minutely", "* * * * *".parse::<Cron>().unwrap(), |_| 1);
    let ends = join_all([
        bounded("a queue's consumer", jobs.drain(DRAIN).run(told())),
        bounded("an ordered group", ordered.run(told())),
        bounded("an unordered group", unordered.run(told())),
        bounded("a schedule", minutely.run(told())),
        bounded("a relay", relay.run(told())),
    ]);
    let pause = async {
        // Each consumer is at work, and has nothing to do then.
        let job = mail.now(&1).await.unwrap();
        orders.append("1", &1).await.unwrap();
        for _ in 0..3 {
            all.recv().await.unwrap();
        }
        let is_settled = async || {
            let groups = orders.admin().groups().await.unwrap();
            let is_idle = groups.iter().all(|group| group.pending() == 0 && group.lag().is_none());
            // A job whose sender chose no id leaves no record.
            let has_ended = mail.find(&job).await.unwrap().is_none_or(|found| matches!(found, Found::Ended(_)));
            (is_idle && has_ended).then_some(())
        };
        eventually("all is settled", is_settled).await.unwrap();
        redis.pause().unwrap();
        stop.send_replace(true);
    };
    tokio::join!(ends, pause);
    drop(dropped);
    join_all([
        bounded("the end of an update window", window.end()),
        bounded("a release", lock.release()),
        bounded("a release of permits", permits.release()),
        bounded("a commit", work.commit()),
    ])
    .await;
    bounded("the end of the keel", keel.shutdown(DRAIN)).await;
}
