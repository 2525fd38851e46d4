//! What every server has: a child, how to start it again, its port and its folder.

use super::port::Port;
use super::readiness;
use crate::folder::Folder;
use crate::process::{Child, Launch};
use anyhow::Result;
use std::path::Path;

/// One started server. The fields are dropped in this order: the child is gone before its folder is.
#[derive(Debug)]
pub(super) struct Instance {
    pub(super) child: Child,
    launch: Launch,
    pub(super) port: Port,
    pub(super) folder: Folder,
}

impl Instance {
    pub(super) fn start(launch: Launch, port: Port, folder: Folder) -> Result<Instance> {
        Ok(Instance { child: launch.start()?, launch, port, folder })
    }

    /// Kills it if it runs and starts it again; the caller waits until it answers.
    pub(super) fn start_again(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child = self.launch.start()?;
        Ok(())
    }

    /// Asks `probe` (given the folder) until it succeeds.
    pub(super) async fn until_ready<T>(&mut self, name: &str, probe: impl AsyncFn(&Path) -> Result<T>) -> Result<T> {
        let folder = self.folder.path();
        readiness::wait(name, &mut self.child, async || probe(folder).await).await
    }
}

/// The methods that are the same for every server type with a field `instance` and a method `until_ready`.
macro_rules! control_methods {
    ($server:ty) => {
        impl $server {
            /// Its TCP port on 127.0.0.1.
            #[must_use]
            pub fn port(&self) -> u16 {
                self.instance.port.number()
            }

            /// Its folder: data and log.
            #[must_use]
            pub fn folder(&self) -> &std::path::Path {
                self.instance.folder.path()
            }

            /// Its process id; another one after a restart.
            #[must_use]
            pub fn process_id(&self) -> u32 {
                self.instance.child.id()
            }

            /// Stops it (SIGSTOP): connections stay open, nothing answers. Returns once all its processes have stopped.
            pub fn pause(&mut self) -> anyhow::Result<()> {
                self.instance.child.pause()
            }

            /// Lets it continue after a pause (SIGCONT).
            pub fn resume(&mut self) -> anyhow::Result<()> {
                self.instance.child.resume()
            }

            /// Kills it (SIGKILL) and waits until it is gone. Its port and folder are kept for `restart`.
            pub fn kill(&mut self) -> anyhow::Result<()> {
                self.instance.child.kill()
            }

            /// Starts it again on the same port and folder, killing it first if it runs, and returns once it answers.
            pub async fn restart(&mut self) -> anyhow::Result<()> {
                self.instance.start_again()?;
                self.until_ready().await
            }

            /// The end of its log.
            #[must_use]
            pub fn log_tail(&self) -> String {
                self.instance.child.log_tail()
            }
        }
    };
}
pub(super) use control_methods;
