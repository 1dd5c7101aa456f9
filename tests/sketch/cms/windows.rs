//! Sketches that count the last seconds only.

use crate::module::server;
use splitbloom_harness::now;

#[test]
fn a_history_is_counted_at_its_own_times() {
    let (_server, mut db) = server().with_client();
    db.run("CMS.INITBYDIM k 2000 7 WINDOW 3600 SLICES 4");
    let start = now() / 900_000 * 900_000;
    let at = |minutes: u64| start - 7_200_000 + minutes * 60_000;
    let mut count = |time: u64| db.ask(&format!("CMS.INCRBYAT k {time} a 1"));
    assert_eq!(count(at(0)), "[:1]");
    assert_eq!(count(at(59)), "[:2]");
    assert_eq!(count(at(74)), "[:3]");
    assert_eq!(count(at(75)), "[:3]"); // the first is forgotten
    assert_eq!(count(at(5)), "[:4]"); // time never runs backwards
    let time = now();
    assert_eq!(db.ask(&format!("CMS.INCRBYAT k {time}")), "[]");
}
