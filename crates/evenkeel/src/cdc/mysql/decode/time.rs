//! Dates and times, as the server prints them: `2026-11-28`, `-12:30:00.25`, `2026-11-28 21:00:00.000001`.
//!
//! A `TIMESTAMP` is printed in UTC, as with `time_zone = '+00:00'`.

use super::cursor::Cursor;
use super::{Damaged, Decoded};

/// `DATE`.
pub(super) fn date(from: &mut Cursor<'_>) -> Decoded<String> {
    let packed = from.little(3)?;
    Ok(format!("{:04}-{:02}-{:02}", packed >> 9, packed >> 5 & 15, packed & 31))
}

/// `TIME` before version 5.6.
pub(super) fn old_time(from: &mut Cursor<'_>) -> Decoded<String> {
    let packed = from.little(3)?;
    let negative = packed & 0x80_0000 != 0;
    let packed = if negative { 0x100_0000 - packed } else { packed };
    let sign = if negative { "-" } else { "" };
    Ok(format!("{sign}{:02}:{:02}:{:02}", packed / 10_000, packed / 100 % 100, packed % 100))
}

/// `DATETIME` before version 5.6.
pub(super) fn old_datetime(from: &mut Cursor<'_>) -> Decoded<String> {
    let packed = from.u64()?;
    let (day, time) = (packed / 1_000_000, packed % 1_000_000);
    let date = format!("{:04}-{:02}-{:02}", day / 10_000, day / 100 % 100, day % 100);
    Ok(format!("{date} {:02}:{:02}:{:02}", time / 10_000, time / 100 % 100, time % 100))
}

/// `TIMESTAMP` before version 5.6.
pub(super) fn old_timestamp(from: &mut Cursor<'_>) -> Decoded<String> {
    Ok(since_1970(u64::from(from.u32()?)))
}

/// `TIMESTAMP(digits)`.
pub(super) fn timestamp(from: &mut Cursor<'_>, digits: u8) -> Decoded<String> {
    let seconds = from.big(4)?;
    Ok(since_1970(seconds) + &fraction(from.big(fraction_bytes(digits)?)?, digits))
}

/// `DATETIME(digits)`.
pub(super) fn datetime(from: &mut Cursor<'_>, digits: u8) -> Decoded<String> {
    let packed = from.big(5)? & 0x7f_ffff_ffff;
    let (months, days, time) = (packed >> 22, packed >> 17 & 31, packed & 0x1_ffff);
    let date = format!("{:04}-{:02}-{days:02}", months / 13, months % 13);
    let time = format!("{:02}:{:02}:{:02}", time >> 12, time >> 6 & 63, time & 63);
    Ok(format!("{date} {time}{}", fraction(from.big(fraction_bytes(digits)?)?, digits)))
}

/// `TIME(digits)`. Of negative times the whole number, with its fraction, is complemented.
pub(super) fn time(from: &mut Cursor<'_>, digits: u8) -> Decoded<String> {
    let bytes = fraction_bytes(digits)?;
    let packed = from.big(3 + bytes)?;
    let zero = 0x80_0000_u64 << (8 * bytes);
    let (sign, packed) = if packed < zero { ("-", zero - packed) } else { ("", packed - zero) };
    let (seconds, part) = (packed >> (8 * bytes), packed & ((1 << (8 * bytes)) - 1));
    let time = format!("{:02}:{:02}:{:02}", seconds >> 12 & 0x3ff, seconds >> 6 & 63, seconds & 63);
    Ok(format!("{sign}{time}{}", fraction(part, digits)))
}

fn fraction_bytes(digits: u8) -> Decoded<usize> {
    match digits {
        0..=6 => Ok(usize::from(digits).div_ceil(2)),
        _ => Err(Damaged(format!("a time with {digits} digits after the point"))),
    }
}

/// An odd number of digits is stored with one more.
fn fraction(stored: u64, digits: u8) -> String {
    if digits == 0 {
        return String::new();
    }
    let number = if digits % 2 == 1 { stored / 10 } else { stored };
    format!(".{number:0width$}", width = usize::from(digits))
}

/// `1970-01-01 00:00:00` and later. The server stores its zero date as 0.
fn since_1970(seconds: u64) -> String {
    if seconds == 0 {
        return "0000-00-00 00:00:00".to_owned();
    }
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = calendar(days);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}", second / 3_600, second / 60 % 60, second % 60)
}

/// Year, month and day of a number of days since 1970-01-01, in the Gregorian calendar: years begin in March, so that the leap day is
/// their last, and 400 of them have 146,097 days.
fn calendar(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}
