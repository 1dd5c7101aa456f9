//! Chunks for BF.LOADCHUNK in any order: repeated, cut, changed, of several filters,
//! and with other operations between them.

use super::chains::{self, aimed, chain_of, TWICE};
use super::fuzzed::{add_absent, head};
use super::loaded::Loaded;
use super::runner::again;
use super::survival::assert_survives;
use arbitrary::{Arbitrary, Unstructured};
use splitbloom_filter::filter::{Adding, Filter, Growth, SizeLimit, Window};
use splitbloom_filter::foreign::cuckoo::read_header;
use splitbloom_filter::hash::Seed;
use splitbloom_oracles::plain_reader::{sealed, Head};
use splitbloom_oracles::written;
use std::sync::LazyLock;

/// One command, and what happens after it.
#[derive(Arbitrary, Debug)]
struct Step {
    donor: u8,
    chunk: u8,
    fault: Fault,
    then: Then,
}

/// A byte of the chunk is changed, the chunk is cut to this length, or a byte is appended; and the
/// checksum is corrected, unless a byte is flipped.
#[derive(Arbitrary, Debug)]
enum Fault {
    None,
    Forged { at: u16, change: u8 },
    Flipped { at: u16, change: u8 },
    Cut { len: u16 },
    Longer { by: u8 },
}

/// A copy replaces the original, which is deleted.
#[derive(Arbitrary, Debug)]
enum Then {
    Nothing,
    Delete,
    SaveAndLoad,
    Copy,
    Add { first: u8, number: u8 },
}

/// A filter whose chunks are loaded.
struct Donor {
    chunks: Vec<Vec<u8>>,
    digest: u128,
    head: Head,
}

/// Runs the steps that the bytes encode, for each kind of filter. After each step the filter is
/// what the plain reader says, and survives saving and loading.
pub fn chunks(bytes: &[u8]) {
    let mut source = Unstructured::new(bytes);
    let Ok(steps) = Vec::<Step>::arbitrary(&mut source) else {
        return;
    };
    DONORS.iter().for_each(|donors| take(&steps, donors));
}

fn take(steps: &[Step], donors: &[Donor]) {
    let head = donors[0].head;
    let mut loaded = Loaded::of(head);
    // Set while only whole chunks of one donor were accepted, in order: the donor and their number.
    let mut whole: Option<(usize, usize)> = Some((0, 0));
    for step in steps {
        let donor = usize::from(step.donor) % donors.len();
        let chunks = &donors[donor].chunks;
        let chunk = usize::from(step.chunk) % chunks.len();
        let was_there = loaded.filter().is_some();
        let given = faulty(&chunks[chunk], &step.fault);
        if loaded.take(&given) {
            let goes_on = |(of, taken)| {
                given == chunks[chunk] && (of == donor || taken == 0) && taken == chunk
            };
            whole = whole.is_some_and(goes_on).then_some((donor, chunk + 1));
        } else {
            let is_due = given == chunks[chunk] && chunk == 0 && !was_there;
            assert!(!is_due, "a good first chunk was refused");
        }
        if let (Some((of, taken)), Some(filter)) = (whole, loaded.filter()) {
            if taken == donors[of].chunks.len() {
                assert_eq!(filter.digest(), donors[of].digest);
            }
        }
        whole = and_then(&step.then, head, &mut loaded, whole);
        if let Some(filter) = loaded.filter() {
            assert_survives(filter);
        }
    }
}

fn faulty(chunk: &[u8], fault: &Fault) -> Vec<u8> {
    let mut bytes = chunk.to_vec();
    match *fault {
        Fault::None => {}
        Fault::Flipped { at, change } | Fault::Forged { at, change } => {
            let at = usize::from(at) % bytes.len();
            bytes[at] ^= change;
        }
        Fault::Cut { len } => bytes.truncate(usize::from(len) % bytes.len()),
        Fault::Longer { by } => bytes.push(by),
    }
    if let Fault::Flipped { .. } = fault {
        bytes
    } else {
        sealed(&bytes)
    }
}

fn and_then(
    then: &Then,
    head: Head,
    loaded: &mut Loaded,
    whole: Option<(usize, usize)>,
) -> Option<(usize, usize)> {
    if let Then::Delete = then {
        *loaded = Loaded::of(head);
        return Some((0, 0));
    }
    let Some(filter) = loaded.filter() else {
        return whole;
    };
    let (other, whole) = match *then {
        Then::Nothing | Then::Delete => return whole,
        Then::SaveAndLoad => (again(filter), whole),
        Then::Copy => (filter.try_clone().unwrap(), whole),
        Then::Add { first, number } => {
            let limit = SizeLimit::Bytes(1 << 20);
            for item in (0..number).map(|i| [first, i]) {
                if add_absent(filter, &item, limit).is_ok() {
                    assert!(filter.contains(&item));
                }
            }
            (filter.try_clone().unwrap(), None)
        }
    };
    loaded.replace(other);
    whole
}

/// Filters of each kind, created once.
static DONORS: LazyLock<[Vec<Donor>; 3]> = LazyLock::new(|| {
    let filters = [blooms(), counting_ones(), windowed_ones()];
    filters.map(|filters| filters.iter().map(Donor::of).collect())
});

