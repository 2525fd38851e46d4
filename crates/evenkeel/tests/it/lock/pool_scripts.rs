//! The pools' conformance suite on Redis.

use testkit::conformance::pool::Rig;

testkit::pool_suite!(Rig::redis);
