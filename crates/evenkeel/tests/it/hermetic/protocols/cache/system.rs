//! Loaders, writers, one row and one entry: everything that can happen next.

use super::entry::Entry;
use stateright::{Model, Property};

pub(super) const C1: &str = "C1: no value older than an answered invalidation is stored";
pub(super) const C2: &str = "C2: no value older than the row is stored";
pub(super) const FORWARD: &str = "the load of an earlier lease never replaces that of a later one";
const SERVED: &str = "some reader is served";
const SERVED_NEWEST: &str = "some reader is served the newest version";

const LOADERS: usize = 3;
const WRITERS: usize = 2;

/// A rule of the protocol that can be taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// A fill needs the generation its lease saw.
    Generation,
    /// A created entry has a new generation.
    FreshCreation,
    /// A fill needs an entry.
    Presence,
    /// A fill needs a higher ordinal than the last one.
    Grant,
    /// Acknowledged invalidations are replayed after a failover, before the next read.
    Redrive,
    /// No lease is granted while a window is open.
    Window,
    /// A writer ends its own window only.
    OwnSlot,
    /// The writer looks at its window right before the commit.
    Confirm,
}

/// The system with one rule taken out, or none.
#[derive(Clone, Copy, Debug)]
pub(super) struct System {
    without: Option<Rule>,
    loaders: usize,
    strong: bool,
    fails_over: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Loader {
    Idle,
    Leased { generation: u8, grant: u8, lease: u8 },
    Loaded { generation: u8, grant: u8, lease: u8, version: u8 },
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Writer {
    Idle,
    /// The update window is open (strong only).
    Began,
    /// The window was still open a moment ago (strong only).
    Confirmed,
    /// Committed; the invalidation is still to come.
    Committed(u8),
    Done,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct State {
    row: u8,
    entry: Option<Entry>,
    /// What the replica knows; a failover makes it the truth.
    replica: Option<Option<Entry>>,
    failed_over: bool,
    generations: u8,
    loaders: [Loader; LOADERS],
    writers: [Writer; WRITERS],
    /// The newest version whose invalidation was answered.
    answered: u8,
    /// Leases so far, in the order in which they were granted.
    leases: u8,
    /// A value was replaced by the load of an earlier lease within a generation.
    went_back: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Step {
    Lease(usize),
    Select(usize),
    Fill(usize),
    LeaseExpires,
    Evict,
    Replicate,
    FailOver,
    Begin(usize),
    WindowExpires(usize),
    Confirm(usize),
    Commit(usize),
    Invalidate(usize),
}

impl System {
    /// Writers commit, then invalidate. The store evicts.
    pub(super) fn eventual(without: Option<Rule>) -> Self {
        Self { without, loaders: LOADERS, strong: false, fails_over: false }
    }

    /// The store evicts, and a replica that knows less takes over once. (One loader less: the space is large.)
    pub(super) fn failing_over(without: Option<Rule>) -> Self {
        Self { without, loaders: LOADERS - 1, strong: false, fails_over: true }
    }

    /// Writers open a window, check it, commit and close it. Windows expire before that check. (There is no promise for an
    /// expiry between the check and the commit, nor for an eviction inside a window.)
    pub(super) fn strong(without: Option<Rule>) -> Self {
        Self { without, loaders: LOADERS, strong: true, fails_over: false }
    }

    pub(super) fn reachable_names(&self) -> impl Iterator<Item = &'static str> {
        [SERVED, SERVED_NEWEST].into_iter()
    }

    fn has(&self, rule: Rule) -> bool {
        self.without != Some(rule)
    }

    fn lease(&self, state: &mut State, loader: usize) -> Option<()> {
        let generation = if self.has(Rule::FreshCreation) { state.next_generation() } else { 0 };
        let entry = state.entry.get_or_insert(Entry { generation, ..Entry::default() });
        let writing = entry.windows != 0 && self.has(Rule::Window);
        if entry.leased || entry.value.is_some() || writing {
            return None;
        }
        entry.leased = true;
        entry.granted += 1;
        state.leases += 1;
        state.loaders[loader] =
            Loader::Leased { generation: entry.generation, grant: entry.granted, lease: state.leases };
        Some(())
    }

    fn fill(&self, state: &mut State, loader: usize) -> Option<()> {
        let Loader::Loaded { generation, grant, lease, version } = state.loaders[loader] else { return None };
        state.loaders[loader] = Loader::Done;
        let entry = match (&mut state.entry, self.has(Rule::Presence)) {
            (Some(entry), _) => entry,
            (None, true) => return Some(()),
            (empty @ None, false) => empty.insert(Entry { generation, ..Entry::default() }),
        };
        let same = entry.generation == generation || !self.has(Rule::Generation);
        let later = grant > entry.filled || !self.has(Rule::Grant);
        if same && later {
            state.went_back |= entry.value.is_some() && entry.generation == generation && entry.lease > lease;
            (entry.value, entry.filled, entry.lease, entry.leased) = (Some(version), grant, lease, false);
        }
        Some(())
    }

    fn begin(state: &mut State, writer: usize) {
        let generation = state.next_generation();
        let entry = state.entry.get_or_insert_default();
        entry.invalidate(generation);
        entry.windows |= 1 << writer;
        state.writers[writer] = Writer::Began;
    }

    fn confirm(&self, state: &mut State, writer: usize) {
        let open = state.entry.is_some_and(|entry| entry.windows & (1 << writer) != 0);
        let rolls_back = !open && self.has(Rule::Confirm);
        state.writers[writer] = if rolls_back { Writer::Done } else { Writer::Confirmed };
    }

    fn commit(state: &mut State, writer: usize) {
        state.row += 1;
        state.writers[writer] = Writer::Committed(state.row);
    }

    fn invalidate(&self, state: &mut State, writer: usize) -> Option<()> {
        let Writer::Committed(version) = state.writers[writer] else { return None };
        let generation = state.next_generation();
        if let Some(entry) = &mut state.entry {
            entry.invalidate(generation);
            entry.windows &= if self.has(Rule::OwnSlot) { !(1 << writer) } else { 0 };
        }
        state.answered = state.answered.max(version);
        state.writers[writer] = Writer::Done;
        Some(())
    }

    fn fail_over(&self, state: &mut State) -> Option<()> {
        state.entry = state.replica.take()?;
        state.failed_over = true;
        let generation = state.next_generation();
        if let (Some(entry), true, true) = (&mut state.entry, self.has(Rule::Redrive), state.answered > 0) {
            entry.invalidate(generation);
        }
        Some(())
    }
}

impl State {
    fn next_generation(&mut self) -> u8 {
        self.generations += 1;
        self.generations
    }
}

impl Model for System {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            row: 0,
            entry: None,
            replica: None,
            failed_over: false,
            generations: 0,
            loaders: [Loader::Idle; LOADERS],
            writers: [Writer::Idle; WRITERS],
            answered: 0,
            leases: 0,
            went_back: false,
        }]
    }

