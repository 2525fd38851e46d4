//! Places in the log, and what positions and anchors say of them.

use crate::cdc::source::{Anchor, Position};
use std::fmt;
use std::str::FromStr;

/// A file of the log and an offset in it: `bin.000012:4711`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) file: String,
    pub(super) offset: u64,
}

impl Place {
    /// The number behind the last dot of the file's name, and the offset. A later place has the larger pair.
    pub(super) fn order(&self) -> (u64, u64) {
        (number(&self.file).unwrap_or(0), self.offset)
    }
}

/// The number of a file of the log.
pub(super) fn number(file: &str) -> Option<u64> {
    file.rsplit_once('.')?.1.parse().ok()
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.offset)
    }
}

impl FromStr for Place {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (file, offset) = text.rsplit_once(':').ok_or(())?;
        number(file).ok_or(())?;
        Ok(Self { file: file.to_owned(), offset: offset.parse().map_err(|_| ())? })
    }
}

/// The offset whose low 32 bits an event says: files may be longer than that.
pub(super) fn wider(before: u64, end: u32) -> u64 {
    let same = before & !u64::from(u32::MAX) | u64::from(end);
    if same < before { same + (1 << 32) } else { same }
}

/// The text of a position: `bin.000012:4711 born=1764366000 from=bin.000011:120`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) place: Place,
    /// When the file was created, in seconds. After `RESET MASTER` a file of the same name has another time.
    pub(super) born: u32,
    /// Where the oldest transaction begins that is prepared (`XA PREPARE`) and not ended. A later start reads its rows again.
    pub(super) from: Option<Place>,
}

impl Mark {
    pub(super) fn position(&self, epoch: u64) -> Position {
        Position { epoch, order: self.place.order(), text: self.to_string() }
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} born={}", self.place, self.born)?;
        self.from.iter().try_for_each(|from| write!(f, " from={from}"))
    }
}

impl FromStr for Mark {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut words = text.split(' ');
        let place = words.next().ok_or(())?.parse()?;
        let (mut born, mut from) = (None, None);
        for word in words {
            match word.split_once('=').ok_or(())? {
                ("born", seconds) => born = Some(seconds.parse().map_err(|_| ())?),
                ("from", place) => from = Some(place.parse()?),
                _ => return Err(()),
            }
        }
        Ok(Self { place, born: born.ok_or(())?, from })
    }
}

/// The last group before a checkpoint: `bin.000012:4000-4711 at=1764366001 id=0-1-17 crc=89abcdef`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seal {
    pub(super) start: Place,
    pub(super) end: u64,
    pub(super) seconds: u32,
    pub(super) id: String,
    /// Of all bytes of the group.
    pub(super) crc: u32,
}

impl Seal {
    pub(super) fn anchor(&self) -> Anchor {
        Anchor(self.to_string())
    }
}

impl fmt::Display for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { start, end, seconds, id, crc } = self;
        write!(f, "{start}-{end} at={seconds} id={id} crc={crc:08x}")
    }
}

impl FromStr for Seal {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut words = text.split(' ');
        let (start, end) = words.next().ok_or(())?.rsplit_once('-').ok_or(())?;
        let mut field = |name: &str| words.next()?.strip_prefix(name)?.strip_prefix('=');
        let (seconds, id, crc) = (field("at").ok_or(())?, field("id").ok_or(())?, field("crc").ok_or(())?);
        Ok(Self {
            start: start.parse()?,
            end: end.parse().map_err(|_| ())?,
            seconds: seconds.parse().map_err(|_| ())?,
            id: id.to_owned(),
            crc: u32::from_str_radix(crc, 16).map_err(|_| ())?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_and_anchors_are_read_as_they_are_written() {
        for text in ["bin.000012:4711 born=1764366000", "a.b.1000000:4 born=0 from=a.b.999999:18446744073709551615"] {
            assert_eq!(text.parse::<Mark>().map(|mark| mark.to_string()).as_deref(), Ok(text));
        }
        for text in ["bin.000012:400-4711 at=1764366001 id=0-1-17 crc=09abcdef", "bin.1:4-5 at=0 id= crc=00000000"] {
            assert_eq!(text.parse::<Seal>().map(|seal| seal.to_string()).as_deref(), Ok(text));
        }
        for text in ["", "bin.000012:4711", "bin:4 born=1", "bin.1:x born=1", "bin.1:4 born=1 more=2", "bin.1:4 born"] {
            assert!(text.parse::<Mark>().is_err(), "{text}");
        }
        for text in ["", "bin.1:4 at=1 id= crc=0", "bin.1:4-5 at=1 crc=0", "bin.1:4-5 at=1 id= crc=x"] {
            assert!(text.parse::<Seal>().is_err(), "{text}");
        }
    }

    #[test]
    fn later_files_are_later_whatever_the_length_of_their_numbers() {
        let order = |text: &str| text.parse::<Place>().map(|place| place.order());
        assert!(order("bin.999999:900") < order("bin.1000000:4"));
    }

    #[test]
    fn offsets_go_on_beyond_32_bits() {
        assert_eq!(wider(0xffff_fff0, 0x10), 0x1_0000_0010);
        assert_eq!(wider(0x1_0000_0010, 0x20), 0x1_0000_0020);
        assert_eq!(wider(5, 5), 5);
    }
}
