//! A connection on which the server sends its log.

use super::connect::{connect, failed};
use super::decode::Header;
use super::place::Place;
use super::reader::Reader;
use crate::cdc::source::SourceError;
use futures_util::{FutureExt, StreamExt};
use mysql_async::binlog::events::Event;
use mysql_async::prelude::Queryable;
use mysql_async::{BinlogStream, BinlogStreamRequest, Opts};
use std::panic::AssertUnwindSafe;

/// The server sends something at least this often, in nanoseconds.
const HEARTBEAT_NS: u64 = 1_000_000_000;

/// The log from a place on.
pub(super) struct Session {
    stream: BinlogStream,
}

impl Session {
    pub(super) async fn open(options: &Opts, server_id: u32, from: &Place) -> Result<Self, SourceError> {
        let mut conn = connect(options).await?;
        let settings = [
            // Below this the server replaces its own events by others, or leaves them out.
            "SET @mariadb_slave_capability = 4".to_owned(),
            format!("SET @master_heartbeat_period = {HEARTBEAT_NS}"),
            // The reader may wait for the visibility of a group for as long as a replica does not answer.
            "SET SESSION net_write_timeout = 3600".to_owned(),
        ];
        for sql in settings {
            conn.query_drop(sql).await.map_err(failed)?;
        }
        let request = BinlogStreamRequest::new(server_id).with_filename(from.file.as_bytes()).with_pos(from.offset);
        let stream = conn.get_binlog_stream(request).await.map_err(failed)?;
        Ok(Self { stream })
    }

    /// Waits for one event and hands it to the reader. Nothing is lost if this is dropped while it waits.
    pub(super) async fn read(&mut self, reader: &mut Reader) -> Result<(), SourceError> {
        // The decoder of the client panics on an event that is shorter than its header says.
        let event = AssertUnwindSafe(self.stream.next()).catch_unwind().await;
        let Ok(event) = event else { return Err(reader.unreadable("an event that is shorter than its header says")) };
        let event = event.ok_or_else(|| SourceError::Unavailable("the server ended the log".to_owned()))?;
        let event = event.map_err(failed)?;
        if !is_whole(&event) {
            return Err(reader.unreadable("an event whose checksum is wrong"));
        }
        let header = event.header();
        let header = Header {
            seconds: header.timestamp(),
            raw: header.event_type_raw(),
            server: header.server_id(),
            end: header.log_pos(),
            flags: header.flags_raw(),
        };
        reader.event(header, event.data())
    }

    pub(super) async fn close(self) {
        // The server notices a connection that just ends, too.
        let _closed = self.stream.close().await;
    }
}

fn is_whole(event: &Event) -> bool {
    match (event.footer().get_checksum_alg(), event.checksum()) {
        (Ok(Some(algorithm)), Some(sum)) => u32::from_le_bytes(sum) == event.calc_checksum(algorithm),
        _ => true,
    }
}
