//! Values of columns.

use super::cursor::Cursor;
use super::table::{Charset, Column, Type};
use super::{Damaged, Decoded, decimal, inflate, time};
use crate::cdc::source::Value;

/// The next value, which is not `NULL`.
pub(super) fn decode(from: &mut Cursor<'_>, column: &Column) -> Decoded<Value> {
    Ok(match column.kind {
        Type::Int(bytes) => int(from.little(bytes)?, bytes, column.unsigned),
        Type::Float => Value::Float(f64::from(f32::from_le_bytes(from.array()?))),
        Type::Double => Value::Float(f64::from_le_bytes(from.array()?)),
        Type::Decimal { precision, scale } => Value::Text(decimal::decode(from, precision, scale)?),
        Type::Year => Value::Unsigned(match from.u8()? {
            0 => 0,
            year => 1_900 + u64::from(year),
        }),
        Type::Date => Value::Text(time::date(from)?),
        Type::OldTime => Value::Text(time::old_time(from)?),
        Type::OldDatetime => Value::Text(time::old_datetime(from)?),
        Type::OldTimestamp => Value::Text(time::old_timestamp(from)?),
        Type::Time(digits) => Value::Text(time::time(from, digits)?),
        Type::Datetime(digits) => Value::Text(time::datetime(from, digits)?),
        Type::Timestamp(digits) => Value::Text(time::timestamp(from, digits)?),
        Type::Bit(bytes) => Value::Unsigned(from.big(bytes)?),
        Type::Enum(bytes) => Value::Text(choice(from.little(bytes)?, &column.values)?),
        Type::Set(bytes) => Value::Text(choices(from.little(bytes)?, &column.values)?),
        Type::Chars { prefix, fixed, compressed } => {
            let length = sized(from, prefix)?;
            let mut bytes = from.take(length)?.to_vec();
            if compressed {
                bytes = inflate::column(&bytes)?;
            }
            chars(bytes, fixed, column.charset)?
        }
        Type::Bytes(prefix) => {
            let length = sized(from, prefix)?;
            Value::Bytes(from.take(length)?.to_vec())
        }
        Type::Null => Value::Null,
    })
}

fn sized(from: &mut Cursor<'_>, prefix: usize) -> Decoded<usize> {
    let length = from.little(prefix)?;
    usize::try_from(length).map_err(|_| Damaged(format!("a value of {length} bytes")))
}

fn int(stored: u64, bytes: usize, unsigned: bool) -> Value {
    if unsigned {
        return Value::Unsigned(stored);
    }
    let shift = 64 - 8 * bytes;
    Value::Int((stored << shift).cast_signed() >> shift)
}

/// The log has `BINARY` without its zeros at the end, as `CHAR` without its spaces; only the zeros are a part of the value.
fn chars(mut bytes: Vec<u8>, fixed: Option<usize>, charset: Charset) -> Decoded<Value> {
    if charset == Charset::Binary
        && let Some(length) = fixed
        && length > bytes.len()
    {
        bytes.resize(length, 0);
    }
    Ok(match text(&bytes, charset)? {
        Some(text) => Value::Text(text),
        None => Value::Bytes(bytes),
    })
}

/// The text of these bytes, if their character set is known.
pub(super) fn text(bytes: &[u8], charset: Charset) -> Decoded<Option<String>> {
    match charset {
        Charset::Binary | Charset::Other => Ok(None),
        Charset::Latin1 => Ok(Some(bytes.iter().map(|byte| latin1(*byte)).collect())),
        Charset::Utf8 => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Some(text.to_owned())),
            Err(_) => Err(Damaged::new("a text is not UTF-8")),
        },
    }
}

/// Windows-1252 from 0x80 to 0x9f.
const WESTERN: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}', '‘', '’',
    '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

fn latin1(byte: u8) -> char {
    match byte {
        0x80..=0x9f => WESTERN[usize::from(byte - 0x80)],
        byte => char::from(byte),
    }
}

/// The empty text stands for a value that the column refused.
fn choice(index: u64, values: &[String]) -> Decoded<String> {
    let Some(place) = index.checked_sub(1) else { return Ok(String::new()) };
    let value = usize::try_from(place).ok().and_then(|place| values.get(place));
    value.cloned().ok_or_else(|| Damaged(format!("value {index} of an ENUM with {}", values.len())))
}

fn choices(mask: u64, values: &[String]) -> Decoded<String> {
    if values.len() < 64 && mask >> values.len() != 0 {
        return Err(Damaged(format!("the mask {mask:#x} of a SET with {} values", values.len())));
    }
    let chosen = values.iter().enumerate().filter(|(n, _)| mask >> n & 1 == 1);
    Ok(chosen.map(|(_, value)| value.as_str()).collect::<Vec<_>>().join(","))
}
