//! Keys under which another program has put a value of another type.

use evenkeel_link::LinkError;

/// The error with the key that a command was about: the server's message for a value of another type names none.
pub(crate) fn at_key(error: LinkError, key: &str) -> LinkError {
    match error {
        LinkError::Refused { code, message } if code == "WRONGTYPE" => LinkError::Refused {
            code,
            message: format!("{message}; another program has put it under {key}: rename or delete that key"),
        },
        other => other,
    }
}
