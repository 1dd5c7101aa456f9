//! What the commands return, in both protocols.

use crate::module::server;

#[test]
fn counts_go_up_by_their_increments() {
    server().connect().converse(&[
        ("CMS.INITBYDIM k 2000 7", "+OK"),
        ("CMS.INCRBY k a 3 b 4 a 1", "[:3, :4, :4]"),
        ("CMS.INCRBY k a 0", "[:4]"),
        ("cms.query k a b c", "[:4, :4, :0]"),
        ("TYPE k", "+CMSk-TYPE"),
    ]);
}

#[test]
fn info_has_the_fields_of_redisbloom_a_map_in_resp3() {
    server().converse(&[
        ("CMS.INITBYPROB k 0.001 0.01", "+OK"),
        ("CMS.INCRBY k a 5", "[:5]"),
        ("CMS.INFO k", "{+width: :2000, +depth: :7, +count: :5, +cell_size: :4}"),
        ("CMS.QUERY k a", "[:5]"),
    ]);
}

#[test]
fn an_item_that_does_not_fit_gets_an_error_and_the_others_their_counts() {
    server().connect().converse(&[
        ("CMS.INITBYDIM k 2000 7", "+OK"),
        (
            "CMS.INCRBY k a 4294967294 b 1 a 2 c 9223372036854775807 b 1 b -3 a 1 d -1 b -2",
            "[:4294967294, :1, -CMS: INCRBY overflow, -CMS: INCRBY overflow, :2, \
             -CMS: INCRBY underflow, :4294967295, -CMS: INCRBY underflow, :0]",
        ),
        ("CMS.QUERY k a b c d", "[:4294967295, :0, :0, :0]"),
        ("CMS.INFO k", "[+width, :2000, +depth, :7, +count, :4294967295, +cell_size, :4]"),
        ("CMS.INCRBY k a 1", "[-CMS: INCRBY overflow]"),
        ("CMS.INCRBY k a -4294967295", "[:0]"),
    ]);
}

#[test]
fn the_sum_of_increments_has_an_end_of_its_own_and_sums_are_made_from_there() {
    let (_server, mut db) = server().with_client();
    let info = "[+width, :9, +depth, :2, +count, :9223372036854775807, +cell_size, :8";
    for (key, window, more) in
        [("k", "", "]"), ("w", " WINDOW 3600", ", +window, :3600, +slices, :8]")]
    {
        db.run(&format!("CMS.INITBYDIM {key} 9 2 CELL_SIZE 8{window}"));
        for (items, reply) in [
            ("a 9223372036854775807", "[:9223372036854775807]"),
            ("a 1 b 1", "[-CMS: INCRBY overflow, -CMS: INCRBY overflow]"),
        ] {
            assert_eq!(db.ask(&format!("CMS.INCRBY {key} {items}")), reply, "{key}");
        }
        assert_eq!(db.run(&format!("CMS.PACKINCR {key} LINES d")).bytes(), [255; 8], "{key}");
        assert_eq!(db.ask(&format!("CMS.INFO {key}")), format!("{info}{more}"));
    }
    // Counters at their end do not fit twice.
    db.converse(&[
        ("CMS.INITBYDIM sum 9 2 CELL_SIZE 8", "+OK"),
        ("CMS.MERGE sum 1 k", "+OK"),
        ("CMS.INFO sum", &format!("{info}]")),
        ("CMS.MERGE sum 2 k k", "-CMS: MERGE overflow"),
        ("CMS.MERGE sum 3 k k k WEIGHTS 1 -1 1", "+OK"),
        ("CMS.INFO sum", &format!("{info}]")),
        ("CMS.MERGE sum 2 k k WEIGHTS 1 -1", "+OK"),
        ("CMS.INFO sum", "[+width, :9, +depth, :2, +count, :0, +cell_size, :8]"),
    ]);
}

#[test]
fn a_probability_next_to_one_takes_a_row() {
    server().connect().converse(&[
        ("CMS.INITBYPROB k 0.1 0.99999999", "+OK"),
        ("CMS.INFO k", "[+width, :20, +depth, :1, +count, :0, +cell_size, :4]"),
    ]);
}

#[test]
fn a_sum_of_sketches_replaces_the_destination() {
    server().connect().converse(&[
        ("CMS.INITBYDIM a 2000 7", "+OK"),
        ("CMS.INITBYDIM b 2000 7", "+OK"),
        ("CMS.INITBYDIM sum 2000 7", "+OK"),
        ("CMS.INCRBY a x 10 y 20", "[:10, :20]"),
        ("CMS.INCRBY b x 1", "[:1]"),
        ("CMS.INCRBY sum z 9", "[:9]"),
        ("CMS.MERGE sum 2 a b", "+OK"),
        ("CMS.QUERY sum x y z", "[:11, :20, :0]"),
        ("CMS.MERGE sum 2 a b WEIGHTS 2 -3", "+OK"),
        ("CMS.QUERY sum x y z", "[:17, :40, :0]"),
        ("CMS.MERGE sum 3 sum sum a weights 1 1 0", "+OK"),
        ("CMS.QUERY sum x y", "[:34, :80]"),
        ("CMS.INFO sum", "[+width, :2000, +depth, :7, +count, :114, +cell_size, :4]"),
        ("CMS.QUERY a x y", "[:10, :20]"),
    ]);
}
