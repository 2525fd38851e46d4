//! Reads bytes from the front, and says when there are too few.

use super::{Damaged, Decoded};

/// The bytes that are not read yet.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(in super::super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(in super::super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(in super::super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next `n` bytes.
    pub(in super::super) fn take(&mut self, n: usize) -> Decoded<&'a [u8]> {
        let Some((taken, rest)) = self.rest.split_at_checked(n) else {
            return Err(Damaged(format!("{n} bytes are announced, {} are there", self.rest.len())));
        };
        self.rest = rest;
        Ok(taken)
    }

    /// The next `N` bytes.
    pub(in super::super) fn array<const N: usize>(&mut self) -> Decoded<[u8; N]> {
        let taken = self.take(N)?;
        taken.try_into().map_err(|_| Damaged::new("bytes are missing"))
    }

    pub(in super::super) fn u8(&mut self) -> Decoded<u8> {
        Ok(self.array::<1>()?[0])
    }

    pub(in super::super) fn u16(&mut self) -> Decoded<u16> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    pub(in super::super) fn u32(&mut self) -> Decoded<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(in super::super) fn u64(&mut self) -> Decoded<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// A little-endian number of `n` bytes, eight at most.
    pub(in super::super) fn little(&mut self, n: usize) -> Decoded<u64> {
        Ok(self.take(n)?.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    }

    /// A big-endian number of `n` bytes, eight at most.
    pub(in super::super) fn big(&mut self, n: usize) -> Decoded<u64> {
        Ok(self.take(n)?.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    }

    /// A length of the protocol: one, three, four or nine bytes.
    pub(in super::super) fn length(&mut self) -> Decoded<usize> {
        let number = match self.u8()? {
            0xfc => u64::from(self.u16()?),
            0xfd => self.little(3)?,
            0xfe => self.u64()?,
            other @ (0xfb | 0xff) => return Err(Damaged(format!("{other:#x} is not a length"))),
            short => u64::from(short),
        };
        usize::try_from(number).map_err(|_| Damaged(format!("a length of {number}")))
    }

    /// A text with its length before it.
    pub(in super::super) fn text(&mut self) -> Decoded<&'a str> {
        let length = self.length()?;
        let bytes = self.take(length)?;
        std::str::from_utf8(bytes).map_err(|_| Damaged::new("a name is not UTF-8"))
    }
}

/// Bit `n` of a bitmap whose first bit is the lowest of its first byte.
pub(in super::super) fn bit(map: &[u8], n: usize) -> bool {
    map.get(n / 8).is_some_and(|byte| byte >> (n % 8) & 1 == 1)
}

/// Bit `n` of a bitmap whose first bit is the highest of its first byte.
pub(in super::super) fn high_bit(map: &[u8], n: usize) -> bool {
    map.get(n / 8).is_some_and(|byte| byte >> (7 - n % 8) & 1 == 1)
}
