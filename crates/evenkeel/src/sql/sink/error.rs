//! Why a sink did not take a message, and what follows from it.

/// Why a message was not confirmed. It may have arrived nevertheless: a message is sent until it is confirmed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SinkError {
    /// The sink cannot be reached, or takes nothing at all now. This says nothing about the message: no attempt of it is
    /// counted, and everything else for this sink waits, too.
    #[error("the sink is away: {0}")]
    Away(String),
    /// The topic takes no more for now, like a stream that is full. No attempt is counted; the message comes again after a pause.
    #[error("the topic takes no more now: {0}")]
    Busy(String),
    /// The message was not taken now and may be later. One attempt is counted, and the next comes after a pause.
    #[error("the message was not taken: {0}")]
    Retry(String),
    /// No later attempt of this message can succeed: it is too large, or its topic is no name the sink knows how to write. It is
    /// parked at once.
    #[error("the message can never be taken: {0}")]
    Poison(String),
    /// An earlier message of the same key was not taken, so this one was not sent.
    #[error("an earlier message of the same key was not taken")]
    Held,
}

impl SinkError {
    /// Whether the same message may be taken later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        !self.is_poison()
    }

    /// Whether the message itself is the reason, for good.
    #[must_use]
    pub fn is_poison(&self) -> bool {
        matches!(self, Self::Poison(_))
    }

    /// Whether the failure counts against the message: so often, and it is parked.
    #[must_use]
    pub fn counts_as_attempt(&self) -> bool {
        matches!(self, Self::Retry(_) | Self::Poison(_))
    }

    /// Whether the sink as a whole is the reason.
    #[must_use]
    pub fn is_away(&self) -> bool {
        matches!(self, Self::Away(_))
    }
}
