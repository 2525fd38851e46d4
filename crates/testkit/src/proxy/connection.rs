//! One client's connection through the proxy.

use super::flow::Direction;
use super::pump::{Ended, Pump};
use super::shadow::Shadow;
use super::shared::Shared;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

/// Forwards bytes both ways until one side or a fault ends the connection. `orders` are the counts of cuts and half-opens when the
/// connection was accepted; a higher count applies to it.
pub(super) async fn run(shared: &Arc<Shared>, mut client: TcpStream, number: u64, orders: (u64, u64)) {
    let (cuts, half_opens) = orders;
    let mut orders = shared.rules.subscribe();
    let Ok(mut server) = TcpStream::connect(("127.0.0.1", shared.target)).await else { return };
    client.set_nodelay(true).ok();
    server.set_nodelay(true).ok();

    let (half_opened, cut) = tokio::select! {
        ended = pump_both(shared, &mut client, &mut server, number) => (false, matches!(ended, Err(Ended::Cut))),
        rules = orders.wait_for(|rules| rules.cuts > cuts || rules.half_opens > half_opens) => {
            rules.map_or((false, false), |rules| (rules.cuts == cuts, rules.cuts > cuts))
        }
    };
    drop(server);
    if cut {
        shared.count(|counters| counters.cut += 1);
    }
    if half_opened {
        tokio::select! {
            () = ignore(&mut client) => {}
            _ = orders.wait_for(|rules| rules.cuts > cuts) => shared.count(|counters| counters.cut += 1),
        }
    }
}

async fn pump_both(
    shared: &Arc<Shared>,
    client: &mut TcpStream,
    server: &mut TcpStream,
    number: u64,
) -> Result<(), Ended> {
    let (client_read, client_write) = client.split();
    let (server_read, server_write) = server.split();
    let unanswered = Mutex::new(VecDeque::new());
    let to_server = Pump { shared, direction: Direction::ToServer, connection: number, unanswered: &unanswered };
    let to_client = Pump { direction: Direction::ToClient, ..to_server };
    tokio::try_join!(
        to_server.run(client_read, server_write, Some(Shadow::new(shared))),
        to_client.run(server_read, client_write, None)
    )?;
    Ok(())
}

/// Reads and discards until the client closes the connection.
async fn ignore(client: &mut TcpStream) {
    let mut lost = [0; 4096];
    while client.read(&mut lost).await.is_ok_and(|bytes| bytes > 0) {}
}
