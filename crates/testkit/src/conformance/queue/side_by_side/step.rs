//! Any step, so that it can be drawn, run on either backend, and compared by the text of its reply.

use crate::conformance::queue::rig::Rig;
use anyhow::Result;
use evenkeel_protocol::queue::steps::Step;
use std::any::Any;
use std::fmt::{self, Debug};
use std::pin::Pin;
use std::sync::Arc;

/// A step with all its arguments, or an event that happens to both.
#[derive(Clone)]
pub enum Move {
    /// Time passes.
    Advance(u64),
    /// The clock is set back.
    SetBack(u64),
    /// A step of the queue.
    Step(Arc<dyn AnyStep>),
}

/// [`Step`] behind a trait object.
pub trait AnyStep: Any + Debug + Send + Sync {
    /// Runs it on one backend.
    fn run<'a>(&'a self, rig: &'a Rig) -> Pin<Box<dyn Future<Output = Result<Reply>> + Send + 'a>>;
}

/// A reply: as text, to compare, and itself for the ledger.
pub struct Reply {
    pub(super) text: String,
    value: Box<dyn Any + Send>,
}

impl<S: Step<Reply: Any + Debug> + Any + Debug> AnyStep for S {
    fn run<'a>(&'a self, rig: &'a Rig) -> Pin<Box<dyn Future<Output = Result<Reply>> + Send + 'a>> {
        Box::pin(async move {
            let reply = rig.run(self).await?;
            Ok(Reply { text: format!("{reply:?}"), value: Box::new(reply) })
        })
    }
}

/// A step names itself.
impl Debug for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Advance(ms) => write!(f, "Advance({ms})"),
            Self::SetBack(ms) => write!(f, "SetBack({ms})"),
            Self::Step(step) => step.fmt(f),
        }
    }
}

impl Move {
    pub(super) fn step(step: impl AnyStep) -> Self {
        Self::Step(Arc::new(step))
    }

    /// Makes it on one backend.
    pub(super) async fn make(&self, rig: &Rig) -> Result<Reply> {
        match self {
            Self::Advance(ms) => rig.time.advance(*ms).await?,
            Self::SetBack(ms) => rig.time.set_back(*ms).await?,
            Self::Step(step) => return step.run(rig).await,
        }
        Ok(Reply { text: rig.time.now().to_string(), value: Box::new(()) })
    }

    /// The step and its reply, if it is one of this kind.
    pub(super) fn played<'a, S: Step<Reply: Any> + Any>(&'a self, reply: &'a Reply) -> Option<(&'a S, &'a S::Reply)> {
        let Self::Step(step) = self else { return None };
        let step: &dyn Any = &**step;
        Some((step.downcast_ref()?, reply.value.downcast_ref()?))
    }
}
