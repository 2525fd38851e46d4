//! Jobs with rows (`Durability::Sql`): the row decides, whatever the store has lost.

mod agree;
mod attempts;
mod desk;
mod due_times;
mod operators;
mod rejected;
mod restarted;
pub(crate) mod robustness;
mod row_decides;
mod row_decides_kills;
mod sweeps;

use testkit::servers::Redis;

/// How many steps Redis has run so far.
async fn scripts_run(redis: &Redis) -> usize {
    let text: String = redis.command(&["INFO", "commandstats"]).await.unwrap();
    let prefix = format!("cmdstat_{}:calls=", testkit::step_command().to_lowercase());
    let line = text.lines().find_map(|line| line.strip_prefix(&prefix)).unwrap();
    line.split(',').next().unwrap().parse().unwrap()
}
