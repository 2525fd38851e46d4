//! What several steps send, and what several replies have.

use super::error::StreamError;
use super::id::EntryId;
use super::name::GroupName;
use super::parts::Parts;
use super::steps::{Delivered, Delivery, Position, Reader, Reply};
use super::tries::Tries;
use crate::step::Args;
use crate::step::reply::{array, bulk, integer};
use bytes::Bytes;
use evenkeel_link::{LinkError, Token};
use redis::Value;

pub(crate) type Replied<T> = Result<T, StreamError>;

/// The number of parts of an entry in a reply.
const PARTS: usize = 4;

impl Args {
    /// The first argument of every step on a group.
    pub(crate) fn of(group: &GroupName) -> Self {
        Self::default().bytes(group.as_str())
    }

    pub(crate) fn id(self, id: EntryId) -> Self {
        self.shown(id)
    }

    pub(crate) fn ids(self, ids: &[EntryId]) -> Self {
        ids.iter().fold(self, |args, id| args.id(*id))
    }

    /// As text, which operators see in `XINFO CONSUMERS`.
    pub(crate) fn consumer(self, consumer: Token) -> Self {
        self.bytes(format!("{consumer:?}"))
    }

    pub(crate) fn reader(self, reader: Reader) -> Self {
        self.consumer(reader.consumer).number(reader.fence).number(reader.epoch)
    }

    pub(crate) fn position(self, position: Position) -> Self {
        match position {
            Position::After(id) => self.id(id),
            Position::End => self.bytes("$"),
        }
    }

    pub(crate) fn delivery(self, delivery: Delivery) -> Self {
        self.id(delivery.id).number(delivery.count.into())
    }
}

/// The reply to a call of a consumer, whose first part is a code.
pub(crate) fn coded<T>(reply: Value, done: impl FnOnce(Parts) -> Replied<T>) -> Replied<Reply<T>> {
    let mut parts = Parts::of(reply)?;
    match parts.number()? {
        0 => Ok(Reply::Missing),
        1 => done(parts).map(Reply::Done),
        2 => Ok(Reply::Stale),
        3 => Ok(Reply::OtherMode),
        4 => Ok(Reply::TakeOverFirst),
        _ => Err(unexpected("a call of a consumer")),
    }
}

/// The reply to a call of a consumer that returns nothing.
pub(crate) fn nothing(reply: Value) -> Replied<Reply<()>> {
    coded(reply, |_| Ok(()))
}

/// One byte per item: 1 is true.
pub(crate) fn flags(reply: Value) -> Replied<Reply<Vec<bool>>> {
    coded(reply, |mut parts| Ok(parts.bytes()?.iter().map(|flag| *flag == 1).collect()))
}

/// A list of which each item is decoded.
pub(crate) fn each<T>(reply: Value, decode: impl Fn(Value) -> Replied<T>) -> Replied<Vec<T>> {
    array(reply)?.into_iter().map(decode).collect()
}

/// The entries of a reply with deliveries.
pub(crate) fn deliveries(reply: Value) -> Replied<Vec<Delivered>> {
    let mut fields = Parts::of(reply)?;
    let mut entries = Vec::with_capacity(fields.len() / PARTS);
    while !fields.is_empty() {
        let id = id(fields.take()?)?;
        let history = fields.take()?;
        let (key, record) = (fields.bytes()?, fields.bytes()?);
        let tries = Some(Tries::default());
        let first = Delivered { id, count: 1, due: None, is_parked: false, origin: None, tries, key, record };
        entries.push(match history {
            Value::BulkString(_) => first,
            history => again(first, history)?,
        });
    }
    Ok(entries)
}

/// An entry that has a history.
fn again(first: Delivered, history: Value) -> Replied<Delivered> {
    let mut parts = Parts::of(history)?;
    let count = integer(&parts.take()?)?;
    Ok(Delivered {
        count: u32::try_from(count).map_err(|_| unexpected("a delivery count"))?,
        due: parts.positive()?,
        is_parked: parts.number()? == 1,
        origin: optional_id(parts.take()?)?,
        tries: Tries::decode(&parts.bytes()?),
        ..first
    })
}

/// The fields of an entry in a log.
pub(crate) struct Fields(Vec<(Bytes, Bytes)>);

impl Fields {
    /// The value of a field.
    pub(crate) fn get(&self, name: &[u8]) -> Option<Bytes> {
        self.0.iter().find(|(field, _)| field == name).map(|(_, value)| value.clone())
    }

    /// The value of a field; nothing if the entry does not have it.
    pub(crate) fn of(&self, name: &[u8]) -> Bytes {
        self.get(name).unwrap_or_default()
    }
}

/// The entries of a reply of `XRANGE`.
pub(crate) fn range<T>(reply: Value, entry: impl Fn(EntryId, &Fields) -> Replied<T>) -> Replied<Vec<T>> {
    each(reply, |item| {
        let mut parts = Parts::of(item)?;
        let id = id(parts.take()?)?;
        let mut flat = Parts::of(parts.take()?)?;
        let mut fields = Vec::with_capacity(flat.len() / 2);
        while !flat.is_empty() {
            fields.push((flat.bytes()?, flat.bytes()?));
        }
        entry(id, &Fields(fields))
    })
}

pub(crate) fn id(reply: Value) -> Replied<EntryId> {
    parse_id(&bulk(reply)?)
}

/// An empty text is none.
pub(crate) fn optional_id(reply: Value) -> Replied<Option<EntryId>> {
    let text = bulk(reply)?;
    if text.is_empty() { Ok(None) } else { parse_id(&text).map(Some) }
}

pub(crate) fn parse_id(text: &[u8]) -> Replied<EntryId> {
    std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).ok_or_else(|| unexpected("an id"))
}

pub(crate) fn token(text: &[u8]) -> Replied<Token> {
    let bits = std::str::from_utf8(text).ok().and_then(|text| u128::from_str_radix(text, 16).ok());
    bits.map(|bits| Token::from(bits.to_be_bytes())).ok_or_else(|| unexpected("a consumer"))
}

pub(crate) fn unexpected(what: &str) -> StreamError {
    StreamError::Link(LinkError::Unexpected(format!("{what} of the scripts of streams")))
}
