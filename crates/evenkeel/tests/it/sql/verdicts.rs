//! Which servers the stories of this folder ran on. `cargo xtask verdicts` puts the killed ones into a table.

use super::rig::{Rig, Sql};

/// Name of the server and its version, from its version string.
async fn version<DB: Sql>() -> (String, Vec<u32>) {
    let rig = Rig::<DB>::open().await;
    let words = DB::version(&mut rig.pool.acquire().await.unwrap()).await.unwrap();
    let number = words.split(|c: char| c != '.' && !c.is_ascii_digit()).next().unwrap().to_owned();
    let name = match DB::NAME {
        "MySQL" if words.contains("MariaDB") => "MariaDB",
        name => name,
    };
    let parts = number.split('.').map(|part| part.parse().unwrap()).collect();
    (format!("{name} {number}"), parts)
}

async fn is_promised<DB: Sql>(least: &[(&str, [u32; 2])]) {
    let (server, parts) = version::<DB>().await;
    println!("{}", serde_json::json!({ "server": server }));
    let least = least.iter().find(|(name, _)| server.starts_with(name)).expect("a server that is promised").1;
    assert!(parts[..2] >= least[..], "{server} is older than what is promised");
}

#[tokio::test]
async fn sqlite() {
    is_promised::<sqlx::Sqlite>(&[("SQLite", [3, 42])]).await;
}

#[tokio::test]
async fn mariadb() {
    is_promised::<sqlx::MySql>(&[("MariaDB", [10, 6]), ("MySQL", [8, 0])]).await;
}

#[tokio::test]
async fn postgres() {
    is_promised::<sqlx::Postgres>(&[("PostgreSQL", [14, 0])]).await;
}
