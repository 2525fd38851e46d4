//! The parts that every server has: a child process, its launch parameters, its port and its folder.

use super::port::Port;
use super::readiness;
use crate::folder::Folder;
use crate::process::{Child, Launch};
use anyhow::Result;
use std::path::Path;

/// One started server. The fields are dropped in this order, so the child ends before its folder is deleted.
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

    /// Kills the server if it is running and starts it again; the caller waits until it is ready.
    pub(super) fn start_again(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child = self.launch.start()?;
        Ok(())
    }

    /// Calls `probe` with the folder until it succeeds.
    pub(super) async fn until_ready<T>(&mut self, name: &str, probe: impl AsyncFn(&Path) -> Result<T>) -> Result<T> {
        let folder = self.folder.path();
        readiness::wait(name, &mut self.child, async || probe(folder).await).await
    }
}

/// Methods for every server type with a field `instance` and a method `until_ready`.
macro_rules! control_methods {
    ($server:ty) => {
        impl $server {
            /// The TCP port on 127.0.0.1.
            #[must_use]
            pub fn port(&self) -> u16 {
                self.instance.port.number()
            }

            /// The folder with data and log.
            #[must_use]
            pub fn folder(&self) -> &std::path::Path {
                self.instance.folder.path()
            }

            /// The process id, which changes with a restart.
            #[must_use]
            pub fn process_id(&self) -> u32 {
                self.instance.child.id()
            }

            /// Pauses the server (SIGSTOP): connections stay open, without replies. Returns once all its processes have stopped.
            pub fn pause(&mut self) -> anyhow::Result<()> {
                self.instance.child.pause()
            }

            /// Resumes the server after a pause (SIGCONT).
            pub fn resume(&mut self) -> anyhow::Result<()> {
                self.instance.child.resume()
            }

            /// Kills the server (SIGKILL) and waits until it has ended. `restart` can reuse its port and folder.
            pub fn kill(&mut self) -> anyhow::Result<()> {
                self.instance.child.kill()
            }

            /// Restarts the server with the same port and folder, and returns once it is ready. A running server is killed first.
            pub async fn restart(&mut self) -> anyhow::Result<()> {
                self.instance.start_again()?;
                self.until_ready().await
            }

            /// The end of the log.
            #[must_use]
            pub fn log_tail(&self) -> String {
                self.instance.child.log_tail()
            }
        }
    };
}
pub(super) use control_methods;
