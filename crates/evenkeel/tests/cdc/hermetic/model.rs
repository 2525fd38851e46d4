//! Change capture as a model that a checker explores completely: the log of a server, what of it is visible, a failover that loses what was
//! not, a cache entry, a reader that fills it, and a connector that is killed at any moment.
//!
//! This is the protocol of docs/spec/cdc.md, not the code. A row has the values 0, 1, 2, ..: each commit writes the next one.

use stateright::{Checker, Model, Property};

const NO_OLD_VALUE: &str = "D1: after a change is applied no value from before it is stored";
const NONE_MISSED: &str = "D2: a connector that has read everything has applied everything";
const ALL_APPLIED: &str = "some schedule applies the last change";
const COMMITS: u8 = 2;

/// A rule that can be taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// A change is applied when the loaders see it, not when the log shows it.
    Barrier,
    /// A checkpoint is saved after the effects that it covers.
    EffectsFirst,
}

#[derive(Clone, Copy, Debug)]
struct System {
    without: Option<Rule>,
}

/// A cache entry. Its generation is that of its last invalidation, or of its creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Entry {
    generation: u8,
    value: Option<u8>,
}

/// A reader that has missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Load {
    generation: u8,
    row: Option<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    /// The last commit that the log has.
    logged: u8,
    /// The last commit that statements see.
    visible: u8,
    is_failed_over: bool,
    entry: Option<Entry>,
    generations: u8,
    load: Option<Load>,
    evictions: u8,
    /// What the connector has read, applied and saved.
    read: u8,
    applied: u8,
    saved: u8,
    kills: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    Commit,
    Show,
    FailOver,
    Miss,
    Read,
    Fill,
    Evict,
    Receive,
    Apply,
    Save,
    Kill,
}

impl System {
    fn has(self, rule: Rule) -> bool {
        self.without != Some(rule)
    }

    /// The steps of the connector.
    fn connect(self, state: &State, step: Step) -> Option<State> {
        let mut next = state.clone();
        match step {
            Step::Receive if state.read < state.logged && state.read == state.applied => next.read += 1,
            Step::Apply if state.applied < state.read => {
                if self.has(Rule::Barrier) && state.visible < state.read {
                    return None;
                }
                if self.has(Rule::EffectsFirst) || state.saved >= state.read {
                    next.invalidate();
                    next.applied = state.read;
                } else {
                    return None;
                }
            }
            Step::Save if self.has(Rule::EffectsFirst) => next.saved = state.applied,
            Step::Save => next.saved = state.read,
            Step::Kill if state.kills < 1 => {
                next.kills += 1;
                (next.read, next.applied) = (state.saved, state.saved);
            }
            _ => return None,
        }
        Some(next)
    }
}

impl State {
    /// An invalidation creates no entry: what is absent stays absent, and remembers nothing.
    fn invalidate(&mut self) {
        if self.entry.is_some() {
            self.entry = Some(Entry { generation: self.generation(), value: None });
        }
    }

    fn generation(&mut self) -> u8 {
        self.generations += 1;
        self.generations
    }

    /// The steps of the reader.
    fn load(&self, step: Step) -> Option<State> {
        let mut next = self.clone();
        match (step, self.load) {
            (Step::Miss, None) if self.entry.is_none_or(|entry| entry.value.is_none()) => {
                let entry = self.entry.unwrap_or_else(|| Entry { generation: next.generation(), value: None });
                (next.entry, next.load) = (Some(entry), Some(Load { generation: entry.generation, row: None }));
            }
            (Step::Read, Some(load @ Load { row: None, .. })) => {
                next.load = Some(Load { row: Some(self.visible), ..load });
            }
            (Step::Fill, Some(Load { generation, row: Some(row) })) => {
                if self.entry.is_some_and(|entry| entry.generation == generation) {
                    next.entry = Some(Entry { generation, value: Some(row) });
                }
                next.load = None;
            }
            _ => return None,
        }
        Some(next)
    }
}

