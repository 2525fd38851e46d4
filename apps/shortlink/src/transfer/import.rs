//! `shortlink import`.

use super::batches::{Batch, read_ahead};
use super::destination::{Answer, Destination};
use super::format::{Format, refuse_compressed};
use super::progress::{Counts, Progress};
use super::records::{Record, Records};
use super::rejected::{BadLine, Rejected};
use super::report::Report;
use super::row::TransferRow;
use crate::service::Consistency;
use crate::store::Checkpoint;
use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

/// What is read from the file at once.
const BUFFER_BYTES: usize = 256 * 1024;

/// What is to be imported.
#[derive(Clone, Debug)]
pub struct ImportSource {
    /// The file.
    pub file: PathBuf,
    /// How it is written.
    pub format: Format,
    /// What the fields of each line are, for TSV and CSV without a header line; an empty name leaves a field out.
    pub columns: Option<Vec<String>>,
}

/// Imports a file, telling `report` how it goes.
///
/// Guarantee: when it answers, every row is in the database, or in the file of rejected lines beside the source. If it is ended
/// in the middle, however, the same call goes on after the last batch that committed; if the file was changed up to there
/// meanwhile, it begins again. Rows that are there already are not added.
///
/// # Errors
/// One sentence; what was taken before stays taken.
pub async fn import(source: &ImportSource, destination: &mut Destination, report: &mut Report) -> Result<Counts> {
    let file = File::open(&source.file).with_context(|| format!("cannot read {}", source.file.display()))?;
    let bytes = file.metadata()?.len();
    if source.format == Format::JsonLines && source.columns.is_some() {
        bail!("--columns is for .tsv and .csv files; JSON lines name their fields themselves");
    }
    let name = source.name()?;
    let (records, progress) = open(source, destination, &name, report).await?;
    report.start(&source.file, bytes, progress.position.line);
    let rejected = Rejected::beside(&source.file, file, records.header(), progress.rejected_bytes);
    let mut run = Run { name, destination, report, rejected, progress, unknown_told: 0, cache_told: false };

    let mut batches = read_ahead(records);
    while let Some(batch) = batches.recv().await {
        run.take(batch.with_context(|| format!("cannot read {}", source.file.display()))?).await?;
    }
    run.finish().await
}

impl ImportSource {
    /// Names this import for its checkpoint: the same file, read the same way.
    fn name(&self) -> Result<String> {
        use std::fmt::Write;
        let path = self.file.canonicalize().with_context(|| format!("cannot read {}", self.file.display()))?;
        let mut hash = Sha256::new().chain_update(path.as_os_str().as_encoded_bytes()).chain_update([0]);
        hash.update(self.format.name());
        for column in self.columns.iter().flatten() {
            hash.update([0]);
            hash.update(column);
        }
        Ok(hash.finalize().iter().fold(String::new(), |mut text, byte| {
            // Writing to a String cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        }))
    }

    fn records(&self) -> Result<Records<BufReader<File>>> {
        let file = File::open(&self.file).with_context(|| format!("cannot read {}", self.file.display()))?;
        let mut input = BufReader::with_capacity(BUFFER_BYTES, file);
        let beginning = input.fill_buf().with_context(|| format!("cannot read {}", self.file.display()))?;
        refuse_compressed(beginning, &self.file.display().to_string())?;
        Records::new(input, self.format, self.columns.as_deref(), &self.file.display().to_string())
    }
}

/// The rows to be read, from the beginning or from where an earlier import stopped.
async fn open(
    source: &ImportSource,
    destination: &Destination,
    name: &str,
    report: &mut Report,
) -> Result<(Records<BufReader<File>>, Progress)> {
    let checkpoint = destination.checkpoint(name).await?;
    let mut records = source.records()?;
    let Some(progress) = checkpoint.and_then(|kept| serde_json::from_str::<Progress>(&kept.state).ok()) else {
        return Ok((records, Progress::default()));
    };
    if records.skip_to(&progress.position)? {
        return Ok((records, progress));
    }
    report.note("the file was changed since an earlier import of it stopped; it is read from the beginning");
    Ok((source.records()?, Progress::default()))
}

/// One run of an import.
struct Run<'r> {
    name: String,
    destination: &'r mut Destination,
    report: &'r mut Report,
    rejected: Rejected,
    progress: Progress,
    unknown_told: usize,
    cache_told: bool,
}

impl Run<'_> {
    async fn take(&mut self, batch: Batch) -> Result<()> {
        let Batch { records, position, unknown } = batch;
        self.tell_unknown(&unknown);
        let (rows, slots) = sort(records);
        let mut after = Progress { position, ..self.progress.clone() };
        let mut bad = Vec::new();
        let (name, rejected) = (&self.name, &self.rejected);
        let mut log = |answers: &[Answer]| {
            bad = count(&slots, answers, &mut after.counts);
            after.rejected_bytes = rejected.write(&bad)?;
            let state = serde_json::to_string(&after).map_err(std::io::Error::from)?;
            Ok(Checkpoint { source: name.clone(), state })
        };
        let consistency = self.destination.take(rows, &mut log).await?;
        self.rejected.keep(after.rejected_bytes);
        self.progress = after;
        if consistency != Consistency::Consistent && !self.cache_told {
            self.cache_told = true;
            self.report
                .note("the cache could not be told yet; for some seconds it may say that a new code leads nowhere");
        }
        for line in &bad {
            self.report.rejected(line.line, &line.why);
        }
        self.report.progress(self.progress.position.line, self.progress.position.offset, &self.progress.counts);
        Ok(())
    }

    async fn finish(self) -> Result<Counts> {
        self.destination.forget(&self.name).await?;
        let kept = self.rejected.finish().context("cannot remove the rejected lines of an earlier run")?;
        self.report.done(&self.progress.counts, kept.as_deref());
        Ok(self.progress.counts)
    }

    fn tell_unknown(&mut self, unknown: &[String]) {
        for name in &unknown[self.unknown_told..] {
            let known = super::row::Column::ALL.map(super::row::Column::name).join(", ");
            self.report.note(&format!("the column {name:?} is left out; the columns of a link are {known}"));
        }
        self.unknown_told = unknown.len();
    }
}

/// What is known of a record before the destination answers.
struct Slot {
    line: u64,
    span: (u64, u64),
    /// Why it never gets there.
    why: Option<String>,
}

fn sort(records: Vec<Record>) -> (Vec<TransferRow>, Vec<Slot>) {
    let mut rows = Vec::with_capacity(records.len());
    let mut slots = Vec::with_capacity(records.len());
    for Record { line, span, row } in records {
        let why = match row {
            Ok(row) => {
                rows.push(row);
                None
            }
            Err(why) => Some(why),
        };
        slots.push(Slot { line, span, why });
    }
    (rows, slots)
}

/// Puts the answers to their records, adds them to `counts`, and collects the bad lines in their order.
fn count(slots: &[Slot], answers: &[Answer], counts: &mut Counts) -> Vec<BadLine> {
    let mut answers = answers.iter();
    let mut bad = Vec::new();
    for Slot { line, span, why } in slots {
        let why = match why {
            Some(why) => why,
            None => match answers.next() {
                Some(Answer::Created) => {
                    counts.created += 1;
                    continue;
                }
                Some(Answer::Rejected(why)) => why,
                Some(Answer::Present) | None => {
                    counts.present += 1;
                    continue;
                }
            },
        };
        counts.rejected += 1;
        bad.push(BadLine { line: *line, span: *span, why: why.clone() });
    }
    bad
}
