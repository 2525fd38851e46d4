//! Fixed-point numbers.

use super::cursor::Cursor;
use super::{Damaged, Decoded};
use std::fmt::Write;

/// The bytes of a group of up to eight digits; nine have four.
const BYTES: [usize; 10] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];

/// A `DECIMAL(precision, scale)` as the server prints it: `-12.340`, `0.50`.
pub(super) fn decode(from: &mut Cursor<'_>, precision: u8, scale: u8) -> Decoded<String> {
    let (precision, scale) = (usize::from(precision), usize::from(scale));
    if scale > precision || precision == 0 || precision > 65 {
        return Err(Damaged(format!("DECIMAL({precision},{scale})")));
    }
    let whole = precision - scale;
    let sizes = [whole / 9 * 4, BYTES[whole % 9], scale / 9 * 4, BYTES[scale % 9]];
    let mut bytes = from.take(sizes.iter().sum())?.to_vec();
    let first = bytes.first_mut().ok_or_else(|| Damaged::new("a DECIMAL without bytes"))?;
    let negative = *first & 0x80 == 0;
    *first ^= 0x80;
    if negative {
        bytes.iter_mut().for_each(|byte| *byte = !*byte);
    }
    let mut from = Cursor::new(&bytes);
    let mut digits = String::with_capacity(precision + 2);
    group(&mut digits, &mut from, whole % 9)?;
    for _ in 0..whole / 9 {
        group(&mut digits, &mut from, 9)?;
    }
    let trimmed = digits.trim_start_matches('0');
    let mut text = String::with_capacity(precision + 2);
    if negative {
        text.push('-');
    }
    text.push_str(if trimmed.is_empty() { "0" } else { trimmed });
    if scale > 0 {
        text.push('.');
        for _ in 0..scale / 9 {
            group(&mut text, &mut from, 9)?;
        }
        group(&mut text, &mut from, scale % 9)?;
    }
    Ok(text)
}

fn group(text: &mut String, from: &mut Cursor<'_>, digits: usize) -> Decoded<()> {
    if digits == 0 {
        return Ok(());
    }
    let number = from.big(BYTES[digits])?;
    if number >= 10_u64.pow(u32::try_from(digits).unwrap_or(9)) {
        return Err(Damaged(format!("{number} in a DECIMAL's {digits} digits")));
    }
    write!(text, "{number:0digits$}").map_err(|e| Damaged(e.to_string()))
}
