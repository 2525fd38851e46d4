//! `shortlink import`.

use super::destination::ImportDestination;
use super::format::{Format, refuse_encoded};
use super::progress::{Counts, Progress};
use super::read::{Batch, Record, Records, read_ahead};
use super::rejected::{BadLine, Rejected};
use super::report::Report;
use super::row::TransferRow;
use crate::http::api::bulk::ImportOutcome;
use crate::service::Consistency;
use crate::store::Checkpoint;
use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use web::hex;

/// Read buffer of the file.
const BUFFER_BYTES: usize = 256 * 1024;

/// The source of an import.
#[derive(Clone, Debug)]
pub struct ImportSource {
    /// The file.
    pub file: PathBuf,
    /// Its format.
    pub format: Format,
    /// The column names of a TSV or CSV file without a header line; an empty name skips its column.
    pub columns: Option<Vec<String>>,
    /// Where the codes are.
    pub codes: CodeSource,
}

/// Where a file has the codes of its links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CodeSource {
    /// In the column `code` or `alias`. If there is neither, and another column looks like codes, the file is refused.
    #[default]
    Named,
    /// In this column, as codes or as URLs of short links.
    Column(String),
    /// As [`CodeSource::Named`], and no other column has codes.
    NamedOrNew,
}

/// Imports a file and reports progress to `report`.
///
/// Guarantee: when it returns, every row is in the database, or in the file of rejected lines next to the source. If it is
/// interrupted, the same call resumes after the last committed batch; if the file has changed up to there, it starts again. Rows
/// that exist are not added. Returns the counts of all rows, those before an interruption included; `report` shows those of this call.
///
/// # Errors
/// The file cannot be read, or the destination fails. Committed batches stay imported.
pub async fn import(source: &ImportSource, destination: &mut ImportDestination, report: &mut Report) -> Result<Counts> {
    let file = File::open(&source.file).with_context(|| format!("cannot read {}", source.file.display()))?;
    let bytes = file.metadata()?.len();
    if source.format == Format::JsonLines && source.columns.is_some() {
        bail!("--columns applies to .tsv and .csv files only: rows of JSON Lines name their fields");
    }
    let name = source.name()?;
    let (records, progress) = open(source, destination, &name, report).await?;
    report.start(&source.file, bytes, progress.position.line);
    let rejected = Rejected::next_to(&source.file, file, records.header(), progress.rejected_bytes);
    let earlier = progress.counts;
    let mut run = Run {
        source,
        name,
        destination,
        report,
        rejected,
        progress,
        earlier,
        unknown_reported: 0,
        cache_reported: false,
    };

    let mut batches = read_ahead(records);
    while let Some(batch) = batches.recv().await {
        run.take(batch.with_context(|| format!("cannot read {}", source.file.display()))?).await?;
    }
    run.finish().await
}

impl ImportSource {
    /// The name of this import's checkpoint: the file and how it is read.
    fn name(&self) -> Result<String> {
        let path = self.file.canonicalize().with_context(|| format!("cannot read {}", self.file.display()))?;
        let mut hash = Sha256::new().chain_update(path.as_os_str().as_encoded_bytes()).chain_update([0]);
        hash.update(self.format.name());
        for column in self.columns.iter().flatten() {
            hash.update([0]);
            hash.update(column);
        }
        if let CodeSource::Column(name) = &self.codes {
            hash.update([1]);
            hash.update(name);
        }
        Ok(hex(&hash.finalize()))
    }

    fn records(&self) -> Result<Records<BufReader<File>>> {
        let file = File::open(&self.file).with_context(|| format!("cannot read {}", self.file.display()))?;
        let mut input = BufReader::with_capacity(BUFFER_BYTES, file);
        let beginning = input.fill_buf().with_context(|| format!("cannot read {}", self.file.display()))?;
        refuse_encoded(beginning, &self.file.display().to_string())?;
        let mut records = Records::new(input, self.format, self.columns.as_deref(), &self.file.display().to_string())?;
        if let CodeSource::Column(name) = &self.codes {
            records.read_codes_from(name)?;
        }
        Ok(records)
    }
}

