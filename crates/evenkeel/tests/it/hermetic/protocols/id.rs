//! Reserved time as a model that a checker explores completely: one worker id, owners that are paused anywhere, and a store that is once replaced
//! by a copy of an earlier time, with a clock that is behind, or whose clock is once set forward or back.
//!
//! This is the protocol of docs/spec/id.md, not the code. With all rules no schedule issues an id twice; without any of them, one does.

use stateright::{Checker, Model, Property};

const NONE_TWICE: &str = "I1: no id is issued twice";
const TWO_ISSUE: &str = "some schedule lets two owners issue";
const OWNERS: usize = 3;
/// The end of the explored time.
const END: u8 = 7;
const LEASE: u8 = 3;
const AHEAD: u8 = 2;
const MARGIN: u8 = 1;
/// By how much the store's clock is set.
const SKEWS: [i8; 4] = [-6, -3, 3, 6];

/// A rule that can be taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// A new owner begins `AHEAD` and `MARGIN` above now, not only above the reserved time that the store remembers.
    AboveForgotten,
    /// The same, without the margin for a clock that is behind.
    Margin,
    /// A new owner begins above all time that the store remembers as reserved, not only above now and what may have been forgotten.
    AboveReserved,
    /// Only the owner extends.
    Owner,
    /// Only a lease that is not over is extended.
    Lease,
    /// All owners have the same `AHEAD`.
    OneAhead,
    /// An owner issues nothing beyond what it has seen reserved.
    Seen,
}

/// What happens to the store, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// A replica is promoted that has forgotten the latest steps.
    Promotion,
    /// Its clock is set; its history is unbroken.
    ClockStep,
}

#[derive(Clone, Copy, Debug)]
struct System {
    fault: Fault,
    without: Option<Rule>,
}

/// What the store has.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Store {
    owner: Option<usize>,
    lease: u8,
    until: u8,
}

/// An owner: the beginning of its reserved time, and its end, as far as the owner has seen.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Owner {
    from: u8,
    until: u8,
    /// What a reply under way says.
    reply: Option<u8>,
    is_released: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    now: u8,
    /// By how much the store's clock is ahead, or behind if it is negative.
    skew: i8,
    store: Store,
    copy: Option<Store>,
    /// The fault has happened.
    is_over: bool,
    owners: [Option<Owner>; OWNERS],
    /// The ids that each owner has issued, one per tick.
    issued: [u32; OWNERS],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    Pass,
    /// A replica has got this far.
    Copy,
    /// The replica is promoted, with a clock that may be behind.
    Promote {
        behind: u8,
    },
    /// The store's clock is set, by any number of ticks: its history is unbroken.
    Set {
        skew: i8,
    },
    Acquire(usize),
    /// The store extends; its reply is under way.
    Extend(usize),
    Reply(usize),
    /// The lease ends; what the owner has seen reserved stays its own.
    Release(usize),
    /// Everything that the owner may issue is issued: issuing less proves less.
    Issue(usize),
}

impl State {
    /// What the store's clock shows.
    fn store_now(&self) -> u8 {
        self.now.saturating_add_signed(self.skew)
    }
}

impl System {
    fn has(self, rule: Rule) -> bool {
        self.without != Some(rule)
    }

    fn ahead(self, owner: usize) -> u8 {
        if self.has(Rule::OneAhead) || owner != 0 { AHEAD } else { AHEAD + 3 }
    }

    fn acquire(self, state: &mut State, owner: usize) -> bool {
        let now = state.store_now();
        if state.owners[owner].is_some() || state.store.owner.is_some() && state.store.lease > now {
            return false;
        }
        let mut from = now;
        if self.has(Rule::AboveReserved) {
            from = from.max(state.store.until);
        }
        if self.has(Rule::AboveForgotten) {
            let margin = if self.has(Rule::Margin) { MARGIN } else { 0 };
            from = from.max(now + self.ahead(owner) + margin);
        }
        state.store = Store { owner: Some(owner), lease: now + LEASE, until: from };
        state.owners[owner] = Some(Owner { from, until: from, reply: None, is_released: false });
        true
    }

    fn extend(self, state: &mut State, owner: usize) -> bool {
        let now = state.store_now();
        let Some(own) = &mut state.owners[owner] else { return false };
        // A release waits for the extension before it, and none follows.
        if own.reply.is_some() || own.is_released || self.has(Rule::Owner) && state.store.owner != Some(owner) {
            return false;
        }
        // A successor has reserved nothing within the margin after its acquisition, so a clock that is behind changes nothing here.
        if self.has(Rule::Lease) && state.store.lease <= now {
            return false;
        }
        state.store.until = state.store.until.max(now + self.ahead(owner));
        state.store.lease = state.store.lease.max(now + LEASE);
        own.reply = Some(state.store.until);
        true
    }

    fn issue(self, state: &mut State, owner: usize) -> bool {
        let Some(own) = &state.owners[owner] else { return false };
        let until = if self.has(Rule::Seen) { own.until } else { own.until.max(state.now + AHEAD) };
        (own.from..until).for_each(|tick| state.issued[owner] |= 1 << tick);
        true
    }
}

