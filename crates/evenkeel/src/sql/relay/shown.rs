//! A relay that runs, as the report of its process shows it.

use super::runner::Runner;
use crate::process::draft::{Draft, Reported};
use crate::sql::database::Kind;
use evenkeel_protocol::process::report::RelayReport;

/// See the module.
pub(super) struct Shown(pub(super) Runner);

impl Reported for Shown {
    fn add_to(&self, draft: &mut Draft) {
        let core = self.0.core();
        let passed_ms = core.passed.lock().map(|passed| draft.at(passed));
        let relay = || {
            let database = match core.pool.dialect().kind {
                Kind::MySql => "MySQL",
                Kind::Postgres => "PostgreSQL",
                Kind::Sqlite => "SQLite",
            };
            let mut relay = RelayReport::default();
            database.clone_into(&mut relay.database);
            relay.outbox = core.source.get().map(ToString::to_string);
            relay.passed_ms = passed_ms;
            relay
        };
        draft.add(|report| &mut report.relays, relay);
    }
}
