//! Error replies that concern the server's state: it is out of memory, or it denies a permission. Each is logged once when it occurs, the
//! first once more when it has ended.

use crate::error::LinkError;
use crate::script::Script;
use crate::support::guard::guard;
use redis::Value;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The states that the error replies of one epoch's server have shown.
#[derive(Default)]
pub(crate) struct ServerErrors {
    is_full: AtomicBool,
    /// Whether the missing permission was logged.
    lacks_permission: AtomicBool,
}

impl ServerErrors {
    /// Looks at the answer to a call of a step.
    pub(crate) fn check(&self, script: &Script, answer: &Result<Value, LinkError>) {
        self.check_memory(script, answer);
        self.check_permissions(script.name(), answer.as_ref().err());
    }

    /// A user without the needed permissions can still connect; without this log line only a metric shows that caches load every value.
    pub(crate) fn check_permissions(&self, call: &str, refused: Option<&LinkError>) {
        let Some(LinkError::Refused { code, message }) = refused else { return };
        let lacks_permission = code == "NOPERM" || message.contains("ACL failure");
        if lacks_permission && !self.lacks_permission.swap(true, Relaxed) && guard("link_denied_logged") {
            tracing::error!(
                call,
                code,
                message,
                "Redis denies this user commands that the library needs: caches load every row from the database, queues and locks fail; \
                 `evenkeel doctor` lists the permissions (logged once per connection)"
            );
        }
    }

    /// Only the success of a script that a full server rejects as a whole shows that memory is available again.
    fn check_memory(&self, script: &Script, answer: &Result<Value, LinkError>) {
        if !script.needs_room() {
            return;
        }
        if is(answer, "OOM") {
            if !self.is_full.swap(true, Relaxed) {
                tracing::warn!(script = script.name(), "Redis is out of memory; it rejects writes that need memory");
            }
        } else if self.is_full.load(Relaxed) && answer.is_ok() && self.is_full.swap(false, Relaxed) {
            tracing::info!(script = script.name(), "Redis has memory again");
        }
    }
}

fn is(answer: &Result<Value, LinkError>, expected: &str) -> bool {
    matches!(answer, Err(LinkError::Refused { code, .. }) if code == expected)
}
