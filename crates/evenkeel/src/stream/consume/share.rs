//! How many partitions of an ordered group this consumer should own: those that are alive divide them evenly.
//!
//! Only a hint: the lease of a partition decides who reads it. A consumer with too many partitions drains and returns one; a consumer with too
//! few tries to acquire free ones.

use super::group::Ordering;
use super::run::Run;
use crate::handling::phase::Phase;
use evenkeel_link::Token;
use evenkeel_protocol::stream::steps::{Attend, Reply};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;
use tokio::sync::watch;

/// How often a consumer of a small group says that it is alive, with 25 % jitter.
const INTERVAL: Duration = Duration::from_secs(1);
/// The most consumers of a small group. Each call reads the names of all, so those of larger groups call less often: what all of them read
/// in a second grows with their number, and not with its square.
const SMALL: usize = 32;

/// This consumer's share of the partitions.
pub(crate) struct Share {
    quota: watch::Sender<usize>,
    owned: Arc<AtomicUsize>,
}

/// A partition that counts as owned, until this is dropped.
pub(crate) struct Owned(Arc<AtomicUsize>);

impl Share {
    /// Every partition, for a group in which all consumers read all partitions; otherwise none until the first answer.
    pub(crate) fn new(quota: usize) -> Self {
        Self { quota: watch::Sender::new(quota), owned: Arc::default() }
    }

    /// The right to acquire one more partition.
    pub(crate) fn take(&self) -> Option<Owned> {
        let quota = *self.quota.borrow();
        let more = |owned| (owned < quota).then_some(owned + 1);
        self.owned.fetch_update(SeqCst, SeqCst, more).ok().map(|_| Owned(Arc::clone(&self.owned)))
    }

    /// Gives up a partition if this consumer has too many; it then no longer counts.
    pub(crate) fn give_up(&self, owned: &mut Option<Owned>) -> bool {
        if owned.is_none() {
            return false;
        }
        let is_excess = self.owned.load(SeqCst) > *self.quota.borrow();
        if is_excess {
            *owned = None;
        }
        is_excess
    }

    /// Notified when the share has changed.
    pub(crate) fn changes(&self) -> watch::Receiver<usize> {
        self.quota.subscribe()
    }

    pub(crate) fn owned(&self) -> usize {
        self.owned.load(SeqCst)
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

/// Says that this consumer is alive and reads its share, until the task is dropped.
pub(crate) async fn keep_attending<T: Send + Sync + 'static>(run: Arc<Run<T>>) {
    loop {
        let members = run_once(&run).await;
        let interval = interval(members, Duration::from_millis(run.settings.lease_ms()));
        let jitter = interval.mul_f64(0.75 + rand::random::<f64>() / 2.0);
        tokio::select! {
            () = run.core.base.clock.sleep(jitter) => {}
            () = async { crate::handling::phase::reached(&mut run.phases.clone(), Phase::Draining).await }, if run.phase() == Phase::Working => {}
        }
    }
}

/// Says that this consumer is gone, so that the others need not wait until it counts as dead.
pub(crate) async fn stop_attending<T>(run: &Run<T>) {
    if run.settings.ordering != Ordering::Unordered {
        run_once(run).await;
    }
}

/// Returns how many consumers the group has, as far as is known.
async fn run_once<T>(run: &Run<T>) -> usize {
    let (base, mut known) = (&run.core.base, 0);
    let Some(first) = base.partitions.first() else { return known };
    let lease_ms = if run.phase() == Phase::Working { run.settings.lease_ms() } else { 0 };
    match base.store.run(first, &Attend { group: run.group.clone(), consumer: run.consumer, lease_ms }).await {
        Ok(Reply::Done(members)) => {
            known = members.len();
            let quota = quota(base.partitions.len(), &members, run.consumer);
            run.share.quota.send_if_modified(|held| std::mem::replace(held, quota) != quota);
        }
        // The worker of the partition creates it again.
        Ok(_) => {}
        Err(error) => run.metrics.failed("attend", &error),
    }
    run.metrics.partitions.set(run.share.owned() as f64);
    known
}

/// How often each of so many consumers says that it is alive: at least four times in a lease.
fn interval(members: usize, lease: Duration) -> Duration {
    let of_group = INTERVAL.mul_f64((members as f64 / SMALL as f64).max(1.0));
    of_group.min((lease / 4).max(INTERVAL))
}

/// The first members have one partition more, if they cannot be divided evenly. With as many members as partitions or more, each may own
/// one: moving it to a member that joins would cancel a long handler, and balance nothing.
fn quota(partitions: usize, members: &[Token], me: Token) -> usize {
    let Some(place) = members.iter().position(|member| *member == me) else { return 0 };
    if members.len() >= partitions {
        return 1;
    }
    partitions / members.len() + usize::from(place < partitions % members.len())
}

#[cfg(test)]
mod tests {
    use super::{INTERVAL, SMALL, Share, interval, quota};
    use evenkeel_link::Token;
    use std::time::Duration;

    /// Each consumer read the names of all others once a second: 250,000 of them in a group of 500.
    // shows: hazard BL2
    #[test]
    fn names_read_in_a_second_grow_with_the_number_of_consumers() {
        let lease = Duration::from_secs(120);
        for members in [1, 8, SMALL, 100, 500] {
            let of_each = members as f64 / interval(members, lease).as_secs_f64();
            assert!(of_each <= SMALL as f64, "each of {members} reads {of_each} names a second");
        }
        assert_eq!((interval(0, lease), interval(SMALL, lease)), (INTERVAL, INTERVAL));
        assert_eq!(interval(500, Duration::from_secs(30)), Duration::from_millis(7_500), "it must not count as dead");
        assert_eq!(interval(500, Duration::from_secs(2)), INTERVAL);
    }

    #[test]
    fn quotas_add_up_to_all_partitions_or_one_a_member() {
        for partitions in [1, 2, 7, 8, 256] {
            for members in 1..20_u8 {
                let all: Vec<Token> = (0..members).map(|number| Token::from([number; 16])).collect();
                let quotas: Vec<usize> = all.iter().map(|member| quota(partitions, &all, *member)).collect();
                assert_eq!(quotas.iter().sum::<usize>(), partitions.max(all.len()));
                assert!(quotas.iter().max().unwrap_or(&0) - quotas.iter().min().unwrap_or(&0) <= 1, "{quotas:?}");
            }
        }
        assert_eq!(quota(8, &[], Token::from([1; 16])), 0);
    }

    #[test]
    fn only_what_is_above_the_share_is_given_up() {
        let share = Share::new(2);
        let (mut first, mut second) = (share.take(), share.take());
        assert!(first.is_some() && second.is_some() && share.take().is_none());
        share.quota.send_replace(1);
        assert!(share.give_up(&mut first) && !share.give_up(&mut second) && !share.give_up(&mut first));
        assert_eq!(share.owned(), 1);
    }
}
