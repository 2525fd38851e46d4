//! Every public parameter at zero, one, its bounds, just above them, and at its largest: it is taken, shortened as documented, or refused in
//! a sentence. Nothing wedges, panics or overflows, and the next entry runs.

use super::rig::{Desk, Orders, Rig, all_settled, append, letters, open};
use evenkeel::clock::UnixMs;
use evenkeel::stream::admin::{LetterFilter, LetterId, LetterPage, Replayed, SeekTo};
use evenkeel::stream::{
    EntryId, Group, Handled, NewEntry, OnFailure, Reaction, RetryDelay, StreamBuilder, StreamError,
};
use std::time::Duration;

on_both! {
    entry_with_extreme_settings_is_accepted_or_rejected
    stream_with_extreme_settings_works_or_is_rejected
    group_with_extreme_settings_works_or_is_rejected
    consumer_with_extreme_settings_works_or_is_rejected
    extreme_outcomes_are_settled
    operator_with_extreme_arguments_gets_an_answer
}

const DAY: Duration = Duration::from_secs(24 * 3600);
const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 3_600);

pub(super) fn spans() -> Vec<Duration> {
    let ms = Duration::from_millis(1);
    let second = Duration::from_secs(1);
    vec![
        Duration::ZERO,
        Duration::from_nanos(1),
        ms,
        second - ms,
        second,
        DAY / 2,
        DAY / 2 + ms,
        365 * DAY,
        365 * DAY + ms,
        CENTURY,
        CENTURY + ms,
        Duration::MAX,
    ]
}

const NUMBERS: [u64; 7] = [0, 1, 2, (1 << 53) - 1, 1 << 53, u64::MAX - 1, u64::MAX];
const SIZES: [usize; 5] = [0, 1, 60_000, 60_001, 1 << 20];

pub(crate) type Change = Box<dyn for<'a> Fn(NewEntry<'a, String>) -> NewEntry<'a, String>>;

pub(crate) fn changes() -> Vec<(String, Change)> {
    let mut all: Vec<(String, Change)> = Vec::new();
    for number in NUMBERS {
        all.push((format!("number {number}"), Box::new(move |entry| entry.numbered(format!("p{number}"), number))));
    }
    for size in SIZES {
        all.push((format!("trace of {size}"), Box::new(move |entry| entry.trace(&"x".repeat(size)))));
        all.push((format!("header of {size}"), Box::new(move |entry| entry.header("x".repeat(size), ""))));
        all.push((format!("producer of {size}"), Box::new(move |entry| entry.numbered(vec![b'x'; size], 1))));
    }
    all
}

// shows: stream::Stream::append, stream::Stream::append_many, stream::NewEntry::append
async fn entry_with_extreme_settings_is_accepted_or_rejected(rig: Rig) {
    let orders = rig.orders(1).await;
    for (what, change) in changes() {
        let appended = change(orders.entry("a", &"x".to_owned())).append().await;
        let is_refused = matches!(appended, Err(StreamError::Invalid(_) | StreamError::TooLarge { .. }));
        assert!(appended.is_ok() || is_refused, "{what}: {appended:?}");
    }
    for size in [0, 1, 512, 513, 1 << 20] {
        for appended in [
            orders.append(vec![b'k'; size], &"x".to_owned()).await,
            orders.entry(vec![b'k'; size], &"x".to_owned()).append().await,
        ] {
            assert_eq!(appended.is_ok(), size <= 512, "{size}: {appended:?}");
        }
    }
    let large = ["x".repeat(1 << 20), "x".repeat(2 << 20)];
    for value in &large {
        assert!(matches!(orders.append("a", value).await, Err(StreamError::TooLarge { .. })));
    }
    assert!(orders.append_many(large.iter().map(|value| orders.entry("a", value))).await.is_err());
    assert_eq!(orders.append_many([]).await.unwrap().len(), 0);
    let desk = Desk::new();
    append(&orders, "last", &["fine"]).await;
    let office = open(desk.consumer(orders.group("billing")));
    while desk.done().await != "fine" {}
    office.close().await;
}

