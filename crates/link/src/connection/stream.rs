//! Opens the byte stream under a connection: TCP, TLS over TCP, or a local socket.

use crate::clock::Clock;
use crate::server::target::Address;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::{TcpStream, UnixStream, lookup_host};

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

/// How the addresses of one name are tried.
pub(crate) struct Attempts {
    /// How long an address may take before the next one is tried as well.
    pub(crate) head_start: Duration,
    pub(crate) clock: Clock,
}

/// Opens a stream. Names are resolved at each call, because a failover may have changed them.
pub(crate) async fn open(address: &Address, tls: Option<&Tls>, attempts: &Attempts) -> io::Result<Stream> {
    match (address, tls) {
        (Address::Unix(path), _) => UnixStream::connect(path).await.map(Stream::Unix),
        (Address::Tcp { host, port }, None) => tcp(host, *port, attempts).await.map(Stream::Tcp),
        #[cfg(feature = "tls")]
        (Address::Tcp { host, port }, Some(tls)) => {
            tls.wrap(host, tcp(host, *port, attempts).await?).await.map(|stream| Stream::Tls(Box::new(stream)))
        }
        #[cfg(not(feature = "tls"))]
        (_, Some(tls)) => match *tls {},
    }
}

async fn tcp(host: &str, port: u16, attempts: &Attempts) -> io::Result<TcpStream> {
    let stream = attempts.first_of(lookup_host((host, port)).await?.collect()).await?;
    // Commands are small and already combined into one write; Nagle's algorithm would only delay them.
    stream.set_nodelay(true)?;
    Ok(stream)
}

impl Attempts {
    /// Connects to the first address that answers. The next one is tried when an attempt fails or takes longer than the head start (RFC 8305):
    /// an address whose packets are lost would use up the whole time of the attempt.
    async fn first_of(&self, addresses: Vec<SocketAddr>) -> io::Result<TcpStream> {
        let mut addresses = addresses.into_iter();
        let mut running = FuturesUnordered::new();
        let mut failed = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        loop {
            let next = addresses.next();
            let may_have_more = next.is_some();
            running.extend(next.map(TcpStream::connect));
            tokio::select! {
                ended = running.next() => match ended {
                    Some(Ok(stream)) => return Ok(stream),
                    Some(Err(error)) => failed = error,
                    None => return Err(failed),
                },
                () = self.clock.sleep(self.head_start), if may_have_more => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed unwrap is the failure the test reports")]

    use super::Attempts;
    use crate::clock::Clock;
    use std::time::Duration;
    use tokio::net::{TcpListener, TcpSocket, TcpStream};

    /// A name had two addresses. The packets to the first were dropped, so every attempt ended at its time limit, for ever.
    #[tokio::test]
    async fn address_that_drops_packets_does_not_hide_the_next_one() {
        let silent = TcpSocket::new_v4().unwrap();
        silent.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let silent = silent.listen(1).unwrap();
        let first = silent.local_addr().unwrap();
        // While these two wait to be accepted, the kernel drops the packets of further clients.
        let _waiting = [TcpStream::connect(first).await.unwrap(), TcpStream::connect(first).await.unwrap()];
        let live = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let second = live.local_addr().unwrap();
        let attempts = Attempts { head_start: Duration::from_millis(10), clock: Clock::system() };
        let stream = attempts.first_of(vec![first, second]).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), second);
    }
}
