//! Sends the steps to Redis, where they are scripts or plain commands; docs/spec/queue.md specifies them.

pub(crate) mod bulk;
pub(crate) mod scripts;
pub(crate) mod senders;

pub use scripts::SCRIPTS;

use super::error::QueueError;
use super::steps::Shard;
use crate::args::Args;
use crate::foreign::Checked;
use bulk::Bulk;
use evenkeel_link::{Link, Script};
use redis::{Cmd, Value};
use senders::Senders;
use std::pin::Pin;

/// The jobs on Redis. Cheap to clone.
#[derive(Clone)]
pub struct RedisQueue {
    link: Link,
    pub(crate) senders: Senders,
    bulk: Bulk,
    checked: Checked<Shard>,
}

/// One call of Redis, as a step sends it.
pub struct Call {
    what: What,
    /// About how many bytes the arguments or the reply have, if the call does not use the connection that small calls share.
    large: Option<u64>,
    /// The script does not check the types of the shard's keys itself.
    checks_types: bool,
}

enum What {
    Function { script: &'static Script, key: Option<String>, args: Args },
    Command(Cmd),
}

impl Call {
    /// A step in Lua, whose key is the shard.
    pub(crate) fn function(script: &'static Script, args: Args) -> Self {
        let large = (args.len() > bulk::SHARED_BYTES_MAX).then(|| u64::try_from(args.len()).unwrap_or(u64::MAX));
        Self { what: What::Function { script, key: None, args }, large, checks_types: false }
    }

    /// A step in Lua with another key.
    pub(crate) fn function_of(script: &'static Script, key: String, args: Args) -> Self {
        Self { what: What::Function { script, key: Some(key), args }, large: None, checks_types: false }
    }

    /// A plain command.
    pub(crate) fn command(cmd: Cmd) -> Self {
        Self { what: What::Command(cmd), large: None, checks_types: false }
    }

    /// Uses the connection for large calls: arguments or reply have about `bytes` bytes.
    pub(crate) fn large(self, bytes: u64) -> Self {
        Self { large: Some(bytes), ..self }
    }

    /// Checks the types of the shard's keys before the first such call of an epoch.
    pub(crate) fn checks_types(self) -> Self {
        Self { checks_types: true, ..self }
    }
}

type Calling<'a> = Pin<Box<dyn Future<Output = Result<Value, QueueError>> + Send + 'a>>;

impl RedisQueue {
    pub(crate) fn new(link: Link) -> Self {
        Self { link, senders: Senders::default(), bulk: Bulk::default(), checked: Checked::default() }
    }

    pub(crate) fn link(&self) -> &Link {
        &self.link
    }

    /// Makes one call. Boxed, so that the futures of all steps share its code.
    pub(crate) fn call<'a>(&'a self, shard: &'a Shard, call: Call) -> Calling<'a> {
        Box::pin(async move {
            if call.checks_types {
                self.check_types(shard).await?;
            }
            let tag = shard.tag().as_bytes();
            let reply = match (&call.what, call.large) {
                (What::Command(cmd), None) => self.link.command(tag, cmd).await,
                (What::Command(cmd), Some(bytes)) => self.bulk.command(&self.link, cmd, bytes).await,
                (What::Function { script, key, args }, large) => {
                    let key = key.as_ref().map_or(tag, String::as_bytes);
                    match large {
                        None => self.link.run(script, &[key], &args.slices()).await,
                        Some(bytes) => self.bulk.run(&self.link, script, key, args, bytes).await,
                    }
                }
            };
            Ok(reply?)
        })
    }

    /// For the calls that do not check types themselves, once in an epoch: fails if another program has written to the keys of the shard. A
    /// call that meets such a value later may have done a part of its work.
    async fn check_types(&self, shard: &Shard) -> Result<(), QueueError> {
        let check = async {
            self.link.run::<Value>(&scripts::TYPES, &[shard.tag().as_bytes()], &[]).await?;
            Ok(())
        };
        self.checked.once(&self.link, shard, check).await
    }
}
