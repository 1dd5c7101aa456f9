//! BF.CHANGES: what is new in a filter, for those who follow it with a copy of their own.

mod blocking;
mod ends;
mod limits;
mod model;
mod replies;
mod several;
