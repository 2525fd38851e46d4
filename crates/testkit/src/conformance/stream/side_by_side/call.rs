//! One call on a backend, and what its reply shows.

use super::{Answer, Call};
use crate::conformance::stream::rig::{Rig, consumer};
use anyhow::{Result, ensure};
use evenkeel_protocol::stream::name::GroupName;
use evenkeel_protocol::stream::steps::{ITEMS_MAX, Joined, Reply, StreamSteps};

impl Call {
    pub(super) async fn make<S: StreamSteps>(&self, rig: &Rig<S>, group: &GroupName) -> Result<Answer> {
        let (streams, partition) = (&rig.streams, &rig.partition);
        let mut answer = Answer::default();
        answer.text = match self {
            Self::Advance(ms) => format!("{:?}", rig.time.advance(*ms).await.map(|()| rig.time.now())?),
            Self::SetBack(ms) => format!("{:?}", rig.time.set_back(*ms).await.map(|()| rig.time.now())?),
            Self::Open(specs, last) => format!("{:?}", streams.open(partition, specs, *last).await?),
            Self::Append(call) => format!("{:?}", streams.append(partition, call).await?),
            Self::Join(number, lease, floor) => {
                let reply = streams.join(partition, group, consumer(*number), *lease, *floor).await?;
                if let Reply::Done(Joined::Granted { reader, .. }) = &reply {
                    answer.reader = Some(*reader);
                }
                format!("{reply:?}")
            }
            Self::Attend(number, lease) => {
                format!("{:?}", streams.attend(partition, group, consumer(*number), *lease).await?)
            }
            Self::Leave(reader) => format!("{:?}", streams.leave(partition, group, *reader).await?),
            Self::TakeOver(reader, after, limit) => {
                let reply = streams.take_over(partition, group, *reader, *after, *limit).await?;
                if let Reply::Done(taken) = &reply {
                    answer.delivered.clone_from(&taken.entries);
                }
                format!("{reply:?}")
            }
            Self::Read(reader, limit, lease) => {
                let reply = streams.read(partition, group, *reader, *limit, *lease).await?;
                if let Reply::Done(read) = &reply {
                    answer.delivered.clone_from(&read.entries);
                }
                format!("{reply:?}")
            }
            Self::Settle(reader, settlements) => {
                format!("{:?}", streams.settle(partition, group, *reader, settlements).await?)
            }
            Self::Heartbeat(reader, lease, heartbeats) => {
                format!("{:?}", streams.heartbeat(partition, group, *reader, *lease, heartbeats).await?)
            }
            _ => return self.operate(rig, group).await,
        };
        Ok(answer)
    }

    async fn operate<S: StreamSteps>(&self, rig: &Rig<S>, group: &GroupName) -> Result<Answer> {
        let (streams, partition) = (&rig.streams, &rig.partition);
        let mut answer = Answer::default();
        answer.text = match self {
            Self::Redrive(letters) => format!("{:?}", streams.redrive(partition, group, letters).await?),
            Self::Discard(reader, letters) => {
                format!("{:?}", streams.discard(partition, group, *reader, letters).await?)
            }
            Self::Seek(to) => format!("{:?}", streams.seek(partition, group, *to).await?),
            Self::Pause(until) => format!("{:?}", streams.pause(partition, group, *until).await?),
            Self::Trim(trim) => format!("{:?}", streams.trim(partition, trim).await?),
            Self::Sweep(silent) => format!("{:?}", streams.sweep(partition, group, *silent).await?),
            Self::Entries(after, limit) => {
                let entries = streams.entries(partition, *after, *limit).await?;
                answer.ids = entries.iter().map(|entry| entry.id).collect();
                format!("{entries:?}")
            }
            Self::Dead(after, limit) => {
                let letters = streams.dead(partition, group, *after, *limit).await?;
                answer.letters = letters.iter().map(|letter| letter.id).collect();
                format!("{letters:?}")
            }
            _ => {
                let mut stats = streams.stats(partition, group).await?;
                // Redis does not always know the number; where it does, it is that of the log.
                if let Reply::Done(stats) = &mut stats
                    && let Some(unread) = stats.unread_entries.take()
                {
                    let entries = streams.entries(partition, stats.position, ITEMS_MAX).await?;
                    ensure!(entries.len() as u64 == unread.min(ITEMS_MAX as u64), "{unread} unread: {stats:?}");
                }
                format!("{stats:?}")
            }
        };
        Ok(answer)
    }
}
