//! The connection to Redis breaks, or Redis loses its data, while read/write locks and permits are acquired, held or
//! released.

use crate::lock::side::rig::{Rig, TTL, in_time, renewed_alone, until};
use evenkeel::Keel;
use evenkeel::link::{LinkOptions, LinkState};
use evenkeel::lock::{Guard, LockError, LossReason, Permits, ReleaseOutcome, Wait};
use std::time::Duration;
use testkit::proxy::{Direction, Proxy};
use testkit::servers::{Redis, RedisOptions};
use testkit::step_command;
use testkit::{CommandTrace, eventually};
use tokio::task::JoinSet;

const MS: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3_600);

/// A rig on Redis, and a process that reaches it over a proxy.
async fn rig() -> (Rig, Proxy, Keel) {
    let rig = Rig::redis().await;
    let proxy = Proxy::start(rig.port(), 1).await.unwrap();
    let keel = rig.process_through(|url| proxy.url(url)).await;
    (rig, proxy, keel)
}

async fn read(keel: &Keel) -> Guard {
    keel.rw_lock("shelf").read().ttl(TTL).acquire().await.unwrap()
}

async fn write_at_once(keel: &Keel) -> Option<Guard> {
    keel.rw_lock("shelf").write().ttl(TTL).try_acquire().await.unwrap()
}

/// Two of the three there are.
async fn desks(keel: &Keel) -> Permits {
    keel.semaphore("desks", 3).take(2).ttl(TTL).acquire().await.unwrap()
}

async fn desks_at_once(keel: &Keel) -> Option<Permits> {
    keel.semaphore("desks", 3).take(2).ttl(TTL).try_acquire().await.unwrap()
}

/// The first of each script on a new way may be sent anew; the next is not.
async fn warm(keel: &Keel) {
    read(keel).await.release().await.unwrap();
    desks(keel).await.release().await.unwrap();
}

/// There is no holder and no waiter.
async fn is_idle(keel: &Keel) -> bool {
    let shelf = keel.rw_lock("shelf").inspect().await.unwrap();
    let desks = keel.semaphore("desks", 3).inspect().await.unwrap();
    shelf.is_none_or(|state| state.is_idle()) && desks.is_none_or(|state| state.is_idle())
}

/// (L2) Each shared holder is disconnected on its own, and must detect it on its own: at its deadline, and not after the next
/// holder was admitted.
#[tokio::test]
async fn disconnected_shared_holders_lose_at_their_deadline() {
    in_time(async {
        let (rig, proxy, one) = rig().await;
        let two = rig.process().await;
        let (reader, permits) = (read(&one).await, desks(&one).await);
        proxy.refuse(true).await.unwrap();
        proxy.cut();
        rig.pass(TTL - Duration::from_secs(1)).await;
        assert!(!reader.is_lost() && !permits.is_lost(), "unknown is not lost");
        assert!(write_at_once(&two).await.is_none() && desks_at_once(&two).await.is_none());
        rig.pass(Duration::from_secs(1)).await;
        assert_eq!([reader.lost().await.reason, permits.lost().await.reason], [LossReason::Expired; 2]);
        assert!(write_at_once(&two).await.is_some(), "not before the next may have it");
        assert!(desks_at_once(&two).await.is_some());
    })
    .await;
}

/// Permits survive an outage that is shorter than their lease.
#[tokio::test]
async fn shared_holders_survive_a_short_outage() {
    in_time(async {
        let (rig, proxy, one) = rig().await;
        let (reader, permits) = (read(&one).await, desks(&one).await);
        proxy.refuse(true).await.unwrap();
        proxy.cut();
        rig.pass(TTL / 2).await;
        proxy.refuse(false).await.unwrap();
        let mut state = one.link().unwrap().state();
        state.wait_for(|state| matches!(state, LinkState::Up { epoch: 2.. })).await.unwrap();
        rig.pass(TTL).await;
        assert!(!reader.is_lost() && !permits.is_lost());
        assert_eq!(reader.release().await.unwrap(), ReleaseOutcome::Released);
        assert_eq!(permits.release().await.unwrap(), ReleaseOutcome::Released);
    })
    .await;
}

