//! Rates as a model that a checker explores completely: a level that all calls share, and a level for each of two subjects below it. Calls
//! reserve places, callers give up, replies are lost, and the store's clock is once set back, each at any moment.
//!
//! This is the arithmetic of docs/spec/limit.md, not the code.

use stateright::{Checker, Model, Property};

const AT_MOST: &str = "M1: in every interval a bucket admits at most its burst and its rate";
const ALL_OR_NOTHING: &str = "M2: a call takes its tokens of every level once, and a refused call takes none";
const SOON: &str = "M4: no call waits longer than debts and reservations explain";
const RESERVED: &str = "some schedule reserves a place, and goes on after it";
/// The end of the explored time.
const END: u8 = 4;
const CALLS: usize = 4;
/// The longest wait that a caller accepts.
const WAIT: u8 = 4;
/// By how much the clock is set back.
const BACK: u8 = 3;

/// The buckets: the shared one, and one for each subject.
const BUCKETS: [Rate; 3] = [
    Rate { token: 1, refill: 1, burst: 2 },
    Rate { token: 2, refill: 1, burst: 2 },
    Rate { token: 2, refill: 1, burst: 4 },
];

/// In units: a tick refills some, a token costs some.
struct Rate {
    token: u8,
    refill: u8,
    burst: u8,
}

/// A rule that can be taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// The level with the longest wait decides, not the last one.
    Longest,
    /// All levels are checked before the first one is debited.
    CheckFirst,
    /// A reservation takes its tokens at its time, not now.
    AtItsTime,
    /// A caller that gives up its place gets no tokens back.
    NoRefund,
    /// A call is sent once, also if its reply was lost.
    Once,
    /// A bucket that was written in the future has its debt now.
    FromFuture,
}

#[derive(Clone, Copy, Debug)]
struct System {
    without: Option<Rule>,
}

/// A debt at a time of the store's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Bucket {
    at: u8,
    debt: u8,
}

/// The place of a caller that was admitted, or may still be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Place {
    time: u8,
    subject: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    now: u8,
    /// By how much the store's clock was set back.
    behind: u8,
    buckets: [Bucket; 3],
    /// Sorted; without those that were given up.
    places: Vec<Place>,
    calls: usize,
    /// How many times a bucket was debited, less how many times it should have been.
    debited_in_excess: u8,
    waits_too_long: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    Pass,
    SetBack,
    Call {
        subject: usize,
        wait: u8,
    },
    /// The reply to a call is lost.
    Lose {
        subject: usize,
    },
    /// A caller gives up a place that is not reached.
    GiveUp(Place),
}

impl Bucket {
    fn debt(self, system: System, rate: &Rate, now: u8) -> u8 {
        if now < self.at && !system.has(Rule::FromFuture) {
            // An arrival time: the debt and the time at which it was written are one number.
            return self.debt + (self.at - now) * rate.refill;
        }
        self.debt.saturating_sub(now.saturating_sub(self.at) * rate.refill)
    }
}

impl System {
    fn has(self, rule: Rule) -> bool {
        self.without != Some(rule)
    }

    /// A debit; returns the wait, if it is at most `most`.
    fn debit(self, state: &mut State, subject: usize, most: u8) -> Option<u8> {
        let now = state.now + BACK - state.behind;
        let levels = [0, 1 + subject];
        let mut wait = 0;
        let mut debited = 0;
        for level in levels {
            let rate = &BUCKETS[level];
            let debt = state.buckets[level].debt(self, rate, now);
            let needed = (debt + rate.token).saturating_sub(rate.burst).div_ceil(rate.refill);
            state.waits_too_long |= needed > WAIT + rate.token.div_ceil(rate.refill);
            wait = if self.has(Rule::Longest) { needed.max(wait) } else { needed };
            if !self.has(Rule::CheckFirst) && needed <= most {
                self.take(state, level, now, needed);
                debited += 1;
            }
        }
        if wait > most {
            state.debited_in_excess += debited;
            return None;
        }
        if self.has(Rule::CheckFirst) {
            levels.iter().for_each(|level| self.take(state, *level, now, wait));
        }
        Some(wait)
    }

    fn take(self, state: &mut State, level: usize, now: u8, wait: u8) {
        let rate = &BUCKETS[level];
        let mut debt = state.buckets[level].debt(self, rate, now);
        if self.has(Rule::AtItsTime) {
            debt = debt.max(wait * rate.refill);
        }
        state.buckets[level] = Bucket { at: now, debt: debt + rate.token };
    }

    fn give_up(self, state: &mut State, place: Place) {
        state.places.retain(|other| *other != place);
        if !self.has(Rule::NoRefund) {
            for level in [0, 1 + place.subject] {
                let bucket = &mut state.buckets[level];
                bucket.debt = bucket.debt.saturating_sub(BUCKETS[level].token);
            }
        }
    }
}

