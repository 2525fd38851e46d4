//! Segments of a spool: what a crash, or a disk, has left of them.

use super::Target;
use evenkeel::spool::PendingEffect;
use evenkeel::testing::spool_format::{Ending, Entry, HEADER_BYTES, frame, header, parse};

pub(crate) const TARGET: Target = Target { name: "spool", valid, feed };

/// The number of every segment here.
const NUMBER: u64 = 7;

fn feed(input: &[u8]) {
    let parsed = parse(NUMBER, input);
    assert!(parsed.good_bytes <= input.len());
    assert_eq!(parsed.ending == Ending::Clean, parsed.good_bytes == input.len() && !input.is_empty());
    if parsed.good_bytes < HEADER_BYTES {
        assert!(parsed.entries.is_empty());
        return;
    }
    // What was good is good without what follows it, and nothing else is read from it.
    let again = parse(NUMBER, &input[..parsed.good_bytes]);
    assert_eq!((again.ending, &again.entries), (Ending::Clean, &parsed.entries));
    // What was read can be written.
    let mut written = header(NUMBER, parsed.next_sequence).to_vec();
    written.extend(frame(NUMBER, written.len() as u64, &parsed.entries));
    assert_eq!(parse(NUMBER, &written).entries, parsed.entries);
}

fn valid() -> Vec<Vec<u8>> {
    let put = |sequence, effect| Entry::Put { sequence, effect };
    let frames = [
        vec![put(1, PendingEffect::delete("shop:c:user", "42", &b"\x01\x00"[..]))],
        vec![put(2, PendingEffect::write("shortlink/links", "a", "a row")), put(3, PendingEffect::write("t", "", ""))],
        vec![Entry::Done(1), Entry::Done(2)],
    ];
    let mut segments = Vec::new();
    for count in 0..=frames.len() {
        let mut bytes = header(NUMBER, 1).to_vec();
        for entries in &frames[..count] {
            bytes.extend(frame(NUMBER, bytes.len() as u64, entries));
        }
        segments.push(bytes);
    }
    segments
}
