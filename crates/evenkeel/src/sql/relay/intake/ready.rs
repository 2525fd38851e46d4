//! Turns the requests of a row into effects, checked and complete.

use super::requests::{self, EffectRequest};
use super::rows::Inserted;
#[cfg(feature = "cache")]
use crate::cache::{Demand, check_name, check_span, keys_named};
#[cfg(feature = "queue")]
use crate::queue::{JobOperation, JobPut};
use crate::sql::Message;
use crate::sql::outbox::Effect;
#[cfg(feature = "cache")]
use crate::sql::outbox::effect::Invalidate;
use crate::sql::relay::core::Core;
#[cfg(feature = "queue")]
use bytes::Bytes;
#[cfg(feature = "cache")]
use evenkeel_protocol::cache::steps::Mode;
#[cfg(feature = "queue")]
use evenkeel_protocol::{
    codec::{Codec, Json},
    queue::job::{JobId, JobSpec, Note, Retention, Retries},
    queue::register::TopicRecord,
    queue::steps::{NewJob, When},
};
#[cfg(feature = "queue")]
use std::collections::HashMap;

/// The entries of topics in the register, each read once per pass.
#[derive(Default)]
pub(super) struct Topics {
    /// `None`: no program has opened a queue for the topic.
    #[cfg(feature = "queue")]
    read: HashMap<String, Option<TopicRecord>>,
    /// The register could not be read, and is not read again in this pass.
    #[cfg(feature = "queue")]
    error: Option<String>,
}

/// Why jobs of a topic cannot be sent now.
pub(super) enum NotReady {
    /// Without a program that opens the queue, or another relay, never.
    Unknown(String),
    /// Redis does not reply.
    #[cfg_attr(not(feature = "queue"), expect(dead_code, reason = "only queues have a register"))]
    Unavailable(String),
}

impl Topics {
    /// Reads the entry of a topic.
    #[cfg(feature = "queue")]
    pub(super) async fn look_up(&mut self, core: &Core, topic: &str) -> Result<(), NotReady> {
        if !self.read.contains_key(topic) {
            if let Some(error) = self.error.clone() {
                return Err(NotReady::Unavailable(error));
            }
            match core.shared.destinations.queues.store().topics().get(topic).await {
                Ok(record) => drop(self.read.insert(topic.to_owned(), record)),
                Err(error) => return Err(NotReady::Unavailable(self.error.insert(error.to_string()).clone())),
            }
        }
        match self.entry(topic) {
            Some(_) => Ok(()),
            None => Err(NotReady::Unknown(format!("no program has opened a queue for the topic `{topic}`"))),
        }
    }

    #[cfg(feature = "queue")]
    fn entry(&self, topic: &str) -> Option<&TopicRecord> {
        self.read.get(topic)?.as_ref()
    }

    #[cfg(not(feature = "queue"))]
    pub(super) async fn look_up(&mut self, _core: &Core, topic: &str) -> Result<(), NotReady> {
        let sentence = format!("the relay was built without the feature `queue`, which the topic `{topic}` needs");
        std::future::ready(Err(NotReady::Unknown(sentence))).await
    }
}

