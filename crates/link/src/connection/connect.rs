//! Opens one connection: the stream, `HELLO 3` with the credentials, the database number.

use super::stream::{self, Attempts, Failure, Stream, Tls};
use crate::clock::Clock;
use crate::epoch::health::{EndReason, Health};
use crate::epoch::open::OpenError;
use crate::error::LinkError;
use crate::options::LinkOptions;
use crate::server::refusal;
use crate::server::target::Target;
use crate::support::guard::guard;
use crate::support::spawn;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, ProtocolVersion, PushInfo, RedisConnectionInfo, RedisResult};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::AbortHandle;

/// Minimum capacity of the channel between callers and the socket's task. The client's default, 50, throttles bursts.
const BUFFER_MIN: usize = 1024;

type Driver = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Opens connections to one server.
pub(crate) struct Connector {
    target: Target,
    tls: Option<Tls>,
    timeout: Duration,
    buffer: usize,
    clock: Clock,
}

/// A connection and the task that reads and writes its socket.
pub(crate) struct Connected {
    pub(crate) connection: MultiplexedConnection,
    pub(crate) driver: AbortHandle,
}

impl Connector {
    pub(crate) fn new(options: &LinkOptions, clock: Clock) -> Result<Self, LinkError> {
        #[cfg(feature = "tls")]
        let tls = options.target.tls.as_ref().map(Tls::new).transpose()?;
        #[cfg(not(feature = "tls"))]
        let tls = None;
        Ok(Self {
            target: options.target.clone(),
            tls,
            timeout: options.connect_timeout,
            // At least the bound on commands in flight, so that an admitted caller never waits for this channel.
            buffer: options.in_flight_max.clamp(BUFFER_MIN, 1 << 20),
            clock,
        })
    }

    /// Host and port.
    pub(crate) fn address(&self) -> String {
        self.target.to_string()
    }

    /// Opens a connection. When the connection ends, `health` ends.
    pub(crate) async fn connect(
        &self,
        health: Arc<Health>,
        push: impl Fn(PushInfo) -> Result<(), ()> + Send + Sync + 'static,
    ) -> Result<Connected, OpenError> {
        let (connection, driver) = match self.clock.timeout(self.timeout, self.handshake(push)).await {
            Ok(made) => made?,
            Err(_) => return Err(OpenError::retryable(format!("no answer within {:?}", self.timeout))),
        };
        let task = spawn(async move {
            driver.await;
            health.end(EndReason::Closed);
        });
        Ok(Connected { connection, driver: task.abort_handle() })
    }

    async fn handshake(
        &self,
        push: impl Fn(PushInfo) -> Result<(), ()> + Send + Sync + 'static,
    ) -> Result<(MultiplexedConnection, Driver), OpenError> {
        let push = Arc::new(push);
        let greet = |stream| self.greet(stream, Arc::clone(&push));
        match stream::open(&self.target.address, self.tls.as_ref(), &self.attempts(), greet).await {
            Ok(made) => Ok(made),
            Err(Failure::Stream(error)) => Err(error.into()),
            // Boxed, because the large future would otherwise be part of every caller's future.
            Err(Failure::Greeting(error)) => Err(Box::pin(refusal::of_handshake(self, &error)).await),
        }
    }

    async fn greet(
        &self,
        stream: Stream,
        push: Arc<impl Fn(PushInfo) -> Result<(), ()> + Send + Sync + 'static>,
    ) -> Result<(MultiplexedConnection, Driver), Failure> {
        let config = AsyncConnectionConfig::new()
            .set_push_sender(move |info| push(info))
            .set_pipeline_buffer_size(self.buffer)
            // Response time-outs are implemented in wheel.rs; the connection time-out covers the whole attempt.
            .set_response_timeout(None)
            .set_connection_timeout(None);
        let made = match stream {
            Stream::Tcp(stream) => over(stream, &self.login(), config).await,
            #[cfg(feature = "tls")]
            Stream::Tls(stream) => over(stream, &self.login(), config).await,
            Stream::Unix(stream) => over(stream, &self.login(), config).await,
        };
        made.map_err(Failure::Greeting)
    }

    /// Opens a stream on which nothing has been sent.
    pub(crate) async fn stream(&self) -> Option<Stream> {
        let attempts = self.attempts();
        let unused = |stream| std::future::ready(Ok(stream));
        stream::open(&self.target.address, self.tls.as_ref(), &attempts, unused).await.ok()
    }

    fn attempts(&self) -> Attempts {
        Attempts { head_start: self.timeout / 8, clock: self.clock.clone() }
    }

    /// The time limit for reading what the server sends on its own, a part of the limit of the attempt.
    pub(crate) fn look(&self) -> (Duration, &Clock) {
        (self.timeout / 4, &self.clock)
    }

    fn login(&self) -> RedisConnectionInfo {
        let mut login = RedisConnectionInfo::default()
            .set_protocol(ProtocolVersion::RESP3)
            .set_lib_name("evenkeel", env!("CARGO_PKG_VERSION"))
            .set_db(self.target.database);
        if let Some(user) = &self.target.user {
            login = login.set_username(user);
        }
        // The client ignores a user name without a password and would log in the default user.
        let alone = self.target.user.as_ref().filter(|_| guard("link_user_alone")).map(|_| "");
        if let Some(password) = self.target.password.as_deref().or(alone) {
            login = login.set_password(password);
        }
        login
    }
}

async fn over<S>(
    stream: S,
    login: &RedisConnectionInfo,
    config: AsyncConnectionConfig,
) -> RedisResult<(MultiplexedConnection, Driver)>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (connection, driver) = MultiplexedConnection::new_with_config(login, stream, config).await?;
    Ok((connection, Box::pin(driver)))
}
