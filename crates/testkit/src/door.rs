//! [`Door`]: a server's address that can be closed and opened, for programs that start while the server is away.

use anyhow::{Context, Result};
use std::net::SocketAddr;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use url::Url;

/// An address in front of a server. As long as it is closed, whoever connects is sent away at once, as by a port that nobody listens
/// on, and connections that were open are cut. The port is held all the while, so no other test gets it. It has a thread of its own: a
/// test that blocks on a child process does not block the way of that process to its server.
#[derive(Debug)]
pub struct Door {
    address: SocketAddr,
    is_open: watch::Sender<bool>,
}

impl Door {
    /// A closed door in front of the server that `url` names.
    ///
    /// # Errors
    /// `url` names no host and port, or there is no free port.
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
            runtime.block_on(async { let_in(TcpListener::from_std(listener)?, to, open).await })
        });
        Ok(Self { address, is_open })
    }

    /// `url` by way of this door.
    ///
    /// # Errors
    /// `url` is no address of a server.
    pub fn url(&self, url: &str) -> Result<String> {
        let mut url: Url = url.parse()?;
        url.set_port(Some(self.address.port())).ok().context("a port")?;
        Ok(url.to_string())
    }

    /// The server can be reached from now on.
    pub fn open(&self) {
        self.is_open.send_replace(true);
    }

    /// The server is away from now on.
    pub fn close(&self) {
        self.is_open.send_replace(false);
    }
}

/// Until the door is dropped.
async fn let_in(listener: TcpListener, to: String, mut open: watch::Receiver<bool>) -> std::io::Result<()> {
    loop {
        let (mut visitor, _) = tokio::select! {
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
                _ = tokio::io::copy_bidirectional(&mut visitor, &mut server) => {}
                _ = open.wait_for(|open| !open) => {}
            }
        });
    }
}
