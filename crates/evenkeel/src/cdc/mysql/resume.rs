//! Whether a log continues a checkpoint.

use super::group::Group;
use super::place::{Mark, Seal};
use crate::cdc::source::{Gap, GapCause, SourceError};
use evenkeel_link::support::guard;

/// The part of the log before a checkpoint, which is read again.
#[derive(Debug)]
pub(super) struct Resume {
    pub(super) mark: Mark,
    /// The group that must be there. `None` once it was seen, or if there is none.
    pub(super) seal: Option<Seal>,
    /// The file of the checkpoint's position was seen.
    born_seen: bool,
}

pub(super) fn gap(cause: GapCause, detail: String) -> SourceError {
    SourceError::Gap(Gap { cause, detail })
}

/// What was read before is not unreadable now, unless it is another log.
pub(super) fn differs(error: SourceError) -> SourceError {
    match error {
        SourceError::Unreadable { .. } => gap(GapCause::AnchorMismatch, error.to_string()),
        other => other,
    }
}

impl Resume {
    pub(super) fn new(mark: Mark, seal: Option<Seal>) -> Self {
        Self { mark, seal, born_seen: false }
    }

    /// A file begins, which was created at this time.
    pub(super) fn file(&mut self, name: &str, born: u32) -> Result<(), SourceError> {
        if name != self.mark.place.file {
            return Ok(());
        }
        self.born_seen = true;
        if born == self.mark.born || !guard("binlog_born") {
            return Ok(());
        }
        let detail = format!("{name} was created at {born}, that of the checkpoint at {}", self.mark.born);
        Err(gap(GapCause::AnchorMismatch, detail))
    }

    /// A group ended at this offset of the current file.
    pub(super) fn group(&mut self, group: &Group, end: u64) -> Result<(), SourceError> {
        let found = group.seal(end);
        if self.seal.as_ref().is_some_and(|seal| seal.start == found.start) {
            let seal = self.seal.take();
            if seal.as_ref() != Some(&found) && guard("binlog_anchor") {
                return Err(self.mismatch(seal.as_ref(), &format!("the log has {found}")));
            }
        }
        let file = &found.start.file;
        if found.start.order().0 == self.mark.place.order().0 && end > self.mark.place.offset {
            return Err(self.mismatch(self.seal.as_ref(), &format!("a group of {file} ends at {end}")));
        }
        Ok(())
    }

    /// The log was read up to this place, which is between groups. Whether that is all of the part before the checkpoint.
    pub(super) fn reached(&self, order: (u64, u64)) -> Result<bool, SourceError> {
        if order < self.mark.place.order() {
            return Ok(false);
        }
        match &self.seal {
            Some(seal) => Err(self.mismatch(Some(seal), "no group begins there")),
            // A position at the very end of a file is reached before the next file begins.
            None => Ok(self.born_seen || order.0 > self.mark.place.order().0),
        }
    }

    fn mismatch(&self, seal: Option<&Seal>, found: &str) -> SourceError {
        let expected = seal.map_or_else(|| self.mark.to_string(), Seal::to_string);
        gap(GapCause::AnchorMismatch, format!("the checkpoint has {expected}, {found}"))
    }
}
