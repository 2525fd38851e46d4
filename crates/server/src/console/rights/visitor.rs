//! [`Visitor`]: who sent a request.

use super::{Action, Role};
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
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
    /// Nobody: a public route.
    Nobody,
}

/// Who sent a request. Only the guard of a route creates one.
#[derive(Clone, Debug)]
pub(crate) struct Visitor {
    /// The name of the token, or `local`.
    pub(crate) name: String,
    /// The role; `None` before the login.
    pub(crate) role: Option<Role>,
    pub(crate) via: Via,
    /// The CSRF token for the forms of the page.
    pub(crate) csrf: String,
}

impl Visitor {
    /// Whether the visitor may do this.
    pub(crate) fn may(&self, action: Action) -> bool {
        action.least().is_none() || self.role.is_some_and(|role| role.may(action))
    }

    /// Whether the visitor may see bodies and the texts of errors.
    pub(crate) fn sees_bodies(&self) -> bool {
        self.role.is_some_and(Role::sees_bodies)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Visitor {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        // The guard of every route sets it.
        parts.extensions.get::<Self>().cloned().ok_or_else(|| Problem::plain(Kind::INTERNAL))
    }
}
