//! A slot migration as Valkey's source sends it, played by the test, which can send what no sound
//! source does.
//!
//! ```text
//!   source                         target
//!   ESTABLISH                      OK
//!   ACK, commands, SNAPSHOT-EOF    REQUEST-PAUSE
//!   PAUSED                         REQUEST-FAILOVER
//!   FAILOVER-GRANTED               owns the slot
//! ```

use splitbloom_harness::trial::Node;
use splitbloom_harness::{words, Connection};

/// A migration that has begun.
pub struct Import {
    db: Connection,
}

impl Import {
    /// Begins to move a slot, under a name that makes `number` of it.
    pub fn begin(slot: u16, source: &Node, target: &Node, number: usize) -> Import {
        let mut db = target.connect();
        let id = &source.id;
        db.run(&format!(
            "CLUSTER SYNCSLOTS ESTABLISH SOURCE {id} NAME {number:040} SLOTSRANGE {slot} {slot}"
        ));
        let mut import = Import { db };
        import.say("ACK");
        import
    }

    /// Sends a command of the snapshot. The target may have hung up already.
    pub fn send(&mut self, command: Vec<Vec<u8>>) {
        let _ = self.db.try_send(command);
    }

    /// Ends the snapshot. Returns whether the target has executed all of it; if not, it hung up.
    pub fn is_executed(&mut self) -> bool {
        self.say("SNAPSHOT-EOF");
        self.hears("REQUEST-PAUSE")
    }

    /// Breaks the migration off after the snapshot, so that the target discards it.
    pub fn break_off(mut self) {
        self.say("SNAPSHOT-EOF");
        assert!(!self.hears("REQUEST-FAILOVER"), "the target hangs up");
    }

    /// Leaves the slot to the target.
    pub fn finish(mut self) {
        self.say("PAUSED");
        assert!(self.hears("REQUEST-FAILOVER"), "the target has the slot");
        self.say("FAILOVER-GRANTED");
        // The target hangs up when it owns the slot.
        assert!(!self.hears("FINISH"), "a migration has one end");
    }

    fn say(&mut self, what: &str) {
        self.send(words(&format!("CLUSTER SYNCSLOTS {what}")));
    }

    /// Whether the target says this before it hangs up.
    fn hears(&mut self, what: &str) -> bool {
        let said = std::iter::from_fn(|| self.db.try_receive().ok());
        said.into_iter().any(|command| command.elements()[2].text() == what)
    }
}
