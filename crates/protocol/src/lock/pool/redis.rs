//! The steps of a pool as scripts on one Redis server; docs/spec/lock.md specifies them, `memory/` is their model.

use super::memory::sort;
use super::steps::{Kind, PermitReply, PermitRequest, Pool, PoolHolder, PoolState, PoolSteps, check, check_size};
use crate::lock::error::LockError;
use crate::lock::name::{LockName, key};
use crate::lock::redis::{names_with, unexpected};
use crate::lock::steps::{Fence, Released, Renewed, WakeListener};
use crate::lock::wake::TurnMessages;
use async_trait::async_trait;
use evenkeel_link::{Link, Token};

scripts! {
    /// All scripts, to be loaded on every epoch.
    pub(crate) const SCRIPTS in "", "scripts/";
    library "pool" of ["pool", "queue"];

    // Rejected as a whole by a Redis server that is out of memory.
    static ACQUIRE = "pool_acquire-1", "", ["pool", "queue"];
    // Renewals and releases must succeed when Redis is out of memory.
    static RENEW = "pool_renew-1", "allow-oom", ["pool"];
    static RELEASE = "pool_release-1", "allow-oom", ["pool"];
    static RAISE = "pool_raise-1", "allow-oom", ["pool"];
    static BREAK = "pool_break-1", "allow-oom", ["pool"];
    static RESIZE = "pool_resize-1", "allow-oom", ["pool"];
    static INSPECT = "pool_inspect-1", "no-writes", ["pool"];
}

/// The steps on one Redis server. Cheap to clone.
#[derive(Clone)]
pub struct RedisPool {
    link: Link,
}

impl RedisPool {
    /// The steps over this link.
    #[must_use]
    pub fn new(link: Link) -> Self {
        Self { link }
    }

    fn key(&self, pool: &Pool) -> Vec<u8> {
        key(self.link.prefix(), &pool.name, ending(pool.kind))
    }

    fn channel(&self, pool: &Pool) -> Vec<u8> {
        let ending = match pool.kind {
            Kind::ReadWrite => ":rw-news",
            Kind::Semaphore => ":permits-news",
        };
        key(self.link.prefix(), &pool.name, ending)
    }
}

#[async_trait]
impl PoolSteps for RedisPool {
    async fn acquire(&self, pool: &Pool, request: &PermitRequest) -> Result<PermitReply, LockError> {
        check(request)?;
        let numbers = [
            u64::from(request.permits),
            u64::from(request.permits_in_all),
            request.lease_ms,
            request.hold_ms_max.unwrap_or(0),
            request.fence_floor,
            u64::from(request.waits),
            u64::from(pool.kind == Kind::ReadWrite),
            request.waited_ms,
            u64::from(request.polls),
        ];
        let numbers = numbers.map(|number| number.to_string());
        let [permits, in_all, lease, hold, floor, waits, fenced, waited, polls] = &numbers;
        let channel = self.channel(pool);
        let args: [&[u8]; 12] = [
            request.owner.as_bytes(),
            permits.as_bytes(),
            in_all.as_bytes(),
            lease.as_bytes(),
            hold.as_bytes(),
            floor.as_bytes(),
            waits.as_bytes(),
            &request.metadata,
            fenced.as_bytes(),
            waited.as_bytes(),
            polls.as_bytes(),
            &channel,
        ];
        let (verdict, number, fence, signer): (i8, u64, u64, Vec<u8>) =
            self.link.run(&ACQUIRE, &[&self.key(pool)], &args).await?;
        match verdict {
            1 => Ok(PermitReply::Granted { lease_left_ms: number, fence: Fence(fence), signer: token(signer)? }),
            0 => Ok(PermitReply::Taken { free_in_ms: number }),
            2 => Ok(PermitReply::Queued),
            -1 => {
                Ok(PermitReply::Differs { permits_in_all: u32::try_from(number).map_err(|_| unexpected("acquire"))? })
            }
            _ => Err(unexpected("acquire")),
        }
    }

