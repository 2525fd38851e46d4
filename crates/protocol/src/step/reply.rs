//! The parts of a script's reply. Where they have another form, the error is [`LinkError::Unexpected`].

use bytes::Bytes;
use evenkeel_link::LinkError;
use redis::{FromRedisValue, Value};

type Parsed<T> = Result<T, LinkError>;

/// A reply of this form.
pub(crate) fn typed<T: FromRedisValue>(reply: Value) -> Parsed<T> {
    redis::from_redis_value(reply).map_err(|error| LinkError::Unexpected(format!("the reply of a script: {error}")))
}

/// A list.
pub(crate) fn array(reply: Value) -> Parsed<Vec<Value>> {
    match reply {
        Value::Array(items) => Ok(items),
        _ => Err(unexpected("a list")),
    }
}

/// Bytes.
pub(crate) fn bulk(reply: Value) -> Parsed<Bytes> {
    match reply {
        Value::BulkString(bytes) => Ok(bytes.into()),
        _ => Err(unexpected("bytes")),
    }
}

/// A number. Scores are text, everything else is a number.
pub(crate) fn integer(reply: &Value) -> Parsed<i64> {
    match reply {
        Value::Int(number) => Ok(*number),
        Value::BulkString(text) => {
            std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).ok_or_else(|| unexpected("a number"))
        }
        _ => Err(unexpected("a number")),
    }
}

/// A number that is not negative.
pub(crate) fn unsigned(reply: &Value) -> Parsed<u64> {
    u64::try_from(integer(reply)?).map_err(|_| unexpected("a number"))
}

fn unexpected(what: &str) -> LinkError {
    LinkError::Unexpected(format!("{what} in the reply of a script"))
}
