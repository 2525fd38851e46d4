//! The audit line of a broken lock: the user who broke it, the holder, and the reason.

use crate::output::escaped;
use evenkeel::lock::Holder;
use evenkeel::lock::PoolHolder;
use serde_json::{Value, json};

/// Writes the audit line of an exclusive lock, one JSON object, to standard error, so that log collectors see it.
pub(super) fn line(name: &str, holder: &Holder, reason: &str) {
    let mut line = head("lock", name, reason);
    line["fence"] = holder.fence.0.into();
    line["held_ms"] = holder.held_ms.into();
    line["holder"] = String::from_utf8_lossy(&holder.metadata).into();
    eprintln!("{}", escaped(&line.to_string()));
}

/// Writes the audit line of one holder of a read/write lock or a semaphore.
pub(super) fn permits_line(kind: &str, name: &str, holder: &PoolHolder, reason: &str) {
    let mut line = head(kind, name, reason);
    line["owner"] = format!("{:?}", holder.owner).into();
    line["permits"] = holder.permits.into();
    line["held_ms"] = holder.held_ms.into();
    line["holder"] = String::from_utf8_lossy(&holder.metadata).into();
    eprintln!("{}", escaped(&line.to_string()));
}

fn head(kind: &str, name: &str, reason: &str) -> Value {
    json!({
        "audit": "lock_released_by_force",
        "at": jiff::Timestamp::now().to_string(),
        "by": std::env::var("SUDO_USER").or_else(|_| std::env::var("USER")).unwrap_or_default(),
        "kind": kind,
        "lock": name,
        "reason": reason,
    })
}
