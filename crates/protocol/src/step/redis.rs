//! [`Redis`]: how the steps of a capability reach one server.

use super::bulk::{Bulk, SHARED_BYTES_MAX};
use super::call::{Keys, What};
use super::checked::Checked;
use super::{Call, Place, at_key};
use evenkeel_link::{Link, LinkError};
use redis::Value;
use std::pin::Pin;

/// A capability on Redis. Cheap to clone.
#[derive(Clone)]
pub struct Redis<P: Place> {
    calls: Calls,
    /// What the steps share, such as the senders of a queue that collect jobs.
    pub shared: P::Shared,
}

/// The ways to one server, the same for all capabilities.
#[derive(Clone)]
struct Calls {
    link: Link,
    bulk: Bulk,
    checked: Checked,
    large_alone: bool,
}

type Calling<'a> = Pin<Box<dyn Future<Output = Result<Value, LinkError>> + Send + 'a>>;

impl<P: Place> Redis<P> {
    pub(super) fn new(link: Link) -> Self {
        let calls = Calls { link, bulk: Bulk::default(), checked: Checked::default(), large_alone: P::LARGE_ALONE };
        Self { calls, shared: P::Shared::default() }
    }

    pub(crate) fn link(&self) -> &Link {
        &self.calls.link
    }

    /// Makes one call.
    ///
    /// # Errors
    /// Redis returned an error or did not reply.
    pub async fn call(&self, place: &P, mut call: Call) -> Result<Value, P::Error> {
        let about = call.about.take();
        Ok(self.calls.make(place.key(), call).await.map_err(|error| match about {
            Some(key) => at_key(error, &key),
            None => place.explained(error),
        })?)
    }
}

impl Calls {
    /// Makes one call. Boxed, so that the futures of all steps share its code.
    fn make<'a>(&'a self, place: &'a [u8], call: Call) -> Calling<'a> {
        Box::pin(async move {
            // A call that meets a value of another type may have done a part of its work.
            if let Some((script, args)) = &call.types {
                self.checked.once(&self.link, script, place, args).await?;
            }
            let timed = call.timeout.map(|timeout| self.link.with_response_timeout(timeout));
            let link = timed.as_ref().unwrap_or(&self.link);
            match &call.what {
                What::Command(cmd) => match call.large {
                    None => link.command(place, cmd).await,
                    Some(bytes) => self.bulk.command(link, cmd, bytes).await,
                },
                What::Commands(commands) => link.pipeline(place, commands).await.map(Value::Array),
                What::Function { script, keys, args } => {
                    let is_large = self.large_alone && args.len() > SHARED_BYTES_MAX;
                    let large = is_large.then(|| u64::try_from(args.len()).unwrap_or(u64::MAX));
                    let keys: &[&[u8]] = match keys {
                        Keys::Place => &[place],
                        Keys::Other(key) => &[key.as_bytes()],
                        Keys::And(key) => &[place, key.as_bytes()],
                    };
                    match call.large.or(large) {
                        None => link.run(script, keys, &args.slices()).await,
                        Some(bytes) => self.bulk.run(link, script, keys, args, bytes).await,
                    }
                }
            }
        })
    }
}
