//! What a spool keeps.

use bytes::Bytes;
use std::sync::Arc;

/// Something that must be done, and is written down nowhere else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obligation {
    /// Whether it takes something away or brings something.
    pub kind: Kind,
    /// Who carries it out: a name of at most 255 bytes. The cache `user` of the prefix `shop` has the topic `shop:c:user`.
    pub topic: Arc<str>,
    /// What it is about.
    pub key: Bytes,
    /// What is to be done, in the words of whoever carries it out.
    pub body: Bytes,
}

/// Whether an obligation takes something away or brings something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// It ends what is known of its key, such as an invalidation. Carried out before all writes. A newer one of the same topic
    /// and key takes the place of an older one, so a key that is deleted over and over takes the room of one.
    Delete,
    /// It brings something. All of them are kept, and carried out in the order they came in.
    Write,
}

/// An obligation that is in the spool and not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spooled {
    /// Its number in this spool; they rise and never come again.
    pub sequence: u64,
    /// What is to be done.
    pub obligation: Obligation,
}

impl Obligation {
    /// One that takes something away.
    pub fn delete(topic: impl Into<Arc<str>>, key: impl Into<Bytes>, body: impl Into<Bytes>) -> Self {
        Self { kind: Kind::Delete, topic: topic.into(), key: key.into(), body: body.into() }
    }

    /// One that brings something.
    pub fn write(topic: impl Into<Arc<str>>, key: impl Into<Bytes>, body: impl Into<Bytes>) -> Self {
        Self { kind: Kind::Write, topic: topic.into(), key: key.into(), body: body.into() }
    }
}
