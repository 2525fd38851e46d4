//! [`ScopeBackend`]: where the worker ids of scopes are.

use super::error::IdError;
use super::scope::State;
use crate::step::{Backend, Place};
use evenkeel_link::Link;
use std::collections::HashMap;
use std::sync::Arc;

/// The scripts, each composed of the shared parts that it uses and its own file.
pub mod scripts {
    scripts! {
        /// All scripts, to be loaded on every epoch.
        pub const SCRIPTS in "", "steps/";
        library "id" of ["scope", "range"];

        // Rejected as a whole by a Redis server that is out of memory: a new row may be needed.
        pub(crate) static ACQUIRE = "worker_acquire-2", "", ["scope"];
        // Extensions and releases must succeed when Redis is out of memory.
        pub(crate) static EXTEND = "worker_extend-2", "allow-oom", ["scope"];
        pub(crate) static RELEASE = "worker_release-2", "allow-oom", ["scope"];
        pub(crate) static RAISE = "witness_raise-1", "allow-oom", [];
        pub(crate) static TAKE = "range_take-2", "allow-oom", ["range"];
        pub(crate) static LOAD = "range_load-2", "allow-oom", ["range"];
    }
}

/// A store of scopes, which runs the steps. Cheap to clone.
pub type ScopeBackend = Backend<Scope>;

/// Longest name in bytes.
const BYTES_MAX: usize = 64;

/// A scope: ids of one scope differ. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scope {
    name: Arc<str>,
    key: Arc<str>,
}

impl Scope {
    /// The scope called `name` in the namespace `prefix`.
    ///
    /// # Errors
    /// [`IdError::Invalid`] unless the name has 1 to 64 letters, digits, `-`, `_` or `.`.
    pub fn new(prefix: &str, name: &str) -> Result<Self, IdError> {
        let name = checked_name("scope", name)?;
        Ok(Self { key: format!("{{{prefix}:i:{name}}}:workers").into(), name })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The key of the ends of leases.
    pub(crate) fn leases(&self) -> String {
        format!("{}:leases", self.key)
    }
}

/// The name of a scope or a sequence, which is a part of its keys.
pub(super) fn checked_name(what: &str, name: &str) -> Result<Arc<str>, IdError> {
    let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if name.is_empty() || name.len() > BYTES_MAX || !name.bytes().all(is_valid) {
        return Err(IdError::Invalid(format!(
            "the name of a {what} has 1 to {BYTES_MAX} letters, digits, `-`, `_` or `.`; this one has {} bytes: {:?}",
            name.len(),
            name.chars().take(BYTES_MAX).collect::<String>()
        )));
    }
    Ok(name.into())
}

impl Place for Scope {
    type State = State;
    type States = HashMap<Scope, State>;
    type Error = IdError;
    type Shared = ();

    fn key(&self) -> &[u8] {
        self.key.as_bytes()
    }

    fn open<'a>(&self, scopes: &'a mut Self::States, _: u64) -> &'a mut State {
        scopes.entry(self.clone()).or_default()
    }

    fn wakes(_: &mut State) -> bool {
        false
    }

    /// A scope without a worker id.
    fn close(&self, scopes: &mut Self::States) {
        if scopes.get(self).is_some_and(State::is_new) {
            scopes.remove(self);
        }
    }
}

impl ScopeBackend {
    /// The scope of this name.
    ///
    /// # Errors
    /// As [`Scope::new`].
    pub fn scope(&self, name: &str) -> Result<Scope, IdError> {
        Scope::new(self.link().map_or("", Link::prefix), name)
    }
}

#[cfg(test)]
mod tests {
    use super::Scope;

    #[test]
    fn scope_name_is_bounded_and_decides_the_slot() {
        assert!(["", "a b", "a}", "a:b", "é", &"x".repeat(65)].iter().all(|name| Scope::new("ns", name).is_err()));
        let scope = Scope::new("ns", "orders.eu-1_b").unwrap_or_else(|error| unreachable!("{error}"));
        assert_eq!(scope.leases(), "{ns:i:orders.eu-1_b}:workers:leases");
    }
}
