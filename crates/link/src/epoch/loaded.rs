//! The steps that an epoch has loaded, and how it runs them: as functions, or as scripts where the server refuses functions.

use crate::connection::lane::Lane;
use crate::connection::response_timeout::ResponseTimeout;
use crate::error::LinkError;
use crate::script::{Call, Script, load};
use crate::support::guard::guard;
use redis::{Cmd, Value};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use tokio::sync::Mutex;

/// The steps of an epoch.
pub(crate) struct Loaded {
    scripts: Box<[&'static Script]>,
    /// Whether the server, or the rights of the user, refuse functions; the steps are then scripts.
    refuses_functions: AtomicBool,
    /// Held by the caller that loads them again; other callers then find them loaded.
    reloading: Mutex<()>,
}

impl Loaded {
    /// Loads the steps on the server of this connection.
    pub(crate) async fn load(scripts: &[&'static Script], lane: &Lane) -> Result<Self, LinkError> {
        let (scripts, reloading) = (scripts.into(), Mutex::default());
        let loaded = Self { scripts, refuses_functions: AtomicBool::new(refuses_in_tests()), reloading };
        loaded.send(&loaded.scripts, lane, None).await?;
        Ok(loaded)
    }

    /// Whether steps are functions on this server.
    pub(crate) fn as_functions(&self) -> bool {
        !self.refuses_functions.load(Relaxed)
    }

    /// The command of a call.
    pub(crate) fn command(&self, call: &Call<'_>) -> Cmd {
        call.command(self.as_functions())
    }

    /// Runs a step. If the server does not have it, it is loaded and the call is sent again. That is not a repetition, because no part of the
    /// step was executed.
    pub(crate) async fn run(
        &self,
        lane: &Lane,
        call: &Call<'_>,
        response_timeout: Option<&ResponseTimeout>,
    ) -> Result<Value, LinkError> {
        let answer = lane.call(&self.command(call), response_timeout).await;
        if Missing::of(&answer).is_none() || !guard("link_noscript") {
            return answer;
        }
        let _turn = self.reloading.lock().await;
        let mut answer = lane.call(&self.command(call), response_timeout).await;
        // A function that was loaded may be refused when it is called.
        for _ in 0..2 {
            let Some(missing) = Missing::of(&answer) else { break };
            self.load_again(missing, call.script, lane, response_timeout).await?;
            answer = lane.call(&self.command(call), response_timeout).await;
        }
        answer
    }

    /// Loads all steps again, and this one if it is not one of them.
    pub(crate) async fn load_again(
        &self,
        missing: Missing,
        script: &'static Script,
        lane: &Lane,
        response_timeout: Option<&ResponseTimeout>,
    ) -> Result<(), LinkError> {
        let was_loaded = self.scripts.iter().any(|loaded| std::ptr::eq(*loaded, script));
        let all: Vec<_> = self.scripts.iter().copied().chain((!was_loaded).then_some(script)).collect();
        if missing == Missing::Refused && guard("link_functions_refused") {
            return self.send_as_scripts(&all, lane, response_timeout, "this user may not call functions").await;
        }
        self.send(&all, lane, response_timeout).await?;
        if was_loaded {
            tracing::warn!(
                script = script.name(),
                "Redis lost its functions (FUNCTION FLUSH) or scripts (SCRIPT FLUSH); they were loaded again"
            );
        }
        Ok(())
    }

    /// Loads steps as functions; if the server refuses that, as scripts.
    async fn send(
        &self,
        scripts: &[&'static Script],
        lane: &Lane,
        response_timeout: Option<&ResponseTimeout>,
    ) -> Result<(), LinkError> {
        let as_functions = self.as_functions();
        let Err(refusal) = send(scripts, as_functions, lane, response_timeout).await? else { return Ok(()) };
        if !as_functions || !guard("link_functions_refused") {
            return Err(refusal);
        }
        match self.send_as_scripts(scripts, lane, response_timeout, &refusal.reason()).await {
            Err(LinkError::Refused { .. }) => Err(refusal),
            sent => sent,
        }
    }

    async fn send_as_scripts(
        &self,
        scripts: &[&'static Script],
        lane: &Lane,
        response_timeout: Option<&ResponseTimeout>,
        reason: &str,
    ) -> Result<(), LinkError> {
        send(scripts, false, lane, response_timeout).await??;
        self.refuses_functions.store(true, Relaxed);
        tracing::info!(reason, "Redis refuses functions; scripts are used, which take more of its time");
        Ok(())
    }
}

/// Sends the commands that load steps; returns the first refusal of the server.
async fn send(
    scripts: &[&'static Script],
    as_functions: bool,
    lane: &Lane,
    response_timeout: Option<&ResponseTimeout>,
) -> Result<Result<(), LinkError>, LinkError> {
    let load = load(scripts, as_functions);
    if load.is_empty() {
        return Ok(Ok(()));
    }
    for answer in lane.call_many(&load, response_timeout).await? {
        let Value::ServerError(error) = answer else { continue };
        let refusal = LinkError::from(error);
        // Loaded by another process, and the answer to the call of an unknown function: functions can be called.
        let is_expected = |message: &str| message.contains("already exists") || message.contains(NOT_FOUND);
        if !matches!(&refusal, LinkError::Refused { message, .. } if is_expected(message)) {
            return Ok(Err(refusal));
        }
    }
    Ok(Ok(()))
}

const NOT_FOUND: &str = "Function not found";

/// Why the server did not run a step, no part of which was executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// It does not know it: `FUNCTION FLUSH`, `SCRIPT FLUSH`, a replica that was promoted before its first synchronization.
    Unknown,
    /// The user may not call functions, or the command has another name.
    Refused,
}

impl Missing {
    pub(crate) fn of(answer: &Result<Value, LinkError>) -> Option<Self> {
        let Err(LinkError::Refused { code, message }) = answer else { return None };
        if code == "NOSCRIPT" || message.contains(NOT_FOUND) {
            return Some(Self::Unknown);
        }
        let is_refused = ["NOPERM", "ERR"].contains(&code.as_str()) && message.to_ascii_lowercase().contains("'fcall'");
        is_refused.then_some(Self::Refused)
    }
}

/// Whether tests run the steps as scripts: `EVENKEEL_FUNCTIONS=off`.
fn refuses_in_tests() -> bool {
    cfg!(feature = "testing") && std::env::var("EVENKEEL_FUNCTIONS").is_ok_and(|value| value == "off")
}
