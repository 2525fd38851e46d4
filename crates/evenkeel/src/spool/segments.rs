//! The folder of a spool: its lock file and its segments. Every function here blocks.

use super::error::SpoolError;
use super::format::{self, Ending, Entry, HEADER_BYTES};
use super::live::Live;
use evenkeel_link::support::{crash_point, guard};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const EXTENSION: &str = "spool";

/// The files of one spool, owned by this process.
#[derive(Debug)]
pub(super) struct Segments {
    dir: PathBuf,
    /// The kernel releases it when the process ends for any reason.
    _lock: File,
    /// The size of each segment, oldest first.
    sizes: BTreeMap<u64, u64>,
    active: File,
    number: u64,
}

/// The contents of a spool when it was opened.
#[derive(Debug, Default)]
pub(super) struct Opened {
    pub(super) live: Live,
    /// Bytes of an interrupted write that were truncated.
    pub(super) torn_bytes: u64,
}

impl Segments {
    /// Opens or creates the folder, reads its segments, and truncates a frame that a crash left incomplete.
    pub(super) fn open(dir: &Path) -> Result<(Self, Opened), SpoolError> {
        fs::create_dir_all(dir).map_err(io_error("create the folder", dir))?;
        let lock = lock(dir)?;
        let numbers = numbers(dir)?;
        let mut opened = Opened::default();
        let mut sizes = BTreeMap::new();
        for (place, number) in numbers.iter().enumerate() {
            if numbers.get(place + 1).is_some_and(|next| *next != number + 1) && guard("spool_gap") {
                let reason = format!("the segment {} after it is missing", number + 1);
                return Err(SpoolError::Corrupt { file: path(dir, *number), offset: 0, reason });
            }
            let is_last = place + 1 == numbers.len();
            sizes.insert(*number, read_segment(dir, *number, is_last, &mut opened)?);
        }
        let number = numbers.last().copied().unwrap_or(1);
        let segments = if let Some(size) = sizes.get(&number).copied().filter(|size| *size >= HEADER_BYTES as u64) {
            let active = append_to(dir, number)?;
            if opened.torn_bytes > 0 && guard("spool_torn_tail") {
                active.set_len(size).map_err(io_error("truncate the torn end of", &path(dir, number)))?;
                active.sync_all().map_err(io_error("sync", &path(dir, number)))?;
            }
            Self { dir: dir.to_owned(), _lock: lock, sizes, active, number }
        } else {
            // There is none, or its creation was interrupted.
            let active = create(dir, number, opened.live.next_sequence())?;
            opened.live.begin(number, 1);
            sizes.insert(number, HEADER_BYTES as u64);
            Self { dir: dir.to_owned(), _lock: lock, sizes, active, number }
        };
        Ok((segments, opened))
    }

    /// Appends one frame. If that fails, the file is truncated to its former length; if even that fails, the contents of the
    /// file are unknown.
    pub(super) fn write(&mut self, entries: &[Entry]) -> Result<u64, SpoolError> {
        let size = self.sizes.get(&self.number).copied().unwrap_or_default();
        let frame = format::frame(self.number, size, entries);
        crash_point("spool_before_write");
        #[cfg(feature = "testing")]
        self.maybe_torn(&frame);
        if let Err(error) = self.active.write_all(&frame) {
            return Err(match self.active.set_len(size) {
                Ok(()) => io_error("write to", &path(&self.dir, self.number))(error),
                Err(_) => SpoolError::Broken { reason: error.to_string() },
            });
        }
        crash_point("spool_written");
        self.sizes.insert(self.number, size + frame.len() as u64);
        Ok(self.number)
    }

    /// Syncs the active segment to the disk. After a failure the kernel may have dropped the data, so the contents of the file
    /// are unknown.
    pub(super) fn sync(&mut self) -> Result<(), SpoolError> {
        let synced = self.active.sync_data().map_err(|error| SpoolError::Broken { reason: error.to_string() });
        crash_point("spool_synced");
        synced
    }

    /// Starts the next segment. The previous one is synced first, so that only the last segment can be torn.
    pub(super) fn roll(&mut self, next_sequence: u64) -> Result<u64, SpoolError> {
        self.sync()?;
        let number = self.number + 1;
        self.active = create(&self.dir, number, next_sequence)?;
        self.number = number;
        self.sizes.insert(number, HEADER_BYTES as u64);
        crash_point("spool_rolled");
        Ok(number)
    }

