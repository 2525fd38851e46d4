//! Opens the byte stream under a connection: TCP, TLS over TCP, or a local socket.

use crate::clock::Clock;
use crate::server::target::Address;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use redis::{ErrorKind, RedisError};
use std::future::Future;
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

/// Why an address is of no use.
pub(crate) enum Failure {
    /// No stream was opened.
    Stream(io::Error),
    /// The greeting failed.
    Greeting(RedisError),
}

impl Failure {
    /// Whether the server has answered, so that its answer counts and no other address is tried.
    fn is_answer(&self) -> bool {
        match self {
            Self::Stream(_) => false,
            Self::Greeting(error) => error.code().is_some() || error.kind() == ErrorKind::RESP3NotSupported,
        }
    }
}

/// Opens a stream, and greets the server on it. Names are resolved at each call, because a failover may have changed them.
pub(crate) async fn open<T, F>(
    address: &Address,
    tls: Option<&Tls>,
    attempts: &Attempts,
    greet: impl Fn(Stream) -> F,
) -> Result<T, Failure>
where
    F: Future<Output = Result<T, Failure>>,
{
    let (host, port) = match address {
        Address::Unix(path) => {
            return greet(Stream::Unix(UnixStream::connect(path).await.map_err(Failure::Stream)?)).await;
        }
        Address::Tcp { host, port } => (&**host, *port),
    };
    let found = lookup_host((host, port)).await.map_err(Failure::Stream)?.collect();
    let greet = &greet;
    let attempt = |at| async move { greet(tcp(at, host, tls).await.map_err(Failure::Stream)?).await };
    attempts.first_of(found, attempt).await
}

#[cfg_attr(not(feature = "tls"), expect(unused_variables, reason = "only TLS names the host"))]
async fn tcp(at: SocketAddr, host: &str, tls: Option<&Tls>) -> io::Result<Stream> {
    let stream = TcpStream::connect(at).await?;
    // Commands are small and already combined into one write; Nagle's algorithm would only delay them.
    stream.set_nodelay(true)?;
    match tls {
        None => Ok(Stream::Tcp(stream)),
        #[cfg(feature = "tls")]
        Some(tls) => Ok(Stream::Tls(Box::new(tls.wrap(host, stream).await?))),
        #[cfg(not(feature = "tls"))]
        Some(tls) => match *tls {},
    }
}

impl Attempts {
    /// The first address at which the attempt succeeds. The next one is tried when an attempt fails or takes longer than the head start
    /// (RFC 8305): an address whose packets are lost, or that accepts a connection and then stays silent, would use up the whole time.
    async fn first_of<T, F>(&self, addresses: Vec<SocketAddr>, attempt: impl Fn(SocketAddr) -> F) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let mut addresses = addresses.into_iter();
        let mut running = FuturesUnordered::new();
        let mut failed = Failure::Stream(io::Error::new(io::ErrorKind::NotFound, "the name has no address"));
        loop {
            let next = addresses.next();
            let may_have_more = next.is_some();
            running.extend(next.map(&attempt));
            tokio::select! {
                ended = running.next() => match ended {
                    Some(Err(error)) if !error.is_answer() => failed = error,
                    Some(answer) => return answer,
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

    use super::{Attempts, Failure};
    use crate::clock::Clock;
    use std::net::SocketAddr;
    use std::time::Duration;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpSocket, TcpStream};

    /// Which address is used, if each is to greet with a byte.
    async fn used(addresses: Vec<SocketAddr>) -> SocketAddr {
        let attempts = Attempts { head_start: Duration::from_millis(10), clock: Clock::system() };
        let attempt = async |at| {
            let mut stream = TcpStream::connect(at).await?;
            stream.read_u8().await?;
            stream.peer_addr()
        };
        attempts.first_of(addresses, |at| async move { attempt(at).await.map_err(Failure::Stream) }).await.ok().unwrap()
    }

    /// A server that greets.
    async fn live() -> SocketAddr {
        let live = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = live.local_addr().unwrap();
        tokio::spawn(async move {
            let (mut stream, _) = live.accept().await.unwrap();
            stream.write_u8(1).await.unwrap();
            std::future::pending::<()>().await;
        });
        address
    }

    /// A name had two addresses. The packets to the first were dropped, so every attempt ended at its time limit, for ever.
    // shows: L1, hazard BL7
    #[tokio::test]
    async fn address_that_drops_packets_does_not_hide_the_next_one() {
        let silent = TcpSocket::new_v4().unwrap();
        silent.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let silent = silent.listen(1).unwrap();
        let first = silent.local_addr().unwrap();
        // While these two wait to be accepted, the kernel drops the packets of further clients.
        let _waiting = [TcpStream::connect(first).await.unwrap(), TcpStream::connect(first).await.unwrap()];
        let second = live().await;
        assert_eq!(used(vec![first, second]).await, second);
    }

    /// The first address accepted connections and then stayed silent, as a stopped server does: the same.
    // shows: hazard BL7
    #[tokio::test]
    async fn address_that_stays_silent_does_not_hide_the_next_one() {
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (first, second) = (silent.local_addr().unwrap(), live().await);
        assert_eq!(used(vec![first, second]).await, second);
    }
}
