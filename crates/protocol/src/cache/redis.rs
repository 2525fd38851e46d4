//! The steps on Redis: the scripts and their typed wrappers.

use super::error::CacheError;
use super::keys::CacheKeys;
use super::on_replicas::OnReplicas;
use super::steps::{
    BeginWrite, Begun, CacheSteps, Ended, Fill, Filled, Generation, Grant, Invalidation, Lease, Leased, Mode, Renewed,
    SPAN_MS_MAX, TrackedRead, Why,
};
use async_trait::async_trait;
use bytes::Bytes;
use evenkeel_link::support::guard;
use evenkeel_link::{Blocking, Epoch, Link, LinkError, Script, Token, Tracked};
use redis::{FromRedisValue, Pipeline, Value};
use std::sync::Arc;
use std::time::Duration;

scripts! {
    /// The scripts of the cache, to be loaded on every epoch.
    pub const SCRIPTS in "", "scripts/";
    library "cache" of ["header", "entry"];

    // Rejected as a whole by a Redis server that is out of memory.
    static LEASE = "lease-1", "", ["header", "entry"];
    static FILL = "fill-1", "", ["header", "entry"];
    static BEGIN_WRITE = "begin_write-1", "", ["header", "entry"];
    // Invalidations, and what ends a lease or a window, must succeed when Redis is out of memory.
    static INVALIDATE = "invalidate-1", "allow-oom", ["header", "entry"];
    static ABANDON = "abandon-1", "allow-oom", ["header", "entry"];
    static RENEW_WRITE = "renew_write-1", "allow-oom", ["header", "entry"];
    static END_WRITE = "end_write-1", "allow-oom", ["header", "entry"];
}

/// The steps of one cache over a link.
#[derive(Clone)]
pub struct RedisCache {
    link: Link,
    /// The same link with a shorter time-out, for steps on a reader's path: the reader queries the database instead of waiting.
    quick: Link,
    keys: CacheKeys,
    /// Set if replicas must confirm update windows.
    on_replicas: Option<Arc<OnReplicas>>,
}

impl RedisCache {
    /// The cache whose entries are stored under `keys`.
    #[must_use]
    pub fn new(link: Link, keys: CacheKeys) -> Self {
        Self { quick: link.clone(), link, keys, on_replicas: None }
    }

    /// Sets the time-out of the steps on a reader's path (all but invalidations and windows).
    pub fn with_read_timeout(self, timeout: Duration) -> Self {
        Self { quick: self.link.with_response_timeout(timeout), ..self }
    }

    /// Makes a window count as open only after replicas have confirmed it.
    pub fn with_windows(self, on_replicas: Option<OnReplicas>) -> Self {
        Self { on_replicas: on_replicas.map(Arc::new), ..self }
    }

    /// [`begin_write`](CacheSteps::begin_write) on a dedicated connection, followed in the same write by a command that waits for it.
    pub(crate) async fn begin_write_and_wait(
        &self,
        connection: &mut Blocking,
        key: &[u8],
        begin: &BeginWrite,
        wait: &redis::Cmd,
        block: Duration,
    ) -> Result<(Begun, Value), CacheError> {
        let args = begin_arguments(begin);
        let args: Vec<&[u8]> = args.iter().map(Vec::as_slice).collect();
        let keys = [&self.keys.key(key)[..]];
        let (ran, waited) = connection.run_and_wait(&BEGIN_WRITE, &keys, &args, wait, block).await?;
        let Value::Array(reply) = ran else { return Err(unexpected("begin_write", &[ran])) };
        Ok((begun(&reply)?, waited))
    }

    /// Runs a step on one epoch, or on the current epoch of `link`, with the time-out of `link`.
    async fn run_via<T: FromRedisValue>(
        &self,
        link: &Link,
        epoch: Option<&Epoch>,
        script: &'static Script,
        key: &[u8],
        args: &[&[u8]],
    ) -> Result<T, LinkError> {
        let keys = [&self.keys.key(key)[..]];
        match epoch {
            Some(epoch) => epoch.run_within(script, &keys, args, link.response_timeout()).await,
            None => link.run(script, &keys, args).await,
        }
    }

    async fn run<T: FromRedisValue>(
        &self,
        script: &'static Script,
        key: &[u8],
        args: &[&[u8]],
    ) -> Result<T, LinkError> {
        self.run_via(&self.link, None, script, key, args).await
    }

    async fn fill_via(&self, epoch: Option<&Epoch>, key: &[u8], with: &Fill) -> Result<Filled, CacheError> {
        let version = with.version.map(u64::to_be_bytes);
        let args = [
            &with.grant.generation.0[..],
            &number(with.grant.ordinal),
            &number(with.grant.at_ms),
            version.as_ref().map_or(&[], |bytes| &bytes[..]),
            flag(with.absent),
            &number(with.codec),
            &number(with.compression),
            &with.payload,
            &span(with.soft_ms),
            &span(with.hard_ms),
            &span(with.suspect_ms),
            &span(with.replica_lag_ms),
            &span(with.spare_ms),
        ];
        match self.run_via(&self.quick, epoch, &FILL, key, &args).await? {
            1 => Ok(Filled::Stored),
            2 => Ok(Filled::Superseded),
            3 => Ok(Filled::BelowFloor),
            4 => Ok(Filled::Gone),
            other => Err(unexpected("fill", &[Value::Int(other)])),
        }
    }

