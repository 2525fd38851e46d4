//! The steps of a shard migration, as scripts on Redis.

use super::reply::{self, FOREVER, job_id, unexpected};
use super::{RedisQueue, scripts};
use crate::args::Args;
use crate::pattern::escaped;
use crate::queue::check;
use crate::queue::error::QueueError;
use crate::queue::grow::{Close, GrowSteps, Inherited, Item, SendOutcome, Transfer};
use crate::queue::job::JobId;
use crate::queue::steps::{ITEMS_MAX, Limits, Shard};
use crate::reply::{array, bulk, unsigned};
use async_trait::async_trait;
use redis::Value;

/// The keys that one `SCAN` call of `ids` examines.
const SCAN_COUNT: usize = 1_000;

#[async_trait]
impl GrowSteps for RedisQueue {
    async fn close(&self, shard: &Shard, close: Close) -> Result<Inherited, QueueError> {
        let args = Args::default().number(close.shards.into()).number(close.before.into());
        let number = |limit: Option<u64>| limit.unwrap_or(FOREVER).min(FOREVER);
        let args = match close.inherits {
            None => args,
            Some(Inherited { paused, limits, floor }) => args
                .number(paused.min(FOREVER))
                .number(number(limits.jobs_max))
                .number(number(limits.bytes_max))
                .number(floor),
        };
        let fields = array(self.run(&scripts::CLOSE, shard, args).await?)?;
        let [paused, jobs_max, bytes_max, floor] = fields.as_slice() else { return Err(unexpected("close")) };
        let limit = |value: &Value| Ok::<_, QueueError>(Some(unsigned(value)?).filter(|limit| *limit < FOREVER));
        let paused = unsigned(paused)?;
        Ok(Inherited {
            paused: if paused >= FOREVER { u64::MAX } else { paused },
            limits: Limits { jobs_max: limit(jobs_max)?, bytes_max: limit(bytes_max)? },
            floor: unsigned(floor)?,
        })
    }

    async fn send_items(&self, shard: &Shard, items: &[Item]) -> Result<Vec<SendOutcome>, QueueError> {
        check::items(items.len())?;
        let args = items.iter().fold(Args::default(), |args, item| {
            args.bytes(match item {
                Item::Job(id) => [&[1], &id.0[..]].concat(),
                Item::Schedule(schedule) => [&[2], &schedule[..]].concat(),
            })
        });
        let given = |code: &u8| match code {
            0 => Ok(SendOutcome::No),
            1 => Ok(SendOutcome::Sent),
            2 => Ok(SendOutcome::Leased),
            _ => Err(unexpected("send_items")),
        };
        bulk(self.run(&scripts::SEND, shard, args).await?)?.iter().map(given).collect()
    }

    async fn leaving(&self, shard: &Shard, to: u16, limit: usize) -> Result<Vec<Transfer>, QueueError> {
        check::items(limit)?;
        let args = Args::default().number(to.into()).size(limit).bytes("");
        let fields = array(self.run(&scripts::LEAVING, shard, args).await?)?;
        if let [_, _, Value::Int(size)] = fields.as_slice() {
            let size = u64::try_from(*size).unwrap_or(0);
            let args = Args::default().number(to.into()).size(1).bytes("1");
            return transfers(self.bulk.run(&self.link, &scripts::LEAVING, shard, &args, size).await?);
        }
        transfers(Value::Array(fields))
    }

    async fn receive(&self, shard: &Shard, from: u16, transfers: &[Transfer]) -> Result<u64, QueueError> {
        check::items(transfers.len())?;
        let args = transfers.iter().fold(Args::default().number(from.into()), |args, transfer| {
            args.number(transfer.sequence).bytes(&transfer.label).bytes(&transfer.record)
        });
        reply::count(&self.run(&scripts::RECEIVE, shard, args).await?)
    }

    async fn drop_received(&self, shard: &Shard, to: u16, sequence: u64) -> Result<u64, QueueError> {
        let args = Args::default().number(to.into()).number(sequence).size(ITEMS_MAX);
        reply::count(&self.run(&scripts::GONE, shard, args).await?)
    }

    async fn ids(&self, shard: &Shard, cursor: u64) -> Result<(Vec<JobId>, u64), QueueError> {
        let keys = format!("{}:job:", shard.tag());
        let mut scan = redis::cmd("SCAN");
        scan.arg(cursor).arg("MATCH").arg(format!("{}*", escaped(&keys))).arg("COUNT").arg(SCAN_COUNT);
        let page = array(self.link.command(shard.tag().as_bytes(), &scan).await?)?;
        let [next, found] = <[Value; 2]>::try_from(page).map_err(|_| unexpected("SCAN"))?;
        let found = array(found)?.into_iter().filter_map(|key| {
            let key = bulk(key).ok()?;
            job_id(key.strip_prefix(keys.as_bytes())?).ok()
        });
        Ok((found.collect(), unsigned(&next)?))
    }

    async fn schedules(&self, shard: &Shard) -> Result<Vec<[u8; 16]>, QueueError> {
        let key = format!("{}:schedules", shard.tag());
        let names = array(self.link.command(shard.tag().as_bytes(), redis::cmd("HKEYS").arg(&key)).await?)?;
        names.into_iter().map(|name| Ok(job_id(&bulk(name)?)?.0)).collect()
    }
}

fn transfers(reply: Value) -> Result<Vec<Transfer>, QueueError> {
    let mut fields = array(reply)?.into_iter();
    let mut transfers = Vec::new();
    while let (Some(sequence), Some(label), Some(record)) = (fields.next(), fields.next(), fields.next()) {
        transfers.push(Transfer { sequence: unsigned(&sequence)?, label: bulk(label)?, record: bulk(record)? });
    }
    Ok(transfers)
}
