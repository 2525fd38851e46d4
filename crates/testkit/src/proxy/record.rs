//! What the proxy has seen.

/// One command a client sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Its place in the order in which the proxy got the commands of all connections, from 1.
    pub number: u64,
    /// The connection that brought it, from 1 in the order of acceptance.
    pub connection: u64,
    /// Upper case: `GET`, `EVALSHA`, ...
    pub name: String,
    /// The first argument, usually the key or a script's hash, cut after 64 bytes.
    pub argument: Option<String>,
}

/// How much the proxy has seen since it was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Whether the proxy accepts connections.
    pub listening: bool,
    /// Connections accepted.
    pub accepted: u64,
    /// Connections that have not ended.
    pub open: u64,
    /// Commands that came from clients, delivered or not.
    pub commands: u64,
    /// Commands sent a second time.
    pub duplicated: u64,
    /// Connections cut by a fault.
    pub cut: u64,
    /// Bytes that came from clients, delivered or not.
    pub bytes_from_clients: u64,
    /// Bytes written to the server.
    pub bytes_to_server: u64,
    /// Bytes written to clients.
    pub bytes_to_client: u64,
}
