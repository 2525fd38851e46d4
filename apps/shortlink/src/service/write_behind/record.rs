//! The record of a pending write in the spool, and its decoding.

use crate::domain::{Code, LinkPatch, Operation, PendingWrite, Target};
use crate::store::SpooledWrite;
use evenkeel::spool::{PendingEffect, Spooled};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The spool topic of this service's records.
pub(super) const TOPIC: &str = "shortlink/links";

/// The stored form of a pending write. A conflict shows it as well.
#[derive(Serialize, Deserialize)]
struct Record {
    /// The spool that the sequence belongs to.
    spool: String,
    version: i64,
    at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    made_at: Option<Timestamp>,
    #[serde(flatten)]
    what: What,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "write", rename_all = "snake_case")]
enum What {
    Create {
        target: String,
        alias: bool,
        expires_at: Option<Timestamp>,
    },
    Change {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires_at: Option<Timestamp>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        never_expires: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        banned: Option<bool>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expected: Option<i64>,
    },
    Delete {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expected: Option<i64>,
    },
}

/// Encodes a write.
pub(super) fn encode(spool: &str, write: &PendingWrite) -> PendingEffect {
    let what = match &write.operation {
        Operation::Create { target, alias, expires_at } => {
            What::Create { target: target.as_str().to_owned(), alias: *alias, expires_at: *expires_at }
        }
        Operation::Change { patch, expected } => What::Change {
            target: patch.target.as_ref().map(|target| target.as_str().to_owned()),
            expires_at: patch.expires_at.flatten(),
            never_expires: patch.expires_at == Some(None),
            banned: patch.banned,
            expected: *expected,
        },
        Operation::Delete { expected } => What::Delete { expected: *expected },
    };
    let record = Record { spool: spool.to_owned(), version: write.version, at: write.at, made_at: write.made_at, what };
    // A struct of text, numbers and timestamps always serializes.
    let body = serde_json::to_vec(&record).unwrap_or_default();
    PendingEffect::write(TOPIC, write.code.as_str().to_owned(), body)
}

/// Decodes a write.
///
/// # Errors
/// The reason, if no known version of this program wrote the record.
pub(super) fn decode(spooled: &Spooled) -> Result<SpooledWrite, String> {
    let PendingEffect { key, body, .. } = &spooled.effect;
    let code = Code::parse(&String::from_utf8_lossy(key)).map_err(|why| why.to_string())?;
    let record: Record = serde_json::from_slice(body).map_err(|why| why.to_string())?;
    let operation = match record.what {
        What::Create { target, alias, expires_at } => {
            Operation::Create { target: Target::stored(target), alias, expires_at }
        }
        What::Change { target, expires_at, never_expires, banned, expected } => {
            let expires_at = if never_expires { Some(None) } else { expires_at.map(Some) };
            let patch = LinkPatch { target: target.map(Target::stored), expires_at, banned };
            Operation::Change { patch, expected }
        }
        What::Delete { expected } => Operation::Delete { expected },
    };
    Ok(SpooledWrite {
        spool: record.spool,
        sequence: spooled.sequence,
        write: PendingWrite { code, version: record.version, at: record.at, made_at: record.made_at, operation },
        body: String::from_utf8_lossy(body).into_owned(),
    })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use super::*;

    #[test]
    fn record_round_trips_every_kind_of_write() {
        let end = Timestamp::from_millisecond(4_000_000_000_123).unwrap();
        let patch = |expires_at| LinkPatch { expires_at, ..LinkPatch::default() };
        for operation in [
            Operation::Create {
                target: Target::stored("https://x/ä\"".to_owned()),
                alias: true,
                expires_at: Some(end),
            },
            Operation::Change { patch: patch(None), expected: None },
            Operation::Change { patch: patch(Some(None)), expected: Some(7) },
            Operation::Change { patch: patch(Some(Some(end))), expected: None },
            Operation::Change { patch: LinkPatch { banned: Some(false), ..LinkPatch::default() }, expected: None },
            Operation::Delete { expected: Some(1 << 52) },
        ] {
            let write = PendingWrite {
                code: Code::alias("a-B_9").unwrap(),
                version: 1 << 51,
                at: end,
                made_at: Some(end),
                operation,
            };
            let effect = encode("here", &write);
            let read = decode(&Spooled { sequence: 9, effect }).unwrap();
            assert_eq!((read.spool.as_str(), read.sequence, read.write), ("here", 9, write));
        }
    }
}
