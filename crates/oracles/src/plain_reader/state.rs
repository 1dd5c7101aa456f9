//! The state of a windowed filter: [Time](../../../../docs/format.md#time).

use super::table::{Run, Table};
use crate::stream::Stream;
use crate::{must, written};
use std::collections::BTreeMap;

const NONE: u64 = 255;
const MOST_ITEMS: u64 = 1 << 59;

#[derive(Clone, Debug, PartialEq)]
pub struct State {
    latest: u64,
    pub dead: u64,
    sweeping: u64,
    swept: u64,
    /// Payloads and items of the slices that are remembered, oldest first.
    slices: Vec<(u64, u64)>,
}

impl State {
    /// Reads the state record after its kind, of a filter with a window of `seconds` in `n` slices
    /// and with `payload_bits` bits of payload.
    pub fn read(
        rest: &mut Stream<'_>,
        (seconds, n): (u64, u64),
        payload_bits: u64,
    ) -> Option<Self> {
        let [latest, dead, sweeping, swept] = [8, 2, 2, 8].map(|width| rest.number(width));
        let (latest, dead, sweeping, swept) = (latest?, dead?, sweeping?, swept?);
        let slices: Option<Vec<_>> =
            (0..=n).map(|_| Some((rest.number(1)?, rest.number(8)?))).collect();
        let slices = slices?;
        let current = u128::from(latest) * u128::from(n) / (u128::from(seconds) * 1000);
        let is_good_slice = |(place, (payload, items)): (usize, &(u64, u64))| {
            let is_before_0 = current + (place as u128) < u128::from(n);
            let is_only = slices.iter().filter(|(other, _)| other == payload).count() == 1;
            match *payload {
                NONE => *items == 0,
                payload => {
                    *items <= MOST_ITEMS
                        && payload < 1 << payload_bits
                        && dead >> payload & 1 == 0
                        && is_only
                        && !is_before_0
                }
            }
        };
        let is_good = latest < 1 << 53
            && dead >> (1 << payload_bits) == 0
            && sweeping & !dead == 0
            && (sweeping == 0) == (dead == 0)
            && swept % (1 << 13) == 0
            && (sweeping != 0 || swept == 0)
            && slices.iter().enumerate().all(is_good_slice);
        is_good.then_some(Self { latest, dead, sweeping, swept, slices })
    }

    pub fn record(&self) -> Vec<u8> {
        let head = [11, self.latest, self.dead, self.sweeping, self.swept];
        let slices = self.slices.iter().map(|(payload, items)| [*payload, *items]);
        let slices = slices.flat_map(|slice| written([1, 8], slice));
        written([1, 8, 2, 2, 8], head).into_iter().chain(slices).collect()
    }

    /// Whether the sweep has left none of its payloads in the pages that it has passed.
    pub fn is_swept(&self, run: &Run) -> bool {
        !run.has_before(self.swept, self.sweeping)
    }

    /// Payloads of slices, as bits.
    fn used(&self) -> u64 {
        let payloads = self.slices.iter().filter(|(payload, _)| *payload != NONE);
        payloads.fold(0, |used, (payload, _)| used | 1 << payload)
    }

    pub fn items(&self) -> u64 {
        self.slices.iter().map(|(_, items)| items).sum()
    }

    /// The state after a chunk with this state. `came` counts the entries of each payload in the
    /// chunk, which are in `table` already; the last chunk comes with `items`.
    pub fn after(
        mut self,
        before: Option<&Self>,
        came: &BTreeMap<u64, u64>,
        table: &Table,
        items: Option<u64>,
    ) -> Option<Self> {
        let known = self.used() | self.dead;
        must(came.keys().all(|payload| known >> payload & 1 == 1))?;
        must(items.is_none_or(|items| items == self.items()))?;
        for (payload, items_there) in &mut self.slices {
            let slices = before.into_iter().flat_map(|before| &before.slices);
            let earlier = slices.filter(|(other, _)| other == payload && *other != NONE);
            let entries = earlier.map(|(_, items)| items).sum::<u64>()
                + came.get(payload).copied().unwrap_or(0);
            let is_more = *items_there > entries && table.is_counted();
            must(!is_more || items.is_none() || before.is_some())?;
            if *payload != NONE && (items.is_none() || is_more) {
                *items_there = entries.min(MOST_ITEMS);
            }
        }
        if let Some(before) = before {
            let sweep = |state: &Self| (state.used(), state.dead, state.sweeping, state.swept);
            if sweep(&self) != sweep(before) {
                self.dead |= (before.used() | before.dead) & !self.used();
                (self.sweeping, self.swept) = (self.dead, 0);
            }
        }
        Some(self)
    }
}