impl Model for System {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            now: MARGIN,
            skew: 0,
            store: Store { owner: None, lease: 0, until: 0 },
            copy: None,
            is_over: false,
            owners: [const { None }; OWNERS],
            issued: [0; OWNERS],
        }]
    }

    fn actions(&self, state: &State, steps: &mut Vec<Step>) {
        if state.now < END {
            steps.push(Step::Pass);
        }
        match self.fault {
            _ if state.is_over => {}
            Fault::Promotion => {
                steps.extend([Step::Copy, Step::Promote { behind: 0 }, Step::Promote { behind: MARGIN }]);
            }
            Fault::ClockStep => steps.extend(SKEWS.map(|skew| Step::Set { skew })),
        }
        // Two owners and releases show what a clock step does, three owners what a promotion does.
        let is_stepped = self.fault == Fault::ClockStep;
        for owner in 0..if is_stepped { 2 } else { OWNERS } {
            steps.extend([Step::Acquire, Step::Extend, Step::Reply, Step::Issue].map(|step| step(owner)));
            if is_stepped {
                steps.push(Step::Release(owner));
            }
        }
    }

    fn next_state(&self, state: &State, step: Step) -> Option<State> {
        let mut next = state.clone();
        let is_possible = match step {
            Step::Pass => {
                next.now += 1;
                true
            }
            Step::Copy => next.copy.replace(state.store.clone()).is_none(),
            Step::Promote { behind } => {
                next.store = next.copy.take()?;
                (next.skew, next.is_over) = (-behind.cast_signed(), true);
                true
            }
            Step::Set { skew } => {
                (next.skew, next.is_over) = (skew, true);
                true
            }
            Step::Acquire(owner) => self.acquire(&mut next, owner),
            Step::Extend(owner) => self.extend(&mut next, owner),
            Step::Reply(owner) => {
                let own = next.owners[owner].as_mut()?;
                let until = own.reply.take()?;
                own.until = own.until.max(until);
                true
            }
            Step::Release(owner) => {
                let own = next.owners[owner].as_mut().filter(|own| own.reply.is_none())?;
                own.is_released = true;
                if state.store.owner == Some(owner) {
                    next.store.lease = next.store.lease.min(state.store_now());
                }
                true
            }
            Step::Issue(owner) => self.issue(&mut next, owner),
        };
        (is_possible && next != *state).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(NONE_TWICE, |_, state: &State| !overlaps(state)),
            Property::sometimes(TWO_ISSUE, |_, state: &State| {
                state.issued.iter().filter(|issued| **issued != 0).count() >= 2
            }),
        ]
    }
}

/// Whether two owners have issued the same id.
fn overlaps(state: &State) -> bool {
    let mut pairs = (0..OWNERS).flat_map(|one| (0..one).map(move |other| (one, other)));
    pairs.any(|(one, other)| state.issued[one] & state.issued[other] != 0)
}

/// Whether some schedule issues an id twice. (Two owners can issue in some schedule, else the model would prove nothing.)
fn repeats(fault: Fault, without: Option<Rule>) -> bool {
    let checker = System { fault, without }.checker().spawn_bfs().join();
    let repeated = checker.discovery(NONE_TWICE).is_some();
    assert!(repeated || checker.discovery(TWO_ISSUE).is_some(), "no schedule makes progress");
    repeated
}

// shows: I1
#[test]
fn all_rules_of_reserved_time_repeat_no_id() {
    assert!(!repeats(Fault::Promotion, None));
    assert!(!repeats(Fault::ClockStep, None));
}

/// To begin above what the store remembers is not enough: a promoted replica has forgotten an acquisition, and gives the worker id away again.
// shows: hazard GI4
#[test]
fn new_owner_just_above_remembered_time_repeats_an_id() {
    assert!(repeats(Fault::Promotion, Some(Rule::AboveForgotten)));
}

// shows: hazard GI4, id::Snowflake
#[test]
fn clock_behind_without_a_margin_repeats_an_id() {
    assert!(repeats(Fault::Promotion, Some(Rule::Margin)));
}

/// A clock that is set back shows a time that was reserved before: a distance from now does not help.
// shows: hazard GI2
#[test]
fn new_owner_at_a_distance_from_now_repeats_an_id_after_a_clock_step() {
    assert!(repeats(Fault::ClockStep, Some(Rule::AboveReserved)));
}

// shows: hazard GI5
#[test]
fn extension_by_a_superseded_owner_repeats_an_id() {
    assert!(repeats(Fault::Promotion, Some(Rule::Owner)));
}

/// A promoted replica has forgotten the successor of an owner, which goes on.
// shows: hazard GI5
#[test]
fn extension_of_a_lease_that_is_over_repeats_an_id() {
    assert!(repeats(Fault::Promotion, Some(Rule::Lease)));
}

/// The settings are stored per scope, because two programs with different ones repeat ids when the store forgets.
// shows: hazard GI7
#[test]
fn two_lengths_of_reserved_time_repeat_an_id() {
    assert!(repeats(Fault::Promotion, Some(Rule::OneAhead)));
}

#[test]
fn owner_beyond_its_reserved_time_repeats_an_id() {
    assert!(repeats(Fault::Promotion, Some(Rule::Seen)));
}
