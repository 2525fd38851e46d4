//! Ranges that Redis hands out as a model that a checker explores completely: processes that load a committed block of two numbers when the range is
//! used up, and take numbers from it. Once, at any moment, the server is flushed, a replica that lags is promoted, the same server becomes a
//! replica of it and is promoted again, or the database is restored from an older state.
//!
//! This is the protocol of docs/spec/id.md, not the code.

use stateright::{Checker, Model, Property};

const NONE_TWICE: &str = "I5: no number is used twice";
const GOES_ON: &str = "some schedule uses numbers of two ranges after a fault";
const PROCESSES: usize = 2;
/// So many numbers has a block.
const COUNT: u8 = 2;
/// So many blocks are taken in all.
const BLOCKS: u8 = 4;

/// A rule that can be taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// Numbers are taken only from a range that this server was given in its present history.
    Tag,
    /// The history of a server is named by its replication id as well as by its run id.
    ReplicationId,
    /// A block is sent once, also if the reply is lost.
    Once,
    /// A block that begins below the witness is refused.
    AboveWitness,
}

#[derive(Clone, Copy, Debug)]
struct System {
    without: Option<Rule>,
}

/// The run id and the replication id of a server, as numbers.
type Tag = (u8, u8);

/// What the server has stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Stored {
    next: u8,
    end: u8,
    tag: Tag,
    witness: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    /// The first number that the database has not given away.
    sql: u8,
    backup: u8,
    blocks: u8,
    stored: Stored,
    copy: Stored,
    server: Tag,
    is_over: bool,
    /// The first number of a block that a process has taken and not sent.
    held: [Option<u8>; PROCESSES],
    /// Used numbers, as bits.
    used: u32,
    used_since: u8,
    is_doubled: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    BackUp,
    Copy,
    Restore,
    Flush,
    Promote,
    /// Demoted, replaced by what the replica had, and promoted again.
    PromoteAgain,
    Fetch(usize),
    Load(usize),
    /// The block arrives, and the reply is lost.
    LoadLost(usize),
    Take,
}

impl System {
    fn has(self, rule: Rule) -> bool {
        self.without != Some(rule)
    }

    /// Whether the range belongs to what the server has been given since its history began.
    fn is_own(self, state: &State) -> bool {
        let (run, replication) = (state.stored.tag.0 == state.server.0, state.stored.tag.1 == state.server.1);
        !self.has(Rule::Tag) || run && (replication || !self.has(Rule::ReplicationId))
    }

    fn load(self, state: &mut State, from: u8) {
        let is_used_up = !self.is_own(state) || state.stored.next == state.stored.end;
        if from < state.stored.witness && self.has(Rule::AboveWitness) {
            // The database is behind: it goes on above.
            state.sql = state.sql.max(state.stored.witness);
        } else if is_used_up {
            let end = from + COUNT;
            state.stored = Stored { next: from, end, tag: state.server, witness: state.stored.witness.max(end) };
        }
    }

    fn take(self, state: &mut State) -> bool {
        if !self.is_own(state) || state.stored.next == state.stored.end {
            return false;
        }
        let number = 1 << state.stored.next;
        state.is_doubled |= state.used & number != 0;
        state.used |= number;
        state.used_since += u8::from(state.is_over);
        state.stored.next += 1;
        true
    }
}

impl Model for System {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            sql: 1,
            backup: 1,
            blocks: 0,
            stored: Stored::default(),
            copy: Stored::default(),
            server: (1, 1),
            is_over: false,
            held: [None; PROCESSES],
            used: 0,
            used_since: 0,
            is_doubled: false,
        }]
    }

    fn actions(&self, state: &State, steps: &mut Vec<Step>) {
        if !state.is_over {
            steps.extend([Step::BackUp, Step::Copy, Step::Restore, Step::Flush, Step::Promote, Step::PromoteAgain]);
        }
        steps.extend(
            (0..PROCESSES).flat_map(|process| [Step::Fetch, Step::Load, Step::LoadLost].map(|step| step(process))),
        );
        steps.push(Step::Take);
    }

    fn next_state(&self, state: &State, step: Step) -> Option<State> {
        let mut next = state.clone();
        next.is_over |= matches!(step, Step::Restore | Step::Flush | Step::Promote | Step::PromoteAgain);
        match step {
            Step::BackUp => next.backup = state.sql,
            Step::Copy => next.copy = state.stored,
            Step::Restore => next.sql = state.backup,
            Step::Flush => next.stored = Stored::default(),
            Step::Promote => (next.stored, next.server) = (state.copy, (2, 2)),
            Step::PromoteAgain => (next.stored, next.server) = (state.copy, (1, 2)),
            Step::Fetch(process) => {
                if state.blocks == BLOCKS || state.held[process].is_some() {
                    return None;
                }
                next.held[process] = Some(state.sql);
                (next.sql, next.blocks) = (state.sql + COUNT, state.blocks + 1);
            }
            Step::Load(process) => {
                let from = next.held[process].take()?;
                self.load(&mut next, from);
            }
            Step::LoadLost(process) => {
                self.load(&mut next, state.held[process]?);
                if self.has(Rule::Once) {
                    next.held[process] = None;
                }
            }
            Step::Take if self.take(&mut next) => {}
            Step::Take => return None,
        }
        (next != *state).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(NONE_TWICE, |_, state: &State| !state.is_doubled),
            Property::sometimes(GOES_ON, |_, state: &State| state.is_over && state.used_since > COUNT),
        ]
    }
}

/// Whether some schedule uses a number twice. (Some schedule makes progress, else the model would prove nothing.)
fn repeats(without: Option<Rule>) -> bool {
    let checker = System { without }.checker().spawn_bfs().join();
    let repeated = checker.discovery(NONE_TWICE).is_some();
    assert!(repeated || checker.discovery(GOES_ON).is_some(), "no schedule makes progress");
    repeated
}

// shows: I5
#[test]
fn all_rules_of_ranges_repeat_no_number() {
    assert!(!repeats(None));
}

// shows: hazard GI15
#[test]
fn range_without_a_tag_is_handed_out_again_by_a_promoted_replica() {
    assert!(repeats(Some(Rule::Tag)));
}

/// A primary that was demoted and promoted again has its run id, and what the other one had.
// shows: hazard GI15
#[test]
fn run_id_alone_hands_a_range_out_again_after_a_second_promotion() {
    assert!(repeats(Some(Rule::ReplicationId)));
}

/// The range was used up and the server flushed meanwhile.
// shows: hazard GI15
#[test]
fn block_that_is_sent_again_is_used_again() {
    assert!(repeats(Some(Rule::Once)));
}

// shows: hazard GI15
#[test]
fn block_below_the_witness_is_used_again_after_a_restore() {
    assert!(repeats(Some(Rule::AboveWitness)));
}