/// A Bloom filter of two segments, also part loaded; tables of several pages, alone, part loaded,
/// and after a Bloom filter.
fn blooms() -> Vec<Filter> {
    let segments = filled(Growth::Fixed, 80_000, 0.01, 3, 3000);
    let table = filled(TWICE, 100, 0.01, 1, 1800);
    let parts = [&segments, &table].map(part_of);
    let [part_of_segments, part_of_table] = parts;
    vec![
        segments,
        part_of_segments,
        table,
        part_of_table,
        filled(TWICE, 70, 0.01, 1, 40),
        filled(TWICE, 300, 0.01, 1, 2100),
        saturated(),
    ]
}

/// Tables of several pages and of one, part loaded, with counters.
fn counting_ones() -> Vec<Filter> {
    let several = counting(0.01, 1, 1800, 1);
    let part = part_of(&several);
    vec![
        counting(0.01, 1, 20, 7),
        counting(0.01, 2, 60, 1),
        several,
        part,
        counting(0.000_001, 1, 200, 5),
        from_redisbloom(),
    ]
}

/// A counting filter with slots in several segments, and a table.
fn from_redisbloom() -> Filter {
    let header = written([8, 8, 8, 8, 2, 2, 2], [0, 1 << 16, 3, 2, 1, 20, 1]);
    let cuckoo = read_header(&header).unwrap();
    let mut filter = Filter::of_cuckoo(cuckoo, 0.01, Seed(1), SizeLimit::Unlimited).unwrap();
    for end in [500, 65_500, 65_600, 131_072] {
        let piece: Vec<u8> = (0..100).collect();
        filter.take_piece(1 + end, &piece).unwrap();
    }
    for item in 0..100u16 {
        let item = item.to_be_bytes();
        filter.add_copy(&item, Adding::Copies, SizeLimit::Unlimited).unwrap();
    }
    filter
}

/// Tables of several pages and of one, part loaded, in the midst of a sweep, and with a page that
/// says yes to everything.
fn windowed_ones() -> Vec<Filter> {
    let several = windowed(0.01, 8, false, 5_000);
    let part = part_of(&several);
    let mut sweeping = windowed(0.5, 2, true, 12_000);
    let end = sweeping.next_due().expect("items that will be over");
    assert!(!sweeping.sweep_step(end).unwrap().is_done);
    let mut crowded = windowed(0.5, 3, false, 10);
    for item in aimed(1, 8, 3_000) {
        crowded.add_at(&item, 10, SizeLimit::Unlimited).unwrap();
    }
    let small = [(2, false, 20), (14, true, 60)];
    let [two, fourteen] =
        small.map(|(slices, renews, items)| windowed(0.01, slices, renews, items));
    vec![two, fourteen, several, part, sweeping, crowded]
}

/// A filter of one second to which an item comes each millisecond, later ones twice.
fn windowed(error_rate: f64, slices: u8, renews: bool, items: u16) -> Filter {
    let window = Window::new(1, slices, renews).expect("a sound window");
    let mut filter = chains::windowed(error_rate, 100, TWICE, window);
    let times = (0..items).flat_map(|item| [item, item.saturating_sub(300)]);
    for (n, item) in (0u64..).zip(times) {
        let now = n * 2_000 / (2 * u64::from(items));
        let limit = SizeLimit::Unlimited;
        filter.add_at(&item.to_be_bytes(), now, limit).unwrap();
    }
    filter
}

impl Donor {
    fn of(filter: &Filter) -> Self {
        let chunks = chain_of(filter).in_chunks_of(1);
        Self { chunks, digest: filter.digest(), head: head(filter) }
    }
}

fn filled(growth: Growth, capacity: u64, error_rate: f64, seed: u64, items: u16) -> Filter {
    let mut filter = chains::bloom(error_rate, capacity, growth, seed);
    for item in 0..items {
        filter.add(&item.to_be_bytes()).unwrap();
    }
    filter
}

/// A table with a page that says yes to everything.
fn saturated() -> Filter {
    let mut filter = filled(Growth::Times(1), 100, 0.5, 1, 10);
    for item in aimed(1, 8, 3_000) {
        filter.add(&item).unwrap();
    }
    assert!(filter.false_positive_rate() > 0.0);
    filter
}

fn counting(error_rate: f64, seed: u64, items: u16, copies: u16) -> Filter {
    let mut filter = chains::counting(error_rate, 1024, true, seed);
    for item in (0..copies).flat_map(|_| 0..items) {
        let item = item.to_be_bytes();
        filter.add_copy(&item, Adding::Copies, SizeLimit::Unlimited).unwrap();
    }
    assert!(filter.remove(&[0, 0]).unwrap());
    filter
}

/// The filter after its first chunk.
fn part_of(filter: &Filter) -> Filter {
    let mut loaded = Loaded::of(head(filter));
    assert!(loaded.take(&Donor::of(filter).chunks[0]));
    loaded.filter().expect("a first chunk was taken").try_clone().unwrap()
}