pub(super) type Settings = Box<dyn Fn(StreamBuilder<String>) -> StreamBuilder<String>>;

pub(super) fn settings() -> Vec<(String, Settings)> {
    let mut all: Vec<(String, Settings)> = Vec::new();
    for span in spans() {
        all.push((format!("retention {span:?}"), Box::new(move |stream| stream.retention(span))));
        all.push((format!("producer_window {span:?}"), Box::new(move |stream| stream.producer_window(span))));
    }
    for limit in NUMBERS {
        all.push((format!("entries_max {limit}"), Box::new(move |stream| stream.entries_max(limit))));
        let bytes = usize::try_from(limit).unwrap();
        all.push((format!("value_bytes_max {bytes}"), Box::new(move |stream| stream.value_bytes_max(bytes))));
    }
    for partitions in [0, 1, 256, 257, u16::MAX] {
        all.push((format!("partitions {partitions}"), Box::new(move |stream| stream.partitions(partitions))));
    }
    all
}

// shows: stream::StreamBuilder::open
async fn stream_with_extreme_settings_works_or_is_rejected(rig: Rig) {
    let keel = rig.process().await;
    for (number, (what, set)) in settings().into_iter().enumerate() {
        let stream = match set(keel.stream(&format!("stream-{number}"))).open().await {
            Ok(stream) => stream,
            Err(StreamError::Settings { .. }) => continue,
            Err(error) => panic!("{what}: {error}"),
        };
        match stream.append("a", &"x".to_owned()).await {
            Ok(appended) => assert!(appended.is_new, "{what}"),
            Err(StreamError::TooLarge { .. }) => assert!(what.starts_with("value_bytes_max"), "{what}"),
            Err(error) => panic!("{what}: {error}"),
        }
    }
    for name in ["", "a/b", "a}b", &"x".repeat(129), &"x".repeat(1 << 20)] {
        let refused = keel.stream::<String>(name).open().await.err().unwrap();
        assert!(matches!(refused, StreamError::Invalid(_)), "{refused}");
        assert!(keel.stream_admin(name).await.is_err());
    }
}

// shows: stream::Consumer::run
async fn group_with_extreme_settings_works_or_is_rejected(rig: Rig) {
    type Set = Box<dyn Fn(Group<String>) -> Group<String>>;
    let (orders, keel) = (rig.orders(1).await, rig.process().await);
    let mut all: Vec<(String, Set)> = Vec::new();
    for span in spans() {
        all.push((format!("lease {span:?}"), Box::new(move |group| group.lease(span))));
        for delay in [RetryDelay::fixed(span), RetryDelay::exponential(span, span)] {
            all.push((format!("{delay:?}"), Box::new(move |group| group.retry_delay(delay))));
        }
    }
    for retries in [0, 1, u16::MAX - 1, u16::MAX] {
        all.push((format!("retries {retries}"), Box::new(move |group| group.retries(retries))));
    }
    for crashes in [0, 1, u8::MAX] {
        all.push((format!("crashes_max {crashes}"), Box::new(move |group| group.crashes_max(crashes))));
    }
    for (number, (what, set)) in all.into_iter().enumerate() {
        let desk = Desk::new();
        let orders: Orders = keel.stream(&format!("stream-{number}")).open().await.unwrap();
        let mut office = open(desk.consumer(set(orders.group("billing"))).drain(Duration::ZERO));
        append(&orders, "a", &["x"]).await;
        tokio::select! {
            case = desk.next() => case.done(),
            () = office.ended() => {
                assert!(matches!(office.result().await, Err(StreamError::Settings { .. })), "{what}");
                continue;
            }
        }
        rig.while_time_passes(office.close()).await;
    }
    for name in ["", "a/b", &"x".repeat(129)] {
        let refused = Desk::new().consumer(orders.group(name)).run(async {}).await;
        assert!(matches!(refused, Err(StreamError::Invalid(_))), "{refused:?}");
    }
}

