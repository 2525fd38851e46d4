//! The witness of a sequence as a model that a checker explores completely: processes that take blocks of one number, a database that is once
//! restored from an older state, and a store that once loses the witness, each at any moment.
//!
//! This is the protocol of docs/spec/id.md, not the code.

use stateright::{Checker, Model, Property};

const NONE_TWICE: &str = "I4: no number is used twice, unless both went back after it was first taken";
const ALL_USE: &str = "some schedule lets all processes use a number after both went back";
const PROCESSES: usize = 4;
/// Each process takes so many blocks at most: a further block is like that of a further process.
const TAKES: u8 = 1;

/// A rule that can be taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// A block below the witness is refused. Without it the witness is a plain maximum, which is compared with the database afterwards.
    Refuse,
    /// A raise that finds no witness leaves one.
    Mark,
    /// The witness is raised before the block is used.
    BeforeUse,
}

#[derive(Clone, Copy, Debug)]
struct System {
    without: Option<Rule>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Process {
    taken: u8,
    /// A block that was taken and is not witnessed.
    block: Option<Use>,
    /// A block that was used before it was witnessed.
    unwitnessed: Option<u8>,
}

/// A number that was taken: whether the database and the witness had gone back before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Use {
    number: u8,
    restored: bool,
    forgotten: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    next: u8,
    backup: u8,
    restored: bool,
    witness: Option<u8>,
    forgotten: bool,
    processes: [Process; PROCESSES],
    uses: Vec<Use>,
    is_doubled: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    BackUp,
    Restore,
    Forget,
    Take(usize),
    Raise(usize),
}

impl State {
    fn uses(&mut self, process: usize, block: Use) {
        let mut earlier = self.uses.iter().filter(|earlier| earlier.number == block.number);
        // The promise does not hold if both went back since the first of the two took the number.
        self.is_doubled |= earlier.any(|earlier| {
            let was_restored = self.restored && !(earlier.restored && block.restored);
            let was_forgotten = self.forgotten && !(earlier.forgotten && block.forgotten);
            !(was_restored && was_forgotten)
        });
        self.uses.push(block);
        self.uses.sort_unstable();
        self.processes[process].block = None;
    }
}

impl System {
    fn has(self, rule: Rule) -> bool {
        self.without != Some(rule)
    }

    fn raise(self, state: &mut State, process: usize, block: Use) {
        let (number, until) = (block.number, block.number + 1);
        match state.witness {
            Some(witness) if number < witness && self.has(Rule::Refuse) => {
                state.processes[process].block = None;
                state.next = state.next.max(if state.next < witness { witness + 1 } else { 0 });
            }
            // A plain maximum: an error only if the database is behind it now.
            Some(witness) if number < witness && state.next < witness => state.processes[process].block = None,
            None if !self.has(Rule::Mark) => state.uses(process, block),
            witness => {
                state.witness = witness.max(Some(until));
                state.uses(process, block);
            }
        }
    }
}

impl Model for System {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        let process = Process { taken: 0, block: None, unwitnessed: None };
        vec![State {
            next: 1,
            backup: 1,
            restored: false,
            witness: None,
            forgotten: false,
            processes: [process; PROCESSES],
            uses: Vec::new(),
            is_doubled: false,
        }]
    }

    fn actions(&self, _: &State, steps: &mut Vec<Step>) {
        steps.extend([Step::BackUp, Step::Restore, Step::Forget]);
        steps.extend((0..PROCESSES).flat_map(|process| [Step::Take(process), Step::Raise(process)]));
    }

    fn next_state(&self, state: &State, step: Step) -> Option<State> {
        let mut next = state.clone();
        match step {
            Step::BackUp => next.backup = state.next,
            Step::Restore if !state.restored => (next.next, next.restored) = (state.backup, true),
            Step::Forget if !state.forgotten => (next.witness, next.forgotten) = (None, true),
            Step::Restore | Step::Forget => return None,
            Step::Take(at) => {
                let process = &mut next.processes[at];
                if process.taken == TAKES || process.block.is_some() || process.unwitnessed.is_some() {
                    return None;
                }
                process.taken += 1;
                let block = Use { number: next.next, restored: next.restored, forgotten: next.forgotten };
                next.next += 1;
                if self.has(Rule::BeforeUse) {
                    next.processes[at].block = Some(block);
                } else {
                    next.uses(at, block);
                    next.processes[at].unwitnessed = Some(block.number);
                }
            }
            Step::Raise(at) => match (state.processes[at].block, state.processes[at].unwitnessed) {
                (Some(block), _) => self.raise(&mut next, at, block),
                (None, Some(used)) => {
                    next.witness = state.witness.max(Some(used + 1));
                    next.processes[at].unwitnessed = None;
                }
                _ => return None,
            },
        }
        (next != *state).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(NONE_TWICE, |_, state: &State| !state.is_doubled),
            Property::sometimes(ALL_USE, |_, state: &State| {
                state.restored && state.forgotten && state.uses.len() >= PROCESSES
            }),
        ]
    }
}

/// Whether some schedule uses a number twice. (Some schedule makes progress, else the model would prove nothing.)
fn repeats(without: Option<Rule>) -> bool {
    let checker = System { without }.checker().spawn_bfs().join();
    let repeated = checker.discovery(NONE_TWICE).is_some();
    assert!(repeated || checker.discovery(ALL_USE).is_some(), "no schedule makes progress");
    repeated
}

// shows: I4
#[test]
fn all_rules_of_the_witness_repeat_no_number() {
    assert!(!repeats(None));
}

/// A restored database that has caught up with a plain maximum looks like one whose processes are slow.
// shows: hazard GI14
#[test]
fn witness_that_is_a_plain_maximum_repeats_a_number() {
    assert!(repeats(Some(Rule::Refuse)));
}

// shows: hazard GI14
#[test]
fn raise_that_leaves_no_mark_repeats_a_number() {
    assert!(repeats(Some(Rule::Mark)));
}

// shows: hazard GI14
#[test]
fn use_before_the_witness_repeats_a_number() {
    assert!(repeats(Some(Rule::BeforeUse)));
}
