//! Errors of a server that answers: it has forgotten its scripts, or it is out of memory. Each is logged once when it is noticed, and
//! once when it is over.

use crate::connection::lane::Lane;
use crate::connection::patience::Patience;
use crate::error::LinkError;
use crate::script::Script;
use crate::support::guard::guard;
use redis::{Cmd, Pipeline, Value};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use tokio::sync::Mutex;

/// Errors that the server of one epoch has answered.
#[derive(Default)]
pub(crate) struct ServerErrors {
    is_full: AtomicBool,
    /// Whether it was told that the server refuses this user something.
    is_barred: AtomicBool,
    /// Held by the caller that sends the scripts again; the others then find them.
    sending: Mutex<()>,
}

impl ServerErrors {
    /// Calls a script. One that the server has forgotten (`SCRIPT FLUSH`) is sent again with all others: nothing of it was
    /// executed, so calling it again is no repetition.
    pub(crate) async fn call(
        &self,
        lane: &Lane,
        (script, call): (&'static Script, &Cmd),
        all: &[&'static Script],
        patience: Option<&Patience>,
    ) -> Result<Value, LinkError> {
        let mut answer = lane.call_within(call, patience).await;
        if is(&answer, "NOSCRIPT") && guard("link_noscript") {
            let _turn = self.sending.lock().await;
            answer = lane.call_within(call, patience).await;
            if is(&answer, "NOSCRIPT") {
                send(lane, script, all, patience).await?;
                answer = lane.call_within(call, patience).await;
                if answer.is_ok() {
                    tracing::warn!(
                        script = script.name(),
                        "Redis had forgotten its scripts (SCRIPT FLUSH); it has them again"
                    );
                }
            }
        }
        self.watch_memory(script, &answer);
        self.watch_rights(script.name(), answer.as_ref().err());
        answer
    }

    /// A user who lacks a right connects all the same; caches then load everything, and say so only in a metric.
    pub(crate) fn watch_rights(&self, call: &str, refused: Option<&LinkError>) {
        let Some(LinkError::Refused { code, message }) = refused else { return };
        let is_barred = code == "NOPERM" || message.contains("ACL failure");
        if is_barred && !self.is_barred.swap(true, Relaxed) {
            tracing::error!(
                call,
                code,
                message,
                "Redis refuses this user what the library needs: caches load every row from the database, queues and locks fail; \
                 `evenkeel doctor` lists the rights (told once a connection)"
            );
        }
    }

    /// Only a script that a full server refuses says by its success that there is room.
    fn watch_memory(&self, script: &Script, answer: &Result<Value, LinkError>) {
        if !script.needs_room() {
            return;
        }
        if is(answer, "OOM") {
            if !self.is_full.swap(true, Relaxed) {
                tracing::warn!(script = script.name(), "Redis is out of memory; it refuses what makes it fuller");
            }
        } else if self.is_full.load(Relaxed) && answer.is_ok() && self.is_full.swap(false, Relaxed) {
            tracing::info!(script = script.name(), "Redis has room again");
        }
    }
}

fn is(answer: &Result<Value, LinkError>, wanted: &str) -> bool {
    matches!(answer, Err(LinkError::Refused { code, .. }) if code == wanted)
}

/// Sends the epoch's scripts, and the one that is called, if it is not among them.
async fn send(
    lane: &Lane,
    called: &'static Script,
    all: &[&'static Script],
    patience: Option<&Patience>,
) -> Result<(), LinkError> {
    let mut load = Pipeline::with_capacity(all.len() + 1);
    let others = all.iter().filter(|script| script.name() != called.name());
    for script in others.chain([&called]) {
        load.cmd("SCRIPT").arg("LOAD").arg(script.text());
    }
    for answer in lane.call_many_within(&load, patience).await? {
        if let Value::ServerError(error) = answer {
            return Err(error.into());
        }
    }
    Ok(())
}
