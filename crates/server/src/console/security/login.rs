//! [`Login`]: checks tokens and cookies against the token file, which is read again when it changes.

use super::session::{Cookie, is_equal};
use super::throttle::Throttle;
use super::tokens::{Entry, Tokens, hash};
use anyhow::{Context, Result};
use axum::http::HeaderValue;
use parking_lot::Mutex;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tracing::warn;

/// The login of a console.
pub(crate) struct Login {
    path: PathBuf,
    state: Mutex<State>,
    throttle: Throttle,
}

struct State {
    tokens: Tokens,
    key: [u8; 32],
    /// What identified the file when it was read.
    seen: Option<(SystemTime, u64)>,
}

impl Login {
    /// Reads the token file.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let tokens = Tokens::read(path)?;
        let key = tokens.key_bytes().context("the token file has no key")?;
        let state = Mutex::new(State { tokens, key, seen: seen(path) });
        Ok(Self { path: path.to_owned(), state, throttle: Throttle::default() })
    }

    /// The key that signs cookies.
    pub(super) fn key(&self) -> [u8; 32] {
        self.state.lock().key
    }

    /// The entry of the token in an `Authorization` header.
    pub(crate) fn entry_of_header(&self, value: &HeaderValue) -> Option<Entry> {
        let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
        self.entry_of_token(token.trim()).filter(|_| scheme.eq_ignore_ascii_case("bearer"))
    }

    /// The entry of a token. All entries are compared, each in constant time.
    pub(crate) fn entry_of_token(&self, token: &str) -> Option<Entry> {
        self.refresh();
        let hash = hash(token);
        let state = self.state.lock();
        state
            .tokens
            .entries
            .iter()
            .fold(None, |found, entry| if is_equal(&entry.sha256, &hash) { Some(entry) } else { found })
            .cloned()
    }

    /// The entry of a cookie, as long as its token is in the file.
    pub(crate) fn entry_of_cookie(&self, cookie: &Cookie) -> Option<Entry> {
        self.refresh();
        let state = self.state.lock();
        state.tokens.entries.iter().find(|entry| entry.role.is_some() && cookie_id(entry) == cookie.entry).cloned()
    }

    /// A failed login: the time until the next wrong token is checked, if the caller has to wait.
    pub(crate) fn fail(&self) -> Option<Duration> {
        self.throttle.fail()
    }

    /// Reads the file again if it has changed. A file that cannot be read keeps the tokens that were read before.
    fn refresh(&self) {
        let now = seen(&self.path);
        if self.state.lock().seen == now {
            return;
        }
        match Tokens::read(&self.path) {
            Ok(tokens) => {
                let mut state = self.state.lock();
                state.key = tokens.key_bytes().unwrap_or(state.key);
                state.tokens = tokens;
                state.seen = now;
            }
            Err(error) => {
                self.state.lock().seen = now;
                warn!(
                    error = format!("{error:#}"),
                    "the token file cannot be read: the tokens before its change remain valid"
                );
            }
        }
    }
}

/// What a cookie keeps of its token: a part of its hash, so that another token of the same name does not revive it.
pub(crate) fn cookie_id(entry: &Entry) -> String {
    entry.sha256.chars().take(16).collect()
}

fn seen(path: &Path) -> Option<(SystemTime, u64)> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}
