//! Steps as values. Each is a request in a file of its own, next to its script: its limits, its call of Redis, how the reply is read, and
//! what it does to the model. A [`Backend`] runs it, on Redis or in the memory of this process.

#[macro_use]
mod scripts;

mod args;
mod backend;
mod bulk;
mod call;
mod checked;
mod memory;
mod redis;
#[cfg_attr(
    not(any(feature = "queue", feature = "stream")),
    expect(dead_code, reason = "process reports alone use a part of it")
)]
pub(crate) mod reply;

pub use args::Args;
pub use backend::Backend;
pub use bulk::SHARED_BYTES_MAX;
pub use call::Call;
pub use checked::at_key;
pub use memory::Memory;
pub use redis::Redis;

use ::redis::Value;
use evenkeel_link::LinkError;

/// Where the steps of a capability run, such as a shard of a queue: the keys that one call concerns.
pub trait Place: Clone + Send + Sync + 'static {
    /// The model of one place.
    type State;
    /// The models of all places.
    type States: Default + Send + 'static;
    /// Why a step failed.
    type Error: From<LinkError> + Send;
    /// What the steps of one handle on Redis share; nothing in most capabilities.
    type Shared: Clone + Default + Send + Sync + 'static;

    /// Whether calls with large arguments use a connection of their own. They overtake, and are overtaken by, small calls.
    const LARGE_ALONE: bool = false;

    /// The first key of its functions, which also selects the connection.
    fn key(&self) -> &[u8];

    /// The model of this place, before a step.
    fn open<'a>(&self, states: &'a mut Self::States, now: u64) -> &'a mut Self::State;

    /// Whether a step has changed what others wait for.
    fn wakes(state: &mut Self::State) -> bool;

    /// Removes the model of this place after a step, if it says nothing.
    fn close(&self, _states: &mut Self::States) {}

    /// An error of Redis, with what is known of its cause.
    fn explained(&self, error: LinkError) -> LinkError {
        error
    }
}

/// One step at a place, with its arguments.
pub trait Step<P: Place>: Send + Sync {
    /// What it returns.
    type Reply: Send;

    /// Checks its limits, before anything is sent or changed.
    ///
    /// # Errors
    /// The argument that is not accepted.
    fn check(&self) -> Result<(), P::Error> {
        Ok(())
    }

    /// The call of Redis.
    fn call(&self, place: &P) -> Call;

    /// Decodes the reply to that call.
    ///
    /// # Errors
    /// [`LinkError::Unexpected`]: it is not a reply of the step.
    fn reply(&self, value: Value) -> Result<Self::Reply, P::Error>;

    /// What the step does in the model, at the server time `now`.
    ///
    /// # Errors
    /// As the script.
    fn apply(&self, state: &mut P::State, now: u64) -> Result<Self::Reply, P::Error>;

    /// Sends it to Redis: in one call, unless the step has its own way.
    fn send(&self, redis: &Redis<P>, place: &P) -> impl Future<Output = Result<Self::Reply, P::Error>> + Send {
        async { self.reply(redis.call(place, self.call(place)).await?) }
    }
}
