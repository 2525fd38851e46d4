//! Suspects, jobs that may have killed their process: few of them run at once, and they do no harm to other jobs.

use crate::queue::side::desk::{Case, Desk, open};
use crate::queue::side::rig::{Mail, Rig, state};
use evenkeel::Token;
use evenkeel::queue::{Handled, JobId, Priority};
use evenkeel_protocol::queue::QueueBackend;
use evenkeel_protocol::queue::job::Job;
use evenkeel_protocol::queue::steps::{
    Delivered, Found, Heartbeat, Report, Rescue, Room, SettleAndClaim, Settled, Shard, State, Worker,
};
use std::collections::HashMap;
use std::time::Duration;

on_both! {
    hanging_suspect_does_not_delay_others
    suspects_run_together_with_high_concurrency
    suspect_that_outlives_a_lease_frees_its_slot
    shards_share_the_slots_for_suspects
    jobs_on_all_shards_are_shielded_before_a_suspect_starts
    shield_ends_with_its_suspect
    start_of_a_crashed_job_is_reported_before_the_run
    job_crashing_alone_beyond_the_limit_is_dead
}

const LEASE_MS: u64 = 1_000;
/// The number of shards of topics with several shards.
const SHARDS: u8 = 2;
const VISIBILITY: Duration = Duration::from_secs(30);

/// Claims all due jobs of a shard, like a process that ends afterwards.
async fn claimed(steps: &QueueBackend, shard: &Shard) -> (Worker, Vec<Delivered>) {
    let worker = Worker(*Token::random().as_bytes());
    let call = SettleAndClaim {
        worker,
        sequence: 1,
        settlements: Vec::new(),
        limit: 100,
        lease_ms: LEASE_MS,
        token: Token::random(),
        fence_floor: 0,
        room: Room { slots: 10_000, level: 0, running: 0 },
    };
    let Settled::Done(claimed) = steps.run(shard, &call).await.unwrap() else { panic!("stale") };
    (worker, claimed.deliveries)
}

/// These jobs were running when this many processes died, one after the other; now they wait again.
pub(super) async fn crashed(rig: &Rig, mail: &Mail, bodies: &[&str], times: usize) -> Vec<JobId> {
    let mut ids = Vec::new();
    for body in bodies {
        ids.push(mail.now(&(*body).to_owned()).await.unwrap());
    }
    for _ in 0..times {
        for number in 0..SHARDS {
            let (steps, shard) = mail.steps(&JobId([number; 16]));
            let (worker, deliveries) = claimed(&steps, &shard).await;
            let deliveries = deliveries.iter().map(|delivered| (delivered.receipt, Report::STARTED)).collect();
            steps.run(&shard, &Heartbeat { worker, lease_ms: LEASE_MS, deliveries }).await.unwrap();
        }
        rig.advance(Duration::from_millis(LEASE_MS)).await;
        for number in 0..SHARDS {
            let (steps, shard) = mail.steps(&JobId([number; 16]));
            let rescue = Rescue { limit: 500, crash_max: 3, crash_delay_ms: 0, row_decides: false };
            steps.run(&shard, &rescue).await.unwrap();
        }
    }
    ids
}

async fn job(mail: &Mail, id: &JobId) -> Box<Job> {
    let Some(Found::Live { job, .. }) = mail.find(id).await.unwrap() else { panic!("it is gone") };
    job
}

/// A job that hung, after two kills of its process, kept twenty healthy ones waiting for half a minute.
// shows: Q22, hazard F6
async fn hanging_suspect_does_not_delay_others(rig: Rig) {
    let mail = rig.mail().await;
    crashed(&rig, &mail, &["hangs"], 2).await;
    let desk = Desk::new();
    let office = open(desk.consumer(&mail));
    let hangs = desk.next().await;
    assert_eq!((hangs.delivery.body.as_str(), hangs.delivery.attempt), ("hangs", 3));
    for number in 0..20 {
        mail.now(&format!("healthy {number}")).await.unwrap();
    }
    for number in 0..20 {
        assert_eq!(desk.done().await, format!("healthy {number}"), "and no time has passed");
    }
    hangs.answer(Ok(Handled::Done));
    office.close().await;
}

/// After a crash, five hundred jobs of 100 ms each ran one at a time in a process with 64 slots.
// shows: Q22, hazard F6
async fn suspects_run_together_with_high_concurrency(rig: Rig) {
    let mail = rig.mail().await;
    let bodies: Vec<String> = (0..20).map(|number| format!("suspect {number:02}")).collect();
    let bodies: Vec<&str> = bodies.iter().map(String::as_str).collect();
    crashed(&rig, &mail, &bodies, 1).await;
    let desk = Desk::new();
    let office = open(desk.consumer(&mail).concurrency(64));
    let mut together = Vec::new();
    for _ in 0..16 {
        together.push(desk.next().await);
    }
    rig.advance(Duration::from_secs(1)).await;
    assert!(desk.next_at_once().await.is_none(), "a quarter of the slots");
    // Each that ends makes room for another one.
    let left = async {
        for case in together {
            case.answer(Ok(Handled::Done));
        }
        for _ in 0..4 {
            desk.done().await;
        }
    };
    rig.while_time_passes(left).await;
    office.close().await;
}

