//! Two consumers of one partition, explored completely: every order of their calls, of two expired leases and of one failed attempt, on the
//! model of the steps. The consumers follow the rules of docs/spec/stream.md; either may be stopped between any two calls.

use bytes::Bytes;
use evenkeel::Token;
use evenkeel::testing::TestClock;
use evenkeel_protocol::stream::StreamBackend;
use evenkeel_protocol::stream::id::EntryId;
use evenkeel_protocol::stream::name::{GroupName, Partition};
use evenkeel_protocol::stream::steps::{
    Append, Delivered, Delivery, GroupSpec, Join, Joined, Mode, NewEntry, Open, Outcome, Position, Read, Reader, Reply,
    Settle, Settlement, TakeOver, Verdict,
};
use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

const LEASE_MS: u64 = 1_000;
/// Entries of one key.
const ENTRIES: usize = 2;
const EXPIRIES_MAX: u64 = 2;

#[derive(Clone, Copy, Debug)]
enum Action {
    /// Every lease ends: its owner was stopped, or is slow.
    Expire,
    Join(usize),
    TakeOver(usize),
    Read(usize),
    /// The handler's transaction.
    Work(usize),
    Done(usize),
    Fail(usize),
}

/// A consumer and the entries of the key that it has, in order; those that wait for a retry are blocked.
#[derive(Clone, Debug, Default)]
struct Consumer {
    reader: Option<Reader>,
    has_taken_over: bool,
    queue: Vec<(Delivery, bool)>,
    has_worked: bool,
}

struct System {
    streams: StreamBackend,
    expiries: u64,
    failures: u64,
    consumers: [Consumer; 2],
    /// The entries whose effects were committed, in that order.
    effects: Vec<EntryId>,
    /// The fence that the database has seen.
    seen: u64,
    settled: BTreeSet<EntryId>,
    is_fenced: bool,
    /// A consumer without the highest fence has settled an entry.
    is_stolen: bool,
}

fn partition() -> Partition {
    Partition::new("t", "orders", 0).unwrap()
}

fn group() -> GroupName {
    GroupName::new("billing").unwrap()
}

fn clock(expiries: u64) -> TestClock {
    let clock = TestClock::default();
    clock.advance(Duration::from_millis(LEASE_MS * expiries));
    clock
}

impl System {
    async fn new(is_fenced: bool) -> Self {
        let streams = StreamBackend::memory(clock(0).clock());
        let position = Position::After(EntryId::MIN);
        let spec = GroupSpec { name: group(), position, mode: Mode::Partition };
        streams.run(&partition(), &Open { groups: vec![spec], last: EntryId::MIN }).await.unwrap();
        let entry = NewEntry { key: Bytes::from_static(b"order/1"), record: Bytes::new(), sequenced: None };
        let call = Append { entries: vec![entry; ENTRIES], entries_max: None, producer_window_ms: 0 };
        streams.run(&partition(), &call).await.unwrap();
        Self {
            streams,
            expiries: 0,
            failures: 0,
            consumers: Default::default(),
            effects: Vec::new(),
            seen: 0,
            settled: BTreeSet::new(),
            is_fenced,
            is_stolen: false,
        }
    }

    fn fork(&self) -> Self {
        Self {
            streams: self.streams.fork(clock(self.expiries).clock()),
            consumers: self.consumers.clone(),
            effects: self.effects.clone(),
            settled: self.settled.clone(),
            ..*self
        }
    }

    fn picture(&self) -> String {
        let Self { expiries, failures, consumers, effects, seen, settled, .. } = self;
        format!("{} {expiries} {failures} {consumers:?} {effects:?} {seen} {settled:?}", self.streams.picture())
    }

    /// Whether an effect follows one of a later entry.
    fn goes_back(&self) -> bool {
        !self.effects.is_sorted()
    }

