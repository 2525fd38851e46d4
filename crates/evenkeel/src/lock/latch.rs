//! The state of a lease, as a few bits that are changed at once: held until it is closed or lost, and never held again.
//!
//! Free of tokio and of clocks, so that all interleavings of a drop with a renewal can be tried (below).

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::SeqCst};

/// A renewal is on its way.
const RENEWING: u8 = 1;
/// Its guard has let go.
const CLOSED: u8 = 2;
/// It has run out, or was taken.
const LOST: u8 = 4;
/// The renewal that is on its way must see to the release.
const OWED: u8 = 8;

/// Whether a lease is held, until when, and who sends its release.
pub(super) struct Latch {
    bits: AtomicU8,
    deadline_ns: AtomicU64,
}

impl Latch {
    /// Held until `deadline_ns`.
    pub(super) fn new(deadline_ns: u64) -> Self {
        Self { bits: AtomicU8::new(0), deadline_ns: AtomicU64::new(deadline_ns) }
    }

    pub(super) fn deadline_ns(&self) -> u64 {
        self.deadline_ns.load(SeqCst)
    }

    /// Moves the deadline on, never back.
    pub(super) fn extend(&self, deadline_ns: u64) {
        self.deadline_ns.fetch_max(deadline_ns, SeqCst);
    }

    /// Neither closed nor lost.
    pub(super) fn is_held(&self) -> bool {
        self.bits.load(SeqCst) & (CLOSED | LOST) == 0
    }

    pub(super) fn is_lost(&self) -> bool {
        self.bits.load(SeqCst) & LOST != 0
    }

    /// Whether a renewal is on its way.
    pub(super) fn is_renewing(&self) -> bool {
        self.bits.load(SeqCst) & RENEWING != 0
    }

    /// Notes that it was lost; `true` for the one call that did it. What is closed is not lost any more.
    pub(super) fn lose(&self) -> bool {
        self.change(|bits| (bits & (CLOSED | LOST) == 0).then_some(bits | LOST)).is_some()
    }

    /// A renewal may be sent; `false` if the lease is not held.
    pub(super) fn begin_renewal(&self) -> bool {
        self.change(|bits| (bits & (CLOSED | LOST) == 0).then_some(bits | RENEWING)).is_some()
    }

    /// The renewal is over; `true` if its sender must now see to the release.
    pub(super) fn end_renewal(&self) -> bool {
        self.bits.fetch_and(!RENEWING, SeqCst) & OWED != 0
    }

    /// From now on no renewal begins. Who calls this sends the release once none is on its way.
    pub(super) fn close(&self) {
        self.bits.fetch_or(CLOSED, SeqCst);
    }

    /// The same for a caller who cannot wait: `true` if he must see to the release, `false` if the renewal that is on its way
    /// does.
    pub(super) fn close_at_once(&self) -> bool {
        self.bits.fetch_or(CLOSED | OWED, SeqCst) & RENEWING == 0
    }

    fn change(&self, change: impl Fn(u8) -> Option<u8>) -> Option<u8> {
        self.bits.fetch_update(SeqCst, SeqCst, change).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::Latch;

    #[test]
    fn what_is_lost_stays_lost() {
        let latch = Latch::new(10);
        assert!(latch.is_held() && latch.lose() && !latch.lose());
        latch.extend(100);
        assert!(latch.is_lost() && !latch.is_held() && !latch.begin_renewal());
    }

    #[test]
    fn a_closed_lease_is_not_lost() {
        let latch = Latch::new(10);
        latch.close();
        assert!(!latch.lose() && !latch.is_lost() && !latch.begin_renewal());
    }

    #[test]
    fn one_of_the_two_sends_the_release() {
        let latch = Latch::new(10);
        assert!(latch.begin_renewal());
        assert!(!latch.close_at_once(), "the renewal is on its way");
        assert!(latch.end_renewal());
        let latch = Latch::new(10);
        assert!(latch.begin_renewal() && !latch.end_renewal());
        assert!(latch.close_at_once());
    }

    /// What a thread does next with the latch; each is one atomic change, so the orders of these are all there are.
    #[derive(Clone, Copy, Default)]
    struct Thread {
        at: u8,
        flag: bool,
    }

    /// What reached the server, in order: renewals and releases.
    #[derive(Clone, Default)]
    struct Sent(Vec<&'static str>);

    /// One step of the renewal: begin, send, end, and the release it may owe. `false` once it is over.
    fn renew(latch: &Latch, thread: &mut Thread, sent: &mut Sent) -> bool {
        match thread.at {
            0 => thread.flag = latch.begin_renewal(),
            1 if thread.flag => sent.0.push("renewal"),
            2 if thread.flag => thread.flag = latch.end_renewal(),
            3 if thread.flag => sent.0.push("release"),
            _ => {}
        }
        thread.at += 1;
        thread.at <= 4
    }

    /// One step of a drop: close, and the release unless the renewal owes it.
    fn let_go(latch: &Latch, thread: &mut Thread, sent: &mut Sent) -> bool {
        match thread.at {
            0 => thread.flag = latch.close_at_once(),
            1 if thread.flag => sent.0.push("release"),
            _ => {}
        }
        thread.at += 1;
        thread.at <= 2
    }

    /// (L1) In some order of the two, a watchdog outlived its lock. Here: every order of every step.
    #[test]
    fn whatever_the_order_one_release_is_sent_and_no_renewal_after_it() {
        // Each bit of the number says who goes next.
        for order in 0..1_u32 << 9 {
            let (latch, mut sent) = (Latch::new(10), Sent::default());
            let (mut renewal, mut drop) = (Thread::default(), Thread::default());
            for turn in 0..9 {
                match (order >> turn) & 1 {
                    0 => renew(&latch, &mut renewal, &mut sent),
                    _ => let_go(&latch, &mut drop, &mut sent),
                };
            }
            while renew(&latch, &mut renewal, &mut sent) || let_go(&latch, &mut drop, &mut sent) {}
            let releases = sent.0.iter().filter(|sent| **sent == "release").count();
            assert_eq!((releases, sent.0.last()), (1, Some(&"release")), "{order:09b}: {:?}", sent.0);
        }
    }

    #[test]
    fn a_deadline_moves_on_only() {
        let latch = Latch::new(10);
        latch.extend(20);
        latch.extend(15);
        assert_eq!(latch.deadline_ns(), 20);
    }
}
