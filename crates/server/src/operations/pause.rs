//! Pauses and resumes a topic, or a group of a stream: whether its consumers get jobs or entries.

use super::{Done, Failure, Operation};
use crate::roles::Action;
use crate::time;
use evenkeel::clock::UnixMs;
use evenkeel::queue::topic::Topic;
use evenkeel::stream::admin::StreamAdmin;
use serde_json::{Value, json};

/// What consumers get something from.
#[derive(Clone, Copy)]
pub(crate) enum Of<'a> {
    Topic(&'a Topic),
    Group(&'a StreamAdmin, &'a str),
}

/// `until` is the end, which is one of [`time::is_pause_end`] (`None`: until resumed), `now` the time of the store.
pub(crate) fn pause(of: Of<'_>, until: Option<u64>, now: u64) -> Operation<'_> {
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
    Operation::new((Action::Pause, "pause"), of.on(), of.target(), run).with("until", until)
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