impl Model for System {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![State {
            now: 0,
            behind: 0,
            buckets: [Bucket { at: 0, debt: 0 }; 3],
            places: Vec::new(),
            calls: 0,
            debited_in_excess: 0,
            waits_too_long: false,
        }]
    }

    fn actions(&self, state: &State, steps: &mut Vec<Step>) {
        steps.extend([Step::Pass, Step::SetBack]);
        steps.extend(state.places.iter().filter(|place| place.time > state.now).map(|place| Step::GiveUp(*place)));
        if state.calls < CALLS {
            for subject in 0..2 {
                steps.extend([0, WAIT].map(|wait| Step::Call { subject, wait }));
                steps.push(Step::Lose { subject });
            }
        }
    }

    fn next_state(&self, state: &State, step: Step) -> Option<State> {
        let mut next = state.clone();
        match step {
            Step::Pass if state.now < END => next.now += 1,
            Step::SetBack if state.behind == 0 => next.behind = BACK,
            Step::Pass | Step::SetBack => return None,
            Step::GiveUp(place) => self.give_up(&mut next, place),
            Step::Call { subject, wait } => {
                next.calls += 1;
                if let Some(wait) = self.debit(&mut next, subject, wait) {
                    next.places.push(Place { time: state.now + wait, subject });
                    next.places.sort_unstable();
                }
            }
            Step::Lose { subject } => {
                next.calls += 1;
                let is_debited = self.debit(&mut next, subject, 0).is_some();
                if !self.has(Rule::Once) && self.debit(&mut next, subject, 0).is_some() && is_debited {
                    next.debited_in_excess += 1;
                }
            }
        }
        (next != *state).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(AT_MOST, |_, state: &State| (0..BUCKETS.len()).all(|bucket| is_kept(state, bucket))),
            Property::always(ALL_OR_NOTHING, |_, state: &State| state.debited_in_excess == 0),
            Property::always(SOON, |_, state: &State| !state.waits_too_long),
            Property::sometimes(RESERVED, |_, state: &State| {
                state.behind > 0
                    && state.places.len() == CALLS
                    && state.places[0].time + 1 < state.places[CALLS - 1].time
            }),
        ]
    }
}

/// Whether every interval has at most the burst and the rate of the bucket.
fn is_kept(state: &State, bucket: usize) -> bool {
    let rate = &BUCKETS[bucket];
    let concerned = state.places.iter().filter(|place| bucket == 0 || place.subject + 1 == bucket);
    let times: Vec<u8> = concerned.map(|place| place.time).collect();
    (0..times.len()).all(|first| {
        (first..times.len()).all(|last| {
            let tokens = u8::try_from(last - first + 1).unwrap_or(u8::MAX);
            tokens * rate.token <= rate.burst + (times[last] - times[first]) * rate.refill
        })
    })
}

/// The promises that some schedule breaks. (Some schedule makes progress, else the model would prove nothing.)
fn broken(without: Option<Rule>) -> Vec<&'static str> {
    let checker = System { without }.checker().spawn_bfs().join();
    let broken = |promise: &&'static str| checker.discovery(promise).is_some();
    let broken: Vec<&str> = [AT_MOST, ALL_OR_NOTHING, SOON].into_iter().filter(broken).collect();
    assert!(!broken.is_empty() || checker.discovery(RESERVED).is_some(), "no schedule makes progress");
    broken
}

// shows: M1, M2, M4
#[test]
fn all_rules_of_rates_keep_every_promise() {
    assert_eq!(broken(None), [""; 0]);
}

// shows: hazard LI2
#[test]
fn wait_of_the_last_level_alone_admits_in_excess() {
    assert!(broken(Some(Rule::Longest)).contains(&AT_MOST));
}

// shows: hazard LI2
#[test]
fn debit_before_the_last_check_takes_tokens_of_a_refused_call() {
    assert!(broken(Some(Rule::CheckFirst)).contains(&ALL_OR_NOTHING));
}

/// What is refilled until a reservation's time is its own: taken now, it would be there a second time.
// shows: hazard LI3
#[test]
fn reservation_debited_now_admits_in_excess() {
    assert!(broken(Some(Rule::AtItsTime)).contains(&AT_MOST));
}

/// The tokens of a place between others are not those at the end of the line, where a refund would let the next caller in.
// shows: hazard LI13
#[test]
fn refund_of_a_place_that_was_given_up_admits_in_excess() {
    assert!(broken(Some(Rule::NoRefund)).contains(&AT_MOST));
}

// shows: hazard LI8
#[test]
fn call_sent_again_takes_its_tokens_twice() {
    assert!(broken(Some(Rule::Once)).contains(&ALL_OR_NOTHING));
}

// shows: hazard LI4
#[test]
fn arrival_time_in_the_future_refuses_until_the_clock_is_there() {
    assert!(broken(Some(Rule::FromFuture)).contains(&SOON));
}
