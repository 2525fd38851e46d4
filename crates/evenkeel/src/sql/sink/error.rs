//! Why a sink did not accept a message, and the consequence.

/// Why a message was not confirmed. It may have arrived nevertheless: a message is sent until it is confirmed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SinkError {
    /// The sink cannot be reached, or accepts no messages at all now. The message is not the cause: no attempt is counted, and all
    /// other messages for this sink wait as well.
    #[error("the sink is unavailable: {0}")]
    Unavailable(String),
    /// The topic accepts no more messages for now, as a stream that is full. No attempt is counted; the message is sent again after a
    /// delay.
    #[error("the topic accepts no more messages for now: {0}")]
    Busy(String),
    /// The message was not accepted now and may be later. One attempt is counted, and the next follows after a delay.
    #[error("the sink did not accept the message: {0}")]
    Retry(String),
    /// No later attempt of this message can succeed: it is too large, or its topic is not a name that the sink can write. It is
    /// parked at once.
    #[error("the sink can never accept the message: {0}")]
    Poison(String),
    /// An earlier message of the same key was not accepted, so this one was not sent.
    #[error("an earlier message of the same key was not accepted")]
    Held,
}

impl SinkError {
    /// Whether the same message may be accepted later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        !self.is_poison()
    }

    /// Whether the message itself is the cause, permanently.
    #[must_use]
    pub fn is_poison(&self) -> bool {
        matches!(self, Self::Poison(_))
    }

    /// Whether the failure counts as an attempt of the message.
    #[must_use]
    pub fn counts_as_attempt(&self) -> bool {
        matches!(self, Self::Retry(_) | Self::Poison(_))
    }

    /// Whether the sink as a whole is unavailable.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        matches!(self, Self::Unavailable(_))
    }
}