    fn actions(&self, state: &State, steps: &mut Vec<Step>) {
        for loader in 0..self.loaders {
            match state.loaders[loader] {
                Loader::Idle => steps.push(Step::Lease(loader)),
                Loader::Leased { .. } => steps.push(Step::Select(loader)),
                Loader::Loaded { .. } => steps.push(Step::Fill(loader)),
                Loader::Done => {}
            }
        }
        for writer in 0..WRITERS {
            match state.writers[writer] {
                Writer::Idle if self.strong => steps.push(Step::Begin(writer)),
                Writer::Idle | Writer::Confirmed => steps.push(Step::Commit(writer)),
                Writer::Began => steps.extend([Step::Confirm(writer), Step::WindowExpires(writer)]),
                Writer::Committed(_) => steps.push(Step::Invalidate(writer)),
                Writer::Done => {}
            }
        }
        steps.push(Step::LeaseExpires);
        if !self.strong {
            steps.push(Step::Evict);
        }
        if self.fails_over && !state.failed_over {
            steps.extend([Step::Replicate, Step::FailOver]);
        }
    }

    fn next_state(&self, state: &State, step: Step) -> Option<State> {
        let mut next = state.clone();
        match step {
            Step::Lease(loader) => self.lease(&mut next, loader)?,
            Step::Select(loader) => {
                let Loader::Leased { generation, grant, lease } = next.loaders[loader] else { return None };
                next.loaders[loader] = Loader::Loaded { generation, grant, lease, version: next.row };
            }
            Step::Fill(loader) => self.fill(&mut next, loader)?,
            Step::LeaseExpires => next.entry.as_mut()?.leased = false,
            Step::Evict => next.entry = None,
            Step::Replicate => next.replica = Some(next.entry),
            Step::FailOver => self.fail_over(&mut next)?,
            Step::Begin(writer) => System::begin(&mut next, writer),
            Step::WindowExpires(writer) => next.entry.as_mut()?.windows &= !(1 << writer),
            Step::Confirm(writer) => self.confirm(&mut next, writer),
            Step::Commit(writer) => System::commit(&mut next, writer),
            Step::Invalidate(writer) => self.invalidate(&mut next, writer)?,
        }
        (next != *state).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut properties = vec![
            Property::always(C1, |_, state: &State| value(state).is_none_or(|value| value >= state.answered)),
            Property::always(FORWARD, |_, state: &State| !state.went_back),
            Property::sometimes(SERVED, |_, state: &State| value(state).is_some()),
            Property::sometimes(SERVED_NEWEST, |_, state: &State| value(state) == Some(2) && state.row == 2),
        ];
        if self.strong {
            properties[0] =
                Property::always(C2, |_, state: &State| value(state).is_none_or(|value| value == state.row));
        }
        properties
    }
}

/// What a reader would be served now.
fn value(state: &State) -> Option<u8> {
    state.entry.and_then(|entry| entry.value)
}
