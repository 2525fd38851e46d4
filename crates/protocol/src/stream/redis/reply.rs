//! Decodes the replies of the scripts.

use crate::reply::{array, bulk, integer, unsigned};
use crate::stream::error::StreamError;
use crate::stream::id::EntryId;
use crate::stream::name::GroupName;
use crate::stream::steps::{
    Appended, DeadLetter, Delivered, Entry, FOREVER_MS, GroupStats, Joined, Mode, Opened, ReadEntries, Reader,
    Redriven, Reply, TakenOver, Trimmed, Verdict,
};
use crate::stream::tries::Tries;
use bytes::Bytes;
use evenkeel_link::{LinkError, Token};
use redis::Value;

type Parsed<T> = Result<T, StreamError>;

/// The number of parts of an entry in a reply.
const PARTS: usize = 4;

pub(super) fn open(reply: Value) -> Parsed<Vec<Opened>> {
    let opened = |code| match unsigned(&code)? {
        1 => Ok(Opened::Created),
        2 => Ok(Opened::Existed),
        3 => Ok(Opened::Refused),
        _ => Err(unexpected("open")),
    };
    array(reply)?.into_iter().map(opened).collect()
}

pub(super) fn append(reply: Value) -> Parsed<Option<Vec<Appended>>> {
    if reply == Value::Nil {
        return Ok(None);
    }
    let appended = |item| {
        let mut parts = array(item)?.into_iter();
        let code = unsigned(&next(&mut parts)?)?;
        Ok(match code {
            1 => Appended::Appended(id(next(&mut parts)?)?),
            2 => Appended::Duplicate(optional_id(next(&mut parts)?)?),
            3 => Appended::OutOfOrder { last: unsigned(&next(&mut parts)?)? },
            4 => Appended::Full,
            _ => return Err(unexpected("append")),
        })
    };
    array(reply)?.into_iter().map(appended).collect::<Parsed<_>>().map(Some)
}

/// The reply to a call of a consumer, whose first part is a code.
fn coded<T>(reply: Value, done: impl FnOnce(std::vec::IntoIter<Value>) -> Parsed<T>) -> Parsed<Reply<T>> {
    let mut parts = array(reply)?.into_iter();
    match unsigned(&next(&mut parts)?)? {
        0 => Ok(Reply::Missing),
        1 => done(parts).map(Reply::Done),
        2 => Ok(Reply::Stale),
        3 => Ok(Reply::OtherMode),
        4 => Ok(Reply::TakeOverFirst),
        _ => Err(unexpected("a call of a consumer")),
    }
}

pub(super) fn join(reply: Value, consumer: Token) -> Parsed<Reply<Joined>> {
    if let Value::Array(parts) = &reply
        && let [Value::Int(5), free_in] = &parts[..]
    {
        return Ok(Reply::Done(Joined::Taken { free_in_ms: unsigned(free_in)? }));
    }
    coded(reply, |mut parts| {
        let [fence, epoch, lease_left_ms] = numbers(&mut parts)?;
        Ok(Joined::Granted { reader: Reader { consumer, fence, epoch }, lease_left_ms })
    })
}

pub(super) fn attend(reply: Value) -> Parsed<Reply<Vec<Token>>> {
    let consumer = |name| token(&text(name)?);
    coded(reply, |mut parts| array(next(&mut parts)?)?.into_iter().map(consumer).collect())
}

pub(super) fn nothing(reply: Value) -> Parsed<Reply<()>> {
    coded(reply, |_| Ok(()))
}

pub(super) fn sweep(reply: Value) -> Parsed<Reply<u64>> {
    coded(reply, |mut parts| Ok(unsigned(&next(&mut parts)?)?))
}

pub(super) fn take_over(reply: Value) -> Parsed<Reply<TakenOver>> {
    coded(reply, |mut parts| {
        let next_page = optional_id(next(&mut parts)?)?;
        let lost = ids(next(&mut parts)?)?;
        Ok(TakenOver { next: next_page, lost, entries: deliveries(next(&mut parts)?)? })
    })
}

