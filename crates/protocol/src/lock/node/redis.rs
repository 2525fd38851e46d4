//! A Redis server of a Redlock: the scripts of the exclusive lock, preceded by a check of the server's membership.

use super::{Mark, Membership, Node, NodeListener, Vote};
use crate::lock::error::{LockError, Unreached};
use crate::lock::name::{FENCE, Keys, LockName, front};
use crate::lock::redis::{RedisLock, acquired, arguments, log_foreign, released, typed};
use crate::lock::steps::{Acquire, FENCE_MAX, LockSteps, Release, Released};
use crate::pattern::escaped;
use async_trait::async_trait;
use evenkeel_link::clock::Clock;
use evenkeel_link::{Link, LinkError, LinkOptions, Token};
use parking_lot::Mutex;
use redis::Value;
use std::time::Duration;
use tokio::sync::OnceCell;

scripts! {
    /// All scripts, to be loaded on every epoch.
    pub(crate) const SCRIPTS in "../", "scripts/";
    library "redlock" of ["record"];

    static ACQUIRE = ("shared/member.lua") "redlock-acquire-4" from "../scripts/acquire-3.lua", "", ["record"];
    static REJOIN = ("shared/member.lua") ("shared/rejoin.lua") "redlock-rejoin-5" from "../scripts/acquire-3.lua", "", ["record"];
    static RELEASE = ("shared/tombstone.lua") "redlock-release-4" from "../scripts/release-3.lua", "allow-oom", ["record"];
    static MEMBERSHIP = "membership-1" from "scripts/membership-1.lua", "allow-oom", [];
    static ADMIT = "admit-1" from "scripts/admit-1.lua", "allow-oom", [];
}

/// Keys examined by one `SCAN` call.
const SCAN_COUNT: usize = 500;

/// One Redis server.
pub struct RedisNode {
    options: LinkOptions,
    clock: Clock,
    /// Empty until the server was reached for the first time.
    link: OnceCell<Link>,
    /// Why the last attempt to open the link failed.
    refusal: Mutex<Option<LinkError>>,
}

impl RedisNode {
    /// A server to be connected later.
    pub fn new(options: LinkOptions, clock: Clock) -> Self {
        let options = options.with_scripts(SCRIPTS).with_scripts(crate::lock::redis::SCRIPTS);
        Self { options, clock, link: OnceCell::new(), refusal: Mutex::default() }
    }

    /// Stores why there is no link. A permanent error is logged once.
    fn record_error(&self, error: LinkError) {
        let address = self.options.address();
        let mut refusal = self.refusal.lock();
        let is_known = refusal.as_ref().is_some_and(|known| known.to_string() == error.to_string());
        if !is_known && !error.is_retryable() {
            tracing::error!(%address, %error, "a server of a Redlock rejects this program");
        } else {
            tracing::debug!(%address, %error, "a server of a Redlock is not reachable; the connection is retried");
        }
        *refusal = Some(error);
    }

    fn link(&self) -> Result<&Link, LockError> {
        self.link.get().ok_or_else(|| self.down())
    }

    fn down(&self) -> LockError {
        let address = self.link.get().map_or_else(|| "a server of a Redlock".to_owned(), Link::address);
        LockError::Link(LinkError::Down {
            address,
            reason: "it was not reached yet, or the connection was just lost".to_owned(),
        })
    }

    fn keys(&self, name: &LockName) -> Keys {
        Keys::new(&self.options.prefix, name)
    }

    /// The key of the server's mark.
    fn mark(&self) -> Vec<u8> {
        format!("{}:redlock", self.options.prefix).into_bytes()
    }
}

#[async_trait]
impl Node for RedisNode {
    async fn acquire(&self, name: &LockName, call: &Acquire, rejoins: bool) -> Result<Vote, LockError> {
        let keys = self.keys(name);
        let (mark, gone) = (self.mark(), tombstone(&keys, call.owner));
        let epoch = self.link()?.epoch().ok_or_else(|| self.down())?;
        let numbers = arguments(call);
        let mut args = numbers.slices(call).to_vec();
        args.push(epoch.run_id().as_bytes());
        let all: [&[u8]; 5] = [&keys.lock, &keys.fence, &keys.waiters, &mark, &gone];
        let (script, keys) = if rejoins { (&REJOIN, &all[..]) } else { (&ACQUIRE, &all[..4]) };
        let (fence, ms, replaced): (i64, u64, u8) = epoch.run(script, keys, &args).await?;
        log_foreign(name, replaced);
        Ok(u64::try_from(fence).map_or(Vote::Outsider, |fence| Vote::Counts(acquired(fence, ms))))
    }

