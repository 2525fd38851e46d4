//! The lock over several servers as a model that a checker explores completely: three servers, one with a clock that is
//! ahead, that lose their data now and then; three holders that ask each of them, agree on a fence, hold, release, or expire
//! at any moment.
//!
//! This is the protocol of docs/spec/lock.md, not the code. Without any of its rules the checker finds a fence that falls,
//! or two holders at once; with all of them there is neither.

use stateright::{Checker, Model, Property};

const FENCES_RISE: &str = "K2: a fence is above all that were held before it was asked for";
const ONE_HOLDER: &str = "one holder at a time";
const ALL_HOLD: &str = "some schedule lets all of them hold";
const HOLDERS: usize = 3;
const SERVERS: usize = 3;
const MAJORITY: usize = 2;
/// What each server's clock makes of a fence at the least.
const CLOCKS: [u8; SERVERS] = [4, 0, 0];
/// How often a server forgets in one schedule.
const FORGETTINGS: u8 = 2;

/// A rule that can be taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// The fence is written back to a majority.
    WriteBack,
    /// A server that lost its data takes part again only when all leases of that time have expired.
    SitOut,
    /// And above the fences that a majority of the others knows.
    Floor,
}

#[derive(Clone, Copy, Debug)]
struct System {
    without: Option<Rule>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Holder {
    Idle,
    /// What each server granted, and the highest fence that had been held when it began.
    Asking {
        granted: [Option<u8>; SERVERS],
        before: u8,
    },
    /// Which of the servers of the first phase have its fence.
    Agreeing {
        fence: u8,
        granted: [Option<u8>; SERVERS],
        before: u8,
    },
    Holds,
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Server {
    last: u8,
    owner: Option<usize>,
    /// The servers wait for these: the holders of locks that they may have forgotten.
    out_for: Option<[bool; HOLDERS]>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    servers: [Server; SERVERS],
    holders: [Holder; HOLDERS],
    /// The highest fence that was held.
    held: u8,
    have_held: u8,
    forgotten: u8,
    has_fallen: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    Ask(usize, usize),
    Choose(usize),
    Agree(usize, usize),
    /// Released, or the lease has expired.
    End(usize),
    Forget(usize),
    Admit(usize),
}

impl Holder {
    fn is_live(self) -> bool {
        !matches!(self, Self::Idle | Self::Done)
    }
}

impl System {
    fn has(self, rule: Rule) -> bool {
        self.without != Some(rule)
    }

    fn ask(state: &mut State, holder: usize, server: usize) -> Option<()> {
        let (mut granted, before) = match state.holders[holder] {
            Holder::Idle => ([None; SERVERS], state.held),
            Holder::Asking { granted, before } => (granted, before),
            _ => return None,
        };
        let asked = &mut state.servers[server];
        if asked.owner.is_some() || asked.out_for.is_some() {
            return None;
        }
        asked.last = (asked.last + 1).max(CLOCKS[server]);
        asked.owner = Some(holder);
        granted[server] = Some(asked.last);
        state.holders[holder] = Holder::Asking { granted, before };
        Some(())
    }

    fn choose(self, state: &mut State, holder: usize) -> Option<()> {
        let Holder::Asking { granted, before } = state.holders[holder] else { return None };
        if granted.iter().flatten().count() < MAJORITY {
            return None;
        }
        let fence = granted.iter().flatten().copied().max()?;
        state.holders[holder] = Holder::Agreeing { fence, granted, before };
        if !self.has(Rule::WriteBack) {
            Self::hold(state, holder, fence, before);
        }
        Some(())
    }

    /// A server counts as agreed when what it granted is the fence.
    fn agree(state: &mut State, holder: usize, server: usize) -> Option<()> {
        let Holder::Agreeing { fence, mut granted, before } = state.holders[holder] else { return None };
        let asked = &mut state.servers[server];
        if granted[server].is_none() || asked.owner != Some(holder) {
            return None;
        }
        asked.last = asked.last.max(fence);
        granted[server] = Some(fence);
        state.holders[holder] = Holder::Agreeing { fence, granted, before };
        if granted.iter().filter(|granted| **granted == Some(fence)).count() >= MAJORITY {
            Self::hold(state, holder, fence, before);
        }
        Some(())
    }

    fn hold(state: &mut State, holder: usize, fence: u8, before: u8) {
        state.has_fallen |= fence <= before;
        state.held = state.held.max(fence);
        state.have_held += 1;
        state.holders[holder] = Holder::Holds;
    }

    fn end(state: &mut State, holder: usize) -> Option<()> {
        if !state.holders[holder].is_live() {
            return None;
        }
        state.holders[holder] = Holder::Done;
        state.servers.iter_mut().for_each(|server| {
            server.owner.take_if(|owner| *owner == holder);
        });
        Some(())
    }

    /// One at a time: of servers that forget at once nothing is promised.
    fn forget(state: &mut State, server: usize) -> Option<()> {
        if state.forgotten == FORGETTINGS || state.servers.iter().any(|server| server.out_for.is_some()) {
            return None;
        }
        state.forgotten += 1;
        let out_for = Some(state.holders.map(Holder::is_live));
        state.servers[server] = Server { last: 0, owner: None, out_for };
        Some(())
    }

    fn admit(self, state: &mut State, server: usize) -> Option<()> {
        let out_for = state.servers[server].out_for?;
        let mut waited_for = out_for.iter().zip(&state.holders).filter(|(waits, _)| **waits);
        if self.has(Rule::SitOut) && waited_for.any(|(_, holder)| holder.is_live()) {
            return None;
        }
        let known = state.servers.iter().filter(|server| server.out_for.is_none()).map(|server| server.last);
        let floor = if self.has(Rule::Floor) { known.max()? } else { 0 };
        state.servers[server] = Server { last: floor, owner: None, out_for: None };
        Some(())
    }
}

impl Model for System {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        let (server, holder) = (Server { last: 0, owner: None, out_for: None }, Holder::Idle);
        let (servers, holders) = ([server; SERVERS], [holder; HOLDERS]);
        vec![State { servers, holders, held: 0, have_held: 0, forgotten: 0, has_fallen: false }]
    }

    fn actions(&self, _: &State, steps: &mut Vec<Step>) {
        for holder in 0..HOLDERS {
            steps.extend([Step::Choose(holder), Step::End(holder)]);
            for server in 0..SERVERS {
                steps.extend([Step::Ask(holder, server), Step::Agree(holder, server)]);
            }
        }
        for server in 0..SERVERS {
            steps.extend([Step::Forget(server), Step::Admit(server)]);
        }
    }

    fn next_state(&self, state: &State, step: Step) -> Option<State> {
        let mut next = state.clone();
        match step {
            Step::Ask(holder, server) => Self::ask(&mut next, holder, server),
            Step::Choose(holder) => self.choose(&mut next, holder),
            Step::Agree(holder, server) => Self::agree(&mut next, holder, server),
            Step::End(holder) => Self::end(&mut next, holder),
            Step::Forget(server) => Self::forget(&mut next, server),
            Step::Admit(server) => self.admit(&mut next, server),
        }?;
        (next != *state).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(FENCES_RISE, |_, state: &State| !state.has_fallen),
            Property::always(ONE_HOLDER, |_, state: &State| holding(state) <= 1),
            Property::sometimes(ALL_HOLD, |_, state: &State| usize::from(state.have_held) == HOLDERS),
        ]
    }
}

