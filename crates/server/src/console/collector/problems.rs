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
    /// The page that helps, and its label.
    pub(crate) link: Option<(String, &'static str)>,
}

/// The problems, the bad ones first.
pub(super) fn find(snapshot: &Snapshot, has_database: bool) -> Vec<Trouble> {
    let mut found = Vec::new();
    if let Some(reason) = &snapshot.failed {
        found.push(trouble("redis", true, format!("Redis did not answer: {reason}"), None));
    }
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
                format!("Outbox: {} parked; a relay no longer tries them", number(parked)),
                Some(("/outbox".to_owned(), "See outbox")),
            ));
        }
        let lag = outbox.oldest_ms.map_or(0, |oldest| outbox.now_ms.saturating_sub(oldest));
        if lag > LAG_MS {
            let text = format!(
                "Outbox: the oldest unit of work waits {}; check that a relay runs and reaches Redis",
                span(lag)
            );
            found.push(trouble("lag", false, text, None));
        }
        if outbox.unrouted > 0 {
            let text = format!("Outbox: {} wait because no relay has a sink for their topic", number(outbox.unrouted));
            found.push(trouble("unrouted", false, text, None));
        }
        if outbox.unknown > 0 {
            let text =
                format!("Outbox: {} rows were written by a newer program; update this one", number(outbox.unknown));
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
    let mut add = |what: &str, is_bad, text: String, link: (&str, &'static str)| {
        let link = Some((format!("{}{}", topic_path(name), link.0), link.1));
        found.push(trouble(&format!("{what} {name}"), is_bad, format!("{name}: {text}"), link));
    };
    if total.dead > 0 {
        add("dead", true, format!("{} dead letters", number(total.dead)), ("/dead", "See groups"));
    }
    let is_paused = total.paused_until.is_some();
    if total.ready > 0 && total.workers == 0 && !is_paused {
        add("idle", true, format!("{} jobs are due, and no consumer runs", number(total.ready)), ("", "See queue"));
    } else if topic.stats.late_ms() > LATE_MS && !is_paused {
        add("late", false, format!("the oldest due job waits {}", span(topic.stats.late_ms())), ("", "See queue"));
    }
    if is_paused && total.ready > 0 {
        add("paused", false, format!("paused, with {} jobs due", number(total.ready)), ("", "See queue"));
    }
    if total.lease_expired > 0 {
        add(
            "lapsed",
            false,
            format!("{} running jobs have an expired lease", number(total.lease_expired)),
            ("/jobs?state=running", "See jobs"),
        );
    }
}

fn of_stream(stream: &Figures, found: &mut Vec<Trouble>) {
    for group in &stream.groups {
        let place = format!("{}/{}", stream.name, group.name);
        let mut add = |what: &str, is_bad, text: String, link: (String, &'static str)| {
            found.push(trouble(&format!("{what} {place}"), is_bad, format!("{place}: {text}"), Some(link)));
        };
        let page = || (stream_path(&stream.name), "See stream");
        if group.dead() > 0 {
            let letters = (format!("{}/dead", group_path(&stream.name, &group.name)), "See letters");
            add("stream dead", true, format!("{} dead letters", number(group.dead())), letters);
        }
        if group.is_missing() {
            let text = "Redis has lost the group in a partition; start a consumer of it, which creates it again";
            add("stream missing", true, text.to_owned(), page());
        }
        match figures::late_ms(group) {
            Some(late) if group.is_paused() => {
                add("stream paused", false, format!("paused; the oldest unread entry waits {}", span(late)), page());
            }
            Some(late) if late > STREAM_LATE_MS => {
                add("stream late", false, format!("the oldest unread entry waits {}", span(late)), page());
            }
            _ => {}
        }
        if let Some(oldest) = figures::oldest_pending_ms(group).filter(|oldest| *oldest > PENDING_MS) {
            let text = format!("an entry is pending for {}: it hangs, or is retried", span(oldest));
            add("stream pending", false, text, page());
        }
    }
}

pub(super) fn trouble(id: &str, is_bad: bool, text: String, link: Option<(String, &'static str)>) -> Trouble {
    Trouble { id: id.to_owned(), is_bad, text, since: String::new(), link }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel::queue::topic::TopicStats;
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
            "mail: 1 running jobs have an expired lease",
            "Rows in a SQL database decide about some topics; start the console with --database",
        ];
        assert_eq!(texts, expected);
        assert_eq!(find(&Snapshot::default(), true), []);
    }
}