/// Completes a request: one effect, or an invalidation of each key that a text names. The error says what is wrong with it.
#[cfg_attr(not(feature = "queue"), expect(unused_variables, reason = "used by jobs"))]
pub(super) fn of(
    core: &Core,
    row: &Inserted,
    request: EffectRequest<'_>,
    topics: &Topics,
) -> Result<Vec<Effect>, String> {
    match request {
        #[cfg(feature = "cache")]
        EffectRequest::Invalidate(request) => invalidations(&request),
        #[cfg(not(feature = "cache"))]
        EffectRequest::Invalidate(request) => {
            Err(format!("the relay was built without the feature `cache`, which the cache `{}` needs", request.cache))
        }
        #[cfg(feature = "queue")]
        EffectRequest::Enqueue(request) => {
            let record = topics.entry(&request.topic).ok_or("its topic is unknown")?;
            let json = Codec::<serde_json::Value>::id(&Json);
            if request.body.is_some() && record.codec != json {
                return Err(format!(
                    "the bodies of the topic `{}` are not JSON; encode the body as its programs do, and give `body_base64`",
                    request.topic
                ));
            }
            let due_at = match (request.due_at, request.delay_ms) {
                (Some(_), Some(_)) => return Err("give either `due_at` or `delay_ms`".to_owned()),
                (Some(due_at), None) => due_at,
                (None, delay) => row.created_at.saturating_add(delay.unwrap_or(0)),
            };
            let of_topic = record.retries.map_or(Retries::Unlimited, Retries::Limited);
            let name = request.id.map(id).transpose()?;
            let spec = JobSpec {
                retries: request.retries.map_or(of_topic, Retries::Limited),
                discard_exhausted: record.discard_exhausted,
                retention: Retention::AfterEnd(record.id_window_ms),
                notes: name.iter().map(|name| Note::Name(Bytes::copy_from_slice(name.as_bytes()))).collect(),
                codec: Some(record.codec),
                ..JobSpec::new(requests::content(request.body, request.body_base64.as_deref(), "body")?)
            };
            let id = name.as_ref().map_or_else(
                || JobId::generate(core.shared.destinations.queues.store().now_ms()),
                |name| JobId::named(name.as_bytes()),
            );
            let job = NewJob { id, when: When::At(due_at), spec };
            job.check().map_err(|error| error.to_string())?;
            // As everywhere, a time in the past means now.
            let run = JobOperation::Run { due_at: due_at.max(row.created_at), spec: Box::new(job.spec) };
            Ok(vec![Effect::Put(put(request.topic, record, id, u64::from(name.is_none()), run))])
        }
        #[cfg(feature = "queue")]
        EffectRequest::Revoke(request) => {
            let record = topics.entry(&request.topic).ok_or("its topic is unknown")?;
            let withdraw = JobOperation::Withdraw(Retention::AfterEnd(record.id_window_ms));
            Ok(vec![Effect::Put(put(request.topic, record, JobId::named(id(request.id)?.as_bytes()), 0, withdraw))])
        }
        #[cfg(not(feature = "queue"))]
        EffectRequest::Enqueue(_) | EffectRequest::Revoke(_) => {
            Err("the relay was built without the feature `queue`".to_owned())
        }
        EffectRequest::Publish(request) => {
            let payload = requests::content(request.payload, request.payload_base64.as_deref(), "payload")?;
            let message = Message::new(request.topic, payload);
            Ok(vec![Effect::Publish(
                request.headers.into_iter().fold(message, |message, (name, value)| message.header(name, value)),
            )])
        }
    }
}

/// An invalidation of each key that the text names.
#[cfg(feature = "cache")]
fn invalidations(request: &requests::Invalidate) -> Result<Vec<Effect>, String> {
    check_name(&request.cache).map_err(|error| format!("`cache`: {error}"))?;
    let keys = keys_named(&request.key.0).map_err(|error| format!("`key`: {error}"))?;
    check_span(request.retain_ms.max(request.lag_ms))?;
    let mode = if request.purge { Mode::Purge } else { Mode::Expire { retain_ms: request.retain_ms } };
    let demand = Demand { floor: request.version, lag_ms_max: request.lag_ms, ..mode.into() };
    let of = |key: String| Invalidate { cache: request.cache.clone(), key: key.into(), demand, window: false };
    Ok(keys.into_iter().map(|key| Effect::Invalidate(of(key))).collect())
}

#[cfg(feature = "queue")]
fn id(name: requests::Name) -> Result<String, String> {
    if name.0.is_empty() {
        return Err("`id` is empty; a job without an id of its own has no `id`".to_owned());
    }
    Ok(name.0)
}

#[cfg(feature = "queue")]
fn put(topic: String, record: &TopicRecord, id: JobId, version: u64, operation: JobOperation) -> JobPut {
    JobPut { topic, shards: record.shards, id, version, operation, row_decides: record.row_decides }
}
