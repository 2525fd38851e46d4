//! Several instances, outages of their servers, and shutdown.

mod behind;
mod clicks;
mod ends;
mod faults;
mod load;
mod outage;
mod plug;
mod refusing;
mod rights;
mod shared;
mod stop;
mod traces;
