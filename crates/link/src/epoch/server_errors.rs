//! Error replies that concern the server's state: its script cache was flushed, it is out of memory, or it denies a permission. Each
//! is logged once when it occurs; the first two are logged again when the state has ended.

use crate::connection::lane::Lane;
use crate::connection::response_timeout::ResponseTimeout;
use crate::error::LinkError;
use crate::script::Script;
use crate::support::guard::guard;
use redis::{Cmd, Pipeline, Value};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use tokio::sync::Mutex;

/// The states that the error replies of one epoch's server have shown.
#[derive(Default)]
pub(crate) struct ServerErrors {
    is_full: AtomicBool,
    /// Whether the missing permission was logged.
    lacks_permission: AtomicBool,
    /// Held by the caller that loads the scripts again; other callers then find them loaded.
    reloading: Mutex<()>,
}

impl ServerErrors {
    /// Runs a script. If the server does not know it (not loaded on this epoch, or `SCRIPT FLUSH`), it and the epoch's scripts are loaded
    /// and the call is sent again. That is not a repetition, because no part of the script was executed.
    pub(crate) async fn call(
        &self,
        lane: &Lane,
        (script, call): (&'static Script, &Cmd),
        all: &[&'static Script],
        response_timeout: Option<&ResponseTimeout>,
    ) -> Result<Value, LinkError> {
        let mut answer = lane.call(call, response_timeout).await;
        if is(&answer, "NOSCRIPT") && guard("link_noscript") {
            let _turn = self.reloading.lock().await;
            answer = lane.call(call, response_timeout).await;
            if is(&answer, "NOSCRIPT") {
                send(lane, script, all, response_timeout).await?;
                answer = lane.call(call, response_timeout).await;
                let was_loaded = all.iter().any(|loaded| loaded.name() == script.name());
                if answer.is_ok() && was_loaded {
                    tracing::warn!(
                        script = script.name(),
                        "Redis lost its scripts (SCRIPT FLUSH); they were loaded again"
                    );
                }
            }
        }
        self.check_memory(script, &answer);
        self.check_permissions(script.name(), answer.as_ref().err());
        answer
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

/// Loads the epoch's scripts and the called one, if it is not one of them.
async fn send(
    lane: &Lane,
    called: &'static Script,
    all: &[&'static Script],
    response_timeout: Option<&ResponseTimeout>,
) -> Result<(), LinkError> {
    let mut load = Pipeline::with_capacity(all.len() + 1);
    let others = all.iter().filter(|script| script.name() != called.name());
    for script in others.chain([&called]) {
        load.cmd("SCRIPT").arg("LOAD").arg(script.text());
    }
    for answer in lane.call_many(&load, response_timeout).await? {
        if let Value::ServerError(error) = answer {
            return Err(error.into());
        }
    }
    Ok(())
}