impl Model for System {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            logged: 0,
            visible: 0,
            is_failed_over: false,
            entry: None,
            generations: 0,
            load: None,
            evictions: 0,
            read: 0,
            applied: 0,
            saved: 0,
            kills: 0,
        }]
    }

    fn actions(&self, _: &State, steps: &mut Vec<Step>) {
        use Step::*;
        steps.extend([Commit, Show, FailOver, Miss, Read, Fill, Evict, Receive, Apply, Save, Kill]);
    }

    fn next_state(&self, state: &State, step: Step) -> Option<State> {
        let mut next = state.clone();
        match step {
            Step::Commit if state.logged < COMMITS => next.logged += 1,
            Step::Show if state.visible < state.logged => next.visible += 1,
            // The promoted server has what was visible. What the connector had read beyond is not continued by it: the source starts from
            // the checkpoint, which the barrier has kept behind.
            Step::FailOver if !state.is_failed_over && state.logged > state.visible => {
                (next.is_failed_over, next.logged) = (true, state.visible);
                let at = state.saved.min(state.visible);
                (next.read, next.applied, next.saved) = (at, at, at);
            }
            Step::Evict if state.evictions < 1 && state.entry.is_some() => {
                (next.evictions, next.entry) = (1, None);
            }
            Step::Miss | Step::Read | Step::Fill => return state.load(step),
            Step::Receive | Step::Apply | Step::Save | Step::Kill => next = self.connect(state, step)?,
            _ => return None,
        }
        (next != *state).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(NO_OLD_VALUE, |_, state: &State| {
                let value = state.entry.and_then(|entry| entry.value);
                value.is_none_or(|value| value >= state.applied)
            }),
            Property::always(NONE_MISSED, |_, state: &State| {
                let is_quiet = state.applied == state.logged && state.visible == state.logged && state.load.is_none();
                let value = state.entry.and_then(|entry| entry.value);
                !is_quiet || value.is_none_or(|value| value == state.logged)
            }),
            Property::sometimes(ALL_APPLIED, |_, state: &State| state.applied == COMMITS && state.kills == 1),
        ]
    }

    fn within_boundary(&self, state: &State) -> bool {
        state.generations <= 6
    }
}

/// The schedule that breaks a property, if there is one. (Some schedule makes progress, else the model would prove nothing.)
fn broken(without: Option<Rule>) -> Option<(&'static str, Vec<Step>)> {
    let checker = System { without }.checker().spawn_bfs().join();
    let found = [NO_OLD_VALUE, NONE_MISSED].into_iter().find_map(|property| {
        let schedule = checker.discovery(property)?.into_actions();
        Some((property, schedule))
    });
    assert!(found.is_some() || checker.discovery(ALL_APPLIED).is_some(), "no schedule makes progress");
    found
}

// shows: D1
#[test]
fn all_rules_of_change_capture_leave_no_old_value() {
    assert_eq!(broken(None), None);
}

/// The entry is absent when the change is applied, so the invalidation leaves no trace; then a reader fills the row from before.
// shows: D1, hazard CD1
#[test]
fn model_without_the_barrier_finds_the_absent_entry() {
    let (property, schedule) = broken(Some(Rule::Barrier)).expect("a schedule that breaks it");
    assert_eq!(property, NO_OLD_VALUE);
    let at = |step| schedule.iter().position(|taken| *taken == step);
    assert!(at(Step::Apply) < at(Step::Miss), "{schedule:?}");
    assert!(at(Step::Show).is_none_or(|shown| at(Step::Read) < Some(shown)), "{schedule:?}");
}

// shows: D2, hazard CD4
#[test]
fn checkpoint_before_its_effects_misses_a_change() {
    let (property, schedule) = broken(Some(Rule::EffectsFirst)).expect("a schedule that breaks it");
    assert!(schedule.contains(&Step::Kill), "{property}: {schedule:?}");
}
