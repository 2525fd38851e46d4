//! What is wrong, from the figures: each problem with what to do about it.

use super::{Snapshot, TopicFigures};
use crate::console::pages::{group_path, number, stream_path, topic_path};
use crate::stream::figures::{self, Figures};
use crate::time::span;

/// A due job that waits longer than this is late.
const LATE_MS: u64 = 30_000;
/// An entry that no consumer of a group has read for longer than this is late; a pending one hangs or fails after this.
const STREAM_LATE_MS: u64 = 60_000;
const PENDING_MS: u64 = 600_000;
/// A unit of work that waits longer than this is late.
const LAG_MS: u64 = 30_000;

/// A problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trouble {
    /// The same while the problem stands.
    pub(crate) id: String,
    pub(crate) is_bad: bool,
    /// What is wrong, and where.
    pub(crate) text: String,
    /// For how long, as text.
    pub(crate) since: String,
    /// The text names a duration; a second one would confuse.
    pub(crate) names_duration: bool,
    /// The page that helps, and its label.
    pub(crate) link: Option<(String, &'static str)>,
}

/// The problems, the bad ones first.
pub(super) fn find(snapshot: &Snapshot, has_database: bool) -> Vec<Trouble> {
    let mut found = Vec::new();
    if let Some(reason) = &snapshot.failed {
        found.push(trouble("redis", true, format!("Redis did not answer: {reason}"), None));
    }
    let unread = |what: &str, (name, reason): &(String, String), page: String, label| {
        let text = format!("{name}: its figures could not be read: {reason}");
        trouble(&format!("unread {what} {name}"), true, text, Some((page, label)))
    };
    found.extend(snapshot.unread_topics.iter().map(|one| unread("topic", one, topic_path(&one.0), "See queue")));
    found.extend(snapshot.unread_streams.iter().map(|one| unread("stream", one, stream_path(&one.0), "See stream")));
    snapshot.topics.iter().for_each(|topic| of_topic(topic, &mut found));
    if let Some(reason) = &snapshot.streams_failed {
        found.push(trouble("streams", true, format!("The streams could not be read: {reason}"), None));
    }
    snapshot.streams.iter().for_each(|stream| of_stream(stream, &mut found));
    if let Some(reason) = &snapshot.outbox_failed {
        found.push(trouble("database", true, format!("The database did not answer: {reason}"), None));
    }
    if let Some(outbox) = &snapshot.outbox {
        let parked = outbox.parked + outbox.keys_parked;
        if parked > 0 {
            found.push(trouble(
                "parked",
                true,
                format!(
                    "Outbox: {}",
                    counted(parked, "parked; a relay no longer tries it", "parked; a relay no longer tries them")
                ),
                Some(("/outbox".to_owned(), "See outbox")),
            ));
        }
        let lag = outbox.oldest_ms.map_or(0, |oldest| outbox.now_ms.saturating_sub(oldest));
        if lag > LAG_MS {
            let text = format!(
                "Outbox: the oldest unit of work waits {}; check that a relay runs and reaches Redis",
                span(lag)
            );
            found.push(trouble("lag", false, text, None).with_duration());
        }
        if outbox.unrouted > 0 {
            let wait = counted(
                outbox.unrouted,
                "waits because no relay has a sink for its topic",
                "wait because no relay has a sink for their topic",
            );
            let text = format!("Outbox: {wait}");
            found.push(trouble("unrouted", false, text, None));
        }
        if outbox.unknown > 0 {
            let rows = counted(outbox.unknown, "row was", "rows were");
            let text = format!("Outbox: {rows} written by a newer program; update this one");
            found.push(trouble("unknown", false, text, None));
        }
    }
    if !has_database && snapshot.topics.iter().any(|topic| topic.needs_database) {
        let text = "Rows in a SQL database decide about some topics; start the console with --database".to_owned();
        found.push(trouble("rows", false, text, None));
    }
    found.sort_by_key(|trouble| !trouble.is_bad);
    found
}

fn of_topic(topic: &TopicFigures, found: &mut Vec<Trouble>) {
    let (name, total) = (&topic.name, &topic.stats.total);
    let about = |what: &str, is_bad, text: String, (below, label): (&str, &'static str)| {
        let link = Some((format!("{}{below}", topic_path(name)), label));
        trouble(&format!("{what} {name}"), is_bad, format!("{name}: {text}"), link)
    };
    if total.dead > 0 {
        found.push(about("dead", true, counted(total.dead, "dead letter", "dead letters"), ("/dead", "See groups")));
    }
    let is_paused = total.paused_until.is_some();
    if total.ready > 0 && total.workers == 0 && !is_paused {
        let due = counted(total.ready, "job is due", "jobs are due");
        found.push(about("idle", true, format!("{due}, and no consumer runs"), ("", "See queue")));
    } else if topic.stats.late_ms() > LATE_MS && !is_paused {
        let text = format!("the oldest due job waits {}", span(topic.stats.late_ms()));
        found.push(about("late", false, text, ("", "See queue")).with_duration());
    }
    if is_paused && total.ready > 0 {
        let due = counted(total.ready, "job due", "jobs due");
        found.push(about("paused", false, format!("paused, with {due}"), ("", "See queue")));
    }
    if total.lease_expired > 0 {
        let running = counted(total.lease_expired, "running job has", "running jobs have");
        let page = ("/jobs?state=running", "See jobs");
        // Programs compare ids, so this one keeps an older word.
        found.push(about("lapsed", false, format!("{running} an expired lease"), page));
    }
}

