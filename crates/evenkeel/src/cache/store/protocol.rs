//! [`CacheProtocol`]: where a cache takes its steps from, if not from the fenced protocol.

use evenkeel_link::Link;
use evenkeel_link::clock::Clock;
use evenkeel_protocol::cache::keys::CacheKeys;
use evenkeel_protocol::cache::memory::EntryStore;
use evenkeel_protocol::cache::steps::CacheSteps;
use std::sync::Arc;

/// A cache protocol that replaces the fenced one ([`CacheBuilder::protocol`](crate::cache::CacheBuilder::protocol)). The crate
/// `evenkeel-published` implements it for protocols of the literature.
///
/// An implementation needs the crate `evenkeel-protocol`, whose interface is not stable.
pub trait CacheProtocol: Send + Sync {
    /// Opens the steps of one cache. [`CacheBuilder::open`](crate::cache::CacheBuilder::open) calls it once.
    ///
    /// # Errors
    /// One sentence that names the setting that cannot work and how to change it.
    fn open(&self, cache: ProtocolContext) -> Result<Arc<dyn CacheSteps>, String>;
}

/// The cache that a [`CacheProtocol`] is opened for.
#[derive(Clone)]
#[non_exhaustive]
pub struct ProtocolContext {
    /// Its name.
    pub name: String,
    /// Builds the keys of its entries.
    pub keys: CacheKeys,
    /// Where its entries are.
    pub store: ProtocolStore,
    /// The clock of its keel.
    pub clock: Clock,
    /// Fingerprint of its codec and schema, for the header of its entries.
    pub schema: u32,
    /// Whether it has a version function.
    pub has_versions: bool,
}

/// The store of a cache.
#[derive(Clone)]
pub enum ProtocolStore {
    /// In this process, shared by the caches of a keel.
    Memory(Arc<EntryStore>),
    /// On Redis.
    Redis(Link),
}
