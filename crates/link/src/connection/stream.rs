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

/// The TLS configuration; uninhabited without the feature.
#[cfg(feature = "tls")]
pub(crate) type Tls = super::tls::Tls;
/// The TLS configuration; uninhabited without the feature.
#[cfg(not(feature = "tls"))]
pub(crate) type Tls = std::convert::Infallible;

/// Opens a stream. Names are resolved at each call, because a failover may have changed them.
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
    // Commands are small and already combined into one write; Nagle's algorithm would only delay them.
    stream.set_nodelay(true)?;
    Ok(stream)
}
