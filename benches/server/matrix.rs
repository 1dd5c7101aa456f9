//! The matrix: a structure (BF, CF) in a state (grown, reserved) and of a size, and the commands on
//! it, beside other commands and beside the peer.
//!
//! ```text
//!   reserved  BF.EXISTS, BF.ADD     1 item per command,    32 in flight on each of 16 connections
//!             GETBIT, SETBIT        their baseline, on 8 KiB
//!             BF.MEXISTS, BF.MADD   100 items per command, 8 in flight on each of 4 connections
//!             SMISMEMBER            their baseline, on a set with one member
//!   bulk      BF.PACK…, BF.M…       4096 items per command, 1 in flight on each of 4 connections
//!   growth    BF.M…, CF.…           as above
//! ```
//!
//! Half of the items looked up are present; added items are new. Filters are reserved NONSCALING at
//! 1 %, which means the same in both modules. The peer has no packed commands: its BF.M… are
//! compared with ours. The part `growth` times adds from the empty filter on: most users never
//! reserve.

use super::command::*;
use super::filter::{Adds, Filter, Kind, Series, LARGE};
use splitbloom_rig::{order, rounds, Cell, Outcome, Settings, Setup, Table};

/// Odd numbers, so that the median is one of the rounds.
const ROUNDS_RESERVED: usize = 9;
const ROUNDS_BULK: usize = 5;
const ROUNDS_GROWTH: usize = 3;
/// Capacities: fits in L2, in the last-level cache, in neither.
const SIZES: [u64; 3] = [10_000, 1_000_000, 100_000_000];
const GROWN_SIZES: [u64; 3] = [10_000, 1_000_000, 10_000_000];
/// One item per command, in four commands: 10^7 items would take six minutes.
const CUCKOO_SIZES: [u64; 2] = [10_000, 1_000_000];
/// The commands of a round that add, in `reserved` and `bulk`.
const ADDING: u64 = 2;

/// A module, and the error after which it takes no further part, if any.
struct Side {
    name: String,
    filter: Filter,
    refusal: Option<String>,
}

/// What is measured in turn: a command on one of the sides.
type Turn = (usize, Command);
/// This module and the peer, in turns and series.
const OURS: usize = 0;
const PEER: usize = 1;

impl Side {
    /// Starts all modules, each with a filter that `prepare` has prepared.
    fn all(
        kind: &Kind,
        adds: Adds,
        prepare: impl Fn(&mut Filter, bool) -> Outcome<()>,
    ) -> Outcome<Vec<Self>> {
        let start = |(number, setup): (usize, Setup)| {
            let name = setup.name.clone();
            eprintln!("{name}: preparing a filter of {} items ...", kind.size);
            let mut filter = Filter::start(setup, kind.clone(), adds)?;
            prepare(&mut filter, number == OURS)?;
            Ok(Self { name, filter, refusal: None })
        };
        Setup::all()?.into_iter().enumerate().map(start).collect()
    }

    /// Calls `run`, unless the side has refused something. A peer may refuse what it cannot grow
    /// to; a refusal by this module is an error.
    fn try_run<T>(&mut self, run: impl FnOnce(&mut Filter) -> Outcome<T>) -> Outcome<Option<T>> {
        if self.refusal.is_some() {
            return Ok(None);
        }
        match run(&mut self.filter) {
            Ok(measured) => Ok(Some(measured)),
            Err(error) if self.name == Setup::ours().name => Err(error),
            Err(error) => {
                eprintln!("{}: {error}", self.name);
                self.refusal = Some(error.to_string().trim().to_string());
                Ok(None)
            }
        }
    }
}

/// Measures all rounds of `rows`; returns a series for each turn, which is empty for a side that
/// has refused something.
fn measure<const N: usize>(
    label: &str,
    count: usize,
    sides: &mut [Side],
    rows: &[[Turn; N]],
) -> Outcome<Vec<[Series; N]>> {
    let series = || std::array::from_fn(|_| Series::default());
    let mut all: Vec<[Series; N]> = rows.iter().map(|_| series()).collect();
    for round in rounds(label, count) {
        for (turns, series) in rows.iter().zip(&mut all) {
            for turn in order(round, N) {
                let (side, command) = turns[turn];
                let Some(side) = sides.get_mut(side) else {
                    continue;
                };
                match side.try_run(|filter| filter.round(command))? {
                    Some(measured) => series[turn].push(&measured),
                    None => series[turn] = Series::default(),
                }
            }
        }
    }
    Ok(all)
}

/// Begins a row, with the figures of this module.
fn row(table: &mut Table, head: &[Cell], ours: &Series) {
    table.row(head);
    table.add(&[
        ("million items/s", &ours.throughput.median(2)),
        ("ns in command per item", &ours.in_command.median(0)),
    ]);
}

/// Ends the row, with the figures of the peer.
fn beside(table: &mut Table, ours: &Series, peer: &Series) {
    table.add(&[
        ("peer, million/s", &peer.throughput.median(2)),
        ("peer, ns", &peer.in_command.median(0)),
        ("relative to peer", &ours.throughput.relative_to(&peer.throughput)),
        ("server busy", &ours.busy()),
    ]);
}

