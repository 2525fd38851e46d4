//! The pools' conformance suite on the model, which is the embedded backend.

use testkit::conformance::pool::Rig;

testkit::pool_suite!(Rig::memory);