    /// Deletes a segment without pending effects.
    pub(super) fn remove(&mut self, number: u64) -> Result<(), SpoolError> {
        let path = path(&self.dir, number);
        crash_point("spool_before_remove");
        fs::remove_file(&path).map_err(io_error("remove", &path))?;
        self.sizes.remove(&number);
        crash_point("spool_removed");
        sync_dir(&self.dir)
    }

    /// The size of the active segment.
    pub(super) fn active_bytes(&self) -> u64 {
        self.sizes.get(&self.number).copied().unwrap_or_default()
    }

    /// The size of all segments.
    pub(super) fn bytes(&self) -> u64 {
        self.sizes.values().sum()
    }

    /// For a test: writes only the first half of a frame and kills the process.
    #[cfg(feature = "testing")]
    fn maybe_torn(&mut self, frame: &[u8]) {
        if evenkeel_link::support::is_requested_at("spool_half_written") {
            let _ = self.active.write_all(&frame[..frame.len() / 2]);
            crash_point("spool_half_written");
            let size = self.sizes.get(&self.number).copied().unwrap_or_default();
            let _ = self.active.set_len(size);
        }
    }
}

fn lock(dir: &Path) -> Result<File, SpoolError> {
    let path = dir.join("lock");
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(io_error("open", &path))?;
    if !guard("spool_lock") {
        return Ok(file);
    }
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(SpoolError::InUse { dir: dir.to_owned() }),
        Err(TryLockError::Error(error)) => Err(io_error("lock", &path)(error)),
    }
}

/// The numbers of the segments in the folder, in ascending order.
fn numbers(dir: &Path) -> Result<Vec<u64>, SpoolError> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(dir).map_err(io_error("read the folder", dir))? {
        let path = entry.map_err(io_error("read the folder", dir))?.path();
        if path.extension().is_some_and(|extension| extension == EXTENSION) {
            let number = path.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| stem.parse().ok());
            numbers.push(number.ok_or_else(|| SpoolError::Corrupt {
                file: path.clone(),
                offset: 0,
                reason: "its name is not a segment name".to_owned(),
            })?);
        }
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// Reads one segment; returns the length of its valid part.
fn read_segment(dir: &Path, number: u64, is_last: bool, opened: &mut Opened) -> Result<u64, SpoolError> {
    let file = path(dir, number);
    let bytes = fs::read(&file).map_err(io_error("read", &file))?;
    let parsed = format::parse(number, &bytes);
    let offset = parsed.good_bytes as u64;
    match parsed.ending {
        Ending::Clean => {}
        Ending::Torn if is_last => {
            opened.torn_bytes = bytes.len() as u64 - offset;
            tracing::warn!(
                file = %file.display(), offset, bytes = opened.torn_bytes,
                "an incomplete record at the end of the spool was truncated; it was never acknowledged"
            );
        }
        Ending::Torn => {
            let reason = "the record is truncated, and another segment follows".to_owned();
            return Err(SpoolError::Corrupt { file, offset, reason });
        }
        Ending::Damaged(reason) => return Err(SpoolError::Corrupt { file, offset, reason: reason.to_owned() }),
    }
    opened.live.begin(number, parsed.next_sequence);
    for entry in parsed.entries {
        opened.live.apply(number, entry);
    }
    Ok(offset)
}

fn create(dir: &Path, number: u64, next_sequence: u64) -> Result<File, SpoolError> {
    let file_path = path(dir, number);
    let failed = io_error("create", &file_path);
    let made = File::create(&file_path).and_then(|_| {
        crash_point("spool_created");
        let mut file = OpenOptions::new().append(true).open(&file_path)?;
        file.write_all(&format::header(number, next_sequence))?;
        file.sync_all()?;
        Ok(file)
    });
    let file = made.map_err(failed)?;
    sync_dir(dir)?;
    Ok(file)
}

fn append_to(dir: &Path, number: u64) -> Result<File, SpoolError> {
    let path = path(dir, number);
    OpenOptions::new().append(true).open(&path).map_err(io_error("open", &path))
}

/// Syncs the folder, so that the file names survive a power failure.
fn sync_dir(dir: &Path) -> Result<(), SpoolError> {
    File::open(dir).and_then(|folder| folder.sync_all()).map_err(io_error("sync the folder", dir))
}

fn path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number:020}.{EXTENSION}"))
}

fn io_error(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> SpoolError {
    let path = path.to_owned();
    move |source| SpoolError::Io { what, path, source: Arc::new(source) }
}
