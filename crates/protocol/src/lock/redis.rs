//! The steps as scripts on one Redis server; docs/spec/lock.md specifies them, `memory/` is their model.

use super::error::LockError;
use super::name::{Keys, LOCK, LockName, front, key, name_of};
use super::pool::{self, PoolBackend};
use super::steps::{Acquire, Acquired, Fence, Holder, LockSteps, Release, Released, Renewed, WakeListener, check};
use super::wake::ReleaseMessages;
use crate::pattern::escaped;
use async_trait::async_trait;
use evenkeel_link::{Link, LinkError, Script, Subscription, Token};
use redis::Value;

scripts! {
    /// All scripts of this module, to be loaded on every epoch.
    pub(crate) const SCRIPTS in "", "scripts/";
    library "lock" of ["record"];

    // Rejected as a whole by a Redis server that is out of memory.
    static ACQUIRE = "acquire-3", "", ["record"];
    // Renewals and releases must succeed when Redis is out of memory.
    static RENEW = "renew-1", "allow-oom", ["record"];
    static RELEASE = "release-3", "allow-oom", ["record"];
    static RAISE = "raise-2", "allow-oom", ["record"];
    static BREAK = "break-3", "allow-oom", ["record"];
    static INSPECT = "inspect-2", "no-writes", ["record"];
}

/// The scripts of all locks.
pub fn scripts() -> Vec<&'static Script> {
    [&SCRIPTS[..], &pool::scripts::SCRIPTS].concat()
}

/// The suffix of the key with the number of stripes of a striped lock.
const STRIPES: &str = ":stripes";

/// Keys examined by one `SCAN` call.
const SCAN_COUNT: usize = 500;

/// The steps on one Redis server. Cheap to clone.
#[derive(Clone)]
pub struct RedisLock {
    link: Link,
}

impl RedisLock {
    /// The steps over this link.
    #[must_use]
    pub fn new(link: Link) -> Self {
        Self { link }
    }

    /// Subscribes to releases of a lock that has waiters.
    pub async fn subscribe(&self, name: &LockName) -> Result<Subscription, LockError> {
        Ok(self.link.subscribe(&self.keys(name).channel).await?)
    }

    fn keys(&self, name: &LockName) -> Keys {
        Keys::new(self.link.prefix(), name)
    }
}

#[async_trait]
impl LockSteps for RedisLock {
    async fn acquire(&self, name: &LockName, call: &Acquire) -> Result<Acquired, LockError> {
        check(call)?;
        let keys = self.keys(name);
        let numbers = arguments(call);
        let args = numbers.slices(call);
        let keys = [&keys.lock[..], &keys.fence, &keys.waiters];
        let (fence, ms, replaced): (u64, u64, u8) = self.link.run(&ACQUIRE, &keys, &args).await?;
        log_foreign(name, replaced);
        Ok(acquired(fence, ms))
    }

    async fn renew(&self, name: &LockName, owner: Token, lease_ms: u64) -> Result<Renewed, LockError> {
        let (keys, lease_ms) = (self.keys(name), lease_ms.to_string());
        let args: [&[u8]; 2] = [owner.as_bytes(), lease_ms.as_bytes()];
        let (verdict, lease_left_ms): (u8, u64) = self.link.run(&RENEW, &[&keys.lock], &args).await?;
        match verdict {
            0 => Ok(Renewed::Lost),
            1 => Ok(Renewed::Renewed { lease_left_ms }),
            2 => Ok(Renewed::Held { lease_left_ms }),
            _ => Err(unexpected("renew")),
        }
    }

    async fn release(&self, name: &LockName, call: Release) -> Result<Released, LockError> {
        let keys = self.keys(name);
        let args: [&[u8]; 4] = [call.owner.as_bytes(), call.process.as_bytes(), flag(call.waits), &keys.channel];
        let (verdict, others_waiting): (i8, u64) =
            self.link.run(&RELEASE, &[&keys.lock, &keys.fence, &keys.waiters], &args).await?;
        released(verdict, others_waiting)
    }

    async fn raise(&self, name: &LockName, owner: Token, seen: Fence) -> Result<Option<Fence>, LockError> {
        let keys = self.keys(name);
        let seen = seen.to_string();
        let fence: u64 =
            self.link.run(&RAISE, &[&keys.lock, &keys.fence], &[owner.as_bytes(), seen.as_bytes()]).await?;
        Ok((fence > 0).then_some(Fence(fence)))
    }

    async fn inspect(&self, name: &LockName) -> Result<Option<Holder>, LockError> {
        let keys = self.keys(name);
        holder(self.link.run(&INSPECT, &[&keys.lock, &keys.waiters], &[]).await?)
    }

    async fn break_lock(&self, name: &LockName, seen: Option<Fence>) -> Result<Option<Holder>, LockError> {
        if seen == Some(Fence(0)) {
            // No holder has this fence; the script takes 0 for any.
            return Ok(None);
        }
        let keys = self.keys(name);
        let seen = seen.map_or(0, |seen| seen.0).to_string();
        let args: [&[u8]; 2] = [seen.as_bytes(), &keys.channel];
        holder(self.link.run(&BREAK, &[&keys.lock, &keys.fence, &keys.waiters], &args).await?)
    }

    async fn held(&self) -> Result<Vec<LockName>, LockError> {
        names_with(&self.link, LOCK).await
    }

    async fn listen(&self, name: &LockName) -> Result<Box<dyn WakeListener>, LockError> {
        Ok(Box::new(ReleaseMessages(self.subscribe(name).await?)))
    }

