//! The consumers, whose jobs succeed, fail, are retried and die; the schedules; the locks.

use super::shop::{Image, Mail, Shop};
use anyhow::Result;
use evenkeel::clock::Clock;
use evenkeel::queue::{Cron, Delivery, Handled};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use web::stopping;

/// Consumes all topics. Nothing consumes `newsletter` before it is resumed, because it is paused.
pub(super) async fn consume(shop: Arc<Shop>, stopped: watch::Receiver<bool>) -> Result<()> {
    let clock = shop.clock.clone();
    let mail = shop.mail.consume(move |job: Delivery<Mail>| send(clock.clone(), job)).concurrency(8);
    let clock = shop.clock.clone();
    let images = shop.images.consume(move |job: Delivery<Image>| shrink(clock.clone(), job)).concurrency(2);
    let clock = shop.clock.clone();
    let letters = shop.newsletter.consume(move |job: Delivery<Mail>| send(clock.clone(), job)).concurrency(4);
    let reminders = shop.reminders.consume(|_: Delivery<Mail>| async { Ok::<_, String>(()) });
    let writer = Arc::clone(&shop);
    let reports = shop.reports.consume(move |job: Delivery<String>| report(Arc::clone(&writer), job));
    let drain = Duration::from_millis(200);
    tokio::try_join!(
        mail.drain(drain).run(stopping(&stopped)),
        images.drain(drain).run(stopping(&stopped)),
        letters.drain(drain).run(stopping(&stopped)),
        reminders.run(stopping(&stopped)),
        reports.drain(drain).run(stopping(&stopped)),
    )?;
    Ok(())
}

/// Sends a letter: most arrive, some with the second attempt, and a few never.
async fn send(clock: Clock, job: Delivery<Mail>) -> Result<Handled, String> {
    let Mail { order, template, .. } = &job.body;
    clock.sleep(Duration::from_millis(20 + order % 60)).await;
    if template != "order-confirmed" {
        return Ok(Handled::Done);
    }
    match order {
        order if order % 1_500 == 11 => {
            Ok(Handled::Dead(format!("template {template}, line 12: order {order} has no field `gift_wrap`")))
        }
        order if order % 1_200 == 7 => Err(format!("smtp refused 550: no such mailbox (order {order})")),
        order if order % 900 == 3 => {
            Err(format!("timeout after {} ms: mail.shop.example did not answer", 5_000 + order))
        }
        order if order % 25 == 3 && job.attempt == 1 => Err("smtp refused 451: try again later".to_owned()),
        _ => Ok(Handled::Done),
    }
}

async fn shrink(clock: Clock, job: Delivery<Image>) -> Result<(), String> {
    clock.sleep(Duration::from_millis(90 + u64::from(job.body.width) / 20)).await;
    Ok(())
}

/// Writes a report, which only the holder of its lock does.
async fn report(shop: Arc<Shop>, job: Delivery<String>) -> Result<(), String> {
    let lock = shop.keel.lock("reports").ttl(Duration::from_secs(10)).metadata(format!("job {}", job.id));
    let guard = lock.acquire().await.map_err(|error| error.to_string())?;
    let count = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM orders").fetch_one(&shop.db);
    let counted = guard.run(count).await.map_err(|error| error.to_string())?;
    guard.release().await.map_err(|error| error.to_string())?;
    counted.map(drop).map_err(|error| error.to_string())
}

/// A report every minute, and one every night.
pub(super) async fn schedule(shop: Arc<Shop>, stopped: watch::Receiver<bool>) -> Result<()> {
    let minutely = shop.reports.periodic("orders", "* * * * *".parse::<Cron>()?, |time| format!("orders until {time}"));
    let nightly = "30 2 * * *".parse::<Cron>()?;
    let nightly = shop.reports.periodic("turnover", nightly, |time| format!("turnover of {}", time.date()));
    tokio::try_join!(minutely.run(stopping(&stopped)), nightly.run(stopping(&stopped)))?;
    Ok(())
}

/// One of the packers that share a dock.
pub(super) async fn pack(shop: Arc<Shop>, packer: u64) -> Result<()> {
    loop {
        let lock = shop.keel.lock("warehouse/dock-1").ttl(Duration::from_secs(10));
        let guard = lock.metadata(format!("packer {packer}")).acquire().await?;
        shop.clock.sleep(Duration::from_millis(200 + 170 * packer)).await;
        guard.release().await?;
        shop.clock.sleep(Duration::from_millis(50)).await;
    }
}

/// Holds a lock for as long as the shop is open.
pub(super) async fn lead(shop: Arc<Shop>) -> Result<()> {
    let lock = shop.keel.lock("pricing/leader").ttl(Duration::from_secs(10)).max_hold(None);
    let guard = lock.metadata("demo").acquire().await?;
    guard.lost().await;
    Ok(())
}
