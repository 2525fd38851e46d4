//! The sinks of a program and their topics.

#[cfg(feature = "stream")]
use super::appends::StreamAppends;
use super::{Confirmed, Envelope, Sink, SinkError, TOPIC_PREFIX};
#[cfg(feature = "stream")]
use crate::stream::Streams;
use evenkeel_link::support::{guard, panic_message};
use futures_util::FutureExt;
use futures_util::future::join_all;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::pin::Pin;
use std::sync::Arc;

/// Which sink receives which topics. Cheap to clone.
///
/// ```
/// use evenkeel::Keel;
/// use evenkeel::sql::sink::{Sinks, StreamSink};
///
/// let keel = Keel::memory();
/// let sinks = Sinks::to(StreamSink::new(&keel)).route("audit.", StreamSink::new(&keel));
/// assert_eq!(sinks.prefixes().collect::<Vec<_>>(), ["", "audit."]);
/// ```
#[derive(Clone, Default)]
pub struct Sinks(Arc<Vec<Route>>);

#[derive(Clone)]
struct Route {
    prefix: String,
    sink: Arc<dyn AnySink>,
}

impl Sinks {
    /// No sink: for programs whose effects are invalidations and jobs. Messages wait for a program that has a sink.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// One sink for all topics without a route of their own.
    #[must_use]
    pub fn to(sink: impl Sink) -> Self {
        Self::default().route("", sink)
    }

    /// Sends topics that begin with `prefix` to this sink; of several matching routes the longest applies. Change a route only while
    /// no message waits for it: the outbox stores the topic, not the sink.
    #[must_use]
    pub fn route(self, prefix: impl Into<String>, sink: impl Sink) -> Self {
        let mut routes = Vec::clone(&self.0);
        let route = Route { prefix: prefix.into(), sink: Arc::new(sink) };
        routes.retain(|other| other.prefix != route.prefix);
        routes.push(route);
        Self(Arc::new(routes))
    }

    /// The prefix of each route.
    pub fn prefixes(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|route| route.prefix.as_str())
    }

    /// These routes, and that to the streams of a keel, unless there is one.
    #[cfg(feature = "stream")]
    pub(crate) fn and_streams(&self, streams: &Arc<Streams>) -> Self {
        let has_route = self.prefixes().any(|prefix| prefix == TOPIC_PREFIX);
        if has_route { self.clone() } else { self.clone().route(TOPIC_PREFIX, StreamAppends::new(streams)) }
    }

    /// The index of the route of a topic, if there is one.
    pub(crate) fn route_of(&self, topic: &str) -> Option<usize> {
        // A sink of the program could not append them.
        let reserved = if topic.starts_with(TOPIC_PREFIX) { TOPIC_PREFIX } else { "" };
        let accepts = |route: &Route| topic.starts_with(&route.prefix) && route.prefix.starts_with(reserved);
        let routes = self.0.iter().enumerate().filter(|(_, route)| accepts(route));
        routes.max_by_key(|(_, route)| route.prefix.len()).map(|(number, _)| number)
    }

    /// Sends messages to their sinks; see [`Sink::publish_all`]. A topic without a route is [`SinkError::Busy`]: another program may
    /// have a sink for it. If a sink panics, its messages have failed ([`SinkError::Retry`]).
    pub async fn publish_all(&self, messages: &[Envelope]) -> Vec<Result<Confirmed, SinkError>> {
        let mut answers: Vec<Result<Confirmed, SinkError>> = vec![Err(no_route()); messages.len()];
        let places = |route: usize| {
            let of_route = move |place: &usize| self.route_of(&messages[*place].topic) == Some(route);
            (0..messages.len()).filter(of_route).collect::<Vec<_>>()
        };
        let parts = self.0.iter().enumerate().map(|(number, route)| (route, places(number)));
        let sent = parts.filter(|(_, places)| !places.is_empty()).map(|(route, places)| async move {
            let part: Vec<Envelope> = places.iter().map(|place| messages[*place].clone()).collect();
            // The sink is code of the program. Its future is dropped after a panic, so no broken state is observed.
            let called = AssertUnwindSafe(async { route.sink.publish_all_boxed(&part).await });
            let mut answers = match called.catch_unwind().await {
                Ok(answers) => answers,
                Err(panic) if guard("sink_panics_are_caught") => {
                    let message = format!("the sink panicked: {}", panic_message(panic));
                    vec![Err(SinkError::Retry(message)); part.len()]
                }
                Err(panic) => resume_unwind(panic),
            };
            // A sink that returns too few results has not confirmed the remaining messages.
            answers.resize_with(part.len(), || Err(no_result()));
            places.into_iter().zip(answers)
        });
        for (place, answer) in join_all(sent).await.into_iter().flatten() {
            answers[place] = answer;
        }
        answers
    }

    /// Sends one message, as [`publish_all`](Self::publish_all).
    pub(crate) async fn publish(&self, message: &Envelope) -> Result<Confirmed, SinkError> {
        let answer = self.publish_all(std::slice::from_ref(message)).await.pop();
        answer.unwrap_or_else(|| Err(no_result()))
    }
}