    async fn release(&self, name: &LockName, call: Release, tombstone_ms: Option<u64>) -> Result<Released, LockError> {
        let Some(tombstone_ms) = tombstone_ms else { return self.locks()?.release(name, call).await };
        let keys = self.keys(name);
        let (gone, tombstone_ms) = (tombstone(&keys, call.owner), tombstone_ms.to_string());
        let waits: &[u8] = if call.waits { b"1" } else { b"0" };
        let (owner, process) = (call.owner.as_bytes(), call.process.as_bytes());
        let args: [&[u8]; 5] = [owner, process, waits, &keys.channel, tombstone_ms.as_bytes()];
        let all: [&[u8]; 4] = [&keys.lock, &keys.fence, &keys.waiters, &gone];
        let (verdict, waiting) = self.link()?.run(&RELEASE, &all, &args).await?;
        released(verdict, waiting)
    }

    async fn membership(&self, sit_out_ms: u64) -> Result<Membership, LockError> {
        let epoch = self.link()?.epoch().ok_or_else(|| self.down())?;
        let sit_out_ms = sit_out_ms.to_string();
        let args: [&[u8]; 2] = [epoch.run_id().as_bytes(), sit_out_ms.as_bytes()];
        let (is_member, left_ms, since): (u8, u64, u64) = epoch.run(&MEMBERSHIP, &[&self.mark()], &args).await?;
        Ok(if is_member == 1 { Membership::Member } else { Membership::Out { left_ms, mark: Mark(since) } })
    }

    async fn admit(&self, mark: Mark, floor: u64) -> Result<bool, LockError> {
        let epoch = self.link()?.epoch().ok_or_else(|| self.down())?;
        let (since, floor) = (mark.0.to_string(), floor.to_string());
        let args: [&[u8]; 3] = [epoch.run_id().as_bytes(), since.as_bytes(), floor.as_bytes()];
        let verdict: u8 = epoch.run(&ADMIT, &[&self.mark()], &args).await?;
        Ok(verdict == 1)
    }

    /// Reads the ledgers of all names, and its own floor. Scans the keyspace incrementally.
    async fn fence_max(&self) -> Result<u64, LockError> {
        let link = self.link()?;
        let mark = self.mark();
        let floor: Option<u64> = typed(link.command(&mark, redis::cmd("HGET").arg(&mark).arg("floor")).await?)?;
        let mut fence_max = floor.unwrap_or(0);
        let pattern = format!("{}*{FENCE}", escaped(&front(link.prefix())));
        let mut cursor = 0_u64;
        loop {
            let mut walk = redis::cmd("SCAN");
            walk.arg(cursor).arg("MATCH").arg(&pattern).arg("COUNT").arg(SCAN_COUNT);
            let (next, keys): (u64, Vec<Vec<u8>>) = typed(link.command(b"", &walk).await?)?;
            let mut reads = redis::Pipeline::new();
            for key in &keys {
                reads.cmd("GETRANGE").arg(key).arg(0).arg(7);
            }
            for ledger in link.pipeline(b"", &reads).await? {
                if let Value::BulkString(bytes) = ledger
                    && let Ok(bytes) = <[u8; 8]>::try_from(bytes)
                {
                    // A higher value was written by another program.
                    let fence = Some(u64::from_be_bytes(bytes)).filter(|fence| *fence <= FENCE_MAX);
                    fence_max = fence_max.max(fence.unwrap_or(0));
                }
            }
            cursor = next;
            if cursor == 0 {
                return Ok(fence_max);
            }
        }
    }

    async fn listen(&self, name: &LockName) -> Result<Box<dyn NodeListener>, LockError> {
        Ok(Box::new(RedisLock::new(self.link()?.clone()).subscribe(name).await?))
    }

    fn locks(&self) -> Result<Box<dyn LockSteps>, LockError> {
        Ok(Box::new(RedisLock::new(self.link()?.clone())))
    }

    async fn connect(&self) {
        let open = || Link::connect(self.options.clone(), self.clock.clone());
        if let Err(error) = self.link.get_or_try_init(open).await {
            self.record_error(error);
        }
    }

    fn unreached(&self) -> Option<Unreached> {
        let error = match self.link.get() {
            Some(link) => link.epoch().is_none().then(|| link.why_down()),
            None => self.refusal.lock().clone(),
        };
        error.map(|error| Unreached { address: self.options.address(), error })
    }

    fn is_connected(&self) -> bool {
        self.link.initialized()
    }

    fn has_runtime_ended(&self) -> bool {
        self.link.get().is_some_and(|link| matches!(link.why_down(), LinkError::RuntimeEnded))
    }

    async fn shutdown(&self, deadline: Duration) {
        if let Some(link) = self.link.get() {
            link.shutdown(deadline).await;
        }
    }
}

/// The key that records that an owner has released a lock.
fn tombstone(keys: &Keys, owner: Token) -> Vec<u8> {
    let mut key = keys.waiters.clone();
    key.extend_from_slice(format!(":gone:{owner:?}").as_bytes());
    key
}
