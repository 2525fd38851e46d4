//! The parts of a script's reply.

use bytes::Bytes;
use evenkeel_link::LinkError;
use redis::Value;

type Parsed<T> = Result<T, LinkError>;

pub(crate) fn array(reply: Value) -> Parsed<Vec<Value>> {
    match reply {
        Value::Array(items) => Ok(items),
        _ => Err(unexpected("a list")),
    }
}

pub(crate) fn bulk(reply: Value) -> Parsed<Bytes> {
    match reply {
        Value::BulkString(bytes) => Ok(bytes.into()),
        _ => Err(unexpected("bytes")),
    }
}

/// Scores are text, everything else is a number.
pub(crate) fn integer(reply: &Value) -> Parsed<i64> {
    match reply {
        Value::Int(number) => Ok(*number),
        Value::BulkString(text) => {
            std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).ok_or_else(|| unexpected("a number"))
        }
        _ => Err(unexpected("a number")),
    }
}

pub(crate) fn unsigned(reply: &Value) -> Parsed<u64> {
    u64::try_from(integer(reply)?).map_err(|_| unexpected("a number"))
}

fn unexpected(what: &str) -> LinkError {
    LinkError::Unexpected(format!("{what} in the reply of a script"))
}
