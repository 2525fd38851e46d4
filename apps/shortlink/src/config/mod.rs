//! Flags, environment and file become one checked [`Config`]: a flag beats the environment, which beats the file.

use crate::store::DatabaseUrl;
use std::net::SocketAddr;
use std::path::PathBuf;

/// How the service shall run.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The folder for what the service keeps on this machine.
    pub data: PathBuf,
    /// Where the links are; a file in the data folder by default.
    pub database: DatabaseUrl,
    /// The Redis to cache in; `None`: the embedded store.
    pub redis: Option<String>,
    /// The address people know the service by, `https://s.example.com`.
    pub public_url: Option<String>,
    /// Refuse links into private networks.
    pub refuse_private: bool,
}
