//! [`OnTopic`]: the topic in a path, and who sent the request.

use crate::console::kind::{NOT_CONFIRMED, UNKNOWN_JOB};
use crate::console::on::On;
use crate::console::pages::topic_path;
use evenkeel::queue::JobId;
use evenkeel::queue::topic::Topic;
use serde::Deserialize;
use web::Problem;

/// A topic in a path, or a job of it.
#[derive(Deserialize)]
pub(in crate::console::pages) struct TopicNames {
    pub(super) topic: String,
    /// The id of the job; empty if the path has none.
    #[serde(default)]
    id: String,
}

pub(in crate::console::pages) type OnTopic = On<TopicNames>;

impl OnTopic {
    /// The path below which the pages of the topic are.
    pub(super) fn path(&self) -> String {
        topic_path(&self.names.topic)
    }

    pub(super) async fn topic(&self) -> Result<Topic, Problem> {
        self.app.source.topic(&self.names.topic).await
    }

    /// The topic, and the job by its 32 digits, never by its sender's id.
    pub(super) async fn job(&self) -> Result<(Topic, JobId), Problem> {
        let unknown = |_| Problem::new(UNKNOWN_JOB, "A job's address ends in its 32 hexadecimal digits.");
        Ok((self.topic().await?, self.names.id.parse().map_err(unknown)?))
    }

    /// Refuses a deletion without the typed name of the topic.
    pub(super) fn confirmed(&self, typed: &str) -> Result<(), Problem> {
        let topic = &self.names.topic;
        if typed == topic {
            return Ok(());
        }
        let detail = format!("To delete, type the topic's name: {topic}. Nothing was deleted.");
        Err(Problem::of_field(NOT_CONFIRMED, "confirm", detail))
    }
}
