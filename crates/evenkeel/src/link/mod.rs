//! The one supervised way to reach Redis. Nothing outside this folder opens a connection, names a topology or knows a cluster.

mod error;
mod options;
mod script;

pub use error::LinkError;
pub use options::LinkOptions;
pub use script::Script;

use crate::clock::Clock;
use redis::{Cmd, FromRedisValue, Value};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// What a capability does on a new epoch before anybody else may use it (for the cache: drive recent invalidations again).
pub trait EpochHook: Send + Sync + 'static {
    /// Runs after the scripts are loaded and before the epoch is published. An error makes the link try a new epoch.
    fn open<'a>(&'a self, epoch: &'a Epoch) -> Pin<Box<dyn Future<Output = Result<(), LinkError>> + Send + 'a>>;
}

/// One life of the link: the connections made together after a success, replaced together after a failure.
pub struct Epoch {}

impl Epoch {
    /// Rises by one with every replacement; 1 is the first.
    pub fn number(&self) -> u64 {
        todo!()
    }
    /// Runs one script on this epoch, or fails if the epoch is over.
    pub async fn run<T: FromRedisValue>(
        &self,
        _script: &'static Script,
        _keys: &[&[u8]],
        _args: &[&[u8]],
    ) -> Result<T, LinkError> {
        todo!()
    }
}

/// A cheap handle on the supervised connections to one Redis.
#[derive(Clone)]
pub struct Link(Arc<Inner>);

struct Inner {
    clock: Clock,
}

impl Link {
    /// Opens the first epoch, or says why it cannot.
    pub async fn connect(_options: LinkOptions, clock: Clock) -> Result<Link, LinkError> {
        Ok(Link(Arc::new(Inner { clock })))
    }

    /// The epoch commands run on now; `None` while the link is down.
    pub fn epoch(&self) -> Option<Arc<Epoch>> {
        let _ = &self.0.clock;
        todo!()
    }

    /// Redis's own time in ms, estimated from the last answer that told it. Good for deciding what is due, never for safety.
    pub fn server_now_ms(&self) -> u64 {
        todo!()
    }

    /// `GET key`, the hot path: one command, no script.
    pub async fn get(&self, _key: &[u8]) -> Result<Option<bytes::Bytes>, LinkError> {
        todo!()
    }

    /// Any one command; `route` is the key that decides the connection, so commands on one key stay in order.
    pub async fn command(&self, _route: &[u8], _cmd: &Cmd) -> Result<Value, LinkError> {
        todo!()
    }

    /// Runs a script by its hash (loaded on every epoch; NOSCRIPT handled).
    pub async fn run<T: FromRedisValue>(
        &self,
        _script: &'static Script,
        _keys: &[&[u8]],
        _args: &[&[u8]],
    ) -> Result<T, LinkError> {
        todo!()
    }

    /// Registers what must happen on every new epoch before it is published.
    pub fn before_open(&self, _hook: Arc<dyn EpochHook>) {
        todo!()
    }

    /// The prefix of every key this link's user writes (`ns` in docs/keyspace.md).
    pub fn prefix(&self) -> &str {
        todo!()
    }
}
