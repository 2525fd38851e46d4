//! A sliding window as a model that a checker explores completely: a window of two slots, calls that reserve places, and a store whose clock is
//! once set back.
//!
//! This is the arithmetic of docs/spec/limit.md with fewer slots, not the code.

use stateright::{Checker, Model, Property};

const AT_MOST: &str = "M1: every interval of the window's length admits at most its tokens";
const SOON: &str = "M4: no call waits longer than a window after the longest reservation";
const FULL: &str = "some schedule fills the window twice";
const END: u8 = 9;
const CALLS: usize = 5;
const SLOT: u8 = 2;
/// Two slots, and those that an interval of this length can touch.
const PERIOD: u8 = 2 * SLOT;
const COUNTED: usize = 3;
const TOKENS: u8 = 2;
/// The longest wait that a caller accepts.
const WAIT: u8 = 3 * SLOT;
const BACK: u8 = 3 * PERIOD;

/// A rule that can be taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// The slot counts in which an interval of the window's length may begin.
    OldestSlot,
    /// No call takes a place in front of a reservation.
    Behind,
    /// Slots from the future are moved back with the clock.
    MovedBack,
}

#[derive(Clone, Copy, Debug)]
struct System {
    without: Option<Rule>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    now: u8,
    /// By how much the store's clock was set back.
    behind: u8,
    /// When the bucket was written, on the store's clock.
    at: u8,
    newest: u8,
    /// The tokens of the newest slot and of those before it.
    counts: [u8; COUNTED],
    /// When calls were admitted.
    places: Vec<u8>,
    waits_too_long: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    Pass,
    SetBack,
    Call { wait: u8 },
}

impl State {
    fn advance(&mut self, slot: u8) {
        let slots = usize::from(slot.saturating_sub(self.newest));
        if slots > 0 {
            let counts = self.counts;
            self.counts = std::array::from_fn(|place| place.checked_sub(slots).map_or(0, |from| counts[from]));
            self.newest = slot;
        }
    }
}

impl System {
    fn has(self, rule: Rule) -> bool {
        self.without != Some(rule)
    }

    fn call(self, state: &mut State, most: u8) {
        let now = state.now + BACK - state.behind;
        if state.at > now && self.has(Rule::MovedBack) {
            state.newest -= (state.at - now) / SLOT;
        }
        state.at = now;
        state.advance(now / SLOT);
        let wait = self.wait(state, now);
        state.waits_too_long |= wait > WAIT + PERIOD + 2 * SLOT;
        if wait > most {
            return;
        }
        let slot = (now + wait) / SLOT;
        state.advance(slot);
        state.counts[usize::from(state.newest - slot)] += 1;
        state.places.push(state.now + wait);
        state.places.sort_unstable();
    }

    fn wait(self, state: &State, now: u8) -> u8 {
        let counted = if self.has(Rule::OldestSlot) { COUNTED } else { COUNTED - 1 };
        // Without the rule, a call looks at the slots up to its own, and takes its place there.
        let later = usize::from(state.newest - now / SLOT);
        let first = if self.has(Rule::Behind) || later >= COUNTED { 0 } else { later };
        let mut sum = 1 + state.counts[first..counted].iter().sum::<u8>();
        let mut slot = state.newest - u8::try_from(first).unwrap_or(0);
        for count in state.counts[first..counted].iter().rev() {
            if sum <= TOKENS {
                break;
            }
            sum -= count;
            slot += 1;
        }
        (slot * SLOT).saturating_sub(now)
    }
}

impl Model for System {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            now: 0,
            behind: 0,
            at: BACK,
            newest: BACK / SLOT,
            counts: [0; COUNTED],
            places: Vec::new(),
            waits_too_long: false,
        }]
    }

    fn actions(&self, state: &State, steps: &mut Vec<Step>) {
        steps.extend([Step::Pass, Step::SetBack]);
        if state.places.len() < CALLS {
            steps.extend([Step::Call { wait: 0 }, Step::Call { wait: WAIT }]);
        }
    }

    fn next_state(&self, state: &State, step: Step) -> Option<State> {
        let mut next = state.clone();
        match step {
            Step::Pass if state.now < END => next.now += 1,
            Step::SetBack if state.behind == 0 => next.behind = BACK,
            Step::Pass | Step::SetBack => return None,
            Step::Call { wait } => self.call(&mut next, wait),
        }
        (next != *state).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(AT_MOST, |_, state: &State| {
                let most = usize::from(TOKENS) + 1;
                !state.places.windows(most).any(|some| some[most - 1] - some[0] < PERIOD)
            }),
            Property::always(SOON, |_, state: &State| !state.waits_too_long),
            Property::sometimes(FULL, |_, state: &State| {
                state.behind > 0 && state.places.len() == CALLS && state.places[0] == state.places[1]
            }),
        ]
    }
}

/// The promises that some schedule breaks. (Some schedule makes progress, else the model would prove nothing.)
fn broken(without: Option<Rule>) -> Vec<&'static str> {
    let checker = System { without }.checker().spawn_bfs().join();
    let broken = |promise: &&'static str| checker.discovery(promise).is_some();
    let broken: Vec<&str> = [AT_MOST, SOON].into_iter().filter(broken).collect();
    assert!(!broken.is_empty() || checker.discovery(FULL).is_some(), "no schedule makes progress");
    broken
}

// shows: M1, M4
#[test]
fn all_rules_of_windows_keep_every_promise() {
    assert_eq!(broken(None), [""; 0]);
}

/// An interval of the window's length that begins within a slot touches one more.
// shows: hazard LI6
#[test]
fn window_without_its_oldest_slot_admits_in_excess() {
    assert!(broken(Some(Rule::OldestSlot)).contains(&AT_MOST));
}

// shows: hazard LI14
#[test]
fn place_in_front_of_a_reservation_admits_in_excess() {
    assert!(broken(Some(Rule::Behind)).contains(&AT_MOST));
}

// shows: hazard LI4
#[test]
fn slots_left_in_the_future_refuse_until_the_clock_is_there() {
    assert!(broken(Some(Rule::MovedBack)).contains(&SOON));
}
