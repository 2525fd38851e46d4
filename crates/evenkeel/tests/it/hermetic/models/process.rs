//! The conformance suite of process reports on the model.

use testkit::conformance::process::Rig;

testkit::process_suite!(Rig::memory);
