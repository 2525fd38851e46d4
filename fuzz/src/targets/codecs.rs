//! Codecs: payloads that another version of the program, or another program, has written.

use super::Target;
use bytes::Bytes;
use evenkeel::codec::{Codec, Integer, Json, MessagePack, Raw};
use serde::{Deserialize, Serialize};
use std::fmt::Debug;

pub(crate) const TARGET: Target = Target { name: "codecs", valid, feed };

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Row {
    id: u64,
    name: Option<String>,
    tags: Vec<String>,
    nested: Vec<(i32, bool)>,
}

fn feed(input: &[u8]) {
    both_ways::<Row, _>(&Json, input);
    both_ways::<Row, _>(&MessagePack, input);
    both_ways::<String, _>(&Raw, input);
    both_ways::<u64, _>(&Integer, input);
    both_ways::<i32, _>(&Integer, input);
}

/// A decoded value is unchanged after encoding and decoding.
fn both_ways<V: PartialEq + Debug, C: Codec<V>>(codec: &C, input: &[u8]) {
    let Ok(value) = codec.decode(Bytes::copy_from_slice(input)) else { return };
    let mut written = Vec::new();
    assert!(codec.encode(&value, &mut written).is_ok(), "{value:?} was read and cannot be written");
    let again = codec.decode(written.into());
    assert_eq!(again.as_ref().ok(), Some(&value), "a value reads back differently");
}

fn valid() -> Vec<Vec<u8>> {
    let row =
        Row { id: 42, name: Some("Ada".to_owned()), tags: vec!["a".to_owned()], nested: vec![(-1, true), (7, false)] };
    let mut inputs = vec![b"18446744073709551615".to_vec(), vec![0, 0, 0, 0, 0, 0, 1, 0]];
    let (mut json, mut packed, mut number) = (Vec::new(), Vec::new(), Vec::new());
    if Json.encode(&row, &mut json).is_ok()
        && MessagePack.encode(&row, &mut packed).is_ok()
        && Integer.encode(&7_u64, &mut number).is_ok()
    {
        inputs.extend([json, packed, number]);
    }
    inputs
}
