//! The lock, the pause, the failover and the resource as a model that a checker explores completely: three holders that each
//! read an amount and write one more, a Redis whose leases expire at any moment and which forgets its fences once, and a
//! database.
//!
//! This is the protocol of docs/spec/lock.md, not the code. Without the fence, with one that is checked at the write only,
//! and without any of its rules, the checker finds a schedule that loses an update; with the fence first there is none.

use stateright::{Checker, Model, Property};

const NONE_LOST: &str = "K1: no update is lost";
const ALL_WRITE: &str = "some schedule lets all of them write";
const HOLDERS: usize = 3;

/// How the amount is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Unfenced,
    AtWrite,
    Begin,
    Anchor,
}

/// A rule that can be taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// A fence is raised only before anything was read under it.
    HealBeforeReading,
    /// Of two holders with the same fence the row takes one.
    OwnFence,
    /// The row is held until the transaction ends.
    HeldRow,
}

#[derive(Clone, Copy, Debug)]
struct System {
    way: Way,
    without: Option<Rule>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Holder {
    Idle,
    Acquired(u8),
    Stored(u8),
    Read {
        fence: u8,
        seen: u8,
    },
    /// Its transaction is open and holds the row.
    Open {
        seen: u8,
    },
    Done,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    /// The holder of the lock, as far as Redis knows.
    lock: Option<usize>,
    /// The last fence that Redis has recorded.
    last: u8,
    has_failed_over: bool,
    /// Fence and owner in the row.
    row: (u8, Option<usize>),
    /// Whose transaction holds the row, and what it held before.
    held: Option<(usize, (u8, Option<usize>))>,
    amount: u8,
    written: u8,
    holders: [Holder; HOLDERS],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    Acquire(usize),
    /// The lease ends: its holder was paused, or died, or is slow.
    Expire,
    FailOver,
    Store(usize),
    Read(usize),
    Open(usize),
    Write(usize),
    /// The server ends an idle transaction.
    End(usize),
}

impl System {
    /// Whether the row accepts the fence; raises it before that if permitted.
    fn check(self, state: &mut State, holder: usize, fence: u8, may_heal: bool) -> Option<u8> {
        let passes = |state: &State, fence: u8| {
            fence > state.row.0
                || fence == state.row.0 && (state.row.1 == Some(holder) || self.without == Some(Rule::OwnFence))
        };
        let mut fence = fence;
        if !passes(state, fence) {
            if state.lock != Some(holder) || !(may_heal || self.without == Some(Rule::HealBeforeReading)) {
                return None;
            }
            fence = state.last.max(state.row.0) + 1;
            state.last = fence;
        }
        Some(fence)
    }

    /// Opens a transaction that begins with the fence: its row is held from now on. `false`: refused.
    fn open(self, state: &mut State, holder: usize, fence: u8, may_heal: bool) -> Option<u8> {
        let fence = self.check(state, holder, fence, may_heal)?;
        state.held = Some((holder, state.row));
        state.row = (fence, Some(holder));
        Some(fence)
    }

    fn waits_for_the_row(self, state: &State) -> bool {
        state.held.is_some() && self.without != Some(Rule::HeldRow)
    }