// shows: hazard A6, stream::Consumer::run
async fn consumer_with_extreme_settings_works_or_is_rejected(rig: Rig) {
    let orders = rig.orders(1).await;
    for number in [0, 10_001, usize::MAX] {
        let refused = Desk::new().consumer(orders.group("billing")).concurrency(number).run(async {}).await;
        assert!(matches!(refused, Err(StreamError::Settings { .. })), "{number}");
        let batch = orders.group("billing").handle_batch(number, |_| async { Ok::<_, String>(()) });
        assert!(matches!(batch.run(async {}).await, Err(StreamError::Settings { .. })), "{number}");
    }
    for number in [0, 100_001, usize::MAX] {
        let refused = Desk::new().consumer(orders.group("billing")).buffer(number).run(async {}).await;
        assert!(matches!(refused, Err(StreamError::Settings { .. })), "{number}");
    }
    for limit in [Duration::ZERO, Duration::from_nanos(1), Duration::from_nanos(999_999)] {
        let refused = Desk::new().consumer(orders.group("billing")).handler_timeout(limit).run(async {}).await;
        assert!(matches!(refused, Err(StreamError::Settings { .. })), "{limit:?}");
    }
    let keel = rig.process().await;
    for (number, span) in spans().into_iter().enumerate() {
        let desk = Desk::new();
        let orders: Orders = keel.stream(&format!("stream-{number}")).open().await.unwrap();
        let group = orders.group("billing").per_key(OnFailure::BlockKey);
        let consumer = desk.consumer(group).concurrency(10_000).buffer(100_000).drain(span).fill(span);
        let consumer = consumer.handler_timeout(span.max(Duration::from_millis(1)));
        append(&orders, "a", &["x"]).await;
        let office = open(consumer);
        desk.next().await.done();
        rig.while_time_passes(office.close()).await;
    }
}

async fn extreme_outcomes_are_settled(rig: Rig) {
    let orders = rig.orders(1).await;
    let desk = Desk::new();
    let consumer = desk.consumer(orders.group("billing").unordered()).concurrency(100);
    let office = open(consumer.on_error(|error| match error.as_str() {
        "retry" => Reaction::RetryAfter(Duration::MAX),
        "snooze" => Reaction::Snooze(Duration::MAX),
        _ => Reaction::Dead,
    }));
    let long = "ü".repeat(1 << 20);
    let outcomes: [Result<Handled, String>; 7] = [
        Ok(Handled::Retry(Duration::MAX)),
        Ok(Handled::Snooze(Duration::MAX)),
        Ok(Handled::Snooze(Duration::ZERO)),
        Ok(Handled::Dead(long.clone())),
        Err(long),
        Err("retry".to_owned()),
        Err("snooze".to_owned()),
    ];
    for outcome in outcomes {
        append(&orders, "a", &["x"]).await;
        desk.next().await.answer(outcome);
    }
    // The one that was snoozed for no time.
    desk.next().await.done();
    rig.while_time_passes(office.close()).await;
    let letters = letters(&orders).await;
    assert_eq!(letters.len(), 2);
    assert!(letters.iter().all(|letter| super::rig::reason(letter).len() == 1_000));
}

