//! [`OnGroup`]: the group of a stream that a path names, and who asks.

use crate::console::kind::UNKNOWN_LETTER;
use crate::console::on::On;
use crate::console::pages::group_path;
use evenkeel::stream::admin::{DeadLetters, LetterId, StreamAdmin};
use serde::Deserialize;
use serde_json::{Value, json};
use web::Problem;

/// A group in a path, or a dead letter of it.
#[derive(Deserialize)]
pub(in crate::console::pages) struct GroupNames {
    pub(super) stream: String,
    pub(super) group: String,
    /// The id of a dead letter; empty if the path has none.
    #[serde(default)]
    id: String,
}

pub(in crate::console::pages) type OnGroup = On<GroupNames>;

impl OnGroup {
    /// The path below which the pages of the group are.
    pub(super) fn path(&self) -> String {
        group_path(&self.names.stream, &self.names.group)
    }

    pub(super) async fn admin(&self) -> Result<StreamAdmin, Problem> {
        self.app.source.stream(&self.names.stream).await
    }

    pub(super) async fn letters(&self) -> Result<DeadLetters, Problem> {
        self.app.source.letters(&self.names.stream, &self.names.group).await
    }

    /// The dead letter that the path names.
    pub(super) fn letter(&self) -> Result<LetterId, Problem> {
        self.names.id.parse().map_err(|_| Problem::plain(UNKNOWN_LETTER))
    }

    /// The group for the audit log, with `details`.
    pub(super) fn target(&self, details: &[(&str, Value)]) -> Value {
        let mut target = json!({ "stream": self.names.stream, "group": self.names.group });
        for (name, value) in details {
            target[*name] = value.clone();
        }
        target
    }
}
