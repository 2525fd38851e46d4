//! A call of the link against the end of its epoch, under loom: the wheel with a notification of loom's in place of tokio's, and every
//! interleaving and every value that the memory model allows them.
//!
//! The worst case: the client's channel keeps the command, so only the wheel can end the call, and its task has been aborted.

#[expect(dead_code, reason = "the file of the link, of which this test uses a part")]
#[path = "../../../../link/src/connection/wheel.rs"]
mod wheel;

mod parts {
    use loom::sync::{Condvar, Mutex};

    /// What `notify_waiters` of tokio's does: it wakes everything that was registered before it, and nothing else.
    #[derive(Default)]
    pub(crate) struct Notify {
        calls: Mutex<u32>,
        woken: Condvar,
    }

    pub(crate) struct Notified<'a> {
        notify: &'a Notify,
        calls: u32,
    }

    impl Notify {
        pub(crate) fn notified(&self) -> Notified<'_> {
            Notified { notify: self, calls: *self.calls.lock().unwrap() }
        }

        pub(crate) fn notify_waiters(&self) {
            *self.calls.lock().unwrap() += 1;
            self.woken.notify_all();
        }
    }

    impl Notified<'_> {
        pub(crate) fn wait(self) {
            let mut calls = self.notify.calls.lock().unwrap();
            while *calls == self.calls {
                calls = self.notify.woken.wait(calls).unwrap();
            }
        }
    }
}

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;
use wheel::Wheel;

/// Loom fails a model in which a thread waits for ever.
// shows: L11, hazard BL1
#[test]
fn every_call_ends_with_its_epoch_in_every_interleaving() {
    loom::model(|| {
        let shared = Arc::new((Wheel::default(), AtomicBool::new(false)));
        let ended = Arc::clone(&shared);
        let end = thread::spawn(move || {
            let (wheel, is_over) = &*ended;
            is_over.store(true, Ordering::Release);
            wheel.end();
        });
        let (wheel, is_over) = &*shared;
        if let Some(expiry) = wheel.register(|| is_over.load(Ordering::Acquire)) {
            expiry.wait();
        }
        end.join().unwrap();
    });
}
