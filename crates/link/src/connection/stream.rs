//! Opens the byte stream under a connection: TCP, TLS over TCP, or a local socket.

use crate::server::target::Address;
use std::io;
use tokio::net::{TcpStream, UnixStream};

/// An open stream.
pub(crate) enum Stream {
    Tcp(TcpStream),
    #[cfg(feature = "tls")]
    Tls(Box<tokio_rustls::client::TlsStream<TcpStream>>),
    Unix(UnixStream),
}

/// What TLS needs; nothing without the feature.
#[cfg(feature = "tls")]
pub(crate) type Tls = super::tls::Tls;
/// What TLS needs; nothing without the feature.
#[cfg(not(feature = "tls"))]
pub(crate) type Tls = std::convert::Infallible;

/// Names are resolved anew each time: after a failover the name may point elsewhere.
pub(crate) async fn open(address: &Address, tls: Option<&Tls>) -> io::Result<Stream> {
    match (address, tls) {
        (Address::Unix(path), _) => UnixStream::connect(path).await.map(Stream::Unix),
        (Address::Tcp { host, port }, None) => tcp(host, *port).await.map(Stream::Tcp),
        #[cfg(feature = "tls")]
        (Address::Tcp { host, port }, Some(tls)) => {
            tls.wrap(host, tcp(host, *port).await?).await.map(|stream| Stream::Tls(Box::new(stream)))
        }
        #[cfg(not(feature = "tls"))]
        (_, Some(tls)) => match *tls {},
    }
}

async fn tcp(host: &str, port: u16) -> io::Result<TcpStream> {
    let stream = TcpStream::connect((host, port)).await?;
    // Commands are small and already gathered into one write; Nagle's algorithm would only hold them back.
    stream.set_nodelay(true)?;
    Ok(stream)
}