/// (gumroad 7226) Leases that were members of a set came back to life with their next renewal after a flush.
#[tokio::test]
async fn renewal_does_not_revive_a_forgotten_shared_hold() {
    in_time(async {
        let rig = Rig::redis().await;
        let (one, two) = (rig.process().await, rig.process().await);
        let (reader, permits) = (read(&one).await, desks(&one).await);
        rig.forget("shelf").await;
        rig.forget("desks").await;
        rig.advance(MS).await;
        let (writer, others) = (write_at_once(&two).await.unwrap(), desks_at_once(&two).await.unwrap());
        assert!(writer.fence() > reader.fence(), "by the clock: the last fence is forgotten");
        rig.pass(TTL / 2).await;
        assert_eq!([reader.lost().await.reason, permits.lost().await.reason], [LossReason::Gone; 2]);
        let holders = two.semaphore("desks", 3).inspect().await.unwrap().unwrap().holders;
        assert_eq!(holders.iter().map(|holder| holder.permits).collect::<Vec<_>>(), [2], "one holder, not two");
        assert_eq!(reader.release().await.unwrap(), ReleaseOutcome::AlreadyLost);
        assert_eq!(permits.release().await.unwrap(), ReleaseOutcome::AlreadyLost);
        assert!(!writer.is_lost() && !others.is_lost());
    })
    .await;
}

/// (etcd #11456) Redis hangs after it has decided: what it granted has expired when its reply arrives.
#[tokio::test]
async fn permits_that_arrive_after_their_lease_are_discarded() {
    in_time(async {
        let (rig, proxy, one) = rig().await;
        warm(&one).await;
        let mut hold = proxy.hold(Direction::ToClient, step_command());
        let permits = one.semaphore("desks", 3).take(2).ttl(TTL);
        let asked = tokio::spawn(async move { permits.try_acquire().await });
        hold.reached().await.unwrap();
        rig.advance_processes(TTL);
        drop(hold);
        assert!(asked.await.unwrap().unwrap().is_none());
        let two = rig.process().await;
        until(async || is_idle(&two).await).await;
    })
    .await;
}

/// (L6) The server had accepted the command, its reply was in flight, and the caller was dropped.
#[tokio::test]
async fn shared_acquire_dropped_before_its_reply_leaves_nothing() {
    in_time(async {
        let (rig, proxy, one) = rig().await;
        let two = rig.process().await;
        warm(&one).await;
        for is_reader in [true, false] {
            let mut hold = proxy.hold(Direction::ToClient, step_command());
            let keel = one.clone();
            let asked =
                tokio::spawn(async move { if is_reader { drop(read(&keel).await) } else { drop(desks(&keel).await) } });
            hold.reached().await.unwrap();
            until(async || !is_idle(&two).await).await;
            asked.abort();
            assert!(asked.await.unwrap_err().is_cancelled());
            drop(hold);
            until(async || is_idle(&two).await).await;
        }
    })
    .await;
}

/// (L6) A waiter that was disconnected has a place in the queue that it will not take: that place must not block the others.
// shows: lock::RwBuilder::acquire, lock::PermitsBuilder::acquire
#[tokio::test]
async fn disconnected_waiter_loses_its_place() {
    in_time(async {
        let (rig, proxy, one) = rig().await;
        let two = rig.process().await;
        let reader = read(&two).await;
        let asked = tokio::spawn(one.rw_lock("shelf").write().ttl(TTL).wait(Wait::Forever).acquire());
        let waiting = async || two.rw_lock("shelf").inspect().await.unwrap().map_or(0, |state| state.waiting);
        until(async || waiting().await == 1).await;
        assert!(two.rw_lock("shelf").read().try_acquire().await.unwrap().is_none(), "a writer waits");
        proxy.refuse(true).await.unwrap();
        proxy.cut();
        rig.advance_store(Duration::from_secs(3)).await;
        let second = two.rw_lock("shelf").read().ttl(TTL).try_acquire().await.unwrap().expect("it asks no more");
        assert_eq!(second.fence(), reader.fence());
        asked.abort();
        assert!(asked.await.is_err());
    })
    .await;
}

