//! A thread that sends blocks on several connections.

use super::{Block, Event};
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Spreads connections over threads: half as many as there are processors, because the reader needs
/// one as well, and so does a server on the same machine. With a thread for each connection every
/// reply woke one, often on the server's processor. (On two processors, 10 million URLs load in
/// 0.76 s with one thread for four connections, and in 0.84 s with four threads; medians of five
/// rounds.)
pub fn among_threads<C>(connections: Vec<C>) -> Vec<Vec<C>> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let threads = (processors / 2).clamp(1, connections.len().max(1));
    let mut each: Vec<Vec<C>> = (0..threads).map(|_| Vec::new()).collect();
    for (n, connection) in connections.into_iter().enumerate() {
        each[n % threads].push(connection);
    }
    each
}

/// Sends the next block on a connection that is idle. If none is idle or no block has been read
/// yet, receives the answer to the block that was sent first.
pub struct Worker<F, T> {
    /// The blocks that have been read, shared by all workers.
    pub blocks: Arc<Mutex<Receiver<(u64, Block)>>>,
    pub events: Sender<(u64, Event<T>)>,
    pub send: F,
}

impl<F, T> Worker<F, T> {
    /// Returns when all blocks have been answered, or the receiver of the answers is gone.
    pub fn work<C, R>(self, connections: Vec<C>)
    where
        F: Fn(C, &Block) -> R,
        R: FnOnce() -> (C, T),
    {
        let mut idle = VecDeque::from(connections);
        let mut under_way = VecDeque::new();
        loop {
            if let Some(connection) = idle.pop_front() {
                if let Some((number, block)) = self.next(under_way.is_empty()) {
                    let receive = (self.send)(connection, &block);
                    under_way.push_back((number, block, receive));
                    continue;
                }
                idle.push_front(connection);
            }
            let Some((number, block, receive)) = under_way.pop_front() else {
                return; // there are no more blocks
            };
            let (connection, answer) = receive();
            idle.push_back(connection); // in turn: none stays unused until the server closes it
            if self.events.send((number, Ok(Some((block, answer))))).is_err() {
                return;
            }
        }
    }

    /// Returns the next block. With `may_wait`, `None` means that there are no more; without, that
    /// none is available, because it has not been read or another worker is taking it.
    fn next(&self, may_wait: bool) -> Option<(u64, Block)> {
        match may_wait {
            // A panic of another thread ends the process anyway.
            true => self.blocks.lock().unwrap_or_else(PoisonError::into_inner).recv().ok(),
            false => self.blocks.try_lock().ok()?.try_recv().ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feed::Mark;
    use std::sync::mpsc::channel;
    use std::time::Duration;

    /// More than any test takes.
    const LONG: Duration = Duration::from_secs(60);

    fn block(byte: u8) -> Block {
        Block { bytes: vec![byte], end: Mark::default() }
    }

    /// A connection that answers with its name and the block.
    type Name = char;

    fn send(connection: Name, block: &Block) -> impl FnOnce() -> (Name, (Name, u8)) {
        let byte = block.bytes[0];
        move || (connection, (connection, byte))
    }

    type Answered = (u64, Event<(Name, u8)>);

    /// Starts a worker that has some blocks already. Returns where more go and where the answers
    /// come from.
    fn start(connections: Vec<Name>, len: u64) -> (Sender<(u64, Block)>, Receiver<Answered>) {
        let (to_worker, blocks) = channel();
        let (events, happened) = channel();
        for n in 0..len {
            to_worker.send((n, block(n as u8))).unwrap();
        }
        let worker = Worker { blocks: Arc::new(Mutex::new(blocks)), events, send };
        thread::spawn(move || worker.work(connections));
        (to_worker, happened)
    }

    fn answer(event: Answered) -> (u64, u8, Name) {
        match event {
            (number, Ok(Some((block, (name, byte))))) => {
                assert_eq!(block.bytes, [byte]);
                (number, byte, name)
            }
            _ => panic!("no answer"),
        }
    }

    #[test]
    fn each_block_is_answered_once_and_every_connection_is_used() {
        let (to_worker, happened) = start(vec!['a', 'b', 'c'], 200);
        drop(to_worker);
        let answers: Vec<_> = happened.into_iter().map(answer).collect();
        let numbers: Vec<u64> = answers.iter().map(|(number, ..)| *number).collect();
        assert_eq!(numbers, (0..200).collect::<Vec<_>>());
        for name in ['a', 'b', 'c'] {
            assert!(answers.iter().any(|(.., by)| *by == name), "{name}");
        }
    }

    #[test]
    fn the_answer_to_a_block_does_not_wait_for_the_next_block() {
        let (to_worker, happened) = start(vec!['a', 'b'], 0);
        let mut names = String::new();
        for n in 0..4 {
            to_worker.send((n, block(n as u8))).unwrap();
            let event = happened.recv_timeout(LONG).expect("an answer");
            let (number, _, name) = answer(event);
            assert_eq!(number, n);
            names.push(name);
        }
        assert_eq!(names, "abab", "connections take turns");
    }

    #[test]
    fn connections_are_spread_over_the_threads() {
        for len in [1, 2, 5, 100] {
            let each = among_threads((0..len).collect());
            let sizes: Vec<usize> = each.iter().map(Vec::len).collect();
            assert_eq!(sizes.iter().sum::<usize>(), len);
            assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
        }
    }
}