fn holding(state: &State) -> usize {
    state.holders.iter().filter(|holder| **holder == Holder::Holds).count()
}

/// What some schedule breaks.
fn broken(without: Option<Rule>) -> Vec<&'static str> {
    let checker = System { without }.checker().spawn_bfs().join();
    let broken: Vec<_> =
        [FENCES_RISE, ONE_HOLDER].into_iter().filter(|name| checker.discovery(name).is_some()).collect();
    assert!(!broken.is_empty() || checker.discovery(ALL_HOLD).is_some(), "no schedule makes progress");
    broken
}

// shows: K2, lock::Redlock
#[test]
fn all_rules_keep_one_holder_and_rising_fences() {
    assert_eq!(broken(None), Vec::<&str>::new());
}

/// The greatest of what a majority grants: the next majority may not have the server that granted it.
// shows: K2
#[test]
fn fence_not_written_back_admits_a_lower_one() {
    assert!(broken(Some(Rule::WriteBack)).contains(&FENCES_RISE));
}

/// A server that was started again empty gave away what its holder still held.
#[test]
fn server_rejoining_at_once_allows_two_holders() {
    assert!(broken(Some(Rule::SitOut)).contains(&ONE_HOLDER));
}

/// It had also forgotten how high the fences were.
// shows: K2
#[test]
fn server_without_a_fence_floor_lets_fences_fall() {
    assert!(broken(Some(Rule::Floor)).contains(&FENCES_RISE));
}
