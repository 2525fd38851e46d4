//! The locks' conformance suite on Redis.

use testkit::conformance::lock::Rig;

testkit::lock_suite!(Rig::redis);
