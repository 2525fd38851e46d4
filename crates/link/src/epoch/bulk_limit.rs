//! The longest argument that the server accepts, its `proto-max-bulk-len`. It closes the connection on a longer one, with the replies that
//! other calls wait for, and whether the reason arrives before that is chance.

use crate::connection::lane::Lane;
use crate::error::LinkError;
use crate::support::guard::guard;
use redis::{Arg, Cmd};
use std::collections::BTreeMap;
use tokio::sync::OnceCell;

/// No server's limit is lower.
const ALWAYS_ACCEPTED: usize = 1 << 20;

const SETTING: &str = "proto-max-bulk-len";

/// The limit of an epoch's server, asked for when it may matter; `None`: the server does not say.
#[derive(Default)]
pub(crate) struct BulkLimit(OnceCell<Option<usize>>);

impl BulkLimit {
    /// Rejects a call whose longest argument is above the limit.
    pub(crate) async fn check(&self, longest: usize, lane: &Lane) -> Result<(), LinkError> {
        if longest <= ALWAYS_ACCEPTED || !guard("link_bulk_limit") {
            return Ok(());
        }
        // Boxed: rare, and would otherwise be part of every call's future.
        match *Box::pin(self.0.get_or_try_init(|| ask(lane))).await? {
            Some(limit) if longest > limit => Err(LinkError::Refused {
                code: "ERR".to_owned(),
                message: format!(
                    "a value of {longest} bytes is above this server's limit of {limit} (`{SETTING}`); nothing was sent. Raise the limit on \
                     the server, or store less"
                ),
            }),
            _ => Ok(()),
        }
    }
}

/// A user may lack the right, and a hosted server the command.
async fn ask(lane: &Lane) -> Result<Option<usize>, LinkError> {
    match lane.probe(redis::cmd("CONFIG").arg("GET").arg(SETTING)).await {
        Ok(answer) => {
            Ok(redis::from_redis_value::<BTreeMap<String, usize>>(answer).ok().and_then(|mut all| all.remove(SETTING)))
        }
        Err(LinkError::Refused { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The bytes of the longest argument.
pub(crate) fn longest(cmd: &Cmd) -> usize {
    let bytes = |arg: Arg<&[u8]>| if let Arg::Simple(bytes) = arg { bytes.len() } else { 0 };
    cmd.args_iter().map(bytes).max().unwrap_or(0)
}

/// The bytes of the longest of these arguments.
pub(crate) fn longest_of(args: &[&[u8]]) -> usize {
    args.iter().map(|arg| arg.len()).max().unwrap_or(0)
}
