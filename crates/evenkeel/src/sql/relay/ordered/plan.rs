//! Which messages of a key are sent next, and when a key that cannot be sent is due again. No statements, no calls to sinks.

use super::keys::{ClaimedKey, KeyName, OrderedRow, Settled, Span, Then};
use crate::sql::error::SqlError;
use crate::sql::outbox::format;
use crate::sql::relay::core::{Core, PassReport};
use crate::sql::relay::settings::{BACKLOG_MAX, BACKLOG_STEP, unrouted_pause};
#[cfg(feature = "stream")]
use crate::sql::sink::appends;
use crate::sql::sink::{Envelope, Order};
use evenkeel_link::support::{guard, ms};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::time::Duration;

/// The longest id of a message, which is the longest name in an inbox.
const ID_BYTES_MAX: usize = 255;

pub(super) fn nothing(key: &ClaimedKey) -> Span {
    Span { name: key.name.clone(), after: key.sent, until: key.sent }
}

/// The delay of the next waiting key: keys become due one after the other, so that others are processed in between.
pub(super) fn next_of(backlog: &mut Duration) -> Duration {
    let pause = *backlog;
    *backlog = (pause + BACKLOG_STEP).min(BACKLOG_MAX);
    if guard("relay_gate") { pause } else { Duration::ZERO }
}

/// The result for a key whose topic has no sink in this program.
pub(super) fn unrouted(
    core: &Core,
    key: &ClaimedKey,
    age: Duration,
    backlog: &mut Duration,
    report: &mut PassReport,
) -> Settled {
    let KeyName { topic, key: name } = &key.name;
    core.log_unrouted(topic);
    let error = core.short(&format!("no sink of this program accepts the topic `{topic}`"));
    let then = if age >= core.settings.unrouted_max && guard("relay_parks_unrouted") {
        report.parked += 1;
        tracing::error!(topic, key = name, error, "a key is parked: see `evenkeel outbox park ls`");
        Then::Park { error }
    } else {
        report.waiting += 1;
        report.unrouted += 1;
        Then::Wait { pause_ms: ms(unrouted_pause(age).max(next_of(backlog))), error }
    };
    Settled { sent: nothing(key), then }
}

/// The messages of each key to send in one call; of a key that has failed before, only the one that may be the cause.
pub(super) fn spans(keys: &[ClaimedKey], batch: usize) -> Vec<Span> {
    let run = (batch / keys.len().max(1)).max(1) as u64;
    let span = |key: &ClaimedKey| {
        let run = if key.attempts > 0 { 1 } else { run };
        Span { until: key.last.min(key.sent.saturating_add(run)), ..nothing(key) }
    };
    keys.iter().map(span).collect()
}

/// The messages of each key that follow the last one sent, up to the first gap in their sequences.
pub(super) fn runs(keys: &[ClaimedKey], rows: Vec<OrderedRow>) -> Vec<Vec<OrderedRow>> {
    let mut by_key: HashMap<KeyName, Vec<OrderedRow>> = HashMap::new();
    for row in rows {
        by_key.entry(row.name.clone()).or_default().push(row);
    }
    let run = |key: &ClaimedKey| {
        let rows = by_key.remove(&key.name).unwrap_or_default();
        let next = (key.sent + 1)..;
        let in_turn =
            |(row, next): &(OrderedRow, u64)| !row.is_left && (row.sequence == *next || !guard("relay_contiguous"));
        rows.into_iter().zip(next).take_while(in_turn).map(|(row, _)| row).collect()
    };
    keys.iter().map(run).collect()
}

pub(super) fn envelope(row: &OrderedRow, source: &str, incarnation: Option<u64>) -> Result<Envelope, SqlError> {
    let KeyName { topic, key } = &row.name;
    let mut headers: Vec<(String, String)> = format::decode_headers(row.headers.clone())?.into_iter().collect();
    #[cfg(feature = "stream")]
    headers.extend(incarnation.map(|number| (appends::INCARNATION.to_owned(), number.to_string())));
    #[cfg(not(feature = "stream"))]
    let _ = (incarnation, &mut headers);
    Ok(Envelope {
        source: source.to_owned(),
        id: id(source, &row.name, row.sequence),
        topic: topic.clone(),
        order: Some(Order { key: key.clone(), sequence: row.sequence }),
        payload: row.payload.clone().into(),
        headers,
    })
}

/// The id of a message, which an inbox accepts as a name: with a long topic and key it has their hash instead.
fn id(source: &str, name: &KeyName, sequence: u64) -> String {
    let KeyName { topic, key } = name;
    let id = format!("{source}/{}/{topic}/{key}/{sequence}", topic.len());
    if id.len() <= ID_BYTES_MAX || !guard("ordered_ids_fit_an_inbox") {
        return id;
    }
    let digest = Sha256::new().chain_update(format!("{}/{topic}/{key}", topic.len())).finalize();
    let digits = digest.iter().fold(String::new(), |digits, byte| format!("{digits}{byte:02x}"));
    format!("{source}/sha256/{digits}/{sequence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(sent: u64, last: u64) -> ClaimedKey {
        let name = KeyName { topic: "links".to_owned(), key: "a".to_owned() };
        ClaimedKey { name, sent, last, attempts: 0, incarnation: None }
    }

    fn row(sequence: u64) -> OrderedRow {
        OrderedRow { name: key(0, 0).name, sequence, payload: Vec::new(), headers: Vec::new(), is_left: false }
    }

    #[test]
    fn messages_after_a_gap_wait() {
        let sequences = |rows: Vec<OrderedRow>| {
            let runs = runs(&[key(3, 9)], rows);
            runs[0].iter().map(|row| row.sequence).collect::<Vec<_>>()
        };
        assert_eq!(sequences(vec![row(4), row(5), row(7)]), [4, 5]);
        assert!(sequences(vec![row(5), row(6)]).is_empty());
        assert!(sequences(Vec::new()).is_empty());
    }

    #[test]
    fn batch_size_is_shared_by_its_keys() {
        let span =
            |keys: &[ClaimedKey]| spans(keys, 10).iter().map(|span| (span.after, span.until)).collect::<Vec<_>>();
        assert_eq!(span(&[key(3, 90)]), [(3, 13)]);
        assert_eq!(span(&[key(3, 4), key(0, 90)]), [(3, 4), (0, 5)]);
        assert_eq!(spans(&vec![key(0, 9); 20], 10)[0].until, 1);
    }
}