pub fn reserved(settings: &mut Settings) -> Outcome<()> {
    const COMMANDS: [(Command, Command); 4] =
        [(EXISTS, GETBIT), (ADD, SETBIT), (MEXISTS, SMISMEMBER), (MADD, SMISMEMBER)];
    let count = settings.rounds(ROUNDS_RESERVED)?;
    for size in settings.sizes(&SIZES)? {
        let kind = Kind::reserved("BF", size);
        let (fill, adds) = match size {
            LARGE.. => (size / 2, Adds::Further(size / 2 / (ADDING * count as u64))),
            _ => (size * 2 / 3, Adds::Stream),
        };
        let mut sides = Side::all(&kind, adds, |filter, _| {
            filter.renew()?;
            filter.add(MADD, fill).map(drop)
        })?;
        let rows = COMMANDS
            .map(|(command, baseline)| [(OURS, baseline), (OURS, command), (PEER, command)]);
        let measured = measure(&format!("{size} items"), count, &mut sides, &rows)?;
        let table = settings.table_beside_peer("server")?;
        for ((command, baseline), [base, ours, peer]) in COMMANDS.iter().zip(&measured) {
            let head: [Cell; 3] = [
                ("items", &size),
                ("command", &command.name),
                ("items per command", &command.items),
            ];
            row(table, &head, ours);
            table.add(&[
                ("baseline command", &baseline.name),
                ("baseline, million/s", &base.throughput.median(2)),
                ("baseline, ns", &base.in_command.median(0)),
                ("relative to baseline", &ours.throughput.relative_to(&base.throughput)),
            ]);
            beside(table, ours, peer);
        }
    }
    Ok(())
}

pub fn bulk(settings: &mut Settings) -> Outcome<()> {
    const COMMANDS: [[Command; 2]; 2] = [[PACK_ADD, BULK_ADD], [PACK_EXISTS, BULK_EXISTS]];
    let count = settings.rounds(ROUNDS_BULK)?;
    // The length of a reply to a shorter pack is not known in advance.
    let turn = PACK_ADD.items_per_turn();
    for size in settings.sizes(&SIZES)? {
        let whole = |items: u64| items.next_multiple_of(turn);
        let (fill, adds, room) = match size {
            LARGE.. => {
                let further = whole(size / 2 / (ADDING * count as u64));
                (whole(size / 2), Adds::Further(further), ADDING * turn * count as u64)
            }
            _ => (whole(size), Adds::Fill, 0),
        };
        let kind = Kind::reserved("BF", whole(size) + room);
        let mut sides = Side::all(&kind, adds, |filter, is_ours| {
            filter.renew()?;
            filter.add(if is_ours { PACK_ADD } else { BULK_ADD }, fill).map(drop)
        })?;
        let rows = COMMANDS.map(|[packed, plain]| [(OURS, packed), (OURS, plain), (PEER, plain)]);
        let measured = measure(&format!("{size} items"), count, &mut sides, &rows)?;
        let table = settings.table_beside_peer("bulk")?;
        for (commands, [packed, plain, peer]) in COMMANDS.iter().zip(&measured) {
            for (command, ours) in commands.iter().zip([packed, plain]) {
                row(table, &[("items", &size), ("command", &command.name)], ours);
                let relative = ours.throughput.relative_to(&plain.throughput);
                table.add(&[("relative to unpacked", &relative)]);
                beside(table, ours, peer);
            }
        }
    }
    Ok(())
}

pub fn growth(settings: &mut Settings) -> Outcome<()> {
    let count = settings.rounds(ROUNDS_GROWTH)?;
    let families: [(&str, &[u64], &[Command]); 2] = [
        ("BF", &GROWN_SIZES, &[MADD, MEXISTS]),
        ("CF", &CUCKOO_SIZES, &[CF_ADD, CF_EXISTS, CF_COUNT, CF_DEL]),
    ];
    for (family, sizes, commands) in families {
        for size in settings.sizes(sizes)? {
            for (state, kind) in
                [("grown", Kind::grown(size)), ("reserved", Kind::reserved(family, size))]
            {
                let mut sides = Side::all(&kind, Adds::Fill, |_, _| Ok(()))?;
                let rows: Vec<[Turn; 2]> =
                    commands.iter().map(|command| [(OURS, *command), (PEER, *command)]).collect();
                let label = format!("{family} {state}, {size} items");
                let measured = measure(&label, count, &mut sides, &rows)?;
                let table = settings.table_beside_peer("growth")?;
                for (command, [ours, peer]) in commands.iter().zip(&measured) {
                    let head: [Cell; 3] =
                        [("items", &size), ("filter", &state), ("command", &command.name)];
                    row(table, &head, ours);
                    beside(table, ours, peer);
                }
                let mut weigh = |side: usize| -> Outcome<[String; 2]> {
                    let Some(side) = sides.get_mut(side) else {
                        return Ok(Default::default());
                    };
                    let weighed = side.try_run(|filter| {
                        filter.renew()?;
                        filter.add(commands[0], size)?;
                        let bits = format!("{:.2}", filter.bits_per_item()?);
                        Ok([bits, filter.false_positives(commands[1])?])
                    });
                    Ok(weighed?.unwrap_or_default())
                };
                let ([bits, rate], [peer_bits, peer_rate]) = (weigh(OURS)?, weigh(PEER)?);
                let refusal = sides
                    .get(PEER)
                    .and_then(|peer| Some(format!("{}: {}", peer.name, peer.refusal.as_ref()?)));
                settings.table_beside_peer("growth-sizes")?.row(&[
                    ("items", &size),
                    ("commands", &family),
                    ("filter", &state),
                    ("bits per item", &bits),
                    ("false positives, %", &rate),
                    ("peer, bits per item", &peer_bits),
                    ("peer, false positives, %", &peer_rate),
                    ("notes", &refusal.unwrap_or_default()),
                ]);
            }
        }
    }
    Ok(())
}
