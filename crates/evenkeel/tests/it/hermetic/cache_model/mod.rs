//! The cache protocol as a model that a checker walks through completely: every order of every step of three loaders and two
//! writers over one key, with leases that lapse, evictions, and a failover that brings an older entry back.
//!
//! Each rule of the protocol can be taken out. With all of them the promises hold in every reachable state; without any one of
//! them the checker finds a schedule that breaks a promise. So the model can see the bugs it claims are not there.
//!
//! This is the protocol as docs/spec/cache.md tells it, not the code: `memory.rs` and the scripts are held to the same page by
//! the conformance suite and by the property tests that compare them.

mod entry;
mod joining;
mod system;

use stateright::{Checker, Model};
use system::{Rule, System};

/// Walks through every state; answers with the promises that broke.
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

#[test]
fn with_every_rule_no_older_value_survives_an_invalidation() {
    assert_eq!(broken(System::eventual(None)), Vec::<&str>::new());
}

#[test]
fn with_every_rule_no_older_value_survives_a_failover() {
    assert_eq!(broken(System::failing_over(None)), Vec::<&str>::new());
}

#[test]
fn with_every_rule_fresh_reads_are_fresh() {
    assert_eq!(broken(System::strong(None)), Vec::<&str>::new());
}

/// The classical stale fill: a reader reads the row and pauses, a writer commits and invalidates, the reader fills.
#[test]
fn without_the_generation_a_load_from_before_the_invalidation_is_stored() {
    assert!(broken(System::eventual(Some(Rule::Generation))).contains(&system::C1));
}

/// An entry that was evicted and created again looks like the one the loader leased, if creation does not change the generation.
#[test]
fn without_a_new_generation_at_creation_an_eviction_lets_an_old_load_in() {
    assert!(broken(System::eventual(Some(Rule::FreshCreation))).contains(&system::C1));
}

/// A fill into nothing: the entry that knew of the invalidation was evicted, and the permission was not.
#[test]
fn without_the_need_for_an_entry_an_eviction_lets_an_old_load_in() {
    assert!(broken(System::eventual(Some(Rule::Presence))).contains(&system::C1));
}

/// Two loaders hold grants of one generation because the first lease lapsed; the earlier one must not undo the later one.
#[test]
fn without_the_grant_number_the_load_of_an_earlier_lease_replaces_that_of_a_later_one() {
    assert!(broken(System::eventual(Some(Rule::Grant))).contains(&system::FORWARD));
}

/// A failover forgets an invalidation that had been answered; driving it again before anybody reads brings it back.
#[test]
fn without_the_second_drive_a_failover_brings_an_old_value_back() {
    assert!(broken(System::failing_over(Some(Rule::Redrive))).contains(&system::C1));
}

/// While an update window is open nothing may be stored, because the commit may come at any moment.
#[test]
fn without_the_window_a_fill_lands_before_the_commit() {
    assert!(broken(System::strong(Some(Rule::Window))).contains(&system::C2));
}

/// Two writers at once: the first to finish must not open the way for loads while the second may still commit.
#[test]
fn without_own_slots_the_first_writer_to_finish_closes_the_window_of_the_other() {
    assert!(broken(System::strong(Some(Rule::OwnSlot))).contains(&system::C2));
}

/// A window that lapsed protects nothing: the writer looks at it right before its commit and rolls back.
#[test]
fn without_the_look_before_the_commit_a_lapsed_window_is_not_noticed() {
    assert!(broken(System::strong(Some(Rule::Confirm))).contains(&system::C2));
}
