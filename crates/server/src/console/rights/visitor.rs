//! [`Visitor`]: who sent a request.

use super::guard::forbidden;
use super::{Action, Rejected, Role, Scope, Typed};
use crate::queue::letters::Naming;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use std::sync::Arc;
use web::{Kind, Problem};

/// How a visitor was recognized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Via {
    /// The console has no login and listens on a loopback address: whoever reaches it may do everything.
    Loopback,
    /// The cookie of a login.
    Cookie,
    /// A token in `Authorization`.
    Token,
    /// Without a login: a public route.
    Anonymous,
}

/// Who sent a request. Only the guard of a route creates one.
#[derive(Clone, Debug)]
pub(crate) struct Visitor {
    /// The name of the token, or `local`.
    pub(crate) name: String,
    /// The role; `None` before the login.
    pub(crate) role: Option<Role>,
    /// The scopes of an API key.
    pub(crate) scopes: Vec<Scope>,
    /// The requests that an API key may send per second; `None`: the default.
    pub(crate) per_second: Option<u32>,
    pub(crate) via: Via,
    /// The CSRF token for the forms of the page.
    pub(crate) csrf: String,
    /// The address of the page, without the host.
    pub(crate) page: String,
    /// The answer of the action that led to the page.
    pub(crate) notice: Option<String>,
    /// The form that was rejected; its page is shown again.
    pub(crate) rejected: Option<Arc<Rejected>>,
}

impl Visitor {
    /// A visitor without a login.
    pub(crate) fn anonymous(csrf: String) -> Self {
        Self {
            name: String::new(),
            role: None,
            scopes: Vec::new(),
            per_second: None,
            via: Via::Anonymous,
            csrf,
            page: String::new(),
            notice: None,
            rejected: None,
        }
    }

    /// What was typed into the form that is sent to `action`, if it is the one that was rejected.
    pub(crate) fn typed(&self, action: &str) -> Typed<'_> {
        Typed(self.rejected.as_deref().filter(|rejected| rejected.action == action))
    }

    /// How groups of dead letters are named for the visitor.
    pub(crate) fn naming(&self) -> Naming {
        if self.sees_bodies() { Naming::Text } else { Naming::Class }
    }

    /// Whether the visitor may do this.
    pub(crate) fn may(&self, action: Action) -> bool {
        self.may_on(action, None)
    }

    /// Whether the visitor may do this to `target`: a topic, a cache, the name of a lock.
    pub(crate) fn may_on(&self, action: Action, target: Option<&str>) -> bool {
        action == Action::Public
            || self.via == Via::Loopback
            || self.role.is_some_and(|role| role.may(action))
            || self.scopes.iter().any(|scope| scope.allows(action, target))
    }

    /// Refuses what the visitor may not do to `target`. The guard has checked that they may do it to some.
    pub(crate) fn check(&self, action: Action, target: &str) -> Result<(), Problem> {
        if self.may_on(action, Some(target)) { Ok(()) } else { Err(forbidden(action, self)) }
    }

    /// Whether the visitor may see bodies and the texts of errors.
    pub(crate) fn sees_bodies(&self) -> bool {
        self.role.is_some_and(Role::sees_bodies) || self.scopes.contains(&Scope::Bodies)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Visitor {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        // The guard of every route sets it.
        parts.extensions.get::<Self>().cloned().ok_or_else(|| Problem::plain(Kind::INTERNAL))
    }
}
