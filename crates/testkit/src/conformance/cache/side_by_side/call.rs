//! One call with all its arguments, so that it can be made on either backend and made again.

use bytes::Bytes;
use evenkeel::Token;
use evenkeel_protocol::cache::steps::{BeginWrite, CacheSteps, Fill, Invalidation, Lease, Leased};

/// A call of one step.
#[derive(Clone, Debug)]
pub(super) enum Call {
    Lease(Lease),
    Fill(Fill),
    Abandon(Token, u64),
    Invalidate(Invalidation),
    BeginWrite(BeginWrite),
    RenewWrite(Token, u64),
    EndWrite(Token, Invalidation),
    /// Nothing is called; the bytes are compared.
    Nothing,
}

/// The reply: its text, to compare, and the grant if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) words: String,
    pub(super) leased: Option<Leased>,
    pub(super) bytes: Option<Bytes>,
}

impl Call {
    /// Makes the call, and reads what is stored after it.
    pub(super) async fn make<S: CacheSteps>(&self, steps: &S, key: &[u8]) -> Answer {
        let mut leased = None;
        let words = match self {
            Call::Lease(lease) => {
                let answer = steps.lease(key, lease).await.unwrap();
                let words = format!("{answer:?}");
                leased = Some(answer);
                words
            }
            Call::Fill(fill) => format!("{:?}", steps.fill(key, fill).await.unwrap()),
            Call::Abandon(token, retry_after_ms) => {
                format!("{:?}", steps.abandon(key, *token, *retry_after_ms).await.unwrap())
            }
            Call::Invalidate(invalidation) => format!("{:?}", steps.invalidate(key, invalidation).await.unwrap()),
            Call::BeginWrite(begin) => format!("{:?}", steps.begin_write(key, begin).await.unwrap()),
            Call::RenewWrite(token, window_ms) => {
                format!("{:?}", steps.renew_write(key, *token, *window_ms).await.unwrap())
            }
            Call::EndWrite(token, invalidation) => {
                format!("{:?}", steps.end_write(key, *token, invalidation).await.unwrap())
            }
            Call::Nothing => String::new(),
        };
        Answer { words, leased, bytes: steps.read(key).await.unwrap() }
    }
}
