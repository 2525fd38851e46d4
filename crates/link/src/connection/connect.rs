//! Makes one connection: stream, `HELLO 3` with the credentials, database number.

use super::stream::{self, Stream, Tls};
use crate::clock::Clock;
use crate::epoch::health::{EndReason, Health};
use crate::epoch::open::OpenError;
use crate::error::LinkError;
use crate::options::LinkOptions;
use crate::server::refusal;
use crate::server::target::Target;
use crate::support::guard::guard;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, ProtocolVersion, PushInfo, RedisConnectionInfo, RedisResult};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::AbortHandle;

/// Least room between the callers and the socket's task. The client's own default, 50, throttles bursts.
const BUFFER_MIN: usize = 1024;

type Driver = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Makes connections to one server.
pub(crate) struct Connector {
    target: Target,
    tls: Option<Tls>,
    timeout: Duration,
    buffer: usize,
    clock: Clock,
}

/// A connection and the task that moves its bytes.
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
            // As large as the bound on commands in flight: a caller that was let in never waits here.
            buffer: options.in_flight_max.clamp(BUFFER_MIN, 1 << 20),
            clock,
        })
    }

    /// Host and port.
    pub(crate) fn address(&self) -> String {
        self.target.to_string()
    }

    /// Opens a connection; when it ends by itself, `health` ends.
    pub(crate) async fn connect(
        &self,
        health: Arc<Health>,
        push: impl Fn(PushInfo) -> Result<(), ()> + Send + Sync + 'static,
    ) -> Result<Connected, OpenError> {
        let (connection, driver) = match self.clock.timeout(self.timeout, self.shake_hands(push)).await {
            Ok(made) => made?,
            Err(_) => return Err(OpenError::says(format!("no answer within {:?}", self.timeout))),
        };
        let task = tokio::spawn(async move {
            driver.await;
            health.end(EndReason::Closed);
        });
        Ok(Connected { connection, driver: task.abort_handle() })
    }

    async fn shake_hands(
        &self,
        push: impl Fn(PushInfo) -> Result<(), ()> + Send + Sync + 'static,
    ) -> Result<(MultiplexedConnection, Driver), OpenError> {
        let stream = self.stream().await?;
        let config = AsyncConnectionConfig::new()
            .set_push_sender(push)
            .set_pipeline_buffer_size(self.buffer)
            // Time-outs are ours (wheel.rs), for commands and for the attempt as a whole.
            .set_response_timeout(None)
            .set_connection_timeout(None);
        let made = match stream {
            Stream::Tcp(stream) => over(stream, &self.login(), config).await,
            #[cfg(feature = "tls")]
            Stream::Tls(stream) => over(stream, &self.login(), config).await,
            Stream::Unix(stream) => over(stream, &self.login(), config).await,
        };
        match made {
            Ok(made) => Ok(made),
            // Boxed: callers would else carry its room wherever a connection is opened.
            Err(error) => Err(Box::pin(refusal::of_handshake(self, &error)).await),
        }
    }

    /// A connection on which nothing was said yet.
    pub(crate) async fn stream(&self) -> io::Result<Stream> {
        stream::open(&self.target.address, self.tls.as_ref()).await
    }

    /// How long a look at what the other side says may take, within the attempt.
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
        // A user alone would be ignored, and the default user be logged in.
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
