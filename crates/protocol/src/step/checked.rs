//! Keys under which another program has put a value of another type.

use super::Args;
use evenkeel_link::{Link, LinkError, Script};
use parking_lot::Mutex;
use redis::Value;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// The epoch in which the types of the keys of a place were last checked. A step does not check them: it would cost more than most steps.
#[derive(Clone, Default)]
pub(super) struct Checked(Arc<Mutex<HashMap<Vec<u8>, u64>>>);

impl Checked {
    /// Runs the check of a place if this epoch has not done so.
    pub(super) async fn once(
        &self,
        link: &Link,
        script: &'static Script,
        place: &[u8],
        args: &Args,
    ) -> Result<(), LinkError> {
        let Some(epoch) = link.epoch().map(|epoch| epoch.number()) else { return Ok(()) };
        let of = if args.is_empty() { Cow::Borrowed(place) } else { Cow::Owned([place, args.bytes_of_all()].concat()) };
        if self.0.lock().get(&*of) == Some(&epoch) {
            return Ok(());
        }
        link.run::<Value>(script, &[place], &args.slices()).await?;
        self.0.lock().insert(of.into_owned(), epoch);
        Ok(())
    }
}

/// The error with the key that a command was about: the server's message for a value of another type names none.
#[must_use]
pub fn at_key(error: LinkError, key: &str) -> LinkError {
    match error {
        LinkError::Refused { code, message } if code == "WRONGTYPE" => LinkError::Refused {
            code,
            message: format!("{message}; another program has put it under {key}: rename or delete that key"),
        },
        other => other,
    }
}
