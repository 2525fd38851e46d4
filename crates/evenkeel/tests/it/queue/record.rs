//! Records: what is written is read back, any bytes are answered, and a waiting job is as small as promised.

use bytes::Bytes;
use evenkeel::Token;
use evenkeel::queue::RetryDelay;
use evenkeel_protocol::queue::job::{
    ErrorClass, ErrorNote, Job, JobId, JobSpec, Note, Priority, Retention, Retries, Unique, UniqueKey,
};
use evenkeel_protocol::queue::record::{HEADER_BYTES, Record, encode_job, encoded_len};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

const TIME: std::ops::Range<u64> = 0..1 << 47;

fn bytes(length: usize) -> impl Strategy<Value = Bytes> {
    vec(any::<u8>(), 0..length).prop_map(Bytes::from)
}

fn note() -> impl Strategy<Value = Note> {
    let class = prop_oneof![
        Just(ErrorClass::Failed),
        Just(ErrorClass::Crashed),
        Just(ErrorClass::LeaseExpired),
        Just(ErrorClass::Dead)
    ];
    let error = (TIME, class, any::<u16>(), bytes(40));
    prop_oneof![
        error.prop_map(|(at, class, attempt, text)| Note::Error(ErrorNote { at, class, attempt, text })),
        bytes(60).prop_map(Note::Trace),
        bytes(60).prop_map(Note::Headers),
        bytes(60).prop_map(Note::Name),
        bytes(60).prop_map(Note::Progress),
        TIME.prop_map(|ms| Note::RetryDelay(RetryDelay::Fixed { ms })),
        (TIME, TIME).prop_map(|(first_ms, max_ms)| Note::RetryDelay(RetryDelay::Exponential { first_ms, max_ms })),
        (any::<[u8; 16]>(), TIME, any::<u16>()).prop_map(|(redrive, at, errors)| Note::Redriven {
            redrive,
            at,
            errors
        }),
    ]
}

fn spec() -> impl Strategy<Value = JobSpec> {
    let retention = prop_oneof![
        Just(Retention::Nothing),
        TIME.prop_map(Retention::AfterEnd),
        TIME.prop_map(Retention::FromEnqueue),
        Just(Retention::UntilForgotten),
    ];
    let retries = prop_oneof![(0..u16::MAX).prop_map(Retries::Limited), Just(Retries::Unlimited)];
    let unique = (any::<[u8; 16]>(), TIME).prop_map(|(key, window_ms)| Unique { key: UniqueKey(key), window_ms });
    let codec = prop_oneof![Just(None), Just(Some(1)), Just(Some(2)), any::<u8>().prop_map(Some)];
    let optional = (option::of(TIME), option::of(unique), option::of(any::<u64>()), codec);
    (0..4_usize, retries, any::<bool>(), retention, optional, bytes(200), vec(note(), 0..5)).prop_map(
        |(priority, retries, discard_exhausted, retention, (late_ms_max, unique, version, codec), body, notes)| {
            JobSpec {
                priority: Priority::ALL[priority],
                retries,
                discard_exhausted,
                retention,
                late_ms_max,
                unique,
                version,
                body,
                codec,
                notes,
            }
        },
    )
}

fn job() -> impl Strategy<Value = Job> {
    let counts = (any::<u16>(), any::<u8>(), any::<u8>(), any::<[bool; 4]>());
    (spec(), TIME, TIME, counts, any::<u64>(), any::<[u8; 16]>(), any::<bool>()).prop_map(
        |(
            spec,
            enqueued_at,
            expires_at,
            (errors, crashes, lease_expiries, [started, lease_expired, shielded, alone]),
            fence,
            token,
            leased,
        )| Job {
            expires_at: spec.late_ms_max.map(|_| expires_at),
            spec,
            enqueued_at,
            errors,
            crashes,
            lease_expiries,
            started,
            lease_expired,
            shielded,
            alone,
            fence,
            token: (leased && token != [0; 16]).then(|| Token::from(token)),
        },
    )
}

proptest! {
    #[test]
    fn encoded_value_decodes_to_itself(job in job()) {
        let raw = encode_job(&job);
        prop_assert_eq!(raw.len(), encoded_len(&job));
        prop_assert_eq!(Record::decode(&raw), Ok(Record::Live(Box::new(job))));
    }

    // shows: queue::Queue::find, queue::Topic::job, queue::Record::decode
    #[test]
    fn decoder_handles_arbitrary_bytes(mut raw in vec(any::<u8>(), 0..200), format in 0..4_u8) {
        if let Some(first) = raw.first_mut() {
            *first = format;
        }
        let raw = Bytes::from(raw);
        if let Ok(Record::Live(job)) = Record::decode(&raw) {
            // A decoded record is encoded to bytes that decode to the same record.
            prop_assert_eq!(Record::decode(&encode_job(&job)), Ok(Record::Live(job)));
        }
    }

    // shows: queue::Queue::find, queue::Topic::job, queue::Record::decode
    #[test]
    fn truncated_record_is_rejected(job in job(), cut in 0..HEADER_BYTES) {
        prop_assert!(Record::decode(&encode_job(&job).slice(..cut)).is_err());
    }

    #[test]
    fn displayed_id_parses_to_itself(id in any::<[u8; 16]>()) {
        prop_assert_eq!(JobId(id).to_string().parse(), Ok(JobId(id)));
    }
}

#[test]
fn record_adds_forty_bytes_to_the_body() {
    let job = Job::accepted(JobSpec::new(Bytes::from(vec![7; 100])), 1, 2);
    assert_eq!(encode_job(&job).len(), 140);
}

#[test]
fn generated_ids_sort_by_their_time() {
    let ids: Vec<JobId> = (0..100).map(|step| JobId::generate(1_700_000_000_000 + step)).collect();
    assert!(ids.is_sorted());
    assert!(ids.windows(2).all(|pair| pair[0] != pair[1]));
    let shards: std::collections::BTreeSet<u16> = ids.iter().map(|id| id.shard(4)).collect();
    assert_eq!(shards.into_iter().collect::<Vec<_>>(), [0, 1, 2, 3], "a hundred ids reach every one of four shards");
}

#[test]
fn job_name_is_hashed_whole() {
    assert_eq!(JobId::named(b"welcome/{42}"), JobId::named(b"welcome/{42}"));
    assert_ne!(JobId::named(b"welcome/{42}"), JobId::named(b"welcome/{43}"));
    assert_ne!(JobId::named(b"k"), JobId::of_unique_key(b"k"));
    assert!("xyz".parse::<JobId>().is_err() && "+1234567890123456789012345678901".parse::<JobId>().is_err());
}
