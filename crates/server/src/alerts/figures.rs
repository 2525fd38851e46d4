//! [`Servers`]: reads the figures of the rules from Redis and the database.

use super::evaluate::{Reading, Sample};
use super::rules::Figure;
use super::subject::Subject;
use super::values;
use crate::database::Database;
use anyhow::Result;
use evenkeel::Keel;
use evenkeel::clock::{Clock, Moment};
use evenkeel::stream::StreamError;
use evenkeel::stream::admin::{Listing, Rejection};
use std::fmt::Display;
use std::time::Duration;

/// One reading of a server may take this long.
const READ_MAX: Duration = Duration::from_secs(20);

/// The figures that come from Redis, and those that come from the database, in the order of their [`values`].
const OF_REDIS: [Figure; 4] = [Figure::QueueLate, Figure::QueueBacklog, Figure::QueueIdle, Figure::DeadLetters];
const OF_STREAMS: [Figure; 4] =
    [Figure::StreamLate, Figure::StreamPending, Figure::StreamDeadLetters, Figure::StreamGroupMissing];
const OF_DATABASE: [Figure; 2] = [Figure::OutboxLag, Figure::OutboxParked];

/// The servers that are watched.
pub(super) struct Servers {
    pub(super) keel: Keel,
    pub(super) database: Option<Database>,
    clock: Clock,
    redis_read_at: Moment,
    database_read_at: Moment,
}

impl Servers {
    pub(super) fn new(keel: Keel, database: Option<Database>, clock: Clock) -> Self {
        let now = clock.now();
        Self { keel, database, clock, redis_read_at: now, database_read_at: now }
    }

    /// Reads all figures. A server that does not answer has its age and its state, and no other figures. Also returns the errors.
    pub(super) async fn read(&mut self) -> (Reading, Vec<String>) {
        let (mut reading, mut errors) = (Reading::default(), Vec::new());
        let topics = read_within(&self.clock, self.topics()).await;
        let is_read = add(&mut reading, topics, &OF_REDIS, "Redis", &mut errors);
        if is_read {
            self.redis_read_at = self.clock.now();
        }
        // A Redis user without rights for streams still has the figures of the queues.
        let streams = read_within(&self.clock, self.streams()).await;
        add(&mut reading, streams, &OF_STREAMS, "The streams on Redis", &mut errors);
        add_state(&mut reading, &self.clock, Figure::RedisUnreachable, "redis", is_read, self.redis_read_at);
        if self.database.is_some() {
            let outbox = read_within(&self.clock, self.outbox()).await;
            let is_read = add(&mut reading, outbox, &OF_DATABASE, "The database", &mut errors);
            if is_read {
                self.database_read_at = self.clock.now();
            }
            let figure = Figure::DatabaseUnreachable;
            add_state(&mut reading, &self.clock, figure, "database", is_read, self.database_read_at);
        }
        (reading, errors)
    }

    async fn topics(&self) -> Result<Part> {
        let (topics, mut part) = (self.keel.topics().await?, Part::default());
        for Rejection { part: topic, error } in topics.rejected {
            part.reject(Subject::Topic(topic), &error);
        }
        for topic in topics.found {
            let subject = Subject::Topic(topic.name().to_owned());
            match topic.stats().await {
                Err(error) if !error.is_retryable() => part.reject(subject, &error),
                stats => part.samples.extend(samples_of(OF_REDIS, values::of_topic(&stats?), &subject)),
            }
        }
        Ok(part)
    }

    async fn streams(&self) -> Result<Part> {
        let (streams, mut part) = (self.keel.streams().await?, Part::default());
        let mut read = Listing { found: Vec::new(), rejected: streams.rejected };
        for stream in streams.found {
            let groups = stream.groups().await.map(|groups| (stream.name().to_owned(), groups));
            read.note(stream.name(), groups, StreamError::is_retryable)?;
        }
        for Rejection { part: stream, error } in read.rejected {
            // The names of its groups are not known.
            part.unread.extend(OF_STREAMS);
            part.errors.push(format!("{stream} was not read: {error}"));
        }
        for (stream, group) in
            read.found.iter().flat_map(|(stream, groups)| groups.iter().map(move |group| (stream, group)))
        {
            let subject = Subject::Group { stream: stream.clone(), group: group.name.clone() };
            match group.rejected.first() {
                Some(rejection) => part.reject(subject, rejection),
                None => part.samples.extend(samples_of(OF_STREAMS, values::of_group(group), &subject)),
            }
        }
        Ok(part)
    }

    async fn outbox(&self) -> Result<Part> {
        let Some(database) = &self.database else { return Ok(Part::default()) };
        let stats = database.outbox_stats().await?;
        let samples = samples_of(OF_DATABASE, values::of_outbox(&stats), &Subject::Place("outbox")).collect();
        Ok(Part { samples, ..Part::default() })
    }
}

/// What one server has told.
#[derive(Default)]
struct Part {
    samples: Vec<Sample>,
    unread: Vec<Figure>,
    sick: Vec<Subject>,
    errors: Vec<String>,
}

impl Part {
    /// A topic or a group that Redis rejects hides no other.
    fn reject(&mut self, subject: Subject, error: &impl Display) {
        self.errors.push(format!("{subject} was not read: {error}"));
        self.sick.push(subject);
    }
}

fn samples_of<const N: usize>(
    figures: [Figure; N],
    values: [f64; N],
    subject: &Subject,
) -> impl Iterator<Item = Sample> {
    figures.into_iter().zip(values).map(|(figure, value)| Sample { figure, subject: subject.clone(), value })
}

async fn read_within(clock: &Clock, read: impl Future<Output = Result<Part>>) -> Result<Part> {
    match clock.timeout(READ_MAX, read).await {
        Ok(part) => part,
        Err(_) => anyhow::bail!("no answer within {} s", READ_MAX.as_secs()),
    }
}

/// Adds the samples of a server; returns whether it was read.
fn add(reading: &mut Reading, part: Result<Part>, figures: &[Figure], server: &str, errors: &mut Vec<String>) -> bool {
    match part {
        Ok(part) => {
            reading.samples.extend(part.samples);
            reading.unread.extend(part.unread);
            reading.sick.extend(part.sick);
            errors.extend(part.errors);
            true
        }
        Err(error) => {
            reading.unread.extend(figures);
            errors.push(format!("{server} was not read: {error:#}"));
            false
        }
    }
}

fn add_state(
    reading: &mut Reading,
    clock: &Clock,
    figure: Figure,
    server: &'static str,
    is_read: bool,
    read_at: Moment,
) {
    let age = clock.now().since(read_at).as_secs_f64();
    let is_up = if is_read { 1.0 } else { 0.0 };
    for (figure, value) in [(figure, is_up), (Figure::DataAge, age)] {
        reading.samples.push(Sample { figure, subject: Subject::Place(server), value });
    }
}
