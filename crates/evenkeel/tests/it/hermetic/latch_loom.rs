//! Drop against renewal, under loom: the latch of a lease with loom's atomics in place of the standard ones, and every interleaving
//! and every value that the memory model allows them.
//!
//! (L1) In one order of the two, a watchdog outlived its lock; in another, neither released the lock.

#[expect(dead_code, reason = "the file of the library, of which these tests use a part")]
#[path = "../../../src/lock/hold/latch.rs"]
mod latch;

mod atomics {
    pub(super) use loom::sync::atomic::{AtomicU8, AtomicU64, Ordering};
}

use latch::Latch;
use loom::sync::{Arc, Mutex};
use loom::thread;

/// What reached the server, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sent {
    Renewal,
    Release,
}

/// A lease as its renewal and its guard share it, and what they sent.
struct Lease {
    latch: Latch,
    sent: Mutex<Vec<Sent>>,
}

impl Lease {
    fn send(&self, what: Sent) {
        self.sent.lock().unwrap().push(what);
    }

    /// What the renewal's task does when one is due.
    fn renew(&self) {
        if self.latch.begin_renewal() {
            self.send(Sent::Renewal);
            if self.latch.end_renewal() {
                self.send(Sent::Release);
            }
        }
    }

    /// What dropping the guard does.
    fn let_go(&self) {
        if self.latch.close_at_once() {
            self.send(Sent::Release);
        }
    }
}

fn lease() -> Arc<Lease> {
    Arc::new(Lease { latch: Latch::new(10), sent: Mutex::new(Vec::new()) })
}

// shows: K4
#[test]
fn drop_during_renewal_sends_one_release_and_nothing_later() {
    loom::model(|| {
        let lease = lease();
        let renewed = Arc::clone(&lease);
        let renewal = thread::spawn(move || {
            renewed.renew();
            renewed.renew();
        });
        lease.let_go();
        renewal.join().unwrap();
        let sent = lease.sent.lock().unwrap().clone();
        assert_eq!(sent.iter().filter(|sent| **sent == Sent::Release).count(), 1, "{sent:?}");
        assert_eq!(sent.last(), Some(&Sent::Release), "{sent:?}");
    });
}

/// Meanwhile another task looks at the clock, and finds the lease expired.
// shows: K4
#[test]
fn loss_during_drop_and_renewal_still_sends_one_release() {
    loom::model(|| {
        let lease = lease();
        let (renewed, looked) = (Arc::clone(&lease), Arc::clone(&lease));
        let renewal = thread::spawn(move || renewed.renew());
        let look = thread::spawn(move || {
            let was_first = looked.latch.lose();
            // Once and permanently, and only before the release.
            (was_first, looked.latch.is_lost())
        });
        lease.let_go();
        renewal.join().unwrap();
        let (was_first, is_lost) = look.join().unwrap();
        assert_eq!(was_first, is_lost);
        let sent = lease.sent.lock().unwrap().clone();
        assert_eq!(
            (sent.iter().filter(|sent| **sent == Sent::Release).count(), sent.last()),
            (1, Some(&Sent::Release))
        );
    });
}
