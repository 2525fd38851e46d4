//! Which load of another reader a reader may take: every order of two background loads of one process, a reader that begins at
//! any moment and joins any of them, a writer elsewhere whose two invalidations are acknowledged, and one fill that is dropped.
//!
//! A moment matters only by whether it came before or after the reader began, so a load records only that. Leases exclude no
//! load here (each may have expired), and the reader may join any running load: more than the process allows.

use super::broken_of;
use stateright::{Model, Property};

const STALE: &str = "a reader is served what was acknowledged before it began";
const JOINED: &str = "some reader takes a joined load";
const REFUSED: &str = "some reader takes a load after one was refused";
const ALREADY_STORED: &str = "some reader takes what the store had";

const LOADS: usize = 2;
const WRITES: u8 = 2;
/// Loads that the background may begin in all.
const BEGUN_MAX: u8 = 3;
const JOINS_MAX: u8 = 2;

/// What a load is known to reflect: every invalidation that was acknowledged before this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// The sending of a fill that was stored, the sending of a lease that found the value, or else the loader's beginning.
    KnownAt,
    /// As if every stored value were newer than its waiters.
    AnyStoredSettles,
    /// As if every dropped fill were newer than its waiters.
    DroppedFillSettles,
    /// A reader that rejected one load accepts what the second load returns.
    SecondTimeTakesAll,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Load {
    Idle,
    /// The lease is on its way.
    Asking {
        is_later: bool,
    },
    /// The store granted it.
    Granted {
        generation: u8,
    },
    /// The loader has begun.
    Reading {
        generation: u8,
        is_later: bool,
    },
    Read {
        generation: u8,
        value: u8,
        is_later: bool,
    },
    /// The fill is on its way.
    Filling {
        generation: u8,
        value: u8,
        is_later: bool,
        sent_later: bool,
    },
    /// The value, and whether what is known of it is later than the reader's beginning.
    Ready {
        value: u8,
        is_later: bool,
        how: How,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum How {
    Stored,
    Dropped,
    Superseded,
    AlreadyStored,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Reader {
    Idle,
    /// It looks for a load to join.
    Looking {
        refused: u8,
    },
    Joined {
        load: usize,
        refused: u8,
    },
    Served {
        value: u8,
        how: How,
        refused: u8,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct State {
    row: u8,
    generation: u8,
    stored: Option<u8>,
    /// A committed write's invalidation: not sent, or at the store without its acknowledgement.
    invalidating: Option<bool>,
    acknowledged: u8,
    loads: [Load; LOADS],
    begun: u8,
    has_dropped: bool,
    reader: Reader,
    /// What was acknowledged when the reader began.
    demanded: u8,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Commit,
    Invalidate,
    Acknowledge,
    Begin,
    Join(usize),
    Ask(usize),
    Lease(usize),
    Read(usize),
    Select(usize),
    Send(usize),
    Drop(usize),
    Fill(usize),
    TakeStored(usize),
}

struct Process(Rule);

impl State {
    fn has_begun(&self) -> bool {
        self.reader != Reader::Idle
    }

    fn step(&self, rule: Rule, step: Step) -> Option<State> {
        let (mut next, is_later) = (*self, self.has_begun());
        match step {
            Step::Commit if self.row < WRITES && self.invalidating.is_none() => {
                next.row += 1;
                next.invalidating = Some(false);
            }
            Step::Invalidate if self.invalidating == Some(false) => {
                (next.generation, next.stored) = (self.generation + 1, None);
                next.invalidating = Some(true);
            }
            Step::Acknowledge if self.invalidating == Some(true) => {
                (next.acknowledged, next.invalidating) = (self.row, None);
            }
            Step::Begin if !is_later => {
                (next.reader, next.demanded) = (Reader::Looking { refused: 0 }, self.acknowledged);
            }
            Step::Join(load) => {
                let Reader::Looking { refused } = self.reader else { return None };
                if self.loads[load] == Load::Idle || refused >= JOINS_MAX {
                    return None;
                }
                next.reader = Reader::Joined { load, refused };
            }
            Step::TakeStored(load) => self.take_stored(&mut next, rule, load)?,
            Step::Ask(load) if self.begun < BEGUN_MAX && self.loads[load] == Load::Idle => {
                next.loads[load] = Load::Asking { is_later };
                next.begun += 1;
            }
            Step::Commit | Step::Invalidate | Step::Acknowledge | Step::Begin | Step::Ask(_) => return None,
            Step::Lease(load)
            | Step::Read(load)
            | Step::Select(load)
            | Step::Send(load)
            | Step::Drop(load)
            | Step::Fill(load) => next.loads[load] = self.advance(&mut next, step, self.loads[load])?,
        }
        Some(next)
    }

    /// The next state of a load.
    fn advance(&self, next: &mut State, step: Step, load: Load) -> Option<Load> {
        Some(match (step, load) {
            (Step::Lease(_), Load::Asking { is_later }) => match self.stored {
                Some(value) => Load::Ready { value, is_later, how: How::AlreadyStored },
                None => Load::Granted { generation: self.generation },
            },
            (Step::Read(_), Load::Granted { generation }) => Load::Reading { generation, is_later: self.has_begun() },
            (Step::Select(_), Load::Reading { generation, is_later }) => {
                Load::Read { generation, value: self.row, is_later }
            }
            (Step::Send(_), Load::Read { generation, value, is_later }) => {
                Load::Filling { generation, value, is_later, sent_later: self.has_begun() }
            }
            (Step::Drop(_), Load::Read { value, is_later, .. }) if !self.has_dropped => {
                next.has_dropped = true;
                Load::Ready { value, is_later, how: How::Dropped }
            }
            (Step::Fill(_), Load::Filling { generation, value, is_later, sent_later }) => {
                if generation != self.generation {
                    return Some(Load::Ready { value, is_later, how: How::Superseded });
                }
                next.stored = Some(value);
                Load::Ready { value, is_later: sent_later, how: How::Stored }
            }
            _ => return None,
        })
    }

    /// The reply has arrived, and each reader that joined decides.
    fn take_stored(&self, next: &mut State, rule: Rule, load: usize) -> Option<()> {
        let Load::Ready { value, is_later, how } = self.loads[load] else { return None };
        next.loads[load] = Load::Idle;
        if let Reader::Joined { load: joined, refused } = self.reader
            && joined == load
        {
            let is_taken = match rule {
                Rule::KnownAt => is_later,
                Rule::AnyStoredSettles => is_later || how == How::Stored,
                Rule::DroppedFillSettles => is_later || how == How::Dropped,
                Rule::SecondTimeTakesAll => is_later || refused > 0,
            };
            next.reader = if is_taken {
                Reader::Served { value, how, refused }
            } else {
                Reader::Looking { refused: refused + 1 }
            };
        }
        Some(())
    }
}

impl Model for Process {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            row: 0,
            generation: 0,
            stored: None,
            invalidating: None,
            acknowledged: 0,
            loads: [Load::Idle; LOADS],
            begun: 0,
            has_dropped: false,
            reader: Reader::Idle,
            demanded: 0,
        }]
    }

    fn actions(&self, state: &State, steps: &mut Vec<Step>) {
        let mut all = vec![Step::Commit, Step::Invalidate, Step::Acknowledge, Step::Begin];
        for load in 0..LOADS {
            all.extend([Step::Ask, Step::Lease, Step::Read, Step::Select].map(|step| step(load)));
            all.extend([Step::Send, Step::Drop, Step::Fill, Step::TakeStored, Step::Join].map(|step| step(load)));
        }
        steps.extend(all.into_iter().filter(|step| state.step(self.0, *step).is_some()));
    }

    fn next_state(&self, state: &State, step: Step) -> Option<State> {
        state.step(self.0, step)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(STALE, |_, state: &State| match state.reader {
                Reader::Served { value, .. } => value >= state.demanded,
                _ => true,
            }),
            Property::sometimes(JOINED, |_, state: &State| {
                matches!(state.reader, Reader::Served { how: How::Stored | How::Dropped, refused: 0, .. })
            }),
            Property::sometimes(REFUSED, |_, state: &State| {
                matches!(state.reader, Reader::Served { refused: 1.., .. })
            }),
            Property::sometimes(ALREADY_STORED, |_, state: &State| {
                matches!(state.reader, Reader::Served { how: How::AlreadyStored, .. })
            }),
        ]
    }
}

fn broken(rule: Rule) -> Vec<&'static str> {
    broken_of(Process(rule), &[JOINED, REFUSED, ALREADY_STORED])
}

// shows: hazard A31, cache::Freshness::Eventual
#[test]
fn reader_never_accepts_an_invalidated_value() {
    assert_eq!(broken(Rule::KnownAt), Vec::<&str>::new());
}

/// The invalidation falls between the fill and its answer, and the reader begins after its acknowledgement.
#[test]
fn accepting_any_stored_value_serves_a_stale_value() {
    assert!(broken(Rule::AnyStoredSettles).contains(&STALE));
}

#[test]
fn accepting_a_dropped_fill_serves_a_stale_value() {
    assert!(broken(Rule::DroppedFillSettles).contains(&STALE));
}

/// Both loads began before the invalidation.
#[test]
fn always_accepting_second_load_serves_a_stale_value() {
    assert!(broken(Rule::SecondTimeTakesAll).contains(&STALE));
}
