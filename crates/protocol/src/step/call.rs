//! [`Call`]: one call of Redis, as a step describes it.

use super::Args;
use evenkeel_link::Script;
use redis::{Cmd, Pipeline};
use std::time::Duration;

/// One call of Redis.
pub struct Call {
    pub(super) what: What,
    /// About how many bytes the arguments or the reply have, if the call does not use the connection that small calls share.
    pub(super) large: Option<u64>,
    /// What checks the types of the place's keys, if the function does not.
    pub(super) types: Option<(&'static Script, Args)>,
    /// A response time-out that is shorter than that of the link.
    pub(super) timeout: Option<Duration>,
    /// The key that errors name.
    pub(super) about: Option<String>,
}

pub(super) enum What {
    Function {
        script: &'static Script,
        keys: Keys,
        args: Args,
    },
    Command(Cmd),
    /// Several commands in one write.
    Commands(Pipeline),
}

pub(super) enum Keys {
    /// The key of the place.
    Place,
    /// Another key.
    Other(String),
    /// The key of the place, then this one.
    And(String),
}

impl Call {
    /// A step in Lua, whose key is that of the place.
    #[must_use]
    pub fn function(script: &'static Script, args: Args) -> Self {
        Self::of(What::Function { script, keys: Keys::Place, args })
    }

    /// A step in Lua with another key.
    #[must_use]
    pub fn function_of(script: &'static Script, key: String, args: Args) -> Self {
        Self::of(What::Function { script, keys: Keys::Other(key), args })
    }

    /// A step in Lua with two keys: that of the place, and this one.
    #[must_use]
    pub fn function_and(script: &'static Script, key: String, args: Args) -> Self {
        Self::of(What::Function { script, keys: Keys::And(key), args })
    }

    /// A plain command.
    #[must_use]
    pub fn command(cmd: Cmd) -> Self {
        Self::of(What::Command(cmd))
    }

    /// Plain commands in one write; the reply is a list.
    #[must_use]
    pub fn commands(pipeline: Pipeline) -> Self {
        Self::of(What::Commands(pipeline))
    }

    fn of(what: What) -> Self {
        Self { what, large: None, types: None, timeout: None, about: None }
    }

    /// Uses the connection for large calls: arguments or reply have about `bytes` bytes.
    #[must_use]
    pub fn large(self, bytes: u64) -> Self {
        Self { large: Some(bytes), ..self }
    }

    /// Before the first such call of an epoch, `script` checks the types of the place's keys.
    #[must_use]
    pub fn after(self, script: &'static Script, args: Args) -> Self {
        Self { types: Some((script, args)), ..self }
    }

    /// Errors name this key.
    #[must_use]
    pub fn about(self, key: String) -> Self {
        Self { about: Some(key), ..self }
    }

    /// Waits no longer than this for the reply.
    #[must_use]
    pub fn within(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }
}
