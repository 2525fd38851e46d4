//! The encoding of jobs and withdrawals.

use super::{CUT_OFF, PUT_JOB, Read, WITHDRAW_JOB, get_bytes, get_text, get_u64, put_bytes};
use crate::queue::{JobOperation, JobPut};
use crate::sql::error::SqlError;
use bytes::{Buf, BufMut, Bytes};
use evenkeel_protocol::queue::job::{JobId, Retention};
use evenkeel_protocol::queue::record::Record;

pub(super) fn encode(out: &mut Vec<u8>, put: &JobPut) {
    out.put_u8(match &put.operation {
        JobOperation::Run { .. } => PUT_JOB,
        JobOperation::Withdraw(_) => WITHDRAW_JOB,
    });
    put_bytes(out, put.topic.as_bytes());
    out.put_u16(put.shards);
    out.put_slice(&put.id.0);
    out.put_u64(put.version);
    match &put.operation {
        JobOperation::Run { due_at, spec } => {
            out.put_u64(*due_at);
            put_bytes(out, &crate::queue::job_record(spec, put.version));
        }
        JobOperation::Withdraw(retention) => {
            let (rule, window) = retention.rule();
            out.put_u8(rule);
            out.put_u64(window);
        }
    }
}

pub(super) fn decode(from: &mut Bytes) -> Read<JobPut> {
    let (topic, shards, id, version) = decode_name(from)?;
    let due_at = get_u64(from)?;
    let Ok(Record::Live(job)) = Record::decode(&get_bytes(from)?) else {
        return Err(SqlError::Unreadable("a job without a record"));
    };
    Ok(JobPut {
        topic,
        shards,
        id,
        version,
        operation: JobOperation::Run { due_at, spec: Box::new(job.spec) },
        row_decides: false,
    })
}

pub(super) fn decode_withdrawal(from: &mut Bytes) -> Read<JobPut> {
    let (topic, shards, id, version) = decode_name(from)?;
    let rule = from.try_get_u8().map_err(|_| CUT_OFF)?;
    let window = get_u64(from)?;
    let retention = Retention::of_rule(rule, window).ok_or(SqlError::Unreadable("unknown retention rule"))?;
    Ok(JobPut { topic, shards, id, version, operation: JobOperation::Withdraw(retention), row_decides: false })
}

fn decode_name(from: &mut Bytes) -> Read<(String, u16, JobId, u64)> {
    let topic = get_text(from)?;
    let shards = from.try_get_u16().map_err(|_| CUT_OFF)?;
    let mut id = [0; 16];
    from.try_copy_to_slice(&mut id).map_err(|_| CUT_OFF)?;
    Ok((topic, shards, JobId(id), get_u64(from)?))
}