/// A job of twenty seconds whose process was killed once kept 63 slots idle. A job that runs for longer than a lease does not kill at once.
// shows: Q22, hazard F6
async fn suspect_that_outlives_a_lease_frees_its_slot(rig: Rig) {
    let mail = rig.mail_with(|builder| builder.visibility(VISIBILITY)).await;
    let ids = crashed(&rig, &mail, &["first", "second"], 1).await;
    let desk = Desk::new();
    let office = open(desk.consumer(&mail));
    let first = desk.next().await;
    let (here, there) = if first.delivery.id == ids[0] { (ids[0], ids[1]) } else { (ids[1], ids[0]) };
    assert!(job(&mail, &here).await.alone);
    rig.advance(VISIBILITY / 2).await;
    assert!(desk.next_at_once().await.is_none(), "one of the four slots is for suspects");
    let second = rig.while_time_passes(desk.next()).await;
    assert_eq!(second.delivery.id, there);
    let (of_first, of_second) = (job(&mail, &here).await, job(&mail, &there).await);
    assert!(of_first.shielded && !of_first.alone, "the first one counts as a healthy job by now");
    assert!(of_second.alone && !of_second.shielded);
    for case in [first, second] {
        case.answer(Ok(Handled::Done));
    }
    office.close().await;
}

/// Each shard has its own claim; together they must not claim more suspects than the process has slots for.
// shows: hazard F6
async fn shards_share_the_slots_for_suspects(rig: Rig) {
    let mail = rig.mail_with(|builder| builder.shards(SHARDS.into())).await;
    let bodies: Vec<String> = (0..12).map(|number| format!("suspect {number:02}")).collect();
    let bodies: Vec<&str> = bodies.iter().map(String::as_str).collect();
    crashed(&rig, &mail, &bodies, 1).await;
    let desk = Desk::new();
    let office = open(desk.consumer(&mail));
    for _ in bodies {
        let one = rig.while_time_passes(desk.next()).await;
        assert!(desk.next_at_once().await.is_none(), "one of the four slots is for suspects");
        one.answer(Ok(Handled::Done));
    }
    office.close().await;
}

/// The process may die a moment later, so its report must be in the store before the handler starts.
// shows: Q22, hazard F6
async fn jobs_on_all_shards_are_shielded_before_a_suspect_starts(rig: Rig) {
    // No heartbeat comes meanwhile.
    let mail = rig.mail_with(|builder| builder.shards(SHARDS.into()).visibility(10 * VISIBILITY)).await;
    let suspect = crashed(&rig, &mail, &["suspect"], 1).await.remove(0);
    mail.reschedule_in(&suspect, Duration::from_secs(10)).await.unwrap();
    let desk = Desk::new();
    let office = open(desk.consumer(&mail));
    let mut neighbors: HashMap<u8, Case> = HashMap::new();
    while neighbors.len() < usize::from(SHARDS) {
        mail.now(&"neighbor".to_owned()).await.unwrap();
        let case = desk.next().await;
        if let Some(other) = neighbors.insert(case.delivery.id.0[15] % SHARDS, case) {
            other.answer(Ok(Handled::Done));
        }
    }
    rig.advance(Duration::from_secs(10)).await;
    let case = desk.next().await;
    assert_eq!(case.delivery.id, suspect);
    for neighbor in neighbors.values() {
        assert!(job(&mail, &neighbor.delivery.id).await.shielded);
    }
    let of_suspect = job(&mail, &suspect).await;
    assert!(of_suspect.started && of_suspect.alone && !of_suspect.shielded);
    neighbors.into_values().chain([case]).for_each(|case| case.answer(Ok(Handled::Done)));
    office.close().await;
}

/// Once the suspect has ended, a crash counts for the other jobs again.
// shows: hazard F6
async fn shield_ends_with_its_suspect(rig: Rig) {
    let mail = rig.mail_with(|builder| builder.visibility(VISIBILITY)).await;
    let suspect = crashed(&rig, &mail, &["suspect"], 1).await.remove(0);
    mail.reschedule_in(&suspect, Duration::from_secs(1)).await.unwrap();
    let desk = Desk::new();
    let office = open(desk.consumer(&mail));
    let neighbor = mail.now(&"neighbor".to_owned()).await.unwrap();
    let of_neighbor = desk.next().await;
    rig.advance(Duration::from_secs(1)).await;
    let of_suspect = desk.next().await;
    assert!(job(&mail, &neighbor).await.shielded);
    of_suspect.answer(Ok(Handled::Done));
    let unshielded = async {
        while job(&mail, &neighbor).await.shielded {
            tokio::task::yield_now().await;
        }
    };
    rig.while_time_passes(unshielded).await;
    assert!(job(&mail, &neighbor).await.started);
    of_neighbor.answer(Ok(Handled::Done));
    office.close().await;
}

/// A lease expiry counts as a crash only if the start was reported. Without this report, a job that kills its process at once would
/// never be identified.
async fn start_of_a_crashed_job_is_reported_before_the_run(rig: Rig) {
    let mail = rig.mail().await;
    let id = crashed(&rig, &mail, &["suspect"], 1).await.remove(0);
    let desk = Desk::new();
    let office = open(desk.consumer(&mail));
    let case = desk.next().await;
    let of_suspect = job(&mail, &id).await;
    assert!(of_suspect.started && of_suspect.crashes == 1);
    case.answer(Ok(Handled::Done));
    office.close().await;
}

// shows: hazard F6
async fn job_crashing_alone_beyond_the_limit_is_dead(rig: Rig) {
    let mail = rig.mail().await;
    let id = crashed(&rig, &mail, &["poison"], 3).await.remove(0);
    assert_eq!(state(&mail, &id).await, Some(State::Waiting(Priority::Normal)), "it was never alone");
    let desk = Desk::new();
    let office = open(desk.consumer(&mail));
    let case = desk.next().await;
    assert_eq!(case.delivery.id, id);
    office.kill().await;
    drop(case);
    let office = open(desk.consumer(&rig.mail().await));
    let dead = async {
        while state(&mail, &id).await != Some(State::Dead) {
            tokio::task::yield_now().await;
        }
    };
    rig.while_time_passes(dead).await;
    office.close().await;
}
