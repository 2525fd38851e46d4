//! A store of locks that is neither this process nor one Redis, as a trait object: whoever implements [`Elsewhere`] gets guards,
//! renewal, the local queue and the reaper.

use super::error::LockError;
use super::exclusive::Boxed;
use super::name::LockName;
use super::steps::{Acquire, Acquired, Fence, Holder, LockSteps, Release, Released, Renewed, check};
use crate::token::Token;
use std::future::Future;

/// What a kind of store has to say besides the steps.
pub(crate) trait Elsewhere: LockSteps + 'static {
    /// Subscribes: from now on it is notified when the lock may be free.
    fn listen(&self, name: &LockName) -> Box<dyn Listener>;
    /// Refuses what it does not take, before anybody waits.
    fn check(&self, call: &Acquire) -> Result<(), LockError> {
        check(call)
    }
    /// The names that are not free, sorted.
    fn held(&self) -> impl Future<Output = Result<Vec<LockName>, LockError>> + Send;
}

/// Is notified when a lock may be free.
pub(crate) trait Listener: Send {
    /// Ready when the lock may be free. Dropping the future loses nothing.
    fn woken(&mut self) -> Boxed<'_, ()>;
}

/// The same with one type for all stores.
pub(crate) trait OtherStore: Send + Sync {
    fn acquire<'a>(&'a self, name: &'a LockName, call: &'a Acquire) -> Boxed<'a, Result<Acquired, LockError>>;
    fn renew<'a>(&'a self, name: &'a LockName, owner: Token, lease_ms: u64) -> Boxed<'a, Result<Renewed, LockError>>;
    fn release<'a>(&'a self, name: &'a LockName, call: Release) -> Boxed<'a, Result<Released, LockError>>;
    fn raise<'a>(
        &'a self,
        name: &'a LockName,
        owner: Token,
        seen: Fence,
    ) -> Boxed<'a, Result<Option<Fence>, LockError>>;
    fn inspect<'a>(&'a self, name: &'a LockName) -> Boxed<'a, Result<Option<Holder>, LockError>>;
    fn break_lock<'a>(
        &'a self,
        name: &'a LockName,
        seen: Option<Fence>,
    ) -> Boxed<'a, Result<Option<Holder>, LockError>>;
    fn listen(&self, name: &LockName) -> Box<dyn Listener>;
    fn check(&self, call: &Acquire) -> Result<(), LockError>;
    fn held(&self) -> Boxed<'_, Result<Vec<LockName>, LockError>>;
}

impl<S: Elsewhere> OtherStore for S {
    fn acquire<'a>(&'a self, name: &'a LockName, call: &'a Acquire) -> Boxed<'a, Result<Acquired, LockError>> {
        Box::pin(LockSteps::acquire(self, name, call))
    }

    fn renew<'a>(&'a self, name: &'a LockName, owner: Token, lease_ms: u64) -> Boxed<'a, Result<Renewed, LockError>> {
        Box::pin(LockSteps::renew(self, name, owner, lease_ms))
    }

    fn release<'a>(&'a self, name: &'a LockName, call: Release) -> Boxed<'a, Result<Released, LockError>> {
        Box::pin(LockSteps::release(self, name, call))
    }

    fn raise<'a>(
        &'a self,
        name: &'a LockName,
        owner: Token,
        seen: Fence,
    ) -> Boxed<'a, Result<Option<Fence>, LockError>> {
        Box::pin(LockSteps::raise(self, name, owner, seen))
    }

    fn inspect<'a>(&'a self, name: &'a LockName) -> Boxed<'a, Result<Option<Holder>, LockError>> {
        Box::pin(LockSteps::inspect(self, name))
    }

    fn break_lock<'a>(
        &'a self,
        name: &'a LockName,
        seen: Option<Fence>,
    ) -> Boxed<'a, Result<Option<Holder>, LockError>> {
        Box::pin(LockSteps::break_lock(self, name, seen))
    }

    fn listen(&self, name: &LockName) -> Box<dyn Listener> {
        Elsewhere::listen(self, name)
    }

    fn check(&self, call: &Acquire) -> Result<(), LockError> {
        Elsewhere::check(self, call)
    }

    fn held(&self) -> Boxed<'_, Result<Vec<LockName>, LockError>> {
        Box::pin(Elsewhere::held(self))
    }
}
