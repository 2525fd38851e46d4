//! Several processes wait on one Redis: a release calls one of them.

use super::holds::take;
use super::rig::{Rig, TTL, in_time, until};
use evenkeel::Keel;
use evenkeel::link::{Notification, Subscription};
use evenkeel::lock::{Guard, LockError, Wait};
use std::time::Duration;
use testkit::proxy::{Direction, Proxy};
use tokio::task::JoinHandle;

const MS: Duration = Duration::from_millis(1);

/// A process that waits, and the way it reaches Redis.
struct Waiter {
    keel: Keel,
    acquired: JoinHandle<Result<Guard, LockError>>,
    _proxy: Proxy,
}

impl Waiter {
    /// A process that has subscribed, has polled once more, and sleeps now; it asked later than all other waiters.
    async fn asleep(rig: &Rig) -> Self {
        let proxy = Proxy::start(rig.port(), 1).await.unwrap();
        let keel = rig.process_through(|url| proxy.url(url)).await;
        let mut hold = proxy.hold(Direction::ToServer, "SSUBSCRIBE");
        let acquired = tokio::spawn(keel.lock("stock/42").ttl(TTL).wait(Wait::Forever).acquire());
        hold.reached().await.unwrap();
        let before = counted_until(&keel).await;
        rig.advance(MS).await;
        drop(hold);
        until(async || counted_until(&keel).await.last() > before.last()).await;
        Self { keel, acquired, _proxy: proxy }
    }

    /// A second subscription to the notifications of the lock, on the connection of the waiter: it receives each one after the waiter.
    async fn subscribe_to_lock(&self) -> Subscription {
        let link = self.keel.link().unwrap();
        link.subscribe(format!("{}:l:{{stock/42}}:news", link.prefix()).as_bytes()).await.unwrap()
    }
}

/// Until when each process that waits counts as waiting, in order.
async fn counted_until(keel: &Keel) -> Vec<f64> {
    let link = keel.link().unwrap();
    let key = format!("{}:l:{{stock/42}}:waiters", link.prefix());
    let mut all = redis::cmd("ZRANGE");
    let reply = link.command(key.as_bytes(), all.arg(&key).arg(0).arg(-1).arg("WITHSCORES")).await.unwrap();
    let pairs: Vec<(Vec<u8>, f64)> = redis::from_redis_value(reply).unwrap();
    pairs.into_iter().map(|(_, until)| until).collect()
}

/// Releases the lock, and waits until `waiter` has received the call and reacted to it.
async fn give_back(guard: Guard, waiter: &Waiter) {
    let mut subscription = waiter.subscribe_to_lock().await;
    guard.release().await.unwrap();
    assert!(matches!(subscription.next().await, Some(Notification::Message(_))));
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    // On the connection of its attempts, so this is answered after them.
    waiter.keel.lock("stock/42").inspect().await.unwrap();
}

/// With a hundred waiting processes, every release caused a hundred attempts, of which ninety-nine failed (thundering herd).
// shows: K6, lock::Guard::release, lock::ExclusiveGuard::release, lock::Permits::release, lock::AdvisoryGuard::release
#[tokio::test]
async fn release_calls_only_the_longest_waiting_process() {
    in_time(async {
        let rig = Rig::redis().await;
        let one = rig.process().await;
        let guard = take(&one).await;
        let (two, three) = (Waiter::asleep(&rig).await, Waiter::asleep(&rig).await);
        let asked = counted_until(&one).await.pop();
        // A process that asks from now on counts for longer.
        rig.advance(MS).await;
        give_back(guard, &three).await;
        let second = two.acquired.await.unwrap().unwrap();
        assert_eq!(counted_until(&one).await.pop(), asked, "the third has asked again");
        second.release().await.unwrap();
        drop(three.acquired.await.unwrap().unwrap());
    })
    .await;
}

/// The notified process may have canceled its call, or have died, a moment before.
// shows: K6
#[tokio::test]
async fn dead_notified_waiter_does_not_delay_others() {
    in_time(async {
        let rig = Rig::redis().await;
        let one = rig.process().await;
        let guard = take(&one).await;
        let (two, three) = (Waiter::asleep(&rig).await, Waiter::asleep(&rig).await);
        two.acquired.abort();
        assert!(two.acquired.await.unwrap_err().is_cancelled());
        give_back(guard, &three).await;
        rig.advance(100 * MS).await;
        drop(three.acquired.await.unwrap().unwrap());
    })
    .await;
}

/// Another program deletes the keys of the lock, which sends no notification. The lease would last for 30 s.
// shows: K6, hazard L10
#[tokio::test]
async fn waiter_polls_after_a_second_without_a_notification() {
    in_time(async {
        let rig = Rig::redis().await;
        let one = rig.process().await;
        let guard = take(&one).await;
        let waiter = Waiter::asleep(&rig).await;
        // On the connection of its attempts, so this is answered after them.
        waiter.keel.lock("stock/42").inspect().await.unwrap();
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        rig.forget("stock/42").await;
        rig.advance(1_000 * MS).await;
        drop(waiter.acquired.await.unwrap().unwrap());
        drop(guard);
    })
    .await;
}
