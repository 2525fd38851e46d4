//! The arguments of the scripts.

use crate::args::Args;
use crate::stream::id::EntryId;
use crate::stream::name::GroupName;
use crate::stream::steps::{Append, Delivery, GroupSpec, Heartbeat, Mode, Outcome, Position, Reader, Settlement, Trim};
use evenkeel_link::Token;

impl Args {
    /// The first argument of every step on a group.
    pub(super) fn of(group: &GroupName) -> Self {
        Self::default().bytes(group.as_str())
    }

    pub(super) fn id(self, id: EntryId) -> Self {
        self.shown(id)
    }

    pub(super) fn ids(self, ids: &[EntryId]) -> Self {
        ids.iter().fold(self, |args, id| args.id(*id))
    }

    /// As text, which operators see in `XINFO CONSUMERS`.
    pub(super) fn consumer(self, consumer: Token) -> Self {
        self.bytes(format!("{consumer:?}"))
    }

    pub(super) fn reader(self, reader: Reader) -> Self {
        self.consumer(reader.consumer).number(reader.fence).number(reader.epoch)
    }

    pub(super) fn position(self, position: Position) -> Self {
        match position {
            Position::After(id) => self.id(id),
            Position::End => self.bytes("$"),
        }
    }

    fn delivery(self, delivery: Delivery) -> Self {
        self.id(delivery.id).number(delivery.count.into())
    }
}

pub(super) fn open(groups: &[GroupSpec], last: EntryId) -> Args {
    groups.iter().fold(Args::default().id(last), |args, group| {
        args.bytes(group.name.as_str()).position(group.position).bytes(match group.mode {
            Mode::Entry => "0",
            Mode::Partition => "1",
        })
    })
}

pub(super) fn append(call: &Append) -> Args {
    let args = Args::default().number(call.producer_window_ms).number(call.entries_max.map_or(0, |max| max.max(1)));
    call.entries.iter().fold(args, |args, entry| {
        let args = match &entry.sequenced {
            Some(by) => args.bytes(by.producer.as_bytes()).number(by.sequence).number(by.previous),
            None => args.bytes("").bytes("0").bytes("0"),
        };
        args.bytes(&entry.key).bytes(&entry.record)
    })
}

pub(super) fn settle(group: &GroupName, reader: Reader, settlements: &[Settlement]) -> Args {
    settlements.iter().fold(Args::of(group).reader(reader), |args, settlement| {
        let args = args.delivery(settlement.delivery);
        let (kind, delay, text): (&str, u64, &[u8]) = match &settlement.outcome {
            Outcome::Done => return args.bytes("0"),
            Outcome::Retry { delay_ms, error } => ("1", *delay_ms, error),
            Outcome::Snooze { delay_ms } => ("2", *delay_ms, &[]),
            Outcome::Dead { reason, parks_key: false } => ("3", 0, reason),
            Outcome::Dead { reason, parks_key: true } => ("4", 0, reason),
        };
        args.bytes(kind).number(delay).bytes(text)
    })
}

pub(super) fn heartbeat(group: &GroupName, reader: Reader, lease_ms: u64, heartbeats: &[Heartbeat]) -> Args {
    let args = Args::of(group).reader(reader).number(lease_ms);
    heartbeats
        .iter()
        .fold(args, |args, heartbeat| args.delivery(heartbeat.delivery).bytes(if heartbeat.alone { "1" } else { "0" }))
}

pub(super) fn trim(trim: &Trim) -> Args {
    let args = Args::default().number(trim.retain_ms).size(trim.limit);
    trim.groups.iter().fold(args, |args, group| args.bytes(group.as_str()))
}