/// A lost reply to a release: this call cannot be distinguished from an expiry, and the result says so.
// shows: lock::Guard::release, lock::ExclusiveGuard::release, lock::Permits::release, lock::AdvisoryGuard::release
#[tokio::test]
async fn release_of_permits_without_a_reply_is_unconfirmed() {
    in_time(async {
        let (rig, proxy, one) = rig().await;
        let two = rig.process().await;
        warm(&one).await;
        let permits = desks(&one).await;
        let mut hold = proxy.hold(Direction::ToClient, step_command());
        let released = tokio::spawn(permits.release());
        hold.reached().await.unwrap();
        assert!(is_idle(&two).await);
        let mut state = one.link().unwrap().state();
        proxy.cut();
        drop(hold);
        // The second try waits for the test's clock, the new connection does not.
        state.wait_for(|state| matches!(state, LinkState::Up { epoch: 2.. })).await.unwrap();
        assert_eq!(rig.while_time_passes(released).await.unwrap().unwrap(), ReleaseOutcome::Unconfirmed);
    })
    .await;
}

/// (L1) A watchdog outlived what it renewed. Each hold is released at about the time of its renewal, and no renewal follows.
#[tokio::test]
async fn no_shared_renewal_is_sent_after_release() {
    let redis = Redis::start(RedisOptions::new()).await.unwrap();
    let keel = Keel::connect(&redis.url()).await.unwrap();
    let ttl = Duration::from_millis(60);
    for round in 0..20 {
        let reader = keel.rw_lock(&format!("gone/{round}")).read().ttl(ttl).acquire().await.unwrap();
        let permits = keel.semaphore(&format!("gone/{round}"), 3).take(2).ttl(ttl).acquire().await.unwrap();
        if round % 2 == 0 {
            reader.release().await.unwrap();
            permits.release().await.unwrap();
        } else {
            drop((reader, permits));
        }
    }
    let all_free = async || {
        for round in 0..20 {
            let name = format!("gone/{round}");
            let shelf = keel.rw_lock(&name).inspect().await.unwrap();
            let desks = keel.semaphore(&name, 3).inspect().await.unwrap();
            if !(shelf.is_none_or(|state| state.is_idle()) && desks.is_none_or(|state| state.is_idle())) {
                return None;
            }
        }
        Some(())
    };
    eventually("all are free", all_free).await.unwrap();
    let other = keel.rw_lock("renewed").read().ttl(ttl).acquire().await.unwrap();
    let mut trace = CommandTrace::start(&redis).await.unwrap();
    renewed_alone(&mut trace, &redis, "renewed", "gone/").await;
    drop(other);
}

/// All tasks that found the pool without waiters sent their first request at once. Of 1,500 most were refused by the link, or got "no answer",
/// because their calls took Redis longer than the response time-out, and so were other calls of the program.
// shows: K8, hazard T31
#[tokio::test]
async fn herd_of_waiters_asks_a_few_at_a_time() {
    let server = testkit::park::redis().await.unwrap();
    let mut options = LinkOptions::from_url(&server.url).unwrap();
    // Far fewer than the tasks. Releases are sent 64 at a time.
    (options.prefix, options.in_flight_max) = (server.prefix.clone(), 120);
    options.response_timeout = Duration::from_secs(60);
    let keel = Keel::builder().connect_with(options).await.unwrap();
    let mut tasks = JoinSet::new();
    for number in 0..1_500_u64 {
        let asked = keel.semaphore("desks", 250).take(1).ttl(HOUR);
        let asked = if number % 3 == 0 { asked.wait(HOUR) } else { asked.wait(Wait::Forever) };
        tasks.spawn(async move { asked.acquire().await.map(drop) });
    }
    while let Some(task) = tasks.join_next().await {
        task.unwrap().unwrap();
    }
    // Nobody returns these: each waiter gets its own answer, and the ones without a waiting time theirs.
    let mut held = Vec::new();
    for _ in 0..250 {
        held.push(keel.semaphore("desks", 250).take(1).ttl(HOUR).wait(HOUR).acquire().await.unwrap());
    }
    for number in 0..500_u64 {
        let asked = keel.semaphore("desks", 250).take(1).ttl(HOUR);
        let asked = if number % 2 == 0 { asked.wait(Duration::from_secs(2)) } else { asked.wait(Wait::No) };
        tasks.spawn(async move { asked.acquire().await.map(drop) });
    }
    while let Some(task) = tasks.join_next().await {
        let refused = task.unwrap();
        assert!(matches!(refused, Err(LockError::Busy { .. })), "{refused:?}");
    }
}
