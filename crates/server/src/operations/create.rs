//! Registers a topic or a stream whose bodies are JSON. One that exists keeps its settings.

use super::{Done, Operation};
use crate::roles::Action;
use evenkeel::Keel;
use evenkeel::queue::{QueueError, Retries};
use evenkeel::stream::StreamError;
use serde_json::{Value, json};

pub(crate) fn topic<'a>(keel: &'a Keel, name: &'a str, shards: Option<u16>, retries: Option<u16>) -> Operation<'a> {
    let run = async move {
        match keel.topic(name).await {
            Ok(_) => return Ok(exists()),
            Err(QueueError::UnknownTopic { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let mut queue = keel.queue::<Value>(name);
        if let Some(shards) = shards {
            queue = queue.shards(shards);
        }
        if let Some(retries) = retries {
            queue = queue.retries(Retries::Limited(retries));
        }
        queue.open().await?;
        Ok(created())
    };
    Operation::new((Action::Create, "create"), name, json!({ "topic": name }), run)
}

pub(crate) fn stream<'a>(keel: &'a Keel, name: &'a str, partitions: Option<u16>) -> Operation<'a> {
    let run = async move {
        match keel.stream_admin(name).await {
            Ok(_) => return Ok(exists()),
            Err(StreamError::Unknown { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let mut stream = keel.stream::<Value>(name);
        if let Some(partitions) = partitions {
            stream = stream.partitions(partitions);
        }
        stream.open().await?;
        Ok(created())
    };
    Operation::new((Action::Create, "create"), name, json!({ "stream": name }), run)
}

fn created() -> Done {
    Done::new("created", "Created.", "created")
}

fn exists() -> Done {
    Done::new("exists", "It exists. Nothing was changed.", "exists; nothing was changed")
}
