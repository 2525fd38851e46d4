//! The entry header: an encoded header decodes to itself, and no input makes the decoder panic.

use bytes::Bytes;
use evenkeel::Token;
use evenkeel_protocol::cache::header::{Entry, HEADER_LEN, Header, HeaderError, LeaseBlock, Value, Verdict, Window};
use evenkeel_protocol::cache::steps::Generation;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

const TIME: std::ops::Range<u64> = 0..1 << 48;

fn value() -> impl Strategy<Value = Value> {
    let times = (TIME, TIME, TIME);
    (times, option::of(any::<u64>()), any::<(bool, bool, u8, u8)>()).prop_map(
        |((loaded_at_ms, soft_until_ms, hard_until_ms), version, (absent, stale, codec, compression))| Value {
            loaded_at_ms,
            soft_until_ms,
            hard_until_ms,
            version,
            absent,
            stale,
            codec,
            compression,
        },
    )
}

fn lease() -> impl Strategy<Value = LeaseBlock> {
    (any::<[u8; 16]>(), TIME, TIME).prop_map(|(token, at_ms, until_ms)| LeaseBlock {
        token: (token[0] & 1 == 0 && token != [0; 16]).then(|| Token::from(token)),
        at_ms,
        until_ms,
    })
}

fn window() -> impl Strategy<Value = Window> {
    (any::<[u8; 16]>(), TIME, TIME).prop_map(|(token, until_ms, suspect_until_ms)| Window {
        token: Token::from(token),
        until_ms,
        suspect_until_ms,
    })
}

fn entry() -> impl Strategy<Value = Entry> {
    let numbers = (any::<u32>(), any::<[u8; 8]>(), any::<u32>(), any::<u32>(), TIME);
    let rules = (any::<u64>(), TIME, TIME, vec(window(), 0..=4));
    (numbers, option::of(value()), option::of(lease()), rules, vec(any::<u8>(), 0..40)).prop_map(
        |((schema, generation, granted, filled, ends_at_ms), value, lease, rules, payload)| {
            let (floor, invalidated_at_ms, suspect_until_ms, windows) = rules;
            let header = Header {
                schema,
                generation: Generation(generation),
                granted,
                filled,
                ends_at_ms,
                value,
                lease,
                floor,
                invalidated_at_ms,
                suspect_until_ms,
                windows,
            };
            Entry { header, payload: payload.into() }
        },
    )
}

proptest! {
    #[test]
    fn encoded_value_decodes_to_itself(entry in entry()) {
        prop_assert_eq!(Entry::parse(entry.to_bytes()), Ok(entry));
    }

    // shows: cache::Entry::parse, cache::Header::parse
    #[test]
    fn decoder_handles_arbitrary_bytes(bytes in vec(any::<u8>(), 0..200), format in prop_oneof![Just(0xF9_u8), any::<u8>()]) {
        let mut bytes = bytes;
        if let Some(first) = bytes.first_mut() {
            *first = format;
        }
        if let Ok(entry) = Entry::parse(bytes.into()) {
            // A decoded header is encoded to bytes that decode to the same header.
            prop_assert_eq!(Entry::parse(entry.to_bytes()), Ok(entry));
        }
    }

    // shows: cache::Entry::parse, cache::Header::parse
    #[test]
    fn truncated_header_is_corrupt(entry in entry(), cut in any::<prop::sample::Index>()) {
        let header = Entry { payload: Bytes::new(), ..entry }.to_bytes();
        let cut = cut.index(header.len());
        prop_assert_eq!(Entry::parse(header.slice(..cut)), Err(HeaderError::Corrupt));
    }
}

fn plain(value: Value) -> Header {
    Header {
        schema: 7,
        generation: Generation([1; 8]),
        granted: 1,
        filled: 1,
        ends_at_ms: 300,
        value: Some(value),
        lease: None,
        floor: 0,
        invalidated_at_ms: 0,
        suspect_until_ms: 0,
        windows: Vec::new(),
    }
}

const VALUE: Value = Value {
    loaded_at_ms: 100,
    soft_until_ms: 200,
    hard_until_ms: 300,
    version: None,
    absent: false,
    stale: false,
    codec: 1,
    compression: 0,
};

#[test]
fn idle_entry_takes_48_bytes() {
    let mut bytes = Vec::new();
    plain(VALUE).write(&mut bytes);
    assert_eq!(bytes.len(), HEADER_LEN);
    assert_eq!(bytes.len(), 48);
}

#[test]
fn freshness_follows_the_header_times() {
    let header = plain(VALUE);
    assert_eq!(header.verdict(199), Verdict::Hit);
    assert_eq!(header.verdict(200), Verdict::Due);
    assert_eq!(header.verdict(299), Verdict::Due);
    assert_eq!(header.verdict(300), Verdict::Miss);
    let stale = plain(Value { stale: true, ..VALUE });
    assert_eq!(stale.verdict(150), Verdict::Stale);
    assert_eq!(stale.verdict(300), Verdict::Miss);
    assert_eq!(Header { ends_at_ms: 150, ..header.clone() }.verdict(150), Verdict::Miss);
    assert_eq!(Header { value: None, ..header }.verdict(150), Verdict::Miss);
}

// shows: cache::Entry::parse, cache::Header::parse
#[test]
fn newer_format_is_distinguished_from_corruption() {
    let mut raw = Vec::new();
    plain(VALUE).write(&mut raw);
    raw[0] += 1;
    assert_eq!(Entry::parse(raw.into()), Err(HeaderError::NewerFormat));
    assert_eq!(Entry::parse(Bytes::from_static(b"{\"name\":\"Ada\"}")), Err(HeaderError::Corrupt));
    assert_eq!(Entry::parse(Bytes::new()), Err(HeaderError::Corrupt));
}

#[test]
fn payload_is_decoded_without_a_copy() {
    let entry = Entry { header: plain(VALUE), payload: Bytes::from_static(b"payload") };
    let stored = entry.to_bytes();
    let parsed = Entry::parse(stored.clone()).unwrap();
    assert_eq!(parsed.payload.as_ptr(), stored[HEADER_LEN..].as_ptr());
}