    async fn invalidate_via(
        &self,
        epoch: Option<&Epoch>,
        key: &[u8],
        invalidation: &Invalidation,
    ) -> Result<(), CacheError> {
        let Encoded { generation, floor, retain, lag } = encode(invalidation);
        let args = [&generation[..], &floor, &retain, &lag];
        let _existed: i64 = self.run_via(&self.link, epoch, &INVALIDATE, key, &args).await?;
        Ok(())
    }
}

#[async_trait]
impl CacheSteps for RedisCache {
    async fn read(&self, key: &[u8]) -> Result<Option<Bytes>, CacheError> {
        or_foreign(self.quick.get(&self.keys.key(key)).await.map_err(CacheError::from))
    }

    async fn lease(&self, key: &[u8], ask: &Lease) -> Result<Leased, CacheError> {
        let (below, older);
        let why: &[u8] = match ask.why {
            Why::Miss => b"miss",
            Why::Stale => b"stale",
            Why::Refresh => b"refresh",
            Why::Below(version) => {
                below = version.to_be_bytes();
                &below
            }
            // Longer than a version, which has 8 bytes.
            Why::Older(age_ms_max) => {
                older = [b"older_ms:", &span(age_ms_max)[..]].concat();
                &older
            }
        };
        let (lease, life, lag) = (span(ask.lease_ms), span(ask.life_ms), span(ask.lag_ms_max));
        let schema = number(ask.schema);
        let args = [ask.token.as_bytes(), &ask.generation.0[..], &lease, &life, why, &schema, &lag];
        let reply: Vec<Value> = self.run_via(&self.quick, None, &LEASE, key, &args).await?;
        leased(&reply).ok_or_else(|| unexpected("lease", &reply))
    }

    async fn fill(&self, key: &[u8], with: &Fill) -> Result<Filled, CacheError> {
        self.fill_via(None, key, with).await
    }

    async fn abandon(&self, key: &[u8], token: Token, retry_after_ms: u64) -> Result<(), CacheError> {
        let args = [&token.as_bytes()[..], &span(retry_after_ms)];
        let _returned: i64 = self.run_via(&self.quick, None, &ABANDON, key, &args).await?;
        Ok(())
    }

    async fn invalidate(&self, key: &[u8], invalidation: &Invalidation) -> Result<(), CacheError> {
        self.invalidate_via(None, key, invalidation).await
    }

    async fn begin_write(&self, key: &[u8], begin: &BeginWrite) -> Result<Begun, CacheError> {
        if let Some(on_replicas) = &self.on_replicas {
            return on_replicas.begin_write(self, &self.link, key, begin).await;
        }
        let args = begin_arguments(begin);
        let args: Vec<&[u8]> = args.iter().map(Vec::as_slice).collect();
        let reply: Vec<Value> = self.run(&BEGIN_WRITE, key, &args).await?;
        begun(&reply)
    }

    async fn renew_write(&self, key: &[u8], token: Token, window_ms: u64) -> Result<Renewed, CacheError> {
        match self.run(&RENEW_WRITE, key, &[token.as_bytes(), &span(window_ms)]).await? {
            0 => Ok(Renewed::Lost),
            remaining_ms => Ok(Renewed::Open { remaining_ms }),
        }
    }

    async fn end_write(&self, key: &[u8], token: Token, invalidation: &Invalidation) -> Result<Ended, CacheError> {
        let Encoded { generation, floor, retain, lag } = encode(invalidation);
        let args = [token.as_bytes(), &generation[..], &floor, &retain, &lag];
        let closed: i64 = self.run(&END_WRITE, key, &args).await?;
        Ok(if closed == 1 { Ended::Closed } else { Ended::Expired })
    }

    async fn read_many(&self, keys: &[&[u8]]) -> Result<Vec<Result<Option<Bytes>, CacheError>>, CacheError> {
        let mut pipeline = Pipeline::with_capacity(keys.len());
        let full: Vec<Vec<u8>> = keys.iter().map(|key| self.keys.key(key)).collect();
        for key in &full {
            pipeline.cmd("GET").arg(key);
        }
        let answers = self.quick.pipeline(full.first().map_or(&[], Vec::as_slice), &pipeline).await?;
        Ok(answers.into_iter().map(entry_of).map(or_foreign).collect())
    }

