//! Queues whose programs use different codecs.

use crate::log::Log;
use crate::queue::side::rig::{Rig, ended, state};
use bytes::Bytes;
use evenkeel::Keel;
use evenkeel::codec::{Codec, CodecError, Json, MessagePack, Raw};
use evenkeel::queue::{Consumer, Delivery, Queue};
use evenkeel_protocol::queue::job::{JobId, JobSpec};
use evenkeel_protocol::queue::steps::{Enqueue, Found, NewJob, Rescheduled, State, When};
use std::convert::Infallible;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

on_both! {
    body_is_decoded_by_its_own_codec
    body_of_unknown_codec_is_dead_with_the_codec_name
    job_without_a_codec_id_uses_the_queue_codec
    edited_body_has_its_own_codec_id
}

/// A codec of the user's.
struct Own(u8);

impl Codec<u64> for Own {
    fn id(&self) -> u8 {
        self.0
    }

    fn encode(&self, value: &u64, out: &mut Vec<u8>) -> Result<(), CodecError> {
        out.extend_from_slice(&value.to_be_bytes());
        Ok(())
    }

    fn decode(&self, bytes: Bytes) -> Result<u64, CodecError> {
        let bytes: [u8; 8] = bytes[..].try_into().map_err(|error| CodecError::decode("own", error))?;
        Ok(u64::from_be_bytes(bytes))
    }
}

async fn numbers<C: Codec<u64>>(rig: &Rig, codec: C) -> Queue<u64> {
    rig.process().await.queue("numbers").codec(codec).open().await.unwrap()
}

/// A consumer that reports what it received.
fn teller(numbers: &Queue<u64>) -> (Consumer<u64, Infallible>, UnboundedReceiver<u64>) {
    let (reported, given) = unbounded_channel();
    let consumer = numbers.consume(move |delivery: Delivery<u64>| {
        reported.send(delivery.body).unwrap();
        async { Ok(()) }
    });
    (consumer, given)
}

/// The JSON texts 5, 42 and 100 are the MessagePack numbers 53, 52 and 49, with bytes behind them.
// shows: hazard A3
async fn body_is_decoded_by_its_own_codec(rig: Rig) {
    let json = numbers(&rig, Json).await;
    for number in [5, 42, 100] {
        json.now(&number).await.unwrap();
    }
    let packed = numbers(&rig, MessagePack).await;
    packed.now(&7).await.unwrap();
    let (consumer, mut given) = teller(&packed);
    let office = crate::queue::side::desk::open_any(consumer);
    let mut all = Vec::new();
    for _ in 0..4 {
        all.push(given.recv().await.unwrap());
    }
    all.sort_unstable();
    assert_eq!(all, [5, 7, 42, 100]);
    office.close().await;
}

// shows: hazard A3
async fn body_of_unknown_codec_is_dead_with_the_codec_name(rig: Rig) {
    let mail = rig.mail().await;
    let own = numbers(&rig, Own(77)).await.now(&5).await.unwrap();
    let raw: Queue<String> = rig.process().await.queue("numbers").codec(Raw).open().await.unwrap();
    let text = raw.now(&"five".to_owned()).await.unwrap();
    let json = numbers(&rig, Json).await;
    let fine = json.now(&5).await.unwrap();
    let (consumer, mut given) = teller(&json);
    let office = crate::queue::side::desk::open_any(consumer.concurrency(1));
    assert_eq!(given.recv().await, Some(5));
    let twin: Queue<String> = rig.process().await.queue("numbers").open().await.unwrap();
    ended(&twin, &fine).await;
    office.close().await;
    for (id, words) in [(own, "by codec 77"), (text, "five")] {
        assert_eq!(state(&twin, &id).await, Some(State::Dead));
        let Some(Found::Live { job, .. }) = twin.find(&id).await.unwrap() else { panic!("{words}: it is gone") };
        let history: String = job.error_notes().map(|note| String::from_utf8_lossy(&note.text).into_owned()).collect();
        assert!(history.starts_with("undecodable") && history.contains(words), "{history}");
    }
    drop(mail);
}

/// Earlier versions wrote jobs without a codec id.
// shows: hazard A3
async fn job_without_a_codec_id_uses_the_queue_codec(rig: Rig) {
    let packed = numbers(&rig, MessagePack).await;
    let (steps, shard) = packed.steps(&JobId([0; 16]));
    let old =
        NewJob { id: JobId::generate(rig.now_ms()), when: When::In(0), spec: JobSpec::new(Bytes::from_static(&[5])) };
    steps.run(&shard, &Enqueue(vec![old])).await.unwrap();
    let (consumer, mut given) = teller(&packed);
    let office = crate::queue::side::desk::open_any(consumer);
    assert_eq!(given.recv().await, Some(5));
    office.close().await;
}

// shows: hazard A3
async fn edited_body_has_its_own_codec_id(rig: Rig) {
    let json = numbers(&rig, Json).await;
    let own = numbers(&rig, Own(64)).await;
    let packed = numbers(&rig, MessagePack).await;
    let (consumer, mut given) = teller(&json);
    let office = crate::queue::side::desk::open_any(consumer);
    let id = json.delay(Duration::from_secs(1), &5).await.unwrap();
    for changed in [own.edit(&id, &8).await, packed.edit(&id, &6).await] {
        assert_eq!(changed.unwrap(), Rescheduled::Changed);
    }
    assert_eq!(rig.while_time_passes(given.recv()).await, Some(6));
    let id = own.delay(Duration::from_secs(1), &5).await.unwrap();
    json.topic().edit(id, Bytes::from_static(b"9")).await.unwrap();
    assert_eq!(rig.while_time_passes(given.recv()).await, Some(9));
    office.close().await;
}

// shows: hazard A3
#[tokio::test]
async fn reserved_codec_ids_are_rejected_in_memory() {
    let keel = Keel::memory();
    for (id, is_good) in [(0, false), (1, false), (63, false), (64, true), (127, true), (128, false), (255, false)] {
        let opened = keel.queue::<u64>("numbers").codec(Own(id)).open().await;
        let words = opened.err().map(|error| error.to_string());
        assert_eq!(words.is_none(), is_good, "{id}");
        assert!(words.is_none_or(|words| words.contains("64 to 127")), "{id}");
    }
}

// shows: hazard A3
#[tokio::test]
async fn opening_with_another_codec_is_logged_on_redis() {
    crate::in_time(async {
        let rig = Rig::redis().await;
        let _json = numbers(&rig, Json).await;
        let log = Log::begin();
        let _same = numbers(&rig, Json).await;
        let _packed = numbers(&rig, MessagePack).await;
        log.each_says("opened with another codec", &["numbers"]);
    })
    .await;
}

// shows: hazard A3
#[tokio::test]
async fn memory_queue_logs_opening_with_another_codec() {
    let keel = Keel::memory();
    let _json = keel.queue::<u64>("numbers").open().await.unwrap();
    let log = Log::begin();
    let _same = keel.queue::<u64>("numbers").open().await.unwrap();
    let _packed = keel.queue::<u64>("numbers").codec(MessagePack).open().await.unwrap();
    log.says(&["opened with another codec"]);
}
