//! The conformance suite of process reports on Redis.

use testkit::conformance::process::Rig;

testkit::process_suite!(Rig::redis);