fn no_result() -> SinkError {
    SinkError::Retry("the sink returned no result".to_owned())
}

fn no_route() -> SinkError {
    SinkError::Busy("this program has no sink for the topic; add a route to its `Sinks`".to_owned())
}

impl fmt::Debug for Sinks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.prefixes()).finish()
    }
}

type Answers<'a> = Pin<Box<dyn Future<Output = Vec<Result<Confirmed, SinkError>>> + Send + 'a>>;

/// A type-erased sink.
trait AnySink: Send + Sync {
    fn publish_all_boxed<'a>(&'a self, messages: &'a [Envelope]) -> Answers<'a>;
}

impl<S: Sink> AnySink for S {
    fn publish_all_boxed<'a>(&'a self, messages: &'a [Envelope]) -> Answers<'a> {
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
        async fn publish(&self, message: &Envelope) -> Result<Confirmed, SinkError> {
            if message.id == self.0 { Err(SinkError::Retry("no".to_owned())) } else { Ok(Confirmed::Accepted) }
        }
    }

    fn message(id: &str, order: Option<(&str, u64)>) -> Envelope {
        Envelope {
            source: "here".to_owned(),
            id: id.to_owned(),
            topic: "links".to_owned(),
            order: order.map(|(key, sequence)| Order { key: key.to_owned(), sequence }),
            payload: Bytes::new(),
            headers: Vec::new(),
        }
    }

    #[tokio::test]
    async fn failure_holds_only_its_key() {
        let messages = [
            message("a1", Some(("a", 1))),
            message("a2", Some(("a", 2))),
            message("b1", Some(("b", 1))),
            message("c", None),
        ];
        let answers = Sinks::to(Fails("a1")).publish_all(&messages).await;
        let taken = Ok(Confirmed::Accepted);
        assert_eq!(answers, [Err(SinkError::Retry("no".to_owned())), Err(SinkError::Held), taken.clone(), taken]);
    }

    #[tokio::test]
    async fn longest_route_wins_and_a_missing_one_uses_no_attempt() {
        let sinks = Sinks::none().route("li", Fails("a")).route("links", Fails("b"));
        let other = Envelope { topic: "orders".to_owned(), ..message("a", None) };
        let answers = sinks.publish_all(&[message("a", None), message("b", None), other]).await;
        assert!(matches!(&answers[..], [Ok(_), Err(SinkError::Retry(_)), Err(SinkError::Busy(_))]), "{answers:?}");
    }

    /// A catch-all sink of a program received the entries of streams, which no group ever saw.
    // shows: hazard BW5
    #[test]
    fn entries_of_streams_go_to_no_other_sink() {
        let sinks = Sinks::to(Fails("a")).route("evenkeel.", Fails("a"));
        assert_eq!((sinks.route_of("evenkeel.stream/orders"), sinks.route_of("evenkeel.streams")), (None, Some(1)));
        assert_eq!(sinks.route(TOPIC_PREFIX, Fails("a")).route_of("evenkeel.stream/orders"), Some(2));
    }
}
