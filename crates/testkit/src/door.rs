//! [`Door`]: a server's address that can be closed and opened, for programs that start while the server is unavailable.

use anyhow::{Context, Result};
use std::net::SocketAddr;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use url::Url;

/// An address in front of a server. While it is closed it closes connections at once, as a port without a listener rejects them, and
/// the connections that were open are cut. The port stays bound, so no other test can take it. The door runs on its own thread: a
/// test that blocks on a child process does not block that process's connection to the server.
#[derive(Debug)]
pub struct Door {
    address: SocketAddr,
    is_open: watch::Sender<bool>,
}

impl Door {
    /// Creates a closed door in front of the server at `url`.
    ///
    /// # Errors
    /// `url` has no host and port, or no port is free.
    pub fn closed(url: &str) -> Result<Self> {
        let url: Url = url.parse()?;
        let (host, port) = (url.host_str().context("a host")?, url.port().context("a port")?);
        let to = format!("{host}:{port}");
        let listener = std::net::TcpListener::bind((host, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (is_open, open) = watch::channel(false);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        std::thread::spawn(move || {
            runtime.block_on(async { forward(TcpListener::from_std(listener)?, to, open).await })
        });
        Ok(Self { address, is_open })
    }

    /// `url` with the port of this door.
    ///
    /// # Errors
    /// `url` is not an address of a server.
    pub fn url(&self, url: &str) -> Result<String> {
        let mut url: Url = url.parse()?;
        url.set_port(Some(self.address.port())).ok().context("a port")?;
        Ok(url.to_string())
    }

    /// Opens the door: the server can be reached.
    pub fn open(&self) {
        self.is_open.send_replace(true);
    }

    /// Closes the door: the server cannot be reached.
    pub fn close(&self) {
        self.is_open.send_replace(false);
    }
}

/// Forwards connections until the door is dropped.
async fn forward(listener: TcpListener, to: String, mut open: watch::Receiver<bool>) -> std::io::Result<()> {
    loop {
        let (mut client, _) = tokio::select! {
            accepted = listener.accept() => accepted?,
            changed = open.changed() => match changed {
                Ok(()) => continue,
                Err(_) => return Ok(()),
            },
        };
        if !*open.borrow() {
            continue;
        }
        let (to, mut open) = (to.clone(), open.clone());
        tokio::spawn(async move {
            let Ok(mut server) = TcpStream::connect(to).await else { return };
            tokio::select! {
                _ = tokio::io::copy_bidirectional(&mut client, &mut server) => {}
                _ = open.wait_for(|open| !open) => {}
            }
        });
    }
}
