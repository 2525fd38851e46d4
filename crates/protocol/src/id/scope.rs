//! The state of a scope in the model, and its clock.

use super::settings::Settings;
use super::steps::Refused;
use evenkeel_link::Token;
use evenkeel_link::support::guard;

/// How far the clocks of a process and of the allocator may be apart.
const APART_MS: u64 = 3_600_000;

/// The worker ids of one scope.
#[derive(Clone, Default)]
pub struct State {
    pub(crate) settings: Option<String>,
    /// The latest time, which includes the offset.
    pub(crate) last: u64,
    /// By how much the server's clock was set back.
    pub(crate) offset: u64,
    /// By worker id: each is used before a new one, once its lease is over.
    pub(crate) rows: Vec<Row>,
}

/// A worker id.
#[derive(Clone)]
pub(crate) struct Row {
    pub(crate) owner: Token,
    pub(crate) lease_until: u64,
    pub(crate) reserved_from: u64,
    pub(crate) reserved_until: u64,
}

/// The scope at the time of a step.
pub(crate) struct Now {
    pub(crate) ms: u64,
    /// The caller's clock is too far from it.
    pub(crate) is_apart: bool,
}

impl State {
    pub(crate) fn is_new(&self) -> bool {
        self.settings.is_none()
    }

    /// The time of the step, which never goes back; refuses a caller with other settings. Changes nothing.
    pub(crate) fn now(&self, server_ms: u64, settings: &Settings, own_ms: u64) -> Result<Now, Refused> {
        let asked = settings.to_string();
        if let Some(stored) = self.settings.as_ref().filter(|stored| **stored != asked)
            && guard("model_id_settings_agree")
        {
            return Err(Refused::Differs { stored: stored.clone() });
        }
        let mut ms = server_ms + self.offset;
        if guard("model_id_clock_back") {
            ms = ms.max(self.last);
        }
        let is_apart = ms.abs_diff(own_ms) >= APART_MS && guard("model_id_clocks_apart");
        Ok(Now { ms, is_apart })
    }

    /// Stores the time of a step that changes the scope.
    pub(crate) fn store(&mut self, server_ms: u64, settings: &Settings, now: &Now) {
        self.settings = Some(settings.to_string());
        (self.last, self.offset) = (now.ms, now.ms - server_ms);
    }
}
