//! The replication offsets of a primary and its replicas, from its `INFO replication`.

use redis::Value;

#[derive(Debug, Default, PartialEq)]
pub(super) struct Replication {
    /// The primary's own; `None` if the node is not a primary.
    pub offset: Option<u64>,
    /// What each replica has acknowledged.
    pub replicas: Vec<u64>,
}

impl Replication {
    pub fn parse(reply: &Value) -> Self {
        let text = match reply {
            Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Value::VerbatimString { text, .. } => text.clone(),
            _ => return Self::default(),
        };
        let mut replication = Self::default();
        let is_primary = text.lines().any(|line| line == "role:master");
        for line in text.lines().filter(|_| is_primary) {
            if let Some(offset) = line.strip_prefix("master_repl_offset:") {
                replication.offset = offset.parse().ok();
            } else if line.starts_with("slave") && line.contains(",state=online,") {
                let mut fields = line.split(',');
                let offset = fields.find_map(|field| field.strip_prefix("offset="));
                replication
                    .replicas
                    .extend(offset.and_then(|offset| offset.parse::<u64>().ok()));
            }
        }
        replication
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(lines: &str) -> Replication {
        Replication::parse(&Value::BulkString(lines.replace('\n', "\r\n").into_bytes()))
    }

    #[test]
    fn a_primary_names_its_offset_and_those_of_its_replicas() {
        let info = "# Replication\nrole:master\nconnected_slaves:2\n\
                    slave0:ip=127.0.0.1,port=1,state=online,offset=90,lag=0\n\
                    slave1:ip=127.0.0.1,port=2,state=wait_bgsave,offset=0,lag=0\n\
                    master_repl_offset:100\n";
        assert_eq!(
            parsed(info),
            Replication {
                offset: Some(100),
                replicas: vec![90]
            }
        );
    }

    #[test]
    fn a_replica_has_no_offsets() {
        let info = "role:slave\nmaster_repl_offset:100\n";
        assert_eq!(parsed(info), Replication::default());
        assert_eq!(Replication::parse(&Value::Okay), Replication::default());
    }
}
