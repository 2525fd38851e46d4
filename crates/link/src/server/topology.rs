//! The topology of the servers behind one URL. Code outside this folder routes by key only.

use crate::connection::connect::Connector;
use std::sync::Arc;

/// The servers behind one URL.
pub(crate) enum Topology {
    /// One server.
    Standalone(Arc<Connector>),
}

impl Topology {
    /// The server that accepts writes, as far as it is known before a connection exists.
    pub(crate) fn primary(&self) -> Arc<Connector> {
        match self {
            Self::Standalone(connector) => Arc::clone(connector),
        }
    }

    /// The address for messages.
    pub(crate) fn address(&self) -> String {
        match self {
            Self::Standalone(connector) => connector.address(),
        }
    }
}
