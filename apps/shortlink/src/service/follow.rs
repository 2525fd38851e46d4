//! [`Followers`]: what must happen once a link has changed: its cache entry ends, and the job that switches it off follows.

use super::ends::Ends;
use super::redirects::Redirects;
use crate::store::{Change, Follow};
use evenkeel::clock::Clock;
use evenkeel::sql::{Effects, SqlError};

/// What must happen once a link has changed.
pub(super) struct Followers {
    pub(super) redirects: Redirects,
    pub(super) ends: Ends,
    pub(super) clock: Clock,
}

impl Follow for Followers {
    fn follow(&self, change: &Change<'_>, effects: &mut Effects) -> Result<(), SqlError> {
        let now_ms = i64::try_from(self.clock.unix_ms()).unwrap_or(i64::MAX);
        match *change {
            // The cache may know that there was no such link.
            Change::Made(link) => {
                self.redirects.forget_before(link, effects)?;
                self.ends.plan(link, now_ms, effects)
            }
            Change::Imported(link) => {
                self.redirects.forget(&link.code, effects)?;
                self.ends.plan(link, now_ms, effects)
            }
            Change::Changed { link, end_moved } => {
                self.redirects.forget_before(link, effects)?;
                match link.expires_at {
                    _ if !end_moved => Ok(()),
                    Some(_) => self.ends.plan(link, now_ms, effects),
                    None => self.ends.take_back(&link.code, effects),
                }
            }
            Change::Deleted(link) => {
                self.redirects.forget(&link.code, effects)?;
                match link.expires_at {
                    Some(_) => self.ends.take_back(&link.code, effects),
                    None => Ok(()),
                }
            }
            Change::Ended(link) => self.redirects.forget(&link.code, effects),
            Change::Ending(link) => self.ends.plan(link, now_ms, effects),
        }
    }
}
