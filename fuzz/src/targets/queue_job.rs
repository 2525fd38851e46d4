//! Job records: the decoder accepts any bytes under a job's key.

use super::Target;
use bytes::Bytes;
use evenkeel::Token;
use evenkeel_protocol::queue::job::{Job, JobSpec, Note, Retention, Unique, UniqueKey};
use evenkeel_protocol::queue::record::{Record, encode_job, encoded_len};

pub(crate) const TARGET: Target = Target { name: "queue_job", valid, feed };

fn feed(input: &[u8]) {
    let Ok(Record::Live(job)) = Record::decode(&Bytes::copy_from_slice(input)) else { return };
    let written = encode_job(&job);
    assert_eq!(written.len(), encoded_len(&job), "a record is not as long as it is said to be");
    assert_eq!(Record::decode(&written), Ok(Record::Live(job)), "a record reads back differently");
}

fn valid() -> Vec<Vec<u8>> {
    let plain = JobSpec::new(Bytes::from_static(b"{\"order\":42}"));
    let full = JobSpec {
        retention: Retention::AfterEnd(60_000),
        late_ms_max: Some(5_000),
        unique: Some(Unique { key: UniqueKey::new(b"order/42"), window_ms: 10_000 }),
        version: Some(3),
        notes: vec![Note::Name(Bytes::from_static(b"order/42")), Note::Trace(Bytes::from_static(b"00-0af7-b7ad-01"))],
        ..plain.clone()
    };
    let delivered =
        Job { started: true, fence: 9, token: Some(Token::from([7; 16])), ..Job::accepted(full.clone(), 1_000, 2_000) };
    [Job::accepted(plain, 1_000, 2_000), Job::accepted(full, 1_000, 2_000), delivered]
        .map(|job| encode_job(&job).to_vec())
        .to_vec()
}
