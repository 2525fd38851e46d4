//! Another program uses the keys of a stream.

use super::rig::{Desk, Rig, all_settled, append, billing, in_time, letters, open};
use crate::log::Log;
use evenkeel::stream::admin::{LetterFilter, LetterId, SeekTo, StreamAdmin};
use evenkeel::stream::{EntryId, OnFailure, Stream, StreamError};
use std::time::Duration;

/// The key, where another program has put its own value now.
async fn occupied(rig: &Rig, name: &str) -> String {
    let key = format!("{}:{name}", rig.prefix());
    rig.command(key.as_bytes(), redis::cmd("DEL").arg(&key)).await;
    rig.command(key.as_bytes(), redis::cmd("SET").arg(&key).arg("another program's")).await;
    key
}

/// Nothing was trimmed any more, and only a metric showed it: the stream filled Redis.
// shows: hazard A8c
#[tokio::test]
async fn foreign_type_in_place_of_the_register_of_groups_is_logged_once() {
    in_time(async {
        let rig = Rig::redis().await;
        let orders = rig.orders_with(|builder| builder.retention(Duration::ZERO)).await;
        let desk = Desk::new();
        let office = open(desk.consumer(orders.group("billing").unordered()));
        append(&orders, "a", &["before"]).await;
        assert_eq!(desk.done().await, "before");
        let log = Log::begin();
        let key = occupied(&rig, "s:groups").await;
        for value in ["first", "second", "third"] {
            rig.advance(Duration::from_secs(3_600)).await;
            append(&orders, "a", &[value]).await;
            // The hour may end the lease of the entry before, which is delivered again then.
            while rig.while_time_passes(desk.done()).await != value {}
        }
        rig.while_time_passes(async {
            while log.lacks("a call of this consumer fails") {
                tokio::task::yield_now().await;
            }
        })
        .await;
        log.each_says("a call of this consumer fails", &[key.as_str()]);
        let refused = orders.admin().groups().await.unwrap_err().to_string();
        assert!(refused.contains("WRONGTYPE") && refused.contains(&key), "{refused}");
        // An entry whose lease ended in one of the hours may be delivered again only now.
        let served = async || {
            loop {
                desk.done().await;
            }
        };
        // Once the key is free, the group of the running consumer is registered again, and entries are trimmed.
        rig.command(key.as_bytes(), redis::cmd("DEL").arg(&key)).await;
        tokio::select! {
            () = rig.while_time_passes(office.close()) => {}
            () = served() => {}
        }
        let office = open(desk.consumer(orders.group("billing").unordered()));
        let admin = orders.admin();
        let trimmed = async {
            while !admin.peek(0, EntryId::MIN, 10).await.unwrap().is_empty() {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            () = rig.while_time_passes_by(Duration::from_secs(5), trimmed) => {}
            () = served() => {}
        }
        tokio::select! {
            () = rig.while_time_passes(office.close()) => {}
            () = served() => {}
        }
    })
    .await;
}

/// Programs that run go on; opening a stream, or listing them, says what Redis refuses.
// shows: hazard A8c
#[tokio::test]
async fn foreign_type_in_place_of_the_register_of_streams_stops_no_running_program() {
    in_time(async {
        let rig = Rig::redis().await;
        let keel = rig.process().await;
        let orders: Stream<String> = keel.stream("orders").open().await.unwrap();
        let desk = Desk::new();
        let office = open(desk.consumer(orders.group("billing").per_key(OnFailure::BlockKey)));
        let key = occupied(&rig, "s:streams").await;
        for value in ["first", "second", "third"] {
            rig.advance(Duration::from_secs(31)).await;
            append(&orders, "a", &[value]).await;
            assert_eq!(rig.while_time_passes(desk.done()).await, value);
        }
        let opened = keel.stream::<String>("other").open().await.err().unwrap().to_string();
        let listed = keel.streams().await.err().unwrap().to_string();
        for refused in [opened, listed] {
            assert!(refused.contains("WRONGTYPE") && refused.contains(&key), "{refused}");
        }
        office.close().await;
    })
    .await;
}

/// The calls of the partition were refused and repeated, and only a metric showed it.
// shows: hazard A8c
#[tokio::test]
async fn foreign_type_under_a_key_of_a_partition_is_logged_once() {
    in_time(async {
        let rig = Rig::redis().await;
        let orders = rig.orders(1).await;
        append(&orders, "a", &["letter"]).await;
        let (_, partitions) = orders.steps();
        let desk = Desk::new();
        let office = open(desk.consumer(orders.group("billing").unordered()));
        assert_eq!(desk.done().await, "letter");
        rig.while_time_passes(all_settled(&orders)).await;
        let log = Log::begin();
        let key = format!("{}:g:billing:due", partitions[0].tag());
        rig.command(key.as_bytes(), redis::cmd("SET").arg(&key).arg("another program's")).await;
        append(&orders, "a", &["next"]).await;
        rig.while_time_passes(async {
            while log.lacks("a call of this consumer fails") {
                tokio::task::yield_now().await;
            }
        })
        .await;
        rig.command(key.as_bytes(), redis::cmd("DEL").arg(&key)).await;
        assert_eq!(rig.while_time_passes(desk.done()).await, "next");
        rig.while_time_passes(all_settled(&orders)).await;
        assert_eq!(billing(&orders).await.pending(), 0);
        office.close().await;
    })
    .await;
}

/// Their entries waited for the next poll: the wait of all streams of a process is one command, which Redis refuses as long as a worker waits
/// for the occupied log.
// shows: hazard A8d
#[tokio::test]
async fn foreign_type_under_one_log_does_not_delay_other_streams() {
    in_time(async {
        let rig = Rig::redis().await;
        let keel = rig.process().await;
        let orders: Stream<String> = keel.stream("orders").partitions(1).open().await.unwrap();
        let letters: Stream<String> = keel.stream("letters").partitions(1).open().await.unwrap();
        let (of_orders, of_letters) = (Desk::new(), Desk::new());
        let first = open(of_orders.consumer(orders.group("billing").unordered()));
        append(&orders, "a", &["before"]).await;
        assert_eq!(of_orders.done().await, "before");
        rig.while_time_passes(all_settled(&orders)).await;
        let is_waiting = async || {
            let clients = rig.command(b"", redis::cmd("CLIENT").arg("LIST")).await;
            let clients: String = redis::from_redis_value(clients).unwrap();
            clients.lines().any(|client| client.contains(" flags=b") && client.contains(" cmd=xread "))
        };
        while !is_waiting().await {
            tokio::task::yield_now().await;
        }
        let second = open(of_letters.consumer(letters.group("billing").unordered()));
        let key = format!("{}:log", orders.steps().1[0].tag());
        rig.command(key.as_bytes(), redis::cmd("DEL").arg(&key)).await;
        rig.command(key.as_bytes(), redis::cmd("SET").arg(&key).arg("another program's")).await;
        for value in ["first", "second", "third", "fourth"] {
            append(&letters, "a", &[value]).await;
            assert_eq!(of_letters.done().await, value);
        }
        first.close().await;
        second.close().await;
    })
    .await;
}

/// The error was that of one partition, as if nothing was changed; and the partitions behind it were never reached.
// shows: hazard SF12, stream::StreamAdmin::pause, stream::StreamAdmin::resume, stream::StreamAdmin::seek
// shows: stream::StreamAdmin::preview_seek
#[tokio::test]
async fn action_on_a_sick_partition_changes_the_others() {
    in_time(async {
        let rig = Rig::redis().await;
        let orders = rig.orders(2).await;
        let (_, partitions) = orders.steps();
        let desk = Desk::new();
        let office = open(desk.consumer(orders.group("billing").per_key(OnFailure::BlockKey).retries(0)));
        for key in ["a", "b", "c", "d", "e", "f"] {
            append(&orders, key, &[key]).await;
            desk.next().await.fail();
        }
        rig.while_time_passes(all_settled(&orders)).await;
        office.close().await;
        let dead = orders.admin().dead("billing").unwrap();
        let letters = dead.page(&LetterFilter::default(), None, 10).await.unwrap().letters;
        let ids: Vec<LetterId> = letters.into_iter().map(|(id, _)| id).collect();
        // Each of the two actions gets all letters of the sick partition, which is the first, and one of the other.
        let (of_sick, of_other): (Vec<LetterId>, Vec<LetterId>) = ids.iter().partition(|id| id.partition == 0);
        assert!(!of_sick.is_empty() && of_other.len() > 1, "{ids:?}");
        let [to_replay, to_remove] = [of_other[0], of_other[1]].map(|last| [of_sick.clone(), vec![last]].concat());
        for name in ["g:billing:dead", "g:billing"] {
            let key = format!("{}:{name}", partitions[0].tag());
            rig.command(key.as_bytes(), redis::cmd("SET").arg(&key).arg("another program's")).await;
        }
        let admin = orders.admin();
        let refused = [
            admin.pause("billing", None).await.unwrap_err(),
            admin.resume("billing").await.unwrap_err(),
            admin.seek("billing", SeekTo::Start).await.unwrap_err(),
            dead.replay_all(&to_replay).await.map(drop).unwrap_err(),
            dead.remove_all(&to_remove).await.map(drop).unwrap_err(),
        ];
        for (number, refused) in refused.iter().enumerate() {
            let text = refused.to_string();
            let partition = partitions[0].tag();
            assert!(text.contains("WRONGTYPE") && text.contains(partition), "{number}: {text}");
            let StreamError::Partly { done, all, .. } = refused else { unreachable!("{number}: {refused:?}") };
            let expected = if number < 3 { (1, 2) } else { (1, to_replay.len()) };
            assert_eq!((*done, *all), expected, "{number}: {text}");
            assert!(!refused.outcome_unknown() && !refused.is_retryable());
        }
    })
    .await;
}

/// Groups and dead letters of all partitions were unknown while Redis rejected one.
// shows: hazard SF16, hazard SF17
#[tokio::test]
async fn look_at_a_sick_partition_shows_the_others() {
    in_time(async {
        let rig = Rig::redis().await;
        let orders = rig.orders(2).await;
        let desk = Desk::new();
        let office = open(desk.consumer(orders.group("billing").per_key(OnFailure::BlockKey).retries(0)));
        for key in ["a", "b", "c", "d"] {
            append(&orders, key, &[key]).await;
            desk.next().await.fail();
        }
        rig.while_time_passes(all_settled(&orders)).await;
        office.close().await;
        let of_other = orders.admin().dead("billing").unwrap().list(1, EntryId::MIN, 10).await.unwrap();
        assert!(!of_other.is_empty() && of_other.len() < letters(&orders).await.len());
        let tag = orders.steps().1[0].tag().to_owned();
        let key = format!("{tag}:g:billing:dead");
        rig.command(key.as_bytes(), redis::cmd("DEL").arg(&key)).await;
        rig.command(key.as_bytes(), redis::cmd("SET").arg(&key).arg("another program's")).await;
        let group = billing(&orders).await;
        assert_eq!((group.dead(), group.is_missing()), (of_other.len() as u64, false));
        let page = orders.admin().dead("billing").unwrap().page(&LetterFilter::default(), None, 10).await.unwrap();
        let found: Vec<_> = page.letters.into_iter().map(|(_, letter)| letter).collect();
        assert_eq!((&found, page.next), (&of_other, None));
        let preview = orders.admin().preview_seek("billing", SeekTo::Start).await.unwrap();
        let again: Vec<_> = preview.found.iter().map(|preview| (preview.partition, preview.again)).collect();
        assert_eq!(again, [(1, found.len() as u64)]);
        for rejected in [group.rejected, page.rejected, preview.rejected] {
            assert_eq!((rejected.len(), rejected[0].part.as_str()), (1, "partition 0"));
            let text = rejected[0].error.to_string();
            assert!(text.contains("WRONGTYPE") && text.contains(&tag), "{text}");
        }
    })
    .await;
}

/// An entry of a newer program in a register hid all streams, or all groups of a stream.
// shows: hazard SF17
#[tokio::test]
async fn stream_or_group_that_cannot_be_read_hides_no_other() {
    in_time(async {
        let rig = Rig::redis().await;
        let orders = rig.orders(2).await;
        open(Desk::new().consumer(orders.group("billing"))).close().await;
        for (register, field, value) in [("s:streams", "newer", "{}"), ("s:groups", "orders/a group", "entry")] {
            let key = format!("{}:{register}", rig.prefix());
            rig.command(key.as_bytes(), redis::cmd("HSET").arg(&key).arg(field).arg(value)).await;
        }
        let all = rig.process().await.streams().await.unwrap();
        assert_eq!(all.found.iter().map(StreamAdmin::name).collect::<Vec<_>>(), ["orders"]);
        assert_eq!(all.rejected.iter().map(|rejection| rejection.part.as_str()).collect::<Vec<_>>(), ["newer"]);
        let groups = orders.admin().groups().await.unwrap();
        let rejected: Vec<_> = groups.iter().map(|group| (group.name.as_str(), group.rejected.len())).collect();
        assert_eq!(rejected, [("a group", 2), ("billing", 0)]);
        // It may not have handled the entries.
        let refused = orders.admin().trim(Duration::ZERO).await.unwrap_err().to_string();
        assert!(refused.contains("a group"), "{refused}");
    })
    .await;
}

/// The trim stopped at the first partition that Redis refused: those behind it grew for ever.
// shows: hazard SF12
#[tokio::test]
async fn stream_with_a_sick_partition_is_trimmed_in_the_others() {
    in_time(async {
        let rig = Rig::redis().await;
        let orders = rig.orders(2).await;
        let desk = Desk::new();
        let office = open(desk.consumer(orders.group("billing").unordered()));
        for key in ["a", "b", "c", "d", "e", "f"] {
            append(&orders, key, &[key]).await;
            desk.done().await;
        }
        all_settled(&orders).await;
        office.close().await;
        let admin = orders.admin();
        assert!(!admin.peek(1, EntryId::MIN, 10).await.unwrap().is_empty());
        let tag = orders.steps().1[0].tag().to_owned();
        let key = format!("{tag}:log");
        rig.command(key.as_bytes(), redis::cmd("DEL").arg(&key)).await;
        rig.command(key.as_bytes(), redis::cmd("SET").arg(&key).arg("another program's")).await;
        rig.advance(Duration::from_secs(1)).await;
        let refused = admin.trim(Duration::ZERO).await.unwrap_err().to_string();
        assert!(refused.contains("WRONGTYPE") && refused.contains(&tag), "{refused}");
        assert!(admin.peek(1, EntryId::MIN, 10).await.unwrap().is_empty());
    })
    .await;
}

/// A consumer whose group had lost its hash created it "again" forty times a second, and handled nothing.
// shows: hazard SF8
#[tokio::test]
async fn group_without_its_hash_is_reported_and_can_be_removed() {
    in_time(async {
        let rig = Rig::redis().await;
        let orders = rig.orders(1).await;
        let desk = Desk::new();
        let office = open(desk.consumer(orders.group("billing").unordered()));
        append(&orders, "a", &["before"]).await;
        assert_eq!(desk.done().await, "before");
        all_settled(&orders).await;
        let log = Log::begin();
        let partition = format!("{{{}:s:orders:0}}", rig.prefix());
        let command = async |cmd: &redis::Cmd| rig.command(partition.as_bytes(), cmd).await;
        command(redis::cmd("DEL").arg(format!("{partition}:g:billing"))).await;
        append(&orders, "a", &["after"]).await;
        let destroy = format!("XGROUP DESTROY {partition}:log billing");
        rig.while_time_passes(async {
            while log.lacks(&destroy) {
                tokio::task::yield_now().await;
            }
        })
        .await;
        assert!(log.lacks("has been created again"));
        command(redis::cmd("XGROUP").arg("DESTROY").arg(format!("{partition}:log")).arg("billing")).await;
        assert_eq!(rig.while_time_passes(desk.done()).await, "before", "the log still has it");
        assert_eq!(rig.while_time_passes(desk.done()).await, "after");
        office.close().await;
    })
    .await;
}