    async fn renew(&self, pool: &Pool, owner: Token, lease_ms: u64) -> Result<Renewed, LockError> {
        let lease_ms = lease_ms.to_string();
        let args: [&[u8]; 2] = [owner.as_bytes(), lease_ms.as_bytes()];
        let (verdict, lease_left_ms): (u8, u64) = self.link.run(&RENEW, &[&self.key(pool)], &args).await?;
        match verdict {
            0 => Ok(Renewed::Lost),
            1 => Ok(Renewed::Renewed { lease_left_ms }),
            2 => Ok(Renewed::Held { lease_left_ms }),
            _ => Err(unexpected("renew")),
        }
    }

    async fn release(&self, pool: &Pool, owner: Token) -> Result<Released, LockError> {
        let channel = self.channel(pool);
        let args: [&[u8]; 2] = [owner.as_bytes(), &channel];
        let (verdict, others_waiting): (i8, u64) = self.link.run(&RELEASE, &[&self.key(pool)], &args).await?;
        match verdict {
            1 => Ok(Released::Released { others_waiting }),
            -1 => Ok(Released::Nothing),
            _ => Err(unexpected("release")),
        }
    }

    async fn raise(&self, pool: &Pool, owner: Token, mine: Fence, seen: Fence) -> Result<Option<Fence>, LockError> {
        let (mine, seen) = (mine.to_string(), seen.to_string());
        let args: [&[u8]; 3] = [owner.as_bytes(), mine.as_bytes(), seen.as_bytes()];
        let fence: u64 = self.link.run(&RAISE, &[&self.key(pool)], &args).await?;
        Ok((fence > 0).then_some(Fence(fence)))
    }

    async fn inspect(&self, pool: &Pool) -> Result<Option<PoolState>, LockError> {
        type State = Option<(u32, u64, u64, Vec<Holder>)>;
        let found: State = self.link.run(&INSPECT, &[&self.key(pool)], &[]).await?;
        let Some((permits_in_all, fence, waiting, held)) = found else { return Ok(None) };
        Ok(Some(PoolState { permits_in_all, fence: Fence(fence), holders: holders(held)?, waiting }))
    }

    async fn break_holds(&self, pool: &Pool, owner: Option<Token>) -> Result<Vec<PoolHolder>, LockError> {
        let owner = owner.map_or_else(Vec::new, |owner| owner.as_bytes().to_vec());
        holders(self.link.run(&BREAK, &[&self.key(pool)], &[&owner, &self.channel(pool)]).await?)
    }

    async fn resize(&self, pool: &Pool, permits_in_all: u32) -> Result<(), LockError> {
        check_size(permits_in_all)?;
        let (permits, channel) = (permits_in_all.to_string(), self.channel(pool));
        let args: [&[u8]; 2] = [permits.as_bytes(), &channel];
        let _: u8 = self.link.run(&RESIZE, &[&self.key(pool)], &args).await?;
        Ok(())
    }

    async fn names(&self, kind: Kind) -> Result<Vec<LockName>, LockError> {
        names_with(&self.link, ending(kind)).await
    }

    async fn listen(&self, pool: &Pool) -> Result<Box<dyn WakeListener>, LockError> {
        Ok(Box::new(TurnMessages(self.link.subscribe(&self.channel(pool)).await?)))
    }
}

/// Owner, permits, lease left (ms), held for (ms), metadata.
type Holder = (Vec<u8>, u32, u64, u64, Vec<u8>);

fn holders(found: Vec<Holder>) -> Result<Vec<PoolHolder>, LockError> {
    let holder = |(owner, permits, lease_left_ms, held_ms, metadata): Holder| {
        Ok(PoolHolder { owner: token(owner)?, permits, lease_left_ms, held_ms, metadata: metadata.into() })
    };
    let mut holders = found.into_iter().map(holder).collect::<Result<Vec<_>, LockError>>()?;
    sort(&mut holders);
    Ok(holders)
}

fn token(bytes: Vec<u8>) -> Result<Token, LockError> {
    let bytes: [u8; 16] = bytes.try_into().map_err(|_| unexpected("acquire"))?;
    Ok(Token::from(bytes))
}

fn ending(kind: Kind) -> &'static str {
    match kind {
        Kind::ReadWrite => ":rw",
        Kind::Semaphore => ":permits",
    }
}
