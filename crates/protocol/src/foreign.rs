//! Keys under which another program has put a value of another type.

use evenkeel_link::{Link, LinkError};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

/// The epoch in which the types of the keys of a shard, or of a group of a partition, were last checked. A step does not check them: it
/// would cost more than most steps.
#[derive(Clone)]
pub(crate) struct Checked<T>(Arc<Mutex<HashMap<T, u64>>>);

impl<T> Default for Checked<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T: Hash + Eq + Clone> Checked<T> {
    /// Runs `check` if this epoch has not done so.
    pub(crate) async fn once<E>(
        &self,
        link: &Link,
        of: &T,
        check: impl Future<Output = Result<(), E>>,
    ) -> Result<(), E> {
        let Some(epoch) = link.epoch().map(|epoch| epoch.number()) else { return Ok(()) };
        if self.0.lock().get(of) == Some(&epoch) {
            return Ok(());
        }
        check.await?;
        self.0.lock().insert(of.clone(), epoch);
        Ok(())
    }
}

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
