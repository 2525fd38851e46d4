//! A noted write as bytes in the spool, and back.

use crate::domain::{Code, LinkPatch, NotedWrite, Target, Wanted};
use crate::store::Waiting;
use evenkeel::spool::{Obligation, Spooled};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// What the obligations of this service are filed under.
pub(super) const TOPIC: &str = "shortlink/links";

/// A noted write, written down. Also what is shown of one that could not be done.
#[derive(Serialize, Deserialize)]
struct Record {
    /// The spool it was written into first: sequences are counted by spool.
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

/// As the spool keeps it.
pub(super) fn obligation(spool: &str, write: &NotedWrite) -> Obligation {
    let what = match &write.wanted {
        Wanted::Create { target, alias, expires_at } => {
            What::Create { target: target.as_str().to_owned(), alias: *alias, expires_at: *expires_at }
        }
        Wanted::Change { patch, expected } => What::Change {
            target: patch.target.as_ref().map(|target| target.as_str().to_owned()),
            expires_at: patch.expires_at.flatten(),
            never_expires: patch.expires_at == Some(None),
            banned: patch.banned,
            expected: *expected,
        },
        Wanted::Delete { expected } => What::Delete { expected: *expected },
    };
    let record = Record { spool: spool.to_owned(), version: write.version, at: write.at, made_at: write.made_at, what };
    // Texts, numbers and moments can always be written.
    let body = serde_json::to_vec(&record).unwrap_or_default();
    Obligation::write(TOPIC, write.code.as_str().to_owned(), body)
}

/// As it was written.
///
/// # Errors
/// What is wrong with it: no version of this program has written that.
pub(super) fn waiting(spooled: &Spooled) -> Result<Waiting, String> {
    let Obligation { key, body, .. } = &spooled.obligation;
    let code = Code::parse(&String::from_utf8_lossy(key)).map_err(|why| why.to_string())?;
    let record: Record = serde_json::from_slice(body).map_err(|why| why.to_string())?;
    let wanted = match record.what {
        What::Create { target, alias, expires_at } => {
            Wanted::Create { target: Target::stored(target), alias, expires_at }
        }
        What::Change { target, expires_at, never_expires, banned, expected } => {
            let expires_at = if never_expires { Some(None) } else { expires_at.map(Some) };
            let patch = LinkPatch { target: target.map(Target::stored), expires_at, banned };
            Wanted::Change { patch, expected }
        }
        What::Delete { expected } => Wanted::Delete { expected },
    };
    Ok(Waiting {
        spool: record.spool,
        sequence: spooled.sequence,
        write: NotedWrite { code, version: record.version, at: record.at, made_at: record.made_at, wanted },
        body: String::from_utf8_lossy(body).into_owned(),
    })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use super::*;

    #[test]
    fn a_write_comes_back_as_it_was_noted() {
        let end = Timestamp::from_millisecond(4_000_000_000_123).unwrap();
        let patch = |expires_at| LinkPatch { expires_at, ..LinkPatch::default() };
        for wanted in [
            Wanted::Create { target: Target::stored("https://x/ä\"".to_owned()), alias: true, expires_at: Some(end) },
            Wanted::Change { patch: patch(None), expected: None },
            Wanted::Change { patch: patch(Some(None)), expected: Some(7) },
            Wanted::Change { patch: patch(Some(Some(end))), expected: None },
            Wanted::Change { patch: LinkPatch { banned: Some(false), ..LinkPatch::default() }, expected: None },
            Wanted::Delete { expected: Some(1 << 52) },
        ] {
            let write = NotedWrite {
                code: Code::alias("a-B_9").unwrap(),
                version: 1 << 51,
                at: end,
                made_at: Some(end),
                wanted,
            };
            let obligation = obligation("here", &write);
            let read = waiting(&Spooled { sequence: 9, obligation }).unwrap();
            assert_eq!((read.spool.as_str(), read.sequence, read.write), ("here", 9, write));
        }
    }
}
