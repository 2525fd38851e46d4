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

    /// Runs a step. If the server does not know it (not loaded on this epoch, `FUNCTION FLUSH`, `SCRIPT FLUSH`, a replica that was promoted
    /// before its first synchronization), the steps are loaded and the call is sent again. That is not a repetition, because no part of the
    /// step was executed.
    pub(crate) async fn run(
        &self,
        lane: &Lane,
        call: &Call<'_>,
        response_timeout: Option<&ResponseTimeout>,
    ) -> Result<Value, LinkError> {
        let answer = lane.call(&self.command(call), response_timeout).await;
        if !is_unknown(&answer) || !guard("link_noscript") {
            return answer;
        }
        let _turn = self.reloading.lock().await;
        let answer = lane.call(&self.command(call), response_timeout).await;
        if !is_unknown(&answer) {
            return answer;
        }
        self.load_again(call.script, lane, response_timeout).await?;
        lane.call(&self.command(call), response_timeout).await
    }

    /// Loads all steps again, and this one if it is not one of them.
    pub(crate) async fn load_again(
        &self,
        script: &'static Script,
        lane: &Lane,
        response_timeout: Option<&ResponseTimeout>,
    ) -> Result<(), LinkError> {
        let was_loaded = self.scripts.iter().any(|loaded| std::ptr::eq(*loaded, script));
        let all: Vec<_> = self.scripts.iter().copied().chain((!was_loaded).then_some(script)).collect();
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
        if send(scripts, false, lane, response_timeout).await?.is_err() {
            return Err(refusal);
        }
        self.refuses_functions.store(true, Relaxed);
        let reason = refusal.reason();
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
        let is_fine = matches!(&refusal, LinkError::Refused { message, .. }
            if message.contains("already exists") || message.contains(UNKNOWN_FUNCTION));
        if !is_fine {
            return Ok(Err(refusal));
        }
    }
    Ok(Ok(()))
}

/// The server's error for a function that it does not have.
const UNKNOWN_FUNCTION: &str = "Function not found";

/// Whether the server does not know the step: no part of it was executed.
pub(crate) fn is_unknown(answer: &Result<Value, LinkError>) -> bool {
    matches!(answer, Err(LinkError::Refused { code, message }) if code == "NOSCRIPT" || message.contains(UNKNOWN_FUNCTION))
}

/// Whether tests run the steps as scripts: `EVENKEEL_FUNCTIONS=off`.
fn refuses_in_tests() -> bool {
    cfg!(feature = "testing") && std::env::var("EVENKEEL_FUNCTIONS").is_ok_and(|value| value == "off")
}
