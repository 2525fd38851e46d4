//! Who may do what: one table for pages, forms, API and event streams.

mod guard;
mod table;
mod visitor;

pub(crate) use table::Table;
pub(crate) use visitor::{Via, Visitor};

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

/// What a request does. Every route names one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Action {
    /// What anybody may request: the login page, style sheets, health checks.
    Public,
    /// Figures, lists, groups, metrics.
    Read,
    /// Pause or resume a topic.
    Pause,
    /// Make a waiting job due now.
    Run,
    /// Give a waiting job another due time.
    Reschedule,
    /// Revoke a waiting job.
    Revoke,
    /// Send dead letters back, or stop that.
    Redrive,
    /// Edit the body of a job.
    Edit,
    /// Let a relay try a parked row again, or a consumer process a parked message.
    Resend,
    /// Give up a parked row or message.
    Skip,
    /// Read who did what.
    Log,
    /// Delete dead letters.
    Delete,
}

impl Action {
    /// The least role that may do it; `None`: anybody, also without a login.
    pub(crate) fn least(self) -> Option<Role> {
        match self {
            Self::Public => None,
            Self::Read => Some(Role::Viewer),
            Self::Pause | Self::Run | Self::Reschedule | Self::Revoke | Self::Redrive | Self::Edit | Self::Resend => {
                Some(Role::Operator)
            }
            Self::Delete | Self::Skip | Self::Log => Some(Role::Admin),
        }
    }

    /// What it is called in a sentence: "to pause a topic".
    fn phrase(self) -> &'static str {
        match self {
            Self::Public => "open this page",
            Self::Read => "read figures and lists",
            Self::Pause => "pause or resume a topic",
            Self::Run => "make a job due now",
            Self::Reschedule => "reschedule a job",
            Self::Revoke => "revoke a job",
            Self::Redrive => "redrive dead letters",
            Self::Edit => "edit the body of a job",
            Self::Resend => "release parked rows and messages",
            Self::Skip => "give up parked rows and messages",
            Self::Log => "read the audit log",
            Self::Delete => "delete dead letters",
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
        action.least().is_none_or(|least| self >= least)
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
        assert!(Role::Operator.may(Action::Redrive) && !Role::Viewer.may(Action::Redrive));
        assert!(Role::Viewer.may(Action::Read) && !Role::Viewer.sees_bodies());
    }
}
