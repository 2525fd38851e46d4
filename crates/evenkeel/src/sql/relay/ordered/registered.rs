//! The streams that are registered in this database: the relay keeps their entries until every group has settled them.

use super::keys::{ClaimedKey, Settled};
use crate::sql::database::{Connection, Row, Statement, Value};
use crate::sql::sink::appends::TOPIC_PREFIX;
use evenkeel_link::support::guard;
use std::collections::{BTreeMap, BTreeSet};

// A shared lock: a recovery of the stream waits for relays that are recording entries as sent, and they wait for it.
static SHARE: Statement = Statement::new("SELECT topic FROM evenkeel_streams WHERE topic = ? {for share}");

static INCARNATION: Statement = Statement::new("SELECT incarnation FROM evenkeel_streams WHERE topic = ?");

/// Notes the incarnations of the registered streams of these keys, after the keys were locked: a recovery that begins later ends their claims,
/// and what is then sent under the former incarnation does not count as sent.
pub(super) async fn set_incarnations(
    connection: &mut Connection,
    claimed: &mut [ClaimedKey],
) -> Result<(), sqlx::Error> {
    let mut known: BTreeMap<String, Option<u64>> = BTreeMap::new();
    for key in claimed.iter_mut().filter(|key| key.name.topic.starts_with(TOPIC_PREFIX)) {
        let topic = &key.name.topic;
        key.incarnation = match known.get(topic) {
            Some(incarnation) => *incarnation,
            None => {
                let row = Row::first(connection, &INCARNATION, &[Value::Text(topic)]).await?;
                let incarnation = row.map(|row| row.count(0)).transpose()?;
                known.insert(topic.clone(), incarnation);
                incarnation
            }
        };
    }
    Ok(())
}

/// Locks the rows of the registered streams whose entries were sent; returns their topics.
pub(super) async fn lock(connection: &mut Connection, settled: &[Settled]) -> Result<BTreeSet<String>, sqlx::Error> {
    let sent = settled.iter().map(|key| &key.sent).filter(|sent| sent.until > sent.after);
    let topics: BTreeSet<&str> =
        sent.map(|sent| sent.name.topic.as_str()).filter(|topic| topic.starts_with(TOPIC_PREFIX)).collect();
    let mut registered = BTreeSet::new();
    // In the order of their names, as every other relay does.
    for topic in topics {
        if Row::first(connection, &SHARE, &[Value::Text(topic)]).await?.is_some()
            && guard("stream_entries_kept_when_sent")
        {
            registered.insert(topic.to_owned());
        }
    }
    Ok(registered)
}
