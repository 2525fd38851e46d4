//! Random misuse of Redlocks: settings, numbers of servers, names and terms at their extremes in any combination.

use super::extremes::{Change, SERVERS, changes};
use crate::lock::side::extremes::names;
use crate::lock::side::robustness::terms;
use crate::robustness::Round;
use evenkeel::Keel;
use evenkeel::lock::{Fence, Guard, LockError, LockName, Redlock, RedlockBuilder, ReleaseOutcome, Wait};
use evenkeel::testing::TestClock;
use std::time::Duration;
use testkit::park::{SharedRedis, redis};

/// The shortest lease, which every Redlock accepts.
const TTL: Duration = Duration::from_millis(50);
const FLOORS: [u64; 6] = [0, 1, 1 << 52, (1 << 52) + 1, 1 << 53, u64::MAX];
/// No holder has one of these.
const UNUSED_FENCES: [u64; 4] = [0, (1 << 53) - 1, 1 << 53, u64::MAX];

/// A Redis with many prefixes, each of which is a server. Time passes only at the end, so that no lease ends before and no call times
/// out.
struct Place {
    clock: TestClock,
    redis: Option<(SharedRedis, Keel)>,
}

impl Place {
    async fn open(round: &Round) -> Self {
        let redis = if round.is_on_redis() {
            let shared = redis().await.unwrap();
            let hand = Keel::connect(&shared.url).await.unwrap();
            Some((shared, hand))
        } else {
            None
        };
        Self { clock: TestClock::default(), redis }
    }

    /// Two processes of a Redlock over that many servers, whose prefixes contain this number.
    async fn redlocks(
        &self,
        builder: RedlockBuilder,
        servers: usize,
        number: usize,
    ) -> Result<(Redlock, Redlock), LockError> {
        let builder = builder.clock(self.clock.clock());
        let Some((shared, hand)) = &self.redis else {
            let redlock = builder.memory(servers)?;
            let other = redlock.another_process();
            return Ok((redlock, other));
        };
        let mut urls = Vec::new();
        for server in 0..servers.min(17) {
            let prefix = format!("{}n{number}s{server}", shared.prefix);
            let now = redis::cmd("SET").arg(format!("{prefix}:test:now_ms")).arg(self.clock.clock().unix_ms()).clone();
            hand.link().unwrap().command(b"", &now).await.unwrap();
            urls.push(format!("{}?prefix={prefix}&response_timeout_ms=15000", shared.url));
        }
        let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
        Ok((builder.connect(&urls).await?, builder.connect(&urls).await?))
    }

    /// For a shutdown, which waits for replies, and a caller after it, which tries again.
    async fn while_time_passes<F: Future>(&self, future: F) -> F::Output {
        let mut future = std::pin::pin!(future);
        loop {
            match tokio::time::timeout(Duration::from_millis(3), &mut future).await {
                Ok(output) => return output,
                Err(_) => self.clock.advance(Duration::from_millis(10)),
            }
        }
    }
}

fn is_refusal(error: &LockError) -> bool {
    matches!(error, LockError::Invalid(_))
}

/// Redlocks with up to three settings drawn from the table of extremes, then locks with extreme names and terms.
pub(crate) async fn extremes(mut round: Round) {
    let place = Place::open(&round).await;
    let table: Vec<(String, Change)> = changes().into_iter().map(|(what, _, change)| (what, change)).collect();
    for number in 0..6 {
        let (builder, what) = round.change(Redlock::builder(), &table, 0..=3);
        // Half of the Redlocks have a possible number of servers.
        let servers = if round.chance(50) { *round.one(&SERVERS) } else { *round.one(&[3, 4, 5, 15]) };
        let opened = place.redlocks(builder, servers, number).await;
        let opened = round.result(format!("open on {servers} servers: {what}"), opened, is_refusal);
        let Some((redlock, other)) = opened else { continue };
        for _ in 0..12 {
            acquire(&mut round, &redlock, &other).await;
        }
        let deadline = *round.one(&[Duration::ZERO, Duration::from_nanos(1), Duration::from_secs(1), Duration::MAX]);
        round.step(format!("shut down within {deadline:?}"));
        place.while_time_passes(redlock.shutdown(deadline)).await;
        if round.is_on_redis() {
            // Tried three times, with delays.
            let refused = redlock.lock("a").ttl(TTL).wait(Wait::No).acquire();
            let refused = place.while_time_passes(Box::pin(refused)).await;
            assert!(matches!(refused, Err(LockError::NoQuorum { .. })), "after a shutdown: {refused:?}");
        }
        held_and_released(&round, "a", &other, "after a shutdown of another process").await;
    }
}

async fn acquire(round: &mut Round, redlock: &Redlock, other: &Redlock) {
    let name = round.one(&names()).clone();
    let (terms, what) = terms(round);
    let mut lock = redlock.lock(&name).terms(terms);
    let mut call = format!("a name of {} bytes: {what}", name.len());
    if round.chance(30) {
        let floor = *round.one(&FLOORS);
        call = format!("{call}, fence above {floor}");
        lock = lock.fence_above(Fence(floor));
    }
    let Some(guard) = round.result(&call, lock.acquire().await, is_refusal) else { return };
    holds(&guard, &name, redlock, &call).await;
    let busy = other.lock(&name).ttl(TTL).try_acquire().await.unwrap();
    assert!(busy.is_none(), "a second holder of {call}");
    let fence = *round.one(&UNUSED_FENCES);
    let broken = other.lock(&name).break_lock(Some(Fence(fence))).await;
    let broken = round.result(format!("break a lock with fence {fence}"), broken, is_refusal);
    assert!(broken.flatten().is_none(), "{fence} broke {call}");
    assert!(other.lock(&name).inspect().await.unwrap().is_some(), "{call}");
    assert_eq!(guard.release().await.unwrap(), ReleaseOutcome::Released, "{call}");
    held_and_released(round, &name, other, &call).await;
}

async fn holds(guard: &Guard, name: &str, redlock: &Redlock, call: &str) {
    assert!(!guard.is_lost() && !guard.remaining().is_zero(), "{call}");
    let held = redlock.held_on(&LockName::new(name).unwrap()).await;
    assert!(held.iter().filter(|held| **held).count() > held.len() / 2, "held by a majority: {call}: {held:?}");
}

/// Another process gets the lock, once. A lease of Redis ends in real time, so only a long one is sure to last until its release; a Redlock
/// whose longest ttl is short refuses it.
async fn held_and_released(round: &Round, name: &str, by: &Redlock, after: &str) {
    let long = by.lock(name).wait(Wait::No).acquire().await;
    let is_long = !matches!(long, Err(LockError::Invalid(_)));
    let guard = if is_long { long } else { by.lock(name).ttl(TTL).wait(Wait::No).acquire().await };
    let guard = guard.unwrap_or_else(|error| panic!("{error} after {after}"));
    let lasts = is_long || !round.is_on_redis();
    if lasts {
        holds(&guard, name, by, after).await;
    }
    let released = guard.release().await.unwrap();
    assert!(released == ReleaseOutcome::Released || !lasts, "{released:?} after {after}");
    round.checked(3);
}