// shows: stream::StreamAdmin::append, stream::StreamAdmin::groups, stream::StreamAdmin::peek, stream::StreamAdmin::trim
// shows: stream::StreamAdmin::dead, stream::DeadLetters::list, stream::DeadLetters::page, stream::DeadLetters::replay
// shows: stream::DeadLetters::remove
async fn operator_with_extreme_arguments_gets_an_answer(rig: Rig) {
    let orders = rig.orders(1).await;
    let admin = orders.admin();
    append(&orders, "a", &["1", "2", "3"]).await;
    let desk = Desk::new();
    open(desk.consumer(orders.group("billing")).drain(Duration::ZERO)).close().await;
    let dead = admin.dead("billing").unwrap();
    for limit in [0, 1, 500, 501, usize::MAX] {
        let is_valid = (1..=500).contains(&limit);
        assert_eq!(admin.peek(0, EntryId::MIN, limit).await.is_ok(), is_valid, "{limit}");
        assert_eq!(dead.list(0, EntryId::MIN, limit).await.is_ok(), is_valid, "{limit}");
        assert_eq!(dead.page(&LetterFilter::default(), None, limit).await.is_ok(), is_valid, "{limit}");
    }
    for (ms, sequence) in [(0, u64::MAX), (u64::MAX, 0), (u64::MAX, u64::MAX), (1 << 53, 0), (0, 1 << 53)] {
        let id = EntryId { ms, sequence };
        let to = SeekTo::Entry { partition: 0, id };
        let answers = [
            admin.peek(0, id, 1).await.err(),
            dead.list(0, id, 1).await.err(),
            dead.page(&LetterFilter::default(), Some(LetterId { partition: 0, id }), 1).await.err(),
            admin.preview_seek("billing", to).await.err(),
            admin.seek("billing", to).await.err(),
        ];
        assert!(answers.iter().all(|answer| matches!(answer, Some(StreamError::Invalid(_)))), "{id}: {answers:?}");
    }
    let after_all = LetterId { partition: u16::MAX, id: EntryId::MIN };
    assert_eq!(dead.page(&LetterFilter::default(), Some(after_all), 1).await.unwrap(), LetterPage::default());
    for partition in [1, u16::MAX] {
        assert!(admin.peek(partition, EntryId::MIN, 1).await.is_err());
        assert!(dead.list(partition, EntryId::MIN, 1).await.is_err());
        assert!(dead.replay(partition, &[]).await.is_err());
        assert!(dead.remove(partition, &[]).await.is_err());
    }
    let unknown = EntryId { ms: u64::MAX >> 1, sequence: 0 };
    assert_eq!(dead.replay(0, &[EntryId::MIN, unknown]).await.unwrap(), [Replayed::Unknown; 2]);
    assert_eq!(dead.remove(0, &[unknown]).await.unwrap(), [false]);
    assert!(dead.replay(0, &[unknown; 501]).await.is_err() && dead.remove(0, &[unknown; 501]).await.is_err());
    for time in NUMBERS {
        let paused = admin.pause("billing", Some(UnixMs(time))).await;
        // Times in the first years of the count were meant as seconds.
        assert_eq!(paused.is_ok(), time == 0 || time > 2, "{time}: {paused:?}");
        admin.resume("billing").await.unwrap();
    }
    for time in NUMBERS {
        let to = SeekTo::Time(UnixMs(time));
        let answers = [admin.preview_seek("billing", to).await.err(), admin.seek("billing", to).await.err()];
        assert!(answers.iter().all(|answer| answer.is_none() == (time == 0)), "{time}: {answers:?}");
    }
    for span in spans() {
        assert_eq!(admin.trim(span).await.is_ok(), span <= CENTURY, "{span:?}");
    }
    for name in ["", "a b", &"x".repeat(129)] {
        assert!(admin.pause(name, None).await.is_err() && admin.resume(name).await.is_err());
        assert!(admin.seek(name, SeekTo::Start).await.is_err() && admin.unregister(name).await.is_err());
        assert!(admin.dead(name).is_err() && admin.preview_seek(name, SeekTo::Start).await.is_err());
    }
    for size in [0, 1, 512, 513] {
        assert_eq!(admin.append(&vec![b'k'; size], "\"x\"".into(), Some("x")).await.is_ok(), size <= 512, "{size}");
    }
    assert!(admin.append(b"k", vec![b' '; 1 << 20].into(), Some("")).await.is_err());
    admin.seek("billing", SeekTo::End).await.unwrap();
    append(&orders, "a", &["fine"]).await;
    let office = open(desk.consumer(orders.group("billing")));
    while desk.done().await != "fine" {}
    all_settled(&orders).await;
    office.close().await;
}
