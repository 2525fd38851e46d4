//! Tests the latch with every order of the steps of a drop and a renewal.

use super::latch::Latch;

// shows: K4
#[test]
fn lost_lease_stays_lost() {
    let latch = Latch::new(10);
    assert!(latch.is_held() && latch.lose() && !latch.lose());
    latch.extend(100);
    assert!(latch.is_lost() && !latch.is_held() && !latch.begin_renewal());
}

#[test]
fn closed_lease_is_not_lost() {
    let latch = Latch::new(10);
    latch.close();
    assert!(!latch.lose() && !latch.is_lost() && !latch.begin_renewal());
}

// shows: K5
#[test]
fn release_is_sent_once_by_drop_or_renewal() {
    let latch = Latch::new(10);
    assert!(latch.begin_renewal());
    assert!(!latch.close_at_once(), "a renewal is in progress");
    assert!(latch.end_renewal());
    let latch = Latch::new(10);
    assert!(latch.begin_renewal() && !latch.end_renewal());
    assert!(latch.close_at_once());
}

/// The next step of a thread. Each step is one atomic change, so the orders of the steps are all interleavings.
#[derive(Clone, Copy, Default)]
struct Thread {
    at: u8,
    flag: bool,
}

/// The renewals and releases that reached the server, in order.
#[derive(Clone, Default)]
struct Sent(Vec<&'static str>);

/// One step of the renewal: begin, send, end, and the release if it must send it. `false` once it has ended.
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

/// One step of a drop: close, and the release unless the renewal must send it.
fn let_go(latch: &Latch, thread: &mut Thread, sent: &mut Sent) -> bool {
    match thread.at {
        0 => thread.flag = latch.close_at_once(),
        1 if thread.flag => sent.0.push("release"),
        _ => {}
    }
    thread.at += 1;
    thread.at <= 2
}

/// (L1) A watchdog outlived its lock in one order of the steps. This test checks every order.
// shows: K4, hazard L1, lock::Guard::release, lock::ExclusiveGuard::release, lock::Permits::release
// shows: lock::AdvisoryGuard::release
#[test]
fn every_order_sends_one_release_and_no_later_renewal() {
    // Each bit of the number selects the thread of the next step.
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
fn deadline_only_moves_forward() {
    let latch = Latch::new(10);
    latch.extend(20);
    latch.extend(15);
    assert_eq!(latch.deadline_ns(), 20);
}
