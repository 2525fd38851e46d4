//! The events that the proxy records.

/// One command of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The number of the command, from 1 in the order of arrival over all connections.
    pub number: u64,
    /// The number of its connection, from 1 in the order of acceptance.
    pub connection: u64,
    /// The name in upper case: `GET`, `EVALSHA`, ...
    pub name: String,
    /// The first argument, usually the key or the hash of a script, cut to 64 bytes.
    pub argument: Option<String>,
}

/// Counters since the start of the proxy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Whether the proxy accepts connections.
    pub listening: bool,
    /// Connections accepted.
    pub accepted: u64,
    /// Open connections.
    pub open: u64,
    /// Commands of clients, delivered or not.
    pub commands: u64,
    /// Commands sent a second time.
    pub duplicated: u64,
    /// Connections cut by a fault.
    pub cut: u64,
    /// Bytes from clients, delivered or not.
    pub bytes_from_clients: u64,
    /// Bytes written to the server.
    pub bytes_to_server: u64,
    /// Bytes written to clients.
    pub bytes_to_client: u64,
}
