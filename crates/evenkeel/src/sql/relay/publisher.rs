//! Publishes the unordered messages of a unit of work to the sinks, on the fast path and in the relay.

use crate::sql::outbox::carry::{CarryError, Publisher};
use crate::sql::outbox::{Message, WorkId};
use crate::sql::sink::{Envelope, Sinks};
use std::future::Future;
use std::pin::Pin;

impl Publisher for Sinks {
    fn publish<'a>(
        &'a self,
        work: WorkId,
        number: usize,
        message: &'a Message,
    ) -> Pin<Box<dyn Future<Output = Result<(), CarryError>> + Send + 'a>> {
        Box::pin(async move {
            let envelope = envelope(work, number, message);
            match self.publish_all(std::slice::from_ref(&envelope)).await.pop() {
                Some(Ok(_)) => Ok(()),
                Some(Err(error)) => {
                    Err(CarryError::Sink { reason: error.to_string(), is_unavailable: !error.counts_as_attempt() })
                }
                None => {
                    Err(CarryError::Sink { reason: "the sink returned no result".to_owned(), is_unavailable: false })
                }
            }
        })
    }
}

/// The envelope of an unordered message.
pub(super) fn envelope(work: WorkId, number: usize, message: &Message) -> Envelope {
    Envelope {
        source: String::new(),
        id: format!("{work}/{number}"),
        topic: message.topic.clone(),
        order: None,
        payload: message.payload.clone(),
        headers: message.headers.clone().into_iter().collect(),
    }
}
