//! Push messages (RESP3), passed to listeners in the order in which the server sent them, by the task that reads the socket.
//!
//! There is no queue in between: with one, a reply read after an invalidation could be processed before it.

use crate::support::guard::guard;
use arc_swap::ArcSwap;
use redis::{PushInfo, PushKind, Value};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};

/// One push message.
#[derive(Debug)]
pub struct Push<'a> {
    /// The epoch of the connection that received it. That epoch may not be published yet.
    pub epoch: u64,
    /// The kind of the message.
    pub kind: &'a PushKind,
    /// Its elements, without the kind.
    pub data: &'a [Value],
}

/// Receives every push message.
pub trait PushListener: Send + Sync + 'static {
    /// Called by the task that reads the socket: must be quick, must not block and must not wait for a command.
    fn received(&self, push: &Push<'_>);

    /// New connections are about to be used: changes after the previous ones ended were not pushed. Called before the first
    /// command on them.
    fn opened(&self, epoch: u64) {
        let _ = epoch;
    }

    /// The connections have ended: no push arrives before the next [`opened`](Self::opened).
    fn ended(&self) {}
}

/// The registered listeners, held weakly.
#[derive(Default)]
pub(crate) struct Listeners(ArcSwap<Vec<Weak<dyn PushListener>>>);

impl Listeners {
    pub(crate) fn add(&self, listener: &Weak<dyn PushListener>) {
        self.0.rcu(|known| {
            let living = known.iter().filter(|listener| listener.strong_count() > 0).cloned();
            living.chain([Weak::clone(listener)]).collect::<Vec<_>>()
        });
    }

    /// Notifies all listeners that the connections of `epoch` are about to be used.
    pub(crate) fn opened(&self, epoch: u64) {
        self.notify_all(|listener| listener.opened(epoch));
    }

    /// Notifies all listeners that the connections have ended.
    pub(crate) fn ended(&self) {
        self.notify_all(PushListener::ended);
    }

    fn notify_all(&self, notify: impl Fn(&dyn PushListener)) {
        for listener in self.0.load().iter().filter_map(Weak::upgrade) {
            // A panic would end the task that reads the socket or opens an epoch.
            if !guard("link_listener_caught") {
                notify(&*listener);
            } else if catch_unwind(AssertUnwindSafe(|| notify(&*listener))).is_err() {
                tracing::error!("a listener of push messages panicked; the other listeners are still called");
            }
        }
    }

    /// The callback of a connection of `epoch` for each push message.
    pub(crate) fn sender(self: &Arc<Self>, epoch: u64) -> impl Fn(PushInfo) -> Result<(), ()> + Send + Sync + 'static {
        let listeners = Arc::clone(self);
        move |info| {
            let push = Push { epoch, kind: &info.kind, data: &info.data };
            listeners.notify_all(|listener| listener.received(&push));
            Ok(())
        }
    }
}
