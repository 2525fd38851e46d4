//! From a record to its job.

use super::notes::split_notes;
use super::{
    FLAG_DISCARD, FLAG_JSON, FLAG_LEASE_EXPIRED, FLAG_MESSAGE_PACK, FLAG_NOTES, FLAG_PRIORITY, FLAG_STARTED,
    FLAGS_CODEC, HAS_EXPIRY, HAS_UNIQUE, HAS_VERSION, HAS_WINDOW, HEADER_BYTES, IS_ALONE, IS_SHIELDED, NO_EXPIRY,
    RETRIES_UNLIMITED, Unreadable, get_16, get_u48,
};
use crate::codec::{JSON, MESSAGE_PACK};
use crate::queue::job::{Job, JobSpec, Priority, Retention, Retries, Unique, UniqueKey};
use bytes::{Buf, Bytes};
use evenkeel_link::Token;

pub(super) fn decode_job(mut raw: Bytes) -> Result<Job, Unreadable> {
    if raw.len() < HEADER_BYTES {
        return Err(Unreadable("shorter than a header"));
    }
    let mut header = raw.split_to(HEADER_BYTES);
    header.advance(1);
    let (flags, has, rule) = (header.get_u8(), header.get_u8(), header.get_u8());
    let (errors, retries) = (header.get_u16(), header.get_u16());
    let (crashes, lease_expiries) = (header.get_u8(), header.get_u8());
    let enqueued_at = get_u48(&mut header)?;
    let fence = header.get_u64();
    let mut token = [0; 16];
    header.copy_to_slice(&mut token);

    let (mut expires_at, mut late_ms_max, mut version, mut window, mut unique) = (None, None, None, 0, None);
    if has & HAS_EXPIRY != 0 {
        expires_at = Some(get_u48(&mut raw)?).filter(|at| *at != NO_EXPIRY);
        late_ms_max = Some(get_u48(&mut raw)?);
    }
    if has & HAS_VERSION != 0 {
        version = Some(raw.try_get_u64().map_err(|_| Unreadable("no version"))?);
    }
    if has & HAS_WINDOW != 0 {
        window = get_u48(&mut raw)?;
    }
    if has & HAS_UNIQUE != 0 {
        unique = Some(Unique { key: UniqueKey(get_16(&mut raw)?), window_ms: get_u48(&mut raw)? });
    }
    let notes = if flags & FLAG_NOTES == 0 { Vec::new() } else { split_notes(&mut raw)? };
    let codec = match flags & FLAGS_CODEC {
        0 => None,
        FLAG_JSON => Some(JSON),
        FLAG_MESSAGE_PACK => Some(MESSAGE_PACK),
        // A head alone does not contain the byte.
        _ => raw.try_get_u8().ok(),
    };
    Ok(Job {
        spec: JobSpec {
            priority: Priority::ALL[usize::from(flags & FLAG_PRIORITY)],
            retries: if retries == RETRIES_UNLIMITED { Retries::Unlimited } else { Retries::Limited(retries) },
            discard_exhausted: flags & FLAG_DISCARD != 0,
            retention: Retention::of_rule(rule, window).ok_or(Unreadable("unknown retention rule"))?,
            late_ms_max,
            unique,
            version,
            body: raw,
            codec,
            notes,
        },
        enqueued_at,
        expires_at,
        errors,
        crashes,
        lease_expiries,
        started: flags & FLAG_STARTED != 0,
        lease_expired: flags & FLAG_LEASE_EXPIRED != 0,
        shielded: has & IS_SHIELDED != 0,
        alone: has & IS_ALONE != 0,
        fence,
        token: (token != [0; 16]).then(|| Token::from(token)),
    })
}
