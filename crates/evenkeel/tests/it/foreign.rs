//! What another program leaves under our keys: a value of each type in place of ours, and all values before and after a call.

use anyhow::{Context, Result, ensure};
use evenkeel::link::{Link, LinkError};
use redis::{Cmd, FromRedisValue, cmd, from_redis_value};
use std::collections::BTreeMap;
use std::fmt::Debug;

/// A command for each type of Redis; its key is in place of `{key}`.
const TYPES: [&[&str]; 6] = [
    &["SET", "{key}", "a text of another program"],
    &["HSET", "{key}", "field", "value"],
    &["RPUSH", "{key}", "a", "b"],
    &["SADD", "{key}", "a", "b"],
    &["ZADD", "{key}", "1", "a"],
    &["XADD", "{key}", "*", "field", "value"],
];

/// All keys that begin with one hash tag, as another program of the same Redis sees them.
pub(crate) struct Neighbor<'a> {
    link: &'a Link,
    tag: &'a str,
}

impl<'a> Neighbor<'a> {
    pub(crate) fn new(link: &'a Link, tag: &'a str) -> Self {
        Self { link, tag }
    }

    async fn ask<T: FromRedisValue>(&self, command: &Cmd) -> Result<T> {
        Ok(from_redis_value(self.link.command(self.tag.as_bytes(), command).await?)?)
    }

    fn aside(&self) -> String {
        format!("{}:aside", self.tag)
    }

    /// The numbers of the types.
    pub(crate) fn types() -> std::ops::Range<usize> {
        0..TYPES.len()
    }

    /// Puts a value of type number `kind` in place of ours, which is kept aside. `false` if ours is made by the same command.
    pub(crate) async fn occupy(&self, key: &[u8], own_command: &str, kind: usize) -> Result<bool> {
        let words = TYPES[kind];
        if words[0] == own_command {
            return Ok(false);
        }
        if self.ask::<bool>(cmd("EXISTS").arg(key)).await? {
            self.ask::<()>(cmd("RENAME").arg(key).arg(self.aside())).await?;
        }
        let mut command = Cmd::new();
        for word in words {
            if *word == "{key}" {
                command.arg(key)
            } else {
                command.arg(*word)
            };
        }
        self.ask::<redis::Value>(&command).await?;
        Ok(true)
    }

    /// Deletes the other program's value, and puts ours back.
    pub(crate) async fn give_back(&self, key: &[u8]) -> Result<()> {
        self.ask::<()>(cmd("DEL").arg(key)).await?;
        if self.ask::<bool>(cmd("EXISTS").arg(self.aside())).await? {
            self.ask::<()>(cmd("RENAME").arg(self.aside()).arg(key)).await?;
        }
        Ok(())
    }

    /// Every key with the tag, and its value as Redis stores it.
    pub(crate) async fn all(&self) -> Result<BTreeMap<Vec<u8>, Vec<u8>>> {
        let keys: Vec<Vec<u8>> = self.ask(cmd("KEYS").arg(format!("{}*", self.tag))).await?;
        let mut all = BTreeMap::new();
        for key in keys {
            let value: Vec<u8> = self.ask(cmd("DUMP").arg(&key)).await?;
            all.insert(key, value);
        }
        Ok(all)
    }
}

/// Succeeds if Redis has rejected the call because of a value of another type.
pub(crate) fn is_rejected<E: Debug>(
    reply: std::result::Result<(), E>,
    link_error: impl Fn(&E) -> Option<&LinkError>,
) -> Result<()> {
    let error = reply.err().context("the call was executed")?;
    let code = match link_error(&error) {
        Some(LinkError::Refused { code, .. }) => code.as_str(),
        _ => "",
    };
    ensure!(code == "WRONGTYPE", "{error:?}");
    Ok(())
}
