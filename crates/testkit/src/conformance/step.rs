//! Any step, so that it can be drawn, run on either backend, and compared by the text of its reply.

use super::rig::ServerTime;
use anyhow::Result;
use evenkeel_protocol::step::{Backend, Place, Step};
use std::any::Any;
use std::error::Error;
use std::fmt::{self, Debug};
use std::pin::Pin;
use std::sync::Arc;

/// A step with all its arguments, or an event that happens to both backends.
#[derive(Clone)]
pub enum Move<P: Place> {
    /// Time passes.
    Advance(u64),
    /// The clock is set back.
    SetBack(u64),
    /// A step of the capability.
    Step(Arc<dyn AnyStep<P>>),
}

/// [`Step`] behind a trait object.
pub trait AnyStep<P: Place>: Any + Debug + Send + Sync {
    /// Runs it on one backend.
    fn run<'a>(
        &'a self,
        backend: &'a Backend<P>,
        place: &'a P,
    ) -> Pin<Box<dyn Future<Output = Result<Reply>> + Send + 'a>>;
}

/// A reply: as text, to compare, and itself for what the test remembers.
pub struct Reply {
    pub(super) text: String,
    value: Box<dyn Any + Send>,
}

impl<P, S> AnyStep<P> for S
where
    P: Place<Error: Error + Send + Sync + 'static>,
    S: Step<P, Reply: Any + Debug> + Any + Debug,
{
    fn run<'a>(
        &'a self,
        backend: &'a Backend<P>,
        place: &'a P,
    ) -> Pin<Box<dyn Future<Output = Result<Reply>> + Send + 'a>> {
        Box::pin(async move {
            let reply = backend.run(place, self).await?;
            Ok(Reply { text: format!("{reply:?}"), value: Box::new(reply) })
        })
    }
}

/// A step names itself.
impl<P: Place> Debug for Move<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Advance(ms) => write!(f, "Advance({ms})"),
            Self::SetBack(ms) => write!(f, "SetBack({ms})"),
            Self::Step(step) => step.fmt(f),
        }
    }
}

impl<P: Place> Move<P> {
    pub(super) fn step(step: impl AnyStep<P>) -> Self {
        Self::Step(Arc::new(step))
    }

    /// Makes it on one backend.
    pub(super) async fn make(&self, time: &ServerTime, backend: &Backend<P>, place: &P) -> Result<Reply> {
        match self {
            Self::Advance(ms) => time.advance(*ms).await?,
            Self::SetBack(ms) => time.set_back(*ms).await?,
            Self::Step(step) => return step.run(backend, place).await,
        }
        Ok(Reply { text: time.now().to_string(), value: Box::new(()) })
    }

    /// The step and its reply, if it is one of this kind.
    pub(super) fn played<'a, S: Step<P, Reply: Any> + Any>(
        &'a self,
        reply: &'a Reply,
    ) -> Option<(&'a S, &'a S::Reply)> {
        let Self::Step(step) = self else { return None };
        let step: &dyn Any = &**step;
        Some((step.downcast_ref()?, reply.value.downcast_ref()?))
    }
}
