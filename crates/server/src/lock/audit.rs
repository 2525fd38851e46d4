//! The line that says who took a lock away, from whom, and why.

use evenkeel::lock::steps::Holder;
use serde_json::json;

/// Writes the line to standard error, as one JSON object: whoever collects logs finds it whatever becomes of the output.
pub(super) fn line(name: &str, holder: &Holder, reason: &str) {
    let line = json!({
        "audit": "lock_released_by_force",
        "at": jiff::Timestamp::now().to_string(),
        "by": std::env::var("SUDO_USER").or_else(|_| std::env::var("USER")).unwrap_or_default(),
        "lock": name,
        "fence": holder.fence.0,
        "held_ms": holder.held_ms,
        "holder": String::from_utf8_lossy(&holder.words),
        "reason": reason,
    });
    eprintln!("{line}");
}
