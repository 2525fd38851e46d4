//! The effects of a unit of work, as a row of the outbox contains them.

use super::Target;
use bytes::{BufMut, Bytes};
use evenkeel::testing::effects_again;
use evenkeel_protocol::queue::job::{Job, JobSpec};
use evenkeel_protocol::queue::record::encode_job;

pub(crate) const TARGET: Target = Target { name: "effects", valid, feed };

fn feed(input: &[u8]) {
    let Ok(written) = effects_again(input) else { return };
    let again = effects_again(&written);
    assert_eq!(again.ok().as_ref(), Some(&written), "what was read and written reads back differently");
}

/// As docs/spec/unit-of-work.md has them.
fn valid() -> Vec<Vec<u8>> {
    let kinds = [invalidate(), job(), withdrawal(), message()];
    let mut rows: Vec<Vec<u8>> = kinds.iter().map(|kind| [&[1], kind.as_slice()].concat()).collect();
    rows.push([vec![1], kinds.concat()].concat());
    rows.push(vec![1]);
    rows
}

fn invalidate() -> Vec<u8> {
    let mut out = vec![1, 0b101];
    [500, 8, 3].iter().for_each(|number| out.put_u64(*number));
    put(&mut out, b"user");
    put(&mut out, b"42");
    out
}

fn job() -> Vec<u8> {
    let mut out = vec![2];
    named_job(&mut out);
    out.put_u64(1_700_000_000_000);
    let spec = JobSpec { version: Some(7), ..JobSpec::new(Bytes::from_static(b"welcome")) };
    put(&mut out, &encode_job(&Job::accepted(spec, 1_000, 2_000)));
    out
}

fn withdrawal() -> Vec<u8> {
    let mut out = vec![3];
    named_job(&mut out);
    out.put_u8(1);
    out.put_u64(60_000);
    out
}

fn message() -> Vec<u8> {
    let mut out = vec![4];
    put(&mut out, b"orders");
    put(&mut out, b"sold");
    let mut headers = Vec::new();
    put(&mut headers, b"type");
    put(&mut headers, b"order");
    put(&mut out, &headers);
    out
}

fn named_job(out: &mut Vec<u8>) {
    put(out, b"mail");
    out.put_u16(4);
    out.put_slice(&[9; 16]);
    out.put_u64(7);
}

fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    out.put_u32(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
    out.put_slice(bytes);
}
