//! Pauses and resumes a topic, or a group of a stream: whether its consumers get jobs or entries.

use super::{Done, Failure, Operation};
use crate::kind::invalid;
use crate::roles::Action;
use crate::time;
use evenkeel::clock::UnixMs;
use evenkeel::queue::topic::Topic;
use evenkeel::stream::admin::StreamAdmin;
use evenkeel_protocol::stream::steps::SPAN_MS_MAX;
use serde_json::{Value, json};

/// What consumers get something from.
#[derive(Clone, Copy)]
pub(crate) enum Of<'a> {
    Topic(&'a Topic),
    Group(&'a StreamAdmin, &'a str),
}

/// A later end is a mistake, such as of the unit.
const SPANS_MS: std::ops::RangeInclusive<u64> = 1..=SPAN_MS_MAX;

/// `until` is the end (`None`: until resumed), `now` the time of the store.
///
/// # Errors
/// The end is not within a hundred years from now: an earlier one would end the pause at once.
pub(crate) fn pause(of: Of<'_>, until: Option<u64>, now: u64) -> Result<Operation<'_>, Failure> {
    if !until.is_none_or(|until| SPANS_MS.contains(&until.saturating_sub(now))) {
        let detail = format!(
            "`until` must be in the future, and at most a hundred years away; the store's clock is at {now} ms since 1970. Omit it to pause until \
             resumed. Nothing was changed."
        );
        let line = "--for must be between 1ms and a hundred years; omit it to pause until `resume`";
        return Err(Failure::invalid(invalid("until", detail), line));
    }
    let run = async move {
        let (head, what) = match of {
            Of::Topic(topic) => {
                topic.pause(until).await.map_err(Failure::Shards)?;
                (String::new(), "jobs")
            }
            Of::Group(stream, group) => {
                stream.pause(group, until.map(UnixMs)).await?;
                (format!("{group}: "), "entries")
            }
        };
        let (text, line) = match until {
            None => (format!("{head}Paused: consumers get no {what} until Resume."), "paused until resumed".to_owned()),
            Some(end) => {
                let (at, distance) = (time::text(end), time::distance(end, now));
                (
                    format!("{head}Paused until {at} ({distance}): consumers get no {what}."),
                    format!("paused until {at}"),
                )
            }
        };
        Ok(Done::new("paused", text, line))
    };
    Ok(Operation::new((Action::Pause, "pause"), of.on(), of.target(), run).with("until", until))
}

pub(crate) fn resume(of: Of<'_>) -> Operation<'_> {
    let run = async move {
        let text = match of {
            Of::Topic(topic) => topic.resume().await.map_err(Failure::Shards).map(|()| "Resumed.".to_owned())?,
            Of::Group(stream, group) => stream.resume(group).await.map(|()| format!("{group} is resumed."))?,
        };
        Ok(Done::new("resumed", text, "resumed"))
    };
    Operation::new((Action::Pause, "resume"), of.on(), of.target(), run)
}

impl<'a> Of<'a> {
    fn on(self) -> &'a str {
        match self {
            Self::Topic(topic) => topic.name(),
            Self::Group(stream, _) => stream.name(),
        }
    }

    /// For the log and for programs.
    pub(crate) fn target(self) -> Value {
        match self {
            Self::Topic(topic) => json!({ "topic": topic.name() }),
            Self::Group(stream, group) => json!({ "stream": stream.name(), "group": group }),
        }
    }

    /// What it is called on a line.
    pub(crate) fn line(self) -> String {
        match self {
            Self::Topic(topic) => topic.name().to_owned(),
            Self::Group(stream, group) => format!("{group} of {}", stream.name()),
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail by panicking")]
mod tests {
    use super::*;
    use evenkeel::Keel;

    // shows: hazard T12
    #[tokio::test]
    async fn pause_ends_within_a_hundred_years() {
        const NOW: u64 = 1_700_000_000_000;
        let keel = Keel::memory();
        keel.queue::<u64>("mail").open().await.unwrap();
        let mail = keel.topic("mail").await.unwrap();
        let is_accepted = |until| pause(Of::Topic(&mail), until, NOW).is_ok();
        assert!(is_accepted(None));
        for (span, accepted) in [(0, false), (1, true), (SPAN_MS_MAX, true), (SPAN_MS_MAX + 1, false)] {
            assert_eq!(is_accepted(Some(NOW + span)), accepted, "{span}");
        }
        assert!(!is_accepted(Some(NOW - 1)) && !is_accepted(Some(NOW * 1_000)) && !is_accepted(Some(u64::MAX)));
    }
}
