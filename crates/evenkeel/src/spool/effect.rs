//! The records of a spool.

use bytes::Bytes;
use std::sync::Arc;

/// An operation that must be carried out and is recorded nowhere else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingEffect {
    /// Whether it deletes or writes.
    pub kind: Kind,
    /// The consumer that carries it out: a name of at most 255 bytes. The cache `user` of the prefix `shop` has the topic
    /// `shop:c:user`.
    pub topic: Arc<str>,
    /// The key to which it applies.
    pub key: Bytes,
    /// The operation, in an encoding that its consumer defines.
    pub body: Bytes,
}

/// Whether an effect deletes or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// It deletes data of its key, such as an invalidation. Returned before all writes. A newer one of the same topic and key
    /// replaces an older one, so a key that is deleted repeatedly takes the space of one.
    Delete,
    /// It writes data. All of them are kept, and returned in the order of their arrival.
    Write,
}

/// A pending effect in the spool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spooled {
    /// Its number in this spool; sequences increase and are never reused.
    pub sequence: u64,
    /// The effect.
    pub effect: PendingEffect,
}

impl PendingEffect {
    /// An effect that deletes.
    pub fn delete(topic: impl Into<Arc<str>>, key: impl Into<Bytes>, body: impl Into<Bytes>) -> Self {
        Self { kind: Kind::Delete, topic: topic.into(), key: key.into(), body: body.into() }
    }

    /// An effect that writes.
    pub fn write(topic: impl Into<Arc<str>>, key: impl Into<Bytes>, body: impl Into<Bytes>) -> Self {
        Self { kind: Kind::Write, topic: topic.into(), key: key.into(), body: body.into() }
    }
}
