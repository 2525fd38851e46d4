//! The encoding of invalidations.

use super::{CUT_OFF, INVALIDATE, Read, get_bytes, get_text, get_u64, put_bytes};
use crate::cache::Demand;
use crate::sql::outbox::effect::Invalidate;
use bytes::{Buf, BufMut, Bytes};
use evenkeel_protocol::cache::steps::Mode;

const HAS_WINDOW: u8 = 0b001;
const IS_PURGE: u8 = 0b010;
const HAS_FLOOR: u8 = 0b100;

pub(super) fn encode(out: &mut Vec<u8>, effect: &Invalidate) {
    let Demand { mode, floor, lag_ms_max } = effect.demand;
    let retain_ms = match mode {
        Mode::Expire { retain_ms } => Some(retain_ms),
        Mode::Purge => None,
    };
    let flag = |on: bool, flag: u8| if on { flag } else { 0 };
    out.put_u8(INVALIDATE);
    out.put_u8(
        flag(effect.window, HAS_WINDOW) | flag(retain_ms.is_none(), IS_PURGE) | flag(floor.is_some(), HAS_FLOOR),
    );
    out.put_u64(retain_ms.unwrap_or(0));
    out.put_u64(floor.unwrap_or(0));
    out.put_u64(lag_ms_max);
    put_bytes(out, effect.cache.as_bytes());
    put_bytes(out, &effect.key);
}

pub(super) fn decode(from: &mut Bytes) -> Read<Invalidate> {
    let flags = from.try_get_u8().map_err(|_| CUT_OFF)?;
    let (retain_ms, floor, lag_ms_max) = (get_u64(from)?, get_u64(from)?, get_u64(from)?);
    let mode = if flags & IS_PURGE == 0 { Mode::Expire { retain_ms } } else { Mode::Purge };
    let demand = Demand { mode, floor: (flags & HAS_FLOOR != 0).then_some(floor), lag_ms_max };
    let cache = get_text(from)?;
    Ok(Invalidate { cache, key: get_bytes(from)?, demand, window: flags & HAS_WINDOW != 0 })
}
