//! The sinks of a program, by the names their messages are addressed with.

use super::{Confirmed, Message, Sink, SinkError};
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// The sinks of a program by name. Cheap to clone.
///
/// The outbox stores the name beside the message, so a name must mean the same sink for as long as rows wait for it.
#[derive(Clone, Default)]
pub struct Sinks(Arc<BTreeMap<String, Arc<dyn AnySink>>>);

impl Sinks {
    /// No sink: enough for a program whose effects are invalidations and jobs.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// These and one more. A sink of the same name is replaced.
    #[must_use]
    pub fn with(self, name: impl Into<String>, sink: impl Sink) -> Self {
        let mut sinks = BTreeMap::clone(&self.0);
        sinks.insert(name.into(), Arc::new(sink));
        Self(Arc::new(sinks))
    }

    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Whether there is a sink of this name.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Hands messages to the sink of this name; see [`Sink::publish_all`]. A name that this program does not know is
    /// [`SinkError::Away`]: another version of the program may know it.
    pub async fn publish_all(&self, name: &str, messages: &[Message]) -> Vec<Result<Confirmed, SinkError>> {
        match self.0.get(name) {
            Some(sink) => {
                let mut answers = sink.publish_all_boxed(messages).await;
                // A sink of a user's own that answers too little has confirmed nothing by it.
                answers.resize_with(messages.len(), || Err(SinkError::Retry("the sink gave no answer".to_owned())));
                answers
            }
            None => {
                let unknown = || SinkError::Away(format!("this program has no sink called {name}; add it to `Sinks`"));
                messages.iter().map(|_| Err(unknown())).collect()
            }
        }
    }
}

impl fmt::Debug for Sinks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

type Answers<'a> = Pin<Box<dyn Future<Output = Vec<Result<Confirmed, SinkError>>> + Send + 'a>>;

/// A sink whose type is forgotten.
trait AnySink: Send + Sync {
    fn publish_all_boxed<'a>(&'a self, messages: &'a [Message]) -> Answers<'a>;
}

impl<S: Sink> AnySink for S {
    fn publish_all_boxed<'a>(&'a self, messages: &'a [Message]) -> Answers<'a> {
        Box::pin(self.publish_all(messages))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::sink::Order;
    use bytes::Bytes;

    struct Fails(&'static str);

    impl Sink for Fails {
        async fn publish(&self, message: &Message) -> Result<Confirmed, SinkError> {
            if message.id == self.0 { Err(SinkError::Retry("no".to_owned())) } else { Ok(Confirmed::Accepted) }
        }
    }

    fn message(id: &str, order: Option<(&str, u64)>) -> Message {
        Message {
            source: "here".to_owned(),
            id: id.to_owned(),
            topic: "links".to_owned(),
            order: order.map(|(key, sequence)| Order { key: key.to_owned(), sequence }),
            payload: Bytes::new(),
            headers: Vec::new(),
        }
    }

    #[tokio::test]
    async fn after_a_failure_its_key_is_held_and_no_other() {
        let sinks = Sinks::new().with("broker", Fails("a1"));
        let messages = [
            message("a1", Some(("a", 1))),
            message("a2", Some(("a", 2))),
            message("b1", Some(("b", 1))),
            message("c", None),
        ];
        let answers = sinks.publish_all("broker", &messages).await;
        let taken = Ok(Confirmed::Accepted);
        assert_eq!(answers, [Err(SinkError::Retry("no".to_owned())), Err(SinkError::Held), taken.clone(), taken]);
    }

    #[tokio::test]
    async fn an_unknown_name_burns_no_attempt() {
        let answers = Sinks::new().publish_all("broker", &[message("a", None)]).await;
        assert!(matches!(answers.as_slice(), [Err(error)] if error.is_away()), "{answers:?}");
    }
}
