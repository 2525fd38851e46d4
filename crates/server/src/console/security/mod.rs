//! What every request passes before its route: the `Host`, forwarded requests, headers; and the parts of the guard: cookies and logins.

pub(crate) mod audit;
pub(crate) mod front;
pub(crate) mod hosts;
pub(crate) mod login;
pub(crate) mod redact;
pub(crate) mod session;
mod throttle;
pub(crate) mod tokens;

use hosts::Hosts;
use login::Login;
use redact::Redaction;

/// The security settings of one console.
pub(crate) struct Security {
    /// The hosts and origins of this console.
    pub(crate) hosts: Hosts,
    /// The login; `None`: whoever reaches the loopback address may do everything.
    pub(crate) login: Option<Login>,
    /// What viewers see of bodies.
    pub(crate) redaction: Redaction,
    /// Signs the cookies if there is no login, which has a key of its own.
    pub(crate) process_key: [u8; 32],
}

impl Security {
    /// The key that signs cookies.
    fn key(&self) -> [u8; 32] {
        self.login.as_ref().map_or(self.process_key, Login::key)
    }
}