fn of_stream(stream: &Figures, found: &mut Vec<Trouble>) {
    for group in &stream.groups {
        let place = format!("{}/{}", stream.name, group.name);
        let about = |what: &str, is_bad, text: String| {
            let link = Some((stream_path(&stream.name), "See stream"));
            trouble(&format!("stream {what} {place}"), is_bad, format!("{place}: {text}"), link)
        };
        if group.dead() > 0 {
            let link = Some((format!("{}/dead", group_path(&stream.name, &group.name)), "See letters"));
            let text = counted(group.dead(), "dead letter", "dead letters");
            found.push(Trouble { link, ..about("dead", true, text) });
        }
        if group.is_missing() {
            let text = "Redis has lost the group in a partition; start a consumer of it, which creates it again";
            found.push(about("missing", true, text.to_owned()));
        }
        match figures::late_ms(group) {
            Some(late) if group.is_paused() => {
                let text = format!("paused; the oldest unread entry waits {}", span(late));
                found.push(about("paused", false, text).with_duration());
            }
            Some(late) if late > STREAM_LATE_MS => {
                let text = format!("the oldest unread entry waits {}", span(late));
                found.push(about("late", false, text).with_duration());
            }
            _ => {}
        }
        if let Some(oldest) = figures::oldest_pending_ms(group).filter(|oldest| *oldest > PENDING_MS) {
            let text = format!("an entry is pending for {}: it hangs, or is retried", span(oldest));
            found.push(about("pending", false, text).with_duration());
        }
    }
}

/// The number with its noun.
fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", number(count), if count == 1 { one } else { many })
}

pub(super) fn trouble(id: &str, is_bad: bool, text: String, link: Option<(String, &'static str)>) -> Trouble {
    Trouble { id: id.to_owned(), is_bad, text, since: String::new(), names_duration: false, link }
}

impl Trouble {
    /// The same with a text that names a duration.
    pub(super) fn with_duration(self) -> Self {
        Self { names_duration: true, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel::queue::topic::TopicStats;
    use evenkeel::sql::relay::operate::OutboxStats;
    use std::sync::Arc;

    #[test]
    fn problems_name_the_topic_and_the_bad_ones_come_first() {
        let mut stats = TopicStats::default();
        (stats.total.ready, stats.total.dead, stats.total.lease_expired) = (3, 1_204, 1);
        let topic =
            TopicFigures { name: "mail".to_owned(), stats: Arc::new(stats), done_rate: None, needs_database: true };
        let snapshot = Snapshot { topics: vec![topic], ..Snapshot::default() };
        let found = find(&snapshot, false);
        let texts: Vec<&str> = found.iter().map(|trouble| trouble.text.as_str()).collect();
        let expected = [
            "mail: 1,204 dead letters",
            "mail: 3 jobs are due, and no consumer runs",
            "mail: 1 running job has an expired lease",
            "Rows in a SQL database decide about some topics; start the console with --database",
        ];
        assert_eq!(texts, expected);
        assert_eq!(find(&Snapshot::default(), true), []);
    }

    #[test]
    fn one_is_singular() {
        let mut stats = TopicStats::default();
        (stats.total.ready, stats.total.dead) = (1, 1);
        let topic =
            TopicFigures { name: "mail".to_owned(), stats: Arc::new(stats), done_rate: None, needs_database: false };
        let outbox = OutboxStats { parked: 1, unrouted: 1, unknown: 1, ..OutboxStats::default() };
        let snapshot = Snapshot { topics: vec![topic], outbox: Some(outbox), ..Snapshot::default() };
        let texts: Vec<String> = find(&snapshot, true).into_iter().map(|trouble| trouble.text).collect();
        let expected = [
            "mail: 1 dead letter",
            "mail: 1 job is due, and no consumer runs",
            "Outbox: 1 parked; a relay no longer tries it",
            "Outbox: 1 waits because no relay has a sink for its topic",
            "Outbox: 1 row was written by a newer program; update this one",
        ];
        assert_eq!(texts, expected);
    }
}
