//! The binary log of MariaDB as a source of changes.
//!
//! [`Binlog`] registers with the server as a replica with a server id of its own and reads the log from a file and an offset on.
//!
//! # Guarantees
//! - Each committed change of a table that it was given is returned, in the order of the log, whatever the format of the event: rows of both
//!   versions, compressed or not; a statement whose rows are not logged, DDL and `TRUNCATE` are changes of the table as a whole.
//! - Changes of an XA transaction are returned with `XA COMMIT`, also after a restart between `XA PREPARE` and `XA COMMIT`.
//! - An event of an unknown type that the server did not mark as ignorable, and bytes that do not decode, stop the source with the position.
//! - A start continues a checkpoint only if the last group before it is still in the log with the same bytes, and the file was created when
//!   it was; otherwise it is a named [`Gap`](super::source::Gap).
//! - [`barrier`](super::source::Source::barrier) answers by a consistent snapshot on the loaders' primary.
//!
//! # Not promised
//! - MySQL: its log is refused.
//! - Another server in the place of the source: a gap, also if it has the same GTIDs.
//! - What the log omits: sessions with `sql_log_bin = 0`, and rows that InnoDB changes by `ON DELETE CASCADE`, `ON UPDATE CASCADE` or
//!   `SET NULL`. A table with such a foreign key is refused without the table that it refers to, which needs a rule.
//! - Types: `UUID` and `INET6` come as the bytes in which the server stores them, texts in character sets other than `utf8mb4`, `utf8mb3`,
//!   `ascii` and `latin1` as their bytes. `BIT` and `YEAR` are unsigned numbers, `TIMESTAMP` is a text in UTC, `FLOAT` the nearest `f64`.
//!
//! `session.rs` receives events, `decode/` reads their bytes, `reader.rs` makes groups of them, `resume.rs` compares them with a checkpoint.

mod barrier;
mod connect;
mod decode;
mod files;
mod group;
mod place;
mod preflight;
mod reader;
mod resume;
mod session;
#[cfg(feature = "testing")]
mod testing;

#[cfg(feature = "testing")]
#[doc(hidden)]
pub use self::testing::decode_file;

use self::barrier::Primary;
use self::reader::Reader;
use self::session::Session;
use super::source::{
    Barrier, EVENTS_MAX, Event, IDLE_MAX, Identity, Position, Source, SourceError, StartAt, Started, Table,
};
use crate::clock::Clock;
use async_trait::async_trait;
use futures_util::FutureExt;
use mysql_async::Opts;
use std::fmt;
use std::pin::{Pin, pin};

/// How often nothing may come within [`IDLE_MAX`], although the server sends a heartbeat each second.
const SILENCES: u32 = 30;

/// The largest amount of the log, in bytes, whose changes one call returns, if no single event is larger.
const BYTES_MAX: usize = 1 << 20;

/// The binary log of a MariaDB server.
pub struct Binlog {
    options: Opts,
    primary: Opts,
    server_id: u32,
    tables: Vec<Table>,
    running: Option<Running>,
}

struct Running {
    session: Session,
    reader: Reader,
    primary: Primary,
    /// The server's own id.
    server: u32,
    silences: u32,
    /// What the call after the one that returns the events before it returns.
    error: Option<SourceError>,
}

impl Binlog {
    /// The log of the server at `url`, such as `mysql://user:password@host:3306`, of which the changes of `tables` are returned.
    /// `ssl-mode=VERIFY_IDENTITY` (or `VERIFY_CA`, `REQUIRED`) in the address encrypts the connection; without it nothing is encrypted.
    ///
    /// `server_id` is the number as which it registers. No other reader, replica or server of the same installation may have it: the server
    /// ends the connection of an older one with the same number.
    ///
    /// # Errors
    /// [`SourceError::Refused`] if the address is none.
    pub fn new(url: &str, server_id: u32, tables: Vec<Table>) -> Result<Self, SourceError> {
        let options = connect::options(url)?;
        Ok(Self { primary: options.clone(), options, server_id, tables, running: None })
    }

    /// The server that loaders read, if the log is that of another one. Unless it is the same server, the barrier is unknown.
    ///
    /// # Errors
    /// [`SourceError::Refused`] if the address is none.
    pub fn primary(mut self, url: &str) -> Result<Self, SourceError> {
        self.primary = connect::options(url)?;
        Ok(self)
    }

    /// Checks settings, privileges and tables, without reading the log. It changes nothing.
    ///
    /// # Errors
    /// [`SourceError::Refused`] for the first thing that is missing, with the statement or the line that repairs it.
    pub async fn preflight(&self) -> Result<(), SourceError> {
        let mut conn = connect::connect(&self.options).await?;
        preflight::check(&mut conn, self.server_id, &self.tables).await?;
        Ok(())
    }

