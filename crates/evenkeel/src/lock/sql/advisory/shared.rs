//! The state that the steps and the waiters of one server's advisory locks share: the connections with locks.

use super::session::Session;
use evenkeel_link::Token;
use evenkeel_link::clock::Moment;
use evenkeel_protocol::lock::name::LockName;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The connections of this process.
pub(super) struct Shared {
    /// The connections that there may be. A task that finds none waits here, and not at the server.
    places: Arc<Semaphore>,
    held: Mutex<HashMap<Token, Arc<Holding>>>,
    seats: Mutex<HashMap<LockName, Seat>>,
}

/// A held lock.
pub(super) struct Holding {
    /// `None` once the connection has ended.
    pub(super) session: tokio::sync::Mutex<Option<Session>>,
    /// The limit of the hold.
    pub(super) limit: Option<Moment>,
}

/// The place of this process in the server's queue for a name.
enum Seat {
    /// A task waits there, identified by the token.
    Waiting(Token),
    /// The connection has the lock, and no contender has taken it over yet.
    Granted(Session),
}

/// The state that a contender finds.
pub(super) enum Found {
    /// No task of this process waits in the server's queue.
    Nothing,
    /// A task waits, and does not have the lock yet.
    Waiting,
    /// A connection with the lock.
    Granted(Session),
}

impl Shared {
    pub(super) fn new(connections_max: u32) -> Self {
        // A semaphore of tokio has fewer permits than 32 bits can count on a machine of 32 bits.
        let places = usize::try_from(connections_max).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS);
        Self { places: Arc::new(Semaphore::new(places)), held: Mutex::default(), seats: Mutex::default() }
    }

    /// A place for one more connection, if there is one now.
    pub(super) fn place_now(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).try_acquire_owned().ok()
    }

    /// Whether there is no place for one more connection.
    pub(super) fn is_full(&self) -> bool {
        self.places.available_permits() == 0
    }

    /// Waits for a place for one more connection.
    pub(super) async fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).acquire_owned().await.ok()
    }

    pub(super) fn holding(&self, owner: Token) -> Option<Arc<Holding>> {
        self.held.lock().get(&owner).cloned()
    }

    pub(super) fn hold(&self, owner: Token, session: Session, limit: Option<Moment>) {
        let holding = Holding { session: tokio::sync::Mutex::new(Some(session)), limit };
        self.held.lock().insert(owner, Arc::new(holding));
    }

    pub(super) fn let_go(&self, owner: Token) -> Option<Arc<Holding>> {
        self.held.lock().remove(&owner)
    }

    /// Takes over the connection of a waiter that has the lock.
    pub(super) fn take(&self, name: &LockName) -> Found {
        let mut seats = self.seats.lock();
        match seats.remove(name) {
            None => Found::Nothing,
            Some(Seat::Granted(session)) => Found::Granted(session),
            Some(waiting @ Seat::Waiting(_)) => {
                seats.insert(name.clone(), waiting);
                Found::Waiting
            }
        }
    }

    pub(super) fn is_granted(&self, name: &LockName) -> bool {
        matches!(self.seats.lock().get(name), Some(Seat::Granted(_)))
    }

    /// Records that a task begins to wait.
    pub(super) fn wait(&self, name: &LockName, waiter: Token) {
        self.seats.lock().insert(name.clone(), Seat::Waiting(waiter));
    }

    /// Records that the task `waiter` has the lock. If it no longer waits, its connection is closed, which releases the lock.
    pub(super) fn grant(&self, name: &LockName, waiter: Token, session: Session) {
        let mut seats = self.seats.lock();
        if matches!(seats.get(name), Some(Seat::Waiting(seat)) if *seat == waiter) {
            seats.insert(name.clone(), Seat::Granted(session));
        }
    }

    /// Records that the task `waiter` has stopped waiting.
    pub(super) fn stop_waiting(&self, name: &LockName, waiter: Token) {
        let mut seats = self.seats.lock();
        if matches!(seats.get(name), Some(Seat::Waiting(seat)) if *seat == waiter) {
            seats.remove(name);
        }
    }

    /// Gives up the place in the queue, when no contender is left.
    pub(super) fn leave(&self, name: &LockName) {
        let seat = self.seats.lock().remove(name);
        drop(seat);
    }
}
