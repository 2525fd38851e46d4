//! The cache protocol as a model that a checker explores completely: every order of every step of three loaders and two
//! writers over one key, with expiring leases, evictions, and a failover that restores an older entry.
//!
//! Each rule of the protocol can be taken out. With all of them the promises hold in every reachable state; without any one of
//! them the checker finds a schedule that breaks a promise. So the model can see the bugs it claims are not there.
//!
//! This is the protocol of docs/spec/cache.md, not the code: the conformance suite and the property tests hold `memory.rs`
//! and the scripts to the same page.

mod entry;
mod joining;
mod system;

use stateright::{Checker, Model};
use system::{Rule, System};

/// Explores every state; returns the promises that broke.
fn broken(system: System) -> Vec<&'static str> {
    let reachable: Vec<_> = system.reachable_names().collect();
    broken_of(system, &reachable)
}

/// The same of any model, in which `reachable` can happen.
fn broken_of<M: Model + Send + Sync + 'static>(model: M, reachable: &[&'static str]) -> Vec<&'static str>
where
    M::State: std::hash::Hash + Clone + std::fmt::Debug + PartialEq + Send + Sync + 'static,
    M::Action: Clone + std::fmt::Debug + PartialEq + Send + Sync + 'static,
{
    let checker = model.checker().spawn_bfs().join();
    let mut broken: Vec<_> = checker.discoveries().into_keys().filter(|name| !name.starts_with("some ")).collect();
    // A property that says that something can happen is broken if it cannot: the model would then prove nothing.
    broken.extend(reachable.iter().filter(|name| checker.discovery(name).is_none()));
    broken.sort_unstable();
    broken
}

// shows: C1
#[test]
fn all_rules_keep_old_values_out_after_invalidation() {
    assert_eq!(broken(System::eventual(None)), Vec::<&str>::new());
}

// shows: C1
#[test]
fn all_rules_keep_old_values_out_after_failover() {
    assert_eq!(broken(System::failing_over(None)), Vec::<&str>::new());
}

#[test]
fn all_rules_keep_fresh_reads_fresh() {
    assert_eq!(broken(System::strong(None)), Vec::<&str>::new());
}

/// The classical stale fill: a reader reads the row and pauses, a writer commits and invalidates, the reader fills.
#[test]
fn missing_generation_admits_load_before_invalidation() {
    assert!(broken(System::eventual(Some(Rule::Generation))).contains(&system::C1));
}

/// An entry that was evicted and created again looks like the one the loader leased, if creation does not change the generation.
#[test]
fn reused_generation_lets_eviction_admit_old_load() {
    assert!(broken(System::eventual(Some(Rule::FreshCreation))).contains(&system::C1));
}

/// A fill into nothing: the entry that knew of the invalidation was evicted, and the permission was not.
#[test]
fn fill_into_missing_entry_admits_old_load() {
    assert!(broken(System::eventual(Some(Rule::Presence))).contains(&system::C1));
}

/// Two loaders hold grants of one generation because the first lease expired; the earlier one must not undo the later one.
#[test]
fn missing_ordinal_lets_earlier_load_overwrite() {
    assert!(broken(System::eventual(Some(Rule::Grant))).contains(&system::FORWARD));
}

/// A failover forgets an acknowledged invalidation; a replay before the next read restores it.
#[test]
fn missing_replay_lets_failover_restore_old_value() {
    assert!(broken(System::failing_over(Some(Rule::Redrive))).contains(&system::C1));
}

/// While an update window is open nothing may be stored, because the commit may come at any moment.
#[test]
fn missing_window_admits_fill_before_commit() {
    assert!(broken(System::strong(Some(Rule::Window))).contains(&system::C2));
}

/// Two writers at once: the first to finish must not open the way for loads while the second may still commit.
#[test]
fn shared_window_slot_closes_window_of_other_writer() {
    assert!(broken(System::strong(Some(Rule::OwnSlot))).contains(&system::C2));
}

/// A window that expired protects nothing: the writer checks it right before its commit and rolls back.
// shows: cache::OpenWindow::check, cache::WriteWindow::check
#[test]
fn missing_check_before_commit_hides_expired_window() {
    assert!(broken(System::strong(Some(Rule::Confirm))).contains(&system::C2));
}
