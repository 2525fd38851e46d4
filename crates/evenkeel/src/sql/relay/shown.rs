//! A relay that runs, as the report of its process shows it.

use super::Relay;
use crate::process::draft::{Draft, Reported};
use crate::sql::database::{Database, Kind};
use evenkeel_protocol::process::report::RelayReport;

/// See the module.
pub(super) struct Shown<DB: Database>(pub(super) Relay<DB>);

impl<DB: Database> Reported for Shown<DB> {
    fn add_to(&self, draft: &mut Draft) {
        let core = self.0.core();
        let passed_ms = core.passed.lock().map(|passed| draft.at(passed));
        let relay = || {
            let database = match DB::KIND {
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
