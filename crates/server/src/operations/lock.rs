//! Takes an exclusive lock away from its holder, who learns of it at its next renewal.

use super::{Operation, changed_meanwhile};
use crate::roles::Action;
use evenkeel::Keel;
use evenkeel::lock::{Fence, Holder};
use serde::{Serialize, Serializer};
use serde_json::json;

/// The lock was taken away from this holder.
pub(crate) struct Broken(pub(crate) Holder);

/// No later holder than the one with this fencing token loses the lock.
pub(crate) fn break_lock<'a>(keel: &'a Keel, name: &'a str, fence: u64) -> Operation<'a, Broken> {
    let run = async move {
        let line = format!("is not held with fencing token {fence}; nothing was changed");
        let not_held = || {
            changed_meanwhile(format!("The lock is not held with fencing token {fence}. Nothing was changed."), &line)
        };
        keel.lock(name).break_lock(Some(Fence(fence))).await?.map(Broken).ok_or_else(not_held)
    };
    let target = json!({ "lock": name, "fence": fence });
    Operation::new((Action::Break, "break"), name, target, run).confirmed_by("its name", name)
}

impl Broken {
    /// What has become of the lock, after its name.
    pub(crate) fn text(&self) -> String {
        format!("was broken (fencing token {})", self.0.fence)
    }
}

impl Serialize for Broken {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}
