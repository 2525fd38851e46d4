//! What was read and not yet carried out: for each rule, the changes of each key in the order of the log.

use crate::cdc::error::CdcError;
use crate::cdc::rules::{Changed, Effect, Rule};
use crate::cdc::source::{Anchor, Change, Kind, Position};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The prefix of the library's own tables, whose changes the reader causes itself.
const OWN_TABLES: &str = "evenkeel_";

/// The changes of one key, in order. For a rule that invalidates, they merge into one invalidation, and this is empty.
pub(super) type ByKey = BTreeMap<Vec<u8>, Vec<Changed>>;

/// Changes since the last checkpoint that were not carried out yet.
pub(super) struct Batch {
    /// One for each rule.
    pub(super) work: Vec<ByKey>,
    /// Where the group began whose changes came last.
    begun: Option<Position>,
    /// Whose visibility must be waited for: the begin of the last group that has changes in `work`.
    pub(super) visible: Option<Position>,
    /// The end of the last whole group.
    pub(super) end: Option<(Position, Anchor)>,
    /// When the last whole group was committed.
    pub(super) committed_at_ms: Option<u64>,
    pub(super) changes: u64,
    /// Whether effects were carried out since the last checkpoint.
    pub(super) has_effects: bool,
    /// Whether tables were changed that have no rules, others than the library's own.
    pub(super) has_others: bool,
}

impl Batch {
    pub(super) fn new(rules: usize) -> Self {
        Self {
            work: vec![ByKey::new(); rules],
            begun: None,
            visible: None,
            end: None,
            committed_at_ms: None,
            changes: 0,
            has_effects: false,
            has_others: false,
        }
    }

    pub(super) fn begin(&mut self, position: Position) {
        self.begun = Some(position);
    }

    pub(super) fn commit(&mut self, position: Position, anchor: Anchor, at_ms: Option<u64>) {
        self.begun = None;
        (self.end, self.committed_at_ms) = (Some((position, anchor)), at_ms);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.visible.is_none()
    }

    /// Adds a change for each rule of its table. Returns false if it is a change of rows that the log does not name.
    pub(super) fn add(&mut self, rules: &[Rule], change: &Change, fence: u64) -> Result<bool, CdcError> {
        let position = self.begun.clone().or_else(|| self.end.as_ref().map(|(position, _)| position.clone()));
        let position = position.unwrap_or_default();
        let mut is_taken = false;
        for (rule, work) in rules.iter().zip(&mut self.work).filter(|(rule, _)| rule.takes(&change.table)) {
            match change.kind {
                Kind::Truncate => return Ok(false),
                // A change of columns that matter to a rule shows in the next row.
                Kind::Schema => continue,
                Kind::Insert | Kind::Update | Kind::Delete => {}
            }
            let keys = rule.keys(change).map_err(|error| CdcError::Unmapped {
                rule: Arc::clone(&rule.name),
                table: change.table.clone(),
                position: position.clone(),
                reason: error.text(),
            })?;
            is_taken = true;
            for key in keys {
                let changes = work.entry(key).or_default();
                if matches!(rule.effect, Effect::Call(_)) {
                    changes.push(Changed {
                        table: change.table.clone(),
                        kind: change.kind,
                        before: change.before.clone(),
                        after: change.after.clone(),
                        position: position.text.clone(),
                        fence,
                    });
                }
            }
        }
        if is_taken {
            self.changes += 1;
            self.visible = Some(position);
        } else {
            self.has_others |= !change.table.name.starts_with(OWN_TABLES);
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cdc::rules::TableRules;
    use crate::cdc::source::{Row, Table, Value};

    fn rules() -> Vec<Rule> {
        let call = |_: Changed| async { Ok::<_, std::io::Error>(()) };
        TableRules::of("users").call("by-id", call).key("id").call("by-mail", call).key("mail").rules
    }

    fn change(table: &str, kind: Kind, id: i64, mails: [Option<&str>; 2]) -> Change {
        let row = |mail: &str| -> Row {
            [("id", Value::Int(id)), ("mail", Value::Text(mail.to_owned()))].into_iter().collect()
        };
        let table = Table { schema: "public".into(), name: table.into() };
        Change { table, kind, before: mails[0].map(row), after: mails[1].map(row) }
    }

    fn at(place: u64) -> Position {
        Position { epoch: 1, order: (place, 0), text: place.to_string() }
    }

    // shows: D6
    #[test]
    fn changes_of_a_key_keep_their_order_for_each_rule() {
        let rules = rules();
        let mut batch = Batch::new(rules.len());
        batch.begin(at(1));
        for (before, after) in [("a", "b"), ("b", "a")] {
            let change = change("users", Kind::Update, 7, [Some(before), Some(after)]);
            assert!(batch.add(&rules, &change, 1).is_ok_and(|named| named));
        }
        let mails = |key: &[u8], rule: usize| -> Vec<Option<Value>> {
            let changes = batch.work[rule].get(key).into_iter().flatten();
            changes.map(|changed| changed.after.as_ref()?.get("mail").cloned()).collect()
        };
        let in_order = [Some(Value::Text("b".to_owned())), Some(Value::Text("a".to_owned()))];
        assert_eq!(mails(b"7", 0), in_order, "the key did not change");
        assert_eq!((mails(b"a", 1), mails(b"b", 1)), (in_order.to_vec(), in_order.to_vec()), "both keys");
        assert_eq!((batch.visible.clone(), batch.changes), (Some(at(1)), 2));
    }

    #[test]
    fn other_tables_and_own_tables_have_no_effect() {
        let rules = rules();
        let mut batch = Batch::new(rules.len());
        batch.begin(at(1));
        assert!(batch.add(&rules, &change("evenkeel_cdc_source", Kind::Insert, 1, [None, Some("a")]), 1).is_ok());
        assert!(batch.is_empty() && !batch.has_others);
        assert!(batch.add(&rules, &change("orders", Kind::Truncate, 1, [None, None]), 1).is_ok_and(|named| named));
        assert!(batch.is_empty() && batch.has_others);
    }

    #[test]
    fn rows_without_names_are_told_apart() {
        let rules = rules();
        let mut batch = Batch::new(rules.len());
        assert!(batch.add(&rules, &change("users", Kind::Truncate, 1, [None, None]), 1).is_ok_and(|named| !named));
        assert!(batch.add(&rules, &change("users", Kind::Schema, 1, [None, None]), 1).is_ok_and(|named| named));
        assert!(batch.add(&rules, &change("users", Kind::Delete, 1, [None, None]), 1).is_err());
    }
}