pub(super) fn read(reply: Value) -> Parsed<Reply<ReadEntries>> {
    coded(reply, |mut parts| {
        let is_paused = unsigned(&next(&mut parts)?)? == 1;
        let next_in_ms = u64::try_from(integer(&next(&mut parts)?)?).ok();
        let tail = id(next(&mut parts)?)?;
        let lost = ids(next(&mut parts)?)?;
        Ok(ReadEntries { entries: deliveries(next(&mut parts)?)?, lost, tail, next_in_ms, is_paused })
    })
}

fn deliveries(reply: Value) -> Parsed<Vec<Delivered>> {
    let mut fields = array(reply)?.into_iter();
    let mut entries = Vec::with_capacity(fields.len() / PARTS);
    while fields.len() > 0 {
        let id = id(next(&mut fields)?)?;
        let history = next(&mut fields)?;
        let (key, record) = (bulk(next(&mut fields)?)?, bulk(next(&mut fields)?)?);
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
fn again(first: Delivered, history: Value) -> Parsed<Delivered> {
    let mut parts = array(history)?.into_iter();
    Ok(Delivered {
        count: count(&next(&mut parts)?)?,
        due: u64::try_from(integer(&next(&mut parts)?)?).ok(),
        is_parked: unsigned(&next(&mut parts)?)? == 1,
        origin: optional_id(next(&mut parts)?)?,
        tries: Tries::decode(&bulk(next(&mut parts)?)?),
        ..first
    })
}

pub(super) fn settle(reply: Value) -> Parsed<Reply<Vec<Verdict>>> {
    let verdict = |code: &u8| match code {
        1 => Ok(Verdict::Settled),
        2 => Ok(Verdict::AlreadySettled),
        3 => Ok(Verdict::Stale),
        _ => Err(unexpected("settle")),
    };
    coded(reply, |mut parts| bulk(next(&mut parts)?)?.iter().map(verdict).collect())
}

/// One byte per item: 1 is true.
pub(super) fn flags(reply: Value) -> Parsed<Reply<Vec<bool>>> {
    coded(reply, |mut parts| Ok(bulk(next(&mut parts)?)?.iter().map(|flag| *flag == 1).collect()))
}

pub(super) fn redrive(reply: Value) -> Parsed<Option<Vec<Redriven>>> {
    if reply == Value::Nil {
        return Ok(None);
    }
    let redriven = |item| {
        let text = bulk(item)?;
        Ok(match &text[..] {
            b"" => Redriven::Unknown,
            b"p" => Redriven::Parked,
            id => Redriven::Appended(parse_id(id)?),
        })
    };
    array(reply)?.into_iter().map(redriven).collect::<Parsed<_>>().map(Some)
}

pub(super) fn trim(reply: Value) -> Parsed<Trimmed> {
    let mut parts = array(reply)?.into_iter();
    match unsigned(&next(&mut parts)?)? {
        0 => Ok(Trimmed::Missing),
        1 => {
            let [entries, more] = numbers(&mut parts)?;
            Ok(Trimmed::Removed { entries, more: more == 1 })
        }
        2 => GroupName::new(&text(next(&mut parts)?)?).map(Trimmed::GroupMissing),
        _ => Err(unexpected("trim")),
    }
}

pub(super) fn stats(reply: Value) -> Parsed<Reply<GroupStats>> {
    coded(reply, |mut parts| {
        let [now, epoch, mode, length] = numbers(&mut parts)?;
        let (tail, position) = (id(next(&mut parts)?)?, id(next(&mut parts)?)?);
        let unread = optional_id(next(&mut parts)?)?;
        let pending = unsigned(&next(&mut parts)?)?;
        let oldest_pending = optional_id(next(&mut parts)?)?;
        let [delayed, dead, parked_keys] = numbers(&mut parts)?;
        let owner = text(next(&mut parts)?)?;
        let [fence, lease_left, paused] = numbers(&mut parts)?;
        let unread_entries = match next(&mut parts)? {
            Value::Int(number) => u64::try_from(number).ok(),
            _ => None,
        };
        let silent_ms = u64::try_from(integer(&next(&mut parts)?)?).ok();
        let mode = if mode == 1 { Mode::Partition } else { Mode::Entry };
        let owner = if owner.is_empty() { None } else { Some((token(&owner)?, fence, lease_left)) };
        let paused_until = (paused > 0).then_some(if paused >= FOREVER_MS { u64::MAX } else { paused });
        Ok(GroupStats {
            now,
            epoch,
            mode,
            length,
            tail,
            position,
            unread,
            unread_entries,
            pending,
            oldest_pending,
            delayed,
            dead,
            parked_keys,
            owner,
            paused_until,
            silent_ms,
        })
    })
}

pub(super) fn entries(reply: Value) -> Parsed<Vec<Entry>> {
    range(reply, |id, fields| {
        let only = field(fields, b"g").map(|name| text(Value::BulkString(name.to_vec())));
        let only = only.transpose()?.map(|name| GroupName::new(&name)).transpose()?;
        let of = |name: &[u8]| field(fields, name).unwrap_or_default();
        Ok(Entry { id, only, key: of(b"k"), record: of(b"e") })
    })
}

pub(super) fn dead(reply: Value) -> Parsed<Vec<DeadLetter>> {
    range(reply, |id, fields| {
        let of = |name: &[u8]| field(fields, name).unwrap_or_default();
        Ok(DeadLetter {
            id,
            origin: parse_id(&of(b"o"))?,
            parks_key: of(b"p") == "1",
            tries: Tries::decode(&of(b"t")),
            key: of(b"k"),
            record: of(b"e"),
        })
    })
}

/// The entries of a reply of `XRANGE`.
fn range<T>(reply: Value, entry: impl Fn(EntryId, &[(Bytes, Bytes)]) -> Parsed<T>) -> Parsed<Vec<T>> {
    let decoded = |item| {
        let mut parts = array(item)?.into_iter();
        let id = id(next(&mut parts)?)?;
        let mut flat = array(next(&mut parts)?)?.into_iter();
        let mut fields = Vec::with_capacity(flat.len() / 2);
        while flat.len() > 0 {
            fields.push((bulk(next(&mut flat)?)?, bulk(next(&mut flat)?)?));
        }
        entry(id, &fields)
    };
    array(reply)?.into_iter().map(decoded).collect()
}

fn field(fields: &[(Bytes, Bytes)], name: &[u8]) -> Option<Bytes> {
    fields.iter().find(|(field, _)| field == name).map(|(_, value)| value.clone())
}

fn next(parts: &mut std::vec::IntoIter<Value>) -> Parsed<Value> {
    parts.next().ok_or_else(|| unexpected("a reply"))
}

fn numbers<const N: usize>(parts: &mut std::vec::IntoIter<Value>) -> Parsed<[u64; N]> {
    let mut numbers = [0; N];
    for number in &mut numbers {
        *number = unsigned(&next(parts)?)?;
    }
    Ok(numbers)
}

fn text(reply: Value) -> Parsed<String> {
    String::from_utf8(bulk(reply)?.to_vec()).map_err(|_| unexpected("text"))
}

fn ids(reply: Value) -> Parsed<Vec<EntryId>> {
    array(reply)?.into_iter().map(id).collect()
}

fn id(reply: Value) -> Parsed<EntryId> {
    parse_id(&bulk(reply)?)
}

/// An empty text is none.
fn optional_id(reply: Value) -> Parsed<Option<EntryId>> {
    let text = bulk(reply)?;
    if text.is_empty() { Ok(None) } else { parse_id(&text).map(Some) }
}

fn parse_id(text: &[u8]) -> Parsed<EntryId> {
    std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).ok_or_else(|| unexpected("an id"))
}

fn token(text: &str) -> Parsed<Token> {
    u128::from_str_radix(text, 16).map(|bits| Token::from(bits.to_be_bytes())).map_err(|_| unexpected("a consumer"))
}

fn count(reply: &Value) -> Parsed<u32> {
    u32::try_from(integer(reply)?).map_err(|_| unexpected("a delivery count"))
}

fn unexpected(what: &str) -> StreamError {
    StreamError::Link(LinkError::Unexpected(format!("{what} of the scripts of streams")))
}
