//! The identity that a server reports: role, run id, replication id, version.

use crate::epoch::open::OpenError;
use crate::error::LinkError;
use crate::support::guard::guard;
use redis::Value;

/// The identity that a server reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    /// Changes with every start of the process.
    pub(crate) run_id: String,
    /// Changes when the history of the data is replaced: a failover, a promotion, a full resynchronization.
    pub(crate) replication_id: String,
    /// Whether that history continues an earlier one, as after a promotion.
    continues_history: bool,
    pub(crate) version: String,
    pub(crate) primary: bool,
    /// The address of its primary, if it is a replica.
    pub(crate) follows: Option<String>,
    pub(crate) loading: bool,
}

/// The oldest major version that the scripts support (several sections in one `INFO`, sharded pub/sub).
const VERSION_MIN: u32 = 7;
/// The requirement, as shown in error messages.
pub(crate) const REQUIREMENT: &str = "Evenkeel needs Redis 7.0 or Valkey 7.2";

impl Identity {
    /// The command whose reply [`parse`](Self::parse) reads.
    pub(crate) fn question() -> redis::Cmd {
        let mut cmd = redis::cmd("INFO");
        cmd.arg("server").arg("replication").arg("persistence");
        cmd
    }

    /// Parses an `INFO` reply; `None` if a field is missing.
    pub(crate) fn parse(answer: &Value) -> Option<Self> {
        let field = |name: &str| field(answer, name);
        Some(Self {
            run_id: field("run_id")?.to_owned(),
            replication_id: field("master_replid")?.to_owned(),
            continues_history: field("master_replid2").is_none_or(|id| id.bytes().any(|digit| digit != b'0')),
            version: field("redis_version")?.to_owned(),
            primary: field("role")? == "master",
            follows: field("master_host").map(|host| format!("{host}:{}", field("master_port").unwrap_or("?"))),
            loading: field("loading") == Some("1") || field("async_loading") == Some("1"),
        })
    }

    /// Rejects a server on which no epoch can be opened, with the reason. `address` is the server's.
    pub(crate) fn check(&self, address: String) -> Result<(), OpenError> {
        if is_too_old(&self.version) {
            return Err(LinkError::TooOld { address, version: self.version.clone() }.into());
        }
        if let Some(primary) = self.follows.as_ref().filter(|_| !self.primary && guard("link_role")) {
            return Err(OpenError::retryable(format!("it is a replica of {primary}; writes need the primary")));
        }
        if self.loading {
            return Err(OpenError::retryable("it is loading its data".to_owned()));
        }
        Ok(())
    }

    /// Whether `later` is the same process with the same data history.
    pub(crate) fn is_same_server(&self, later: &Self) -> bool {
        // A primary draws a new id when its first replica is attached, and when it gives up the backlog of the last one. Unlike after a
        // demotion and a promotion, no earlier id is then valid next to the new one.
        let has_same_data = self.replication_id == later.replication_id || !later.continues_history;
        (self.run_id == later.run_id && has_same_data) || !guard("link_other_server")
    }
}

/// The command whose reply [`version`] reads. Servers before Redis 7.0 support it and reject [`Identity::question`].
pub(crate) fn version_question() -> redis::Cmd {
    let mut cmd = redis::cmd("INFO");
    cmd.arg("server");
    cmd
}

/// The version in an `INFO` reply.
pub(crate) fn version(answer: &Value) -> Option<String> {
    field(answer, "redis_version").map(str::to_owned)
}

/// The eviction policy in an `INFO` reply, if the server removes keys when it is full.
pub(crate) fn eviction_policy(answer: &Value) -> Option<String> {
    field(answer, "maxmemory_policy").filter(|policy| *policy != "noeviction").map(str::to_owned)
}

pub(crate) fn is_too_old(version: &str) -> bool {
    let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok());
    major.is_none_or(|major| major < VERSION_MIN)
}

/// A field of an `INFO` reply.
fn field<'a>(answer: &'a Value, name: &str) -> Option<&'a str> {
    let text = match answer {
        Value::VerbatimString { text, .. } | Value::SimpleString(text) => text.as_str(),
        Value::BulkString(bytes) => std::str::from_utf8(bytes).ok()?,
        _ => return None,
    };
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
}
