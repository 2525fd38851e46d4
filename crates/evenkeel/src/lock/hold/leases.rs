//! The leases that this process holds, for its report.

use super::lease::Lease;
use crate::process::draft::{Draft, Reported};
use evenkeel_protocol::process::report::LockReport;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::{Arc, Weak};

/// See the module. A lease is known by its address, which no other has until it is removed.
#[derive(Default)]
pub(crate) struct Leases(Mutex<HashMap<usize, Weak<Lease>>>);

impl Leases {
    pub(super) fn enter(&self, lease: &Arc<Lease>) {
        self.0.lock().insert(Arc::as_ptr(lease) as usize, Arc::downgrade(lease));
    }

    pub(super) fn remove(&self, lease: &Lease) {
        self.0.lock().remove(&(std::ptr::from_ref(lease) as usize));
    }
}

impl Reported for Leases {
    fn add_to(&self, draft: &mut Draft) {
        // Dropping the last handle of a lease removes it here, so that none is dropped while the list is locked.
        let leases: Vec<Arc<Lease>> = self.0.lock().values().filter_map(Weak::upgrade).collect();
        for lease in leases.iter().filter(|lease| lease.latch.is_held()) {
            let since_ms = draft.at(lease.since());
            let lock = || {
                let mut lock = LockReport::default();
                (lock.lock, lock.fence, lock.since_ms) = (lease.held.name.to_string(), lease.fence().0, since_ms);
                lock
            };
            draft.add(|report| &mut report.locks, lock);
        }
    }
}