    async fn eviction(&self) -> Result<Option<(String, String)>, LockError> {
        Ok(self.link.eviction_policy().await?.map(|policy| (self.link.address(), policy)))
    }

    fn pools(&self) -> Option<PoolBackend> {
        Some(PoolBackend::redis(self.link.clone()))
    }

    async fn stripes(&self, name: &LockName, stripes: u32) -> Result<u32, LockError> {
        let key = key(self.link.prefix(), name, STRIPES);
        let mut cmd = redis::cmd("SET");
        cmd.arg(&key).arg(stripes).arg("NX").arg("GET");
        let unreadable = || {
            let words = "another program has overwritten the number of stripes; if all programs use the same number, store it with `restripe`";
            LockError::Invalid(format!("striped lock {name}: {words}"))
        };
        match self.link.command(&key, &cmd).await {
            Ok(stored) => {
                let stored: Option<u32> = typed(stored).map_err(|_| unreadable())?;
                Ok(stored.unwrap_or(stripes))
            }
            Err(LinkError::Refused { code, .. }) if code == "WRONGTYPE" => Err(unreadable()),
            Err(error) => Err(error.into()),
        }
    }

    async fn restripe(&self, name: &LockName, stripes: u32) -> Result<(), LockError> {
        let key = key(self.link.prefix(), name, STRIPES);
        self.link.command(&key, redis::cmd("SET").arg(&key).arg(stripes)).await?;
        Ok(())
    }
}

/// The numeric arguments of an acquisition as text.
pub(crate) struct Numbers([String; 4]);

/// The numeric arguments of `acquire-3.lua`.
pub(crate) fn arguments(call: &Acquire) -> Numbers {
    let numbers = [call.lease_ms, call.cooling_ms, call.hold_ms_max.unwrap_or(0), call.fence_floor];
    Numbers(numbers.map(|number| number.to_string()))
}

impl Numbers {
    /// All arguments, in the script's order.
    pub(crate) fn slices<'a>(&'a self, call: &'a Acquire) -> [&'a [u8]; 8] {
        let [lease, cooling, hold, floor] = self.0.each_ref().map(|number| number.as_bytes());
        let (owner, process) = (call.owner.as_bytes(), call.process.as_bytes());
        [owner, process, lease, cooling, hold, floor, flag(call.waits), &call.metadata]
    }
}

/// Logs that an acquisition has replaced a foreign value.
pub(crate) fn log_foreign(name: &LockName, replaced: u8) {
    if replaced != 0 {
        tracing::warn!(%name, "another program had written to the keys of this lock; its values were replaced");
    }
}

/// Converts the reply of `acquire-3.lua`.
pub(crate) fn acquired(fence: u64, ms: u64) -> Acquired {
    match fence {
        0 => Acquired::Taken { free_in_ms: ms },
        fence => Acquired::Granted { fence: Fence(fence), lease_left_ms: ms },
    }
}

/// Converts the reply of `release-3.lua`.
pub(crate) fn released(verdict: i8, others_waiting: u64) -> Result<Released, LockError> {
    match verdict {
        1 => Ok(Released::Released { others_waiting }),
        0 => Ok(Released::Lost),
        -1 => Ok(Released::Nothing),
        _ => Err(unexpected("release")),
    }
}

/// The names that have a key with this suffix, sorted. Scans the keyspace: for operators.
pub(crate) async fn names_with(link: &Link, ending: &str) -> Result<Vec<LockName>, LockError> {
    let prefix = link.prefix();
    let pattern = format!("{}*{ending}", escaped(&front(prefix)));
    let mut names = Vec::new();
    let mut cursor = 0_u64;
    loop {
        let mut cmd = redis::cmd("SCAN");
        cmd.arg(cursor).arg("MATCH").arg(&pattern).arg("COUNT").arg(SCAN_COUNT);
        let (next, keys): (u64, Vec<Vec<u8>>) = typed(link.command(b"", &cmd).await?)?;
        names.extend(keys.iter().filter_map(|key| name_of(prefix, ending, key)));
        cursor = next;
        if cursor == 0 {
            break;
        }
    }
    names.sort();
    names.dedup();
    Ok(names)
}

fn flag(yes: bool) -> &'static [u8] {
    if yes { b"1" } else { b"0" }
}

fn holder(reply: Value) -> Result<Option<Holder>, LockError> {
    type Fields = (Vec<u8>, u64, u64, u64, u64, u64, Vec<u8>);
    if reply == Value::Nil {
        return Ok(None);
    }
    let (owner, fence, lease_left_ms, free_in_ms, held_ms, waiting, metadata): Fields = typed(reply)?;
    let owner: [u8; 16] = owner.try_into().map_err(|_| unexpected("inspect"))?;
    let (owner, fence, metadata) = (Token::from(owner), Fence(fence), metadata.into());
    Ok(Some(Holder { owner, fence, lease_left_ms, free_in_ms, held_ms, waiting, metadata }))
}

pub(crate) fn typed<T: redis::FromRedisValue>(reply: Value) -> Result<T, LockError> {
    redis::from_redis_value(reply).map_err(|error| LockError::Link(LinkError::Unexpected(error.to_string())))
}

pub(crate) fn unexpected(step: &str) -> LockError {
    LockError::Link(LinkError::Unexpected(format!("the reply of the script of {step}")))
}

/// The length of a process's token in a message.
const PROCESS_BYTES: usize = 16;

/// The process that released the lock, and the process that is notified; empty if all are.
#[must_use]
pub fn sides(message: &[u8]) -> (&[u8], &[u8]) {
    message.split_at_checked(PROCESS_BYTES).unwrap_or((message, &[]))
}
