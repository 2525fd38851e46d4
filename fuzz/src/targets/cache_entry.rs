//! Cache entries: the decoder accepts any bytes, and an entry that it decodes is encoded to the same bytes.

use super::Target;
use bytes::Bytes;
use evenkeel::Token;
use evenkeel_protocol::cache::header::{Entry, Header, LeaseBlock, Value, Window};
use evenkeel_protocol::cache::steps::Generation;

pub(crate) const TARGET: Target = Target { name: "cache_entry", valid, feed };

fn feed(input: &[u8]) {
    let Ok(entry) = Entry::parse(Bytes::copy_from_slice(input)) else { return };
    let written = entry.to_bytes();
    let again = Entry::parse(written.clone());
    assert_eq!(again.as_ref(), Ok(&entry), "an entry reads back differently");
    assert_eq!(again.map(|entry| entry.to_bytes()), Ok(written), "an entry is written differently the second time");
    // Any time may be asked about.
    for now_ms in [0, entry.header.ends_at_ms, u64::MAX] {
        let _ = entry.header.verdict(now_ms);
    }
}

fn valid() -> Vec<Vec<u8>> {
    let token = Token::from([7; 16]);
    let value = Value {
        loaded_at_ms: 1_000,
        soft_until_ms: 9_000,
        hard_until_ms: 10_000,
        version: Some(5),
        absent: false,
        stale: false,
        codec: 1,
        compression: 0,
    };
    let empty = Header {
        schema: 3,
        generation: Generation([9; 8]),
        granted: 2,
        filled: 1,
        ends_at_ms: 10_000,
        value: None,
        lease: None,
        floor: 0,
        invalidated_at_ms: 0,
        suspect_until_ms: 0,
        windows: Vec::new(),
    };
    let lease = LeaseBlock { token: Some(token), at_ms: 500, until_ms: 1_500 };
    let window = Window { token, until_ms: 2_000, suspect_until_ms: 3_000 };
    let leased = Header { lease: Some(lease), ..empty.clone() };
    let written = Header { windows: vec![window, window], invalidated_at_ms: 1, suspect_until_ms: 2, ..leased };
    let filled = Header { value: Some(value), floor: 5, ..empty.clone() };
    let headers = [empty, leased, written, filled];
    headers.map(|header| Entry { header, payload: Bytes::from_static(b"{\"id\":42}") }.to_bytes().to_vec()).to_vec()
}