/// The records to import, from the beginning or from the checkpoint of an interrupted import.
async fn open(
    source: &ImportSource,
    destination: &ImportDestination,
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
    report.note("the file has changed since an earlier import of it stopped; reading it from the beginning");
    Ok((source.records()?, Progress::default()))
}

/// One run of an import.
struct Run<'r> {
    source: &'r ImportSource,
    name: String,
    destination: &'r mut ImportDestination,
    report: &'r mut Report,
    rejected: Rejected,
    progress: Progress,
    /// The rows before an interruption.
    earlier: Counts,
    unknown_reported: usize,
    cache_reported: bool,
}

impl Run<'_> {
    async fn take(&mut self, batch: Batch) -> Result<()> {
        let Batch { records, position, unknown, suspect } = batch;
        let is_first = self.progress.counts.rows() == 0;
        if let Some(name) = suspect.filter(|_| is_first && self.source.codes == CodeSource::Named) {
            bail!(
                "no column is named code or alias, and the column {name:?} looks like codes: --code-column '{name}' imports the \
                 links under these codes, --new-codes under new ones"
            );
        }
        self.report_unknown(&unknown);
        let (rows, slots) = sort(records);
        let before = self.progress.counts;
        let mut after = Progress { position, ..self.progress.clone() };
        let mut bad = Vec::new();
        let (name, rejected) = (&self.name, &self.rejected);
        let mut log = |answers: &[ImportOutcome]| {
            after.counts = before;
            bad = count(&slots, answers, &mut after.counts);
            after.rejected_bytes = rejected.write(&bad)?;
            let state = serde_json::to_string(&after).map_err(std::io::Error::from)?;
            Ok(Checkpoint { source: name.clone(), state })
        };
        let consistency = self.destination.take(rows, &mut log).await?;
        self.rejected.keep(after.rejected_bytes);
        self.progress = after;
        if consistency != Consistency::Consistent && !self.cache_reported {
            self.cache_reported = true;
            self.report.note("the cache is not invalidated yet; for some seconds a new code may still be unknown");
        }
        for line in &bad {
            self.report.rejected(line.line, &line.why);
        }
        let counts = self.progress.counts.since(&self.earlier);
        self.report.progress(self.progress.position.line, self.progress.position.offset, &counts);
        Ok(())
    }

    async fn finish(self) -> Result<Counts> {
        self.destination.forget(&self.name).await?;
        let kept = self.rejected.finish().context("cannot remove the file of rejected lines of an earlier run")?;
        self.report.done(&self.progress.counts.since(&self.earlier), &self.earlier, kept.as_deref());
        Ok(self.progress.counts)
    }

    fn report_unknown(&mut self, unknown: &[String]) {
        for name in &unknown[self.unknown_reported..] {
            let known = super::row::Column::ALL.map(super::row::Column::name).join(", ");
            self.report.note(&format!("ignoring the unknown column {name:?}; known columns: {known}"));
        }
        self.unknown_reported = unknown.len();
    }
}

/// A record in a batch, before its outcome is known.
struct Slot {
    line: u64,
    span: (u64, u64),
    /// Why it is rejected without being sent.
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

/// Matches outcomes with their records, adds them to `counts`, and returns the rejected lines in order.
fn count(slots: &[Slot], answers: &[ImportOutcome], counts: &mut Counts) -> Vec<BadLine> {
    let mut answers = answers.iter();
    let mut bad = Vec::new();
    for Slot { line, span, why } in slots {
        let why = match why {
            Some(why) => why.clone(),
            None => match answers.next() {
                Some(ImportOutcome::Created { .. }) => {
                    counts.created += 1;
                    continue;
                }
                Some(ImportOutcome::Taken { code }) => format!("the code {code} already has another target"),
                Some(ImportOutcome::Refused { detail }) => detail.clone(),
                Some(ImportOutcome::Present) | None => {
                    counts.present += 1;
                    continue;
                }
            },
        };
        counts.rejected += 1;
        bad.push(BadLine { line: *line, span: *span, why });
    }
    bad
}
