//! What Redis is made of. Only this folder knows; everything outside routes by key.

use crate::connection::connect::Connector;
use std::sync::Arc;

/// The servers behind one URL.
pub(crate) enum Topology {
    /// One server.
    Standalone(Arc<Connector>),
}

impl Topology {
    /// The server that takes writes, as far as is known before asking it.
    pub(crate) fn primary(&self) -> Arc<Connector> {
        match self {
            Self::Standalone(connector) => Arc::clone(connector),
        }
    }

    /// How the whole is called in messages.
    pub(crate) fn address(&self) -> String {
        match self {
            Self::Standalone(connector) => connector.address(),
        }
    }
}