    fn actions(&self) -> Vec<Action> {
        let mut actions = Vec::new();
        if self.expiries < EXPIRIES_MAX {
            actions.push(Action::Expire);
        }
        for (number, consumer) in self.consumers.iter().enumerate() {
            if consumer.reader.is_none() {
                actions.push(Action::Join(number));
                continue;
            }
            actions.push(if consumer.has_taken_over { Action::Read(number) } else { Action::TakeOver(number) });
            match consumer.queue.first() {
                Some((_, false)) if consumer.has_worked => actions.push(Action::Done(number)),
                Some((_, false)) => {
                    actions.push(Action::Work(number));
                    if self.failures == 0 {
                        actions.push(Action::Fail(number));
                    }
                }
                _ => {}
            }
        }
        actions
    }

    async fn play(&mut self, action: Action) {
        match action {
            Action::Expire => {
                self.expiries += 1;
                self.streams = self.streams.fork(clock(self.expiries).clock());
            }
            Action::Join(number) => self.join(number).await,
            Action::TakeOver(number) => {
                let reader = self.reader(number);
                let reply = self
                    .streams
                    .run(&partition(), &TakeOver { group: group(), reader, after: EntryId::MIN, limit: 100 })
                    .await
                    .unwrap();
                match reply {
                    Reply::Done(taken) => {
                        self.consumers[number].has_taken_over = true;
                        self.receive(number, taken.entries);
                    }
                    other => self.end(number, &other),
                }
            }
            Action::Read(number) => {
                let reader = self.reader(number);
                match self
                    .streams
                    .run(&partition(), &Read { group: group(), reader, limit: 1, lease_ms: LEASE_MS })
                    .await
                    .unwrap()
                {
                    Reply::Done(read) => self.receive(number, read.entries),
                    other => self.end(number, &other),
                }
            }
            Action::Work(number) => {
                let fence = self.reader(number).fence;
                if self.is_fenced && fence < self.seen {
                    self.consumers[number] = Consumer::default();
                    return;
                }
                self.seen = fence.max(self.seen);
                self.effects.push(self.consumers[number].queue[0].0.id);
                self.consumers[number].has_worked = true;
            }
            Action::Done(number) => self.settle(number, Outcome::Done).await,
            Action::Fail(number) => {
                self.failures += 1;
                self.settle(number, Outcome::Retry { delay_ms: 1, error: Bytes::new() }).await;
            }
        }
    }

    async fn join(&mut self, number: usize) {
        let token = Token::from([u8::try_from(number).unwrap() + 1; 16]);
        let reply = self
            .streams
            .run(&partition(), &Join { group: group(), consumer: token, lease_ms: LEASE_MS, fence_floor: 0 })
            .await
            .unwrap();
        if let Reply::Done(Joined::Granted { reader, .. }) = reply {
            self.consumers[number] = Consumer { reader: Some(reader), ..Consumer::default() };
        }
    }

    async fn settle(&mut self, number: usize, outcome: Outcome) {
        let (reader, delivery) = (self.reader(number), self.consumers[number].queue[0].0);
        let is_done = outcome == Outcome::Done;
        let settlement = [Settlement { delivery, outcome }];
        match self
            .streams
            .run(&partition(), &Settle { group: group(), reader, settlements: settlement.to_vec() })
            .await
            .unwrap()
        {
            Reply::Done(verdicts) if verdicts == [Verdict::Settled] => {
                let others = self.consumers.iter().filter_map(|consumer| consumer.reader);
                self.is_stolen |= others.map(|other| other.fence).max() > Some(reader.fence);
                let consumer = &mut self.consumers[number];
                if is_done {
                    consumer.queue.remove(0);
                    consumer.has_worked = false;
                    self.settled.insert(delivery.id);
                } else {
                    consumer.queue[0].1 = true;
                }
            }
            other => self.end(number, &other),
        }
    }

    fn reader(&self, number: usize) -> Reader {
        self.consumers[number].reader.unwrap()
    }