    fn write(state: &mut State, holder: usize, seen: u8) {
        state.amount = seen + 1;
        state.written += 1;
        state.held.take_if(|(of, _)| *of == holder);
        state.lock.take_if(|of| *of == holder);
        state.holders[holder] = Holder::Done;
    }
}

impl Model for System {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            lock: None,
            last: 0,
            has_failed_over: false,
            row: (0, None),
            held: None,
            amount: 0,
            written: 0,
            holders: [Holder::Idle; HOLDERS],
        }]
    }

    fn actions(&self, _: &State, steps: &mut Vec<Step>) {
        steps.extend([Step::Expire, Step::FailOver]);
        for holder in 0..HOLDERS {
            let own = [Step::Acquire, Step::Store, Step::Read, Step::Open, Step::Write, Step::End];
            steps.extend(own.map(|step| step(holder)));
        }
    }

    fn next_state(&self, state: &State, step: Step) -> Option<State> {
        let mut next = state.clone();
        match step {
            Step::Expire => next.lock = None,
            Step::FailOver if !state.has_failed_over => {
                (next.lock, next.last, next.has_failed_over) = (None, 0, true);
            }
            Step::FailOver => return None,
            Step::Acquire(holder) => {
                if state.lock.is_some() || state.holders[holder] != Holder::Idle {
                    return None;
                }
                next.last += 1;
                next.lock = Some(holder);
                next.holders[holder] = Holder::Acquired(next.last);
            }
            Step::Store(holder) => {
                let Holder::Acquired(fence) = state.holders[holder] else { return None };
                if matches!(self.way, Way::Unfenced | Way::AtWrite) || self.waits_for_the_row(state) {
                    return None;
                }
                let stored = match self.way {
                    Way::Begin => self.open(&mut next, holder, fence, true),
                    _ => self.check(&mut next, holder, fence, true).inspect(|fence| next.row = (*fence, Some(holder))),
                };
                next.holders[holder] = stored.map_or(Holder::Done, Holder::Stored);
            }
            Step::Read(holder) => {
                let fence = match (self.way, state.holders[holder]) {
                    (Way::Unfenced | Way::AtWrite, Holder::Acquired(fence)) | (Way::Anchor, Holder::Stored(fence)) => {
                        fence
                    }
                    (Way::Begin, Holder::Stored(_)) => {
                        next.holders[holder] = Holder::Open { seen: state.amount };
                        return Some(next);
                    }
                    _ => return None,
                };
                next.holders[holder] = Holder::Read { fence, seen: state.amount };
            }
            Step::Open(holder) => {
                let Holder::Read { fence, seen } = state.holders[holder] else { return None };
                if matches!(self.way, Way::Unfenced | Way::Begin) || self.waits_for_the_row(state) {
                    return None;
                }
                let opened = self.open(&mut next, holder, fence, false);
                next.holders[holder] = opened.map_or(Holder::Done, |_| Holder::Open { seen });
            }
            Step::Write(holder) => match (self.way, state.holders[holder]) {
                (Way::Unfenced, Holder::Read { seen, .. }) | (_, Holder::Open { seen }) => {
                    System::write(&mut next, holder, seen);
                }
                _ => return None,
            },
            Step::End(holder) => {
                let (of, before) = state.held?;
                if of != holder {
                    return None;
                }
                (next.held, next.row, next.holders[holder]) = (None, before, Holder::Done);
            }
        }
        (next != *state).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(NONE_LOST, |_, state: &State| state.amount == state.written),
            Property::sometimes(ALL_WRITE, |_, state: &State| usize::from(state.written) == HOLDERS),
        ]
    }
}

/// Whether some schedule loses an update. (All holders can write in some schedule, else the model would prove nothing.)
fn loses(way: Way, without: Option<Rule>) -> bool {
    let checker = System { way, without }.checker().spawn_bfs().join();
    let lost = checker.discovery(NONE_LOST).is_some();
    assert!(lost || checker.discovery(ALL_WRITE).is_some(), "no schedule makes progress");
    lost
}

// shows: K1, hazard L4, lock::Guard::begin, lock::Guard::fence_first
#[test]
fn fence_before_first_read_loses_no_update() {
    assert!(!loses(Way::Begin, None));
    assert!(!loses(Way::Anchor, None));
}

// shows: K1, lock::Guard::begin
#[test]
fn missing_or_late_fence_loses_an_update() {
    assert!(loses(Way::Unfenced, None));
    assert!(loses(Way::AtWrite, None));
}

/// A holder that raised its fence after it had read would write a result based on an old state.
// shows: K1
#[test]
fn raising_the_fence_after_a_read_loses_an_update() {
    assert!(loses(Way::Anchor, Some(Rule::HealBeforeReading)));
}

/// A Redis that has forgotten its fences can hand one out twice; "not lower" lets both holders pass.
#[test]
fn fence_shared_by_two_holders_loses_an_update() {
    assert!(loses(Way::Anchor, Some(Rule::OwnFence)));
}

/// A row lock that is released before the commit blocks no other holder.
#[test]
fn missing_row_lock_loses_an_update() {
    assert!(loses(Way::Begin, Some(Rule::HeldRow)));
}