    async fn open(&self, at: StartAt) -> Result<Running, SourceError> {
        let mut conn = connect::connect(&self.options).await?;
        let server = preflight::check(&mut conn, self.server_id, &self.tables).await?;
        let charsets = files::charsets(&mut conn).await?;
        let (epoch, start, resume) = match at {
            StartAt::End { epoch } => (epoch, files::end(&mut conn).await?, None),
            StartAt::Checkpoint(checkpoint) => {
                let mut resume = files::resume(&checkpoint, &identity(server))?;
                let start = files::start(&mut conn, &mut resume).await?;
                (checkpoint.epoch, start, Some(resume))
            }
        };
        let reader = Reader::new(epoch, self.tables.clone(), charsets, start.clone(), resume);
        let session = Session::open(&self.options, self.server_id, &start).await?;
        let mut running =
            Running { session, reader, primary: Primary::new(self.primary.clone()), server, silences: 0, error: None };
        running.resume().await?;
        Ok(running)
    }
}

fn identity(server: u32) -> Identity {
    Identity(format!("mariadb server_id={server}"))
}

impl Running {
    /// Waits for an event. `false`: the time was over first.
    async fn read(&mut self, time: Pin<&mut impl Future<Output = ()>>) -> Result<bool, SourceError> {
        tokio::select! {
            // First, because the log may never pause.
            biased;
            () = time => {
                self.silences += 1;
                if self.silences > SILENCES {
                    return Err(SourceError::Unavailable("the server sends not even heartbeats".to_owned()));
                }
                Ok(false)
            }
            read = self.session.read(&mut self.reader) => {
                self.silences = 0;
                read.map(|()| true)
            }
        }
    }

    /// Reads up to the checkpoint.
    async fn resume(&mut self) -> Result<(), SourceError> {
        let clock = Clock::system();
        while !self.reader.is_ready() {
            let resuming = self.reader.is_resuming();
            let read = self.read(pin!(clock.sleep(IDLE_MAX))).await;
            read.map_err(|error| if resuming { resume::differs(error) } else { error })?;
        }
        Ok(())
    }

    async fn next(&mut self) -> Result<Vec<Event>, SourceError> {
        let clock = Clock::system();
        let mut time = pin!(clock.sleep(IDLE_MAX));
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        loop {
            let (events, bytes) = self.reader.waiting();
            if events >= EVENTS_MAX || bytes >= BYTES_MAX && events > 0 {
                return Ok(self.reader.take());
            }
            if events > 0 {
                match self.session.read(&mut self.reader).now_or_never() {
                    Some(Ok(())) => {}
                    Some(Err(error)) => {
                        self.error = Some(error);
                        return Ok(self.reader.take());
                    }
                    None => return Ok(self.reader.take()),
                }
            } else if !self.read(time.as_mut()).await? {
                if !self.reader.is_inside_group() {
                    return Ok(vec![Event::Idle { position: self.reader.position() }]);
                }
                time.set(clock.sleep(IDLE_MAX));
            }
        }
    }
}

#[async_trait]
impl Source for Binlog {
    async fn start(&mut self, at: StartAt) -> Result<Started, SourceError> {
        if let Some(running) = self.running.take() {
            running.session.close().await;
        }
        let running = Box::pin(self.open(at)).await?;
        let started = Started { identity: identity(running.server), position: running.reader.position() };
        self.running = Some(running);
        Ok(started)
    }

    async fn next(&mut self) -> Result<Vec<Event>, SourceError> {
        let running = self.running.as_mut().ok_or_else(not_started)?;
        Box::pin(running.next()).await
    }

    async fn barrier(&mut self, position: &Position) -> Result<Barrier, SourceError> {
        let running = self.running.as_mut().ok_or_else(not_started)?;
        Box::pin(running.primary.ask(running.server, position)).await
    }

    /// The server keeps its log by its own settings, so there is nothing to tell it.
    async fn confirm(&mut self, _position: &Position) -> Result<(), SourceError> {
        Ok(())
    }
}

fn not_started() -> SourceError {
    SourceError::Unavailable("the source was not started".to_owned())
}

impl fmt::Debug for Binlog {
    /// Without the addresses, which may have passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let running = self.running.as_ref().map(|running| running.reader.position().text);
        f.debug_struct("Binlog").field("server_id", &self.server_id).field("running", &running).finish_non_exhaustive()
    }
}