    /// Adds entries to the queue, in the order of the log.
    fn receive(&mut self, number: usize, entries: Vec<Delivered>) {
        let queue = &mut self.consumers[number].queue;
        for delivered in entries {
            queue.retain(|(delivery, _)| delivery.id != delivered.id);
            queue.push((Delivery { id: delivered.id, count: delivered.count }, delivered.due.is_some()));
        }
        queue.sort_by_key(|(delivery, _)| delivery.id);
    }

    /// The consumer has lost the partition.
    fn end<T: std::fmt::Debug>(&mut self, number: usize, reply: &Reply<T>) {
        assert!(matches!(reply, Reply::Stale), "{reply:?}");
        self.consumers[number] = Consumer::default();
    }

    /// A third consumer settles everything after the lease.
    async fn drain(&self) -> BTreeSet<EntryId> {
        let (streams, mut settled) = (self.streams.fork(clock(self.expiries + 1).clock()), self.settled.clone());
        let reply = streams
            .run(
                &partition(),
                &Join { group: group(), consumer: Token::from([9; 16]), lease_ms: LEASE_MS, fence_floor: 0 },
            )
            .await
            .unwrap();
        let Reply::Done(Joined::Granted { reader, .. }) = reply else { panic!("{reply:?}") };
        let reply = streams
            .run(&partition(), &TakeOver { group: group(), reader, after: EntryId::MIN, limit: 100 })
            .await
            .unwrap();
        let Reply::Done(taken) = reply else { panic!("{reply:?}") };
        let mut entries: Vec<Delivered> = taken.entries.into_iter().filter(|entry| entry.due.is_none()).collect();
        for _ in 0..=ENTRIES {
            for delivered in entries {
                let delivery = Delivery { id: delivered.id, count: delivered.count };
                let settlement = [Settlement { delivery, outcome: Outcome::Done }];
                let reply = streams
                    .run(&partition(), &Settle { group: group(), reader, settlements: settlement.to_vec() })
                    .await
                    .unwrap();
                assert_eq!(reply, Reply::Done(vec![Verdict::Settled]));
                settled.insert(delivered.id);
            }
            let reply = streams
                .run(&partition(), &Read { group: group(), reader, limit: 100, lease_ms: LEASE_MS })
                .await
                .unwrap();
            let Reply::Done(read) = reply else { panic!("{reply:?}") };
            entries = read.entries;
        }
        settled
    }
}

/// Calls `check` with every state that can be reached; returns their number.
async fn explore(is_fenced: bool, mut check: impl AsyncFnMut(&System)) -> usize {
    let first = System::new(is_fenced).await;
    let mut known = HashSet::from([first.picture()]);
    let mut open = vec![first];
    while let Some(system) = open.pop() {
        check(&system).await;
        for action in system.actions() {
            let mut next = system.fork();
            next.play(action).await;
            if known.insert(next.picture()) {
                open.push(next);
            }
        }
    }
    known.len()
}

// shows: T2
#[tokio::test]
async fn stopped_owner_settles_nothing_of_the_next() {
    let mut everything_settled = false;
    explore(true, async |system: &System| {
        assert!(!system.is_stolen, "{}", system.picture());
        everything_settled |= system.settled.len() == ENTRIES && system.expiries == EXPIRIES_MAX;
    })
    .await;
    assert!(everything_settled);
}

// shows: T3
#[tokio::test]
async fn effects_of_a_key_are_in_order_with_the_fence() {
    let states = explore(true, async |system: &System| assert!(!system.goes_back(), "{}", system.picture())).await;
    assert!(states > 100, "{states}");
}

/// The harness sees what the fence prevents.
// shows: stream::Group::per_key
#[tokio::test]
async fn effects_without_the_fence_can_go_back() {
    let mut goes_back = false;
    explore(false, async |system: &System| goes_back |= system.goes_back()).await;
    assert!(goes_back);
}

// shows: T8
#[tokio::test]
async fn every_entry_can_be_settled_from_any_state() {
    explore(true, async |system: &System| {
        assert_eq!(system.drain().await.len(), ENTRIES, "{}", system.picture());
    })
    .await;
}
