//! What may be evicted, and when adds are refused.

use super::finding::{Finding, Findings};
use super::node::Node;

const KEEP: &str = "`CONFIG SET maxmemory-policy noeviction`, or a volatile- policy";

/// `maxmemory`, and what happens there.
pub fn memory(node: &Node) -> Findings<'_> {
    let info = node.info.as_ref()?;
    let number = |name| info.number(name).unwrap_or_default();
    let (most, used, policy) =
        (number("maxmemory"), number("used_memory"), info.text("maxmemory_policy"));
    let mebibytes = |bytes: u64| format!("{} MiB", bytes.div_ceil(1 << 20));
    let limit = match most {
        0 => format!("no maxmemory, {policy}"),
        most => format!("{} of {}, {policy}", mebibytes(used), mebibytes(most)),
    };
    let expiring = node.keys.as_ref().map_or(0, |keys| keys.expiring);
    let may_be_blessed = node.commands.as_ref().is_ok_and(|all| all.contains_key("bless"));
    let any = format!("{limit}: any filter may be evicted, and lookups then find nothing");
    Ok(vec![match policy {
        // Nothing is evicted before there is a limit.
        _ if policy.starts_with("allkeys-") && most == 0 => Finding::advice(limit, KEEP),
        _ if policy.starts_with("allkeys-") && may_be_blessed => Finding::wrong(
            format!("{any} ({} keys are blessed)", number("blessed_keys")),
            format!("`BLESS SET key NO-EVICT` keeps one filter; {KEEP}"),
        ),
        _ if policy.starts_with("allkeys-") => Finding::wrong(any, KEEP),
        _ if policy.starts_with("volatile-") && most > 0 && expiring > 0 => Finding::advice(
            format!("{limit}: {expiring} filters that expire may be evicted before their time"),
            "`CONFIG SET maxmemory-policy noeviction`, or PERSIST those filters",
        ),
        // A tenth is left to act in, as in the alert for full filters.
        _ if most > 0 && used / 9 > most / 10 => Finding::advice(
            format!("{limit}: nearly full; then adds are refused with -OOM"),
            "raise `maxmemory`, or free filters that nobody uses",
        ),
        _ => Finding::ok(limit),
    }])
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level;
    use super::super::keys::Keys;
    use super::super::node::tests::with_info;
    use super::*;

    fn of(policy: &str, most: u64) -> Node {
        with_info(&format!("maxmemory:{most}\nused_memory:950\nmaxmemory_policy:{policy}"))
    }

    fn level(node: &Node) -> Level {
        memory(node).expect("INFO is known")[0].level
    }

    #[test]
    fn a_policy_that_evicts_filters_is_wrong_once_there_is_a_limit() {
        assert_eq!(level(&of("allkeys-lru", 2_000)), Level::Wrong);
        assert_eq!(level(&of("allkeys-lfu", 0)), Level::Advice);
        assert_eq!(level(&of("noeviction", 2_000)), Level::Ok);
        assert_eq!(level(&of("noeviction", 0)), Level::Ok);
        assert_eq!(level(&of("noeviction", 1_000)), Level::Advice, "nearly full");
    }

    #[test]
    fn a_volatile_policy_concerns_filters_that_expire() {
        let mut node = of("volatile-ttl", 2_000);
        assert_eq!(level(&node), Level::Ok);
        node.keys = Ok(Keys { expiring: 1, ..Keys::default() });
        assert_eq!(level(&node), Level::Advice);
        let unlimited = Node { info: of("volatile-ttl", 0).info, ..node };
        assert_eq!(level(&unlimited), Level::Ok, "nothing is evicted");
    }

    #[test]
    fn a_server_that_can_bless_keys_says_how() {
        let mut node = of("allkeys-lru", 2_000);
        node.commands = Ok([("bless".to_owned(), None)].into());
        let finding = &memory(&node).expect("INFO is known")[0];
        assert!(finding.advice.contains("BLESS SET key NO-EVICT"), "{finding:?}");
        assert!(finding.found.contains("0 keys are blessed"), "{finding:?}");
    }
}
