//! Which files the log has, and where in them reading begins.

use super::connect::failed;
use super::decode::Charsets;
use super::place::{Mark, Place};
use super::resume::{Resume, gap};
use crate::cdc::source::{Checkpoint, GapCause, Identity, SourceError};
use mysql_async::Conn;
use mysql_async::prelude::Queryable;

/// The first offset of a file.
const FIRST: u64 = 4;

/// The character set of each collation. Those of version 10.10 and later have numbers only in the second table, which earlier versions
/// do not have in this form.
pub(super) async fn charsets(conn: &mut Conn) -> Result<Charsets, SourceError> {
    let old = "SELECT ID, CHARACTER_SET_NAME FROM information_schema.COLLATIONS WHERE ID IS NOT NULL";
    let new = "SELECT ID, CHARACTER_SET_NAME FROM information_schema.COLLATION_CHARACTER_SET_APPLICABILITY";
    let mut pairs: Vec<(u64, String)> = conn.query(old).await.map_err(failed)?;
    match conn.query::<(u64, String), _>(new).await {
        Ok(more) => pairs.extend(more),
        Err(mysql_async::Error::Server(error)) if error.code == 1_054 => {}
        Err(error) => return Err(failed(error)),
    }
    Ok(Charsets::new(pairs))
}

/// The end of the log.
pub(super) async fn end(conn: &mut Conn) -> Result<Place, SourceError> {
    let status: Option<(String, u64, String, String)> = conn.query_first("SHOW MASTER STATUS").await.map_err(failed)?;
    let (file, offset, ..) = status.ok_or_else(|| SourceError::Unavailable("the server has no log".to_owned()))?;
    Ok(Place { file, offset })
}

/// What a checkpoint says.
pub(super) fn resume(checkpoint: &Checkpoint, found: &Identity) -> Result<Resume, SourceError> {
    let Identity(expected) = &checkpoint.identity;
    if checkpoint.identity != *found {
        let detail = format!("the checkpoint is one of {expected}, the server is {}", found.0);
        return Err(gap(GapCause::OtherSource, detail));
    }
    let unknown =
        |text: &str| gap(GapCause::OtherSource, format!("the checkpoint's text is not one of a binlog: {text}"));
    let mark: Mark = checkpoint.position.parse().map_err(|()| unknown(&checkpoint.position))?;
    let anchor = checkpoint.anchor.0.as_str();
    let seal = match anchor {
        "" => None,
        text => Some(text.parse().map_err(|()| unknown(text))?),
    };
    Ok(Resume::new(mark, seal))
}

/// Where to begin: at the oldest prepared transaction or at the last group, as far as the log still has them, else at the position.
pub(super) async fn start(conn: &mut Conn, resume: &mut Resume) -> Result<Place, SourceError> {
    let files: Vec<(String, u64)> = conn.query("SHOW BINARY LOGS").await.map_err(failed)?;
    let size = |place: &Place| files.iter().find(|(name, _)| *name == place.file).map(|(_, size)| *size);
    let place = &resume.mark.place;
    match size(place) {
        Some(size) if size >= place.offset => {}
        Some(size) => {
            let detail = format!("the checkpoint is at {place}, the file ends at {size}");
            return Err(gap(GapCause::RolledBack, detail));
        }
        None => {
            let purged = files.first().is_some_and(|(name, _)| super::place::number(name) > Some(place.order().0));
            let cause = if purged { GapCause::Purged } else { GapCause::RolledBack };
            let ends = [files.first(), files.last()];
            let names = ends.map(|file| file.map_or("", |(name, _)| name.as_str())).join(" to ");
            return Err(gap(cause, format!("the checkpoint is at {place}, the log has {names}")));
        }
    }
    if resume.seal.as_ref().is_some_and(|seal| size(&seal.start).is_none()) {
        // The log is there from a later file on; that it is the same one is seen by the time of that file.
        resume.seal = None;
    }
    let seal = resume.seal.as_ref().map(|seal| &seal.start);
    let prepared = resume.mark.from.as_ref().filter(|from| size(from).is_some());
    let first = [seal, prepared].into_iter().flatten().min_by_key(|place| place.order()).unwrap_or(place);
    // The protocol has 32 bits for an offset.
    let offset = if first.offset > u64::from(u32::MAX) { FIRST } else { first.offset };
    Ok(Place { file: first.file.clone(), offset })
}
