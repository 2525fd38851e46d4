//! [`Action`]: what a visitor of the console or an API key may do, and [`Role`]: who may.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The role of a visitor. A later role may do everything that an earlier one may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Role {
    /// Reads figures and lists; bodies and errors only where the configuration allows it
    Viewer,
    /// Reads everything, and acts on jobs
    Operator,
    /// Also deletes dead letters and gives up parked rows
    Admin,
}

/// What a request does: its row says what that is. Every route names one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Action {
    Public,
    Read,
    Pause,
    Seek,
    Unregister,
    Run,
    Reschedule,
    Revoke,
    Redrive,
    Resend,
    Skip,
    Setup,
    Log,
    Delete,
    Bodies,
    Edit,
    Invalidate,
    Enqueue,
    Append,
    Work,
    Lock,
    Break,
    Create,
}

impl Action {
    /// The least role that may do it; `None`: no role decides. Everybody may do what is public, and only a key with a scope what is for
    /// programs.
    pub(crate) fn least(self) -> Option<Role> {
        self.row().0
    }

    /// The scope of an API key that permits it.
    pub(crate) fn scope(self) -> &'static str {
        self.row().1
    }

    /// What it is called in a sentence: "to pause a topic".
    pub(crate) fn phrase(self) -> &'static str {
        self.row().2
    }

    /// Role, scope and phrase.
    fn row(self) -> (Option<Role>, &'static str, &'static str) {
        use Role::{Admin, Operator, Viewer};
        match self {
            Self::Public => (None, "read", "open this page"),
            Self::Read => (Some(Viewer), "read", "read figures and lists"),
            Self::Pause => (Some(Operator), "operate", "pause or resume a topic or a group"),
            Self::Seek => (Some(Admin), "admin", "move a group of a stream"),
            Self::Unregister => (Some(Admin), "admin", "unregister a group of a stream"),
            Self::Run => (Some(Operator), "operate", "make a job due now"),
            Self::Reschedule => (Some(Operator), "operate", "reschedule a job"),
            Self::Revoke => (Some(Operator), "operate", "revoke a job"),
            Self::Redrive => (Some(Operator), "operate", "redrive dead letters"),
            Self::Resend => (Some(Operator), "operate", "release parked rows and messages"),
            Self::Skip => (Some(Admin), "admin", "give up parked rows and messages"),
            Self::Setup => (Some(Operator), "operate", "check the servers and find prefixes"),
            Self::Log => (Some(Admin), "admin", "read the audit log"),
            Self::Delete => (Some(Admin), "admin", "delete dead letters"),
            Self::Bodies => (Some(Operator), "bodies", "read bodies"),
            Self::Edit => (Some(Operator), "operate", "edit the body of a job"),
            Self::Invalidate => (Some(Operator), "invalidate:CACHE", "invalidate an entry of a cache"),
            Self::Enqueue => (None, "enqueue:TOPIC", "enqueue jobs"),
            Self::Append => (None, "append:STREAM", "append entries"),
            Self::Work => (None, "work:TOPIC", "work on jobs"),
            Self::Lock => (None, "lock:PREFIX", "use locks"),
            Self::Create => (Some(Admin), "admin", "create topics and streams"),
            Self::Break => (Some(Admin), "admin", "break a lock"),
        }
    }
}

impl Role {
    /// Whether this role may see bodies, headers and the texts of errors. Viewers see allowed fields only.
    pub(crate) fn sees_bodies(self) -> bool {
        self >= Self::Operator
    }

    /// Whether this role may do this.
    pub(crate) fn may(self, action: Action) -> bool {
        action == Action::Public || action.least().is_some_and(|least| self >= least)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::Admin => "admin",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Action, Role};

    #[test]
    fn destructive_actions_need_an_admin() {
        assert!(!Role::Operator.may(Action::Delete) && Role::Admin.may(Action::Delete));
        assert!(!Role::Operator.may(Action::Seek) && Role::Admin.may(Action::Seek));
        assert!(!Role::Operator.may(Action::Unregister) && Role::Admin.may(Action::Unregister));
        assert!(!Role::Operator.may(Action::Break) && Role::Admin.may(Action::Break));
        assert!(Role::Operator.may(Action::Redrive) && !Role::Viewer.may(Action::Redrive));
        assert!(Role::Viewer.may(Action::Read) && !Role::Viewer.sees_bodies() && !Role::Viewer.may(Action::Bodies));
    }

    #[test]
    fn no_role_may_do_what_is_for_programs() {
        for action in [Action::Enqueue, Action::Append, Action::Work, Action::Lock] {
            assert!(!Role::Admin.may(action), "{action:?}");
        }
    }
}
