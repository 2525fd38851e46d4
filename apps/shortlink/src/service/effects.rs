//! [`LinkEffects`]: the effects of a changed link on its cache entry and on its expiry job.

use super::expiry::ExpiryJobs;
use super::redirects::Redirects;
use crate::store::{Change, ChangeHook};
use evenkeel::clock::Clock;
use evenkeel::sql::{Effects, SqlError};

/// Adds the effects of a change to its unit of work.
pub(super) struct LinkEffects {
    pub(super) redirects: Redirects,
    pub(super) expiry: ExpiryJobs,
    pub(super) clock: Clock,
}

impl ChangeHook for LinkEffects {
    fn on_change(&self, change: &Change<'_>, effects: &mut Effects) -> Result<(), SqlError> {
        let now_ms = web::signed(self.clock.unix_ms());
        match *change {
            // The cache may have an entry that the link does not exist.
            Change::Created(link) => {
                self.redirects.invalidate_below(link, effects)?;
                self.expiry.schedule(link, now_ms, effects)
            }
            Change::Imported(link) => {
                self.redirects.invalidate(&link.code, effects)?;
                self.expiry.schedule(link, now_ms, effects)
            }
            Change::Changed { link, expiry_changed } => {
                self.redirects.invalidate_below(link, effects)?;
                match link.expires_at {
                    _ if !expiry_changed => Ok(()),
                    Some(_) => self.expiry.schedule(link, now_ms, effects),
                    None => self.expiry.revoke(&link.code, effects),
                }
            }
            Change::Deleted(link) => {
                self.redirects.invalidate(&link.code, effects)?;
                match link.expires_at {
                    Some(_) => self.expiry.revoke(&link.code, effects),
                    None => Ok(()),
                }
            }
            Change::Expired(link) => self.redirects.invalidate(&link.code, effects),
            Change::MissingExpiryJob(link) => self.expiry.schedule(link, now_ms, effects),
        }
    }
}