    async fn read_many_tracked(&self, keys: &[&[u8]]) -> Result<Vec<TrackedRead>, CacheError> {
        let full: Vec<Vec<u8>> = keys.iter().map(|key| self.keys.key(key)).collect();
        let full: Vec<&[u8]> = full.iter().map(Vec::as_slice).collect();
        let answers = self.link.get_tracked_many(&full).await?;
        Ok(answers
            .into_iter()
            .map(|answer| match answer {
                Ok(Tracked { value, tracked_on }) => TrackedRead { answer: Ok(value), tracked_on },
                Err(error) => TrackedRead { answer: or_foreign(Err(error.into())), tracked_on: None },
            })
            .collect())
    }

    async fn fill_on(&self, epoch: &Epoch, key: &[u8], with: &Fill) -> Result<Filled, CacheError> {
        self.fill_via(Some(epoch), key, with).await
    }

    async fn invalidate_on(&self, epoch: &Epoch, key: &[u8], invalidation: &Invalidation) -> Result<(), CacheError> {
        self.invalidate_via(Some(epoch), key, invalidation).await
    }

    fn tracks(&self) -> bool {
        self.link.epoch().is_some_and(|epoch| epoch.tracks())
    }
}

/// An invalidation as arguments of the scripts.
struct Encoded {
    generation: [u8; 8],
    floor: Vec<u8>,
    retain: Vec<u8>,
    lag: Vec<u8>,
}

fn encode(invalidation: &Invalidation) -> Encoded {
    Encoded {
        generation: invalidation.generation.0,
        floor: invalidation.floor.map(|floor| floor.to_be_bytes().to_vec()).unwrap_or_default(),
        retain: match invalidation.mode {
            Mode::Expire { retain_ms } => span(retain_ms),
            Mode::Purge => Vec::new(),
        },
        lag: span(invalidation.lag_ms_max),
    }
}

fn begin_arguments(begin: &BeginWrite) -> [Vec<u8>; 8] {
    let Encoded { generation, floor, retain, lag } = encode(&begin.invalidation);
    let (window, suspect, schema) = (span(begin.window_ms), span(begin.suspect_ms), number(begin.schema));
    [begin.token.as_bytes().to_vec(), generation.to_vec(), floor, retain, lag, window, suspect, schema]
}

fn begun(reply: &[Value]) -> Result<Begun, CacheError> {
    match reply {
        [Value::Int(1), Value::Int(left)] => Ok(Begun::Open { remaining_ms: left.unsigned_abs() }),
        [Value::Int(2), Value::Int(left)] => Ok(Begun::Busy { retry_after_ms: left.unsigned_abs() }),
        _ => Err(unexpected("begin_write", reply)),
    }
}

fn leased(reply: &[Value]) -> Option<Leased> {
    let retry_after = |ms: i64| ms.unsigned_abs();
    Some(match reply {
        [Value::Int(1), Value::BulkString(generation), Value::Int(ordinal), Value::Int(at), Value::Int(primary)] => {
            Leased::Granted(Grant {
                generation: Generation(generation.as_slice().try_into().ok()?),
                ordinal: u32::try_from(*ordinal).ok()?,
                at_ms: u64::try_from(*at).ok()?,
                primary_required: *primary == 1,
            })
        }
        [Value::Int(2), Value::BulkString(entry)] => Leased::AlreadyStored(Bytes::copy_from_slice(entry)),
        [Value::Int(3), Value::Int(ms)] => Leased::Wait { retry_after_ms: retry_after(*ms) },
        [Value::Int(4), Value::Int(ms)] => Leased::Failing { retry_after_ms: retry_after(*ms) },
        [Value::Int(5), Value::Int(ms)] => Leased::Writing { retry_after_ms: retry_after(*ms) },
        [Value::Int(6)] => Leased::OtherSchema,
        _ => return None,
    })
}

/// Converts the reply to `GET`.
fn entry_of(answer: Value) -> Result<Option<Bytes>, CacheError> {
    match answer {
        Value::BulkString(bytes) => Ok(Some(bytes.into())),
        Value::Nil => Ok(None),
        Value::ServerError(error) => Err(LinkError::from(error).into()),
        other => Err(unexpected("read", &[other])),
    }
}

/// A key of another type, written by another program, is returned as bytes that are not an entry: a lease replaces it.
pub fn or_foreign(answer: Result<Option<Bytes>, CacheError>) -> Result<Option<Bytes>, CacheError> {
    match answer {
        Err(CacheError::Link(LinkError::Refused { code, .. })) if code == "WRONGTYPE" && guard("foreign_type_read") => {
            Ok(Some(Bytes::new()))
        }
        answer => answer,
    }
}

fn unexpected(step: &str, reply: &[Value]) -> CacheError {
    LinkError::Unexpected(format!("{step}: {reply:?}")).into()
}

fn span(span_ms: u64) -> Vec<u8> {
    number(span_ms.min(SPAN_MS_MAX))
}

fn number(number: impl Into<u64>) -> Vec<u8> {
    number.into().to_string().into_bytes()
}

fn flag(flag: bool) -> &'static [u8] {
    if flag { b"1" } else { b"0" }
}
