//! What only a comparison of the nodes shows.

use super::commands::version;
use super::finding::{Finding, Findings};
use super::node::{Clock, Node};
use super::site::Site;

/// Clocks that a time service keeps differ by milliseconds: beyond a second none does.
const NOT_KEPT: i64 = 1_000;

/// A minute moves an item to another slice in windows of up to eight minutes (with 8 slices).
const HARMFUL: i64 = 60_000;

/// Nodes that are lost, lack the module, or have another version of it.
pub fn nodes(site: &Site) -> Findings<'_> {
    let mut findings = Vec::new();
    // What the others are is in these two replies.
    let info = site.nodes[0].info.as_ref()?;
    if info.text("cluster_enabled") == "1" {
        site.nodes[0].cluster_nodes.as_ref()?;
    }
    for (address, why) in &site.silent {
        findings.push(Finding::advice(
            format!("{address} is not known: {why}"),
            "run this where it can be reached, with a login that it accepts",
        ));
    }
    let module_of = |node: &Node| {
        let commands = node.commands.as_ref().ok()?;
        Some(commands.contains_key("bf.add").then(|| version(node, "bf")))
    };
    let reference = site.nodes.iter().find_map(|node| module_of(node).flatten());
    for node in &site.nodes {
        let address = &node.address;
        match (&reference, module_of(node)) {
            (Some(_), Some(None)) => findings.push(Finding::wrong(
                format!("{address} lacks the module, and cannot hold filters"),
                "load it there: replicas and nodes that take slots over need it",
            )),
            (Some(here), Some(Some(there))) if *here != there => findings.push(Finding::advice(
                format!("{address} has version {there} of the module, others {here}"),
                "update all, replicas before their primary (docs/releases.md)",
            )),
            _ => {}
        }
        if node.info.as_ref().is_ok_and(|info| info.text("master_link_status") == "down") {
            findings.push(Finding::wrong(
                format!("{address} has lost its primary"),
                "the logs of both say why; until then it misses what the primary adds",
            ));
        }
    }
    if findings.is_empty() {
        let replicas = site.nodes.iter().filter(|node| node.is_replica()).count();
        findings.push(Finding::ok(match site.nodes.len() {
            1 => "no others: no replica takes over if this one is lost".to_owned(),
            nodes => format!("{nodes} nodes, {replicas} of them replicas"),
        }));
    }
    Ok(findings)
}

/// How far the clocks of the nodes differ: filters that forget go by them.
pub fn clocks(site: &Site) -> Findings<'_> {
    let mut known: Vec<(&str, Clock)> = Vec::new();
    for node in &site.nodes {
        known.push((&node.address, *node.clock.as_ref()?));
    }
    known.sort_by_key(|(_, clock)| clock.ahead);
    let [(slow, behind), .., (fast, ahead)] = known.as_slice() else {
        return Ok(vec![Finding::ok("one node")]);
    };
    let uncertainty = behind.uncertainty + ahead.uncertainty;
    let apart = (ahead.ahead - behind.ahead - uncertainty).max(0);
    let found = format!("{fast} is {:.1} s ahead of {slow}", apart as f64 / 1e3);
    let advice = "run a time service on both: filters that forget go by the clock";
    Ok(vec![match apart {
        HARMFUL.. => Finding::wrong(found, advice),
        NOT_KEPT.. => Finding::advice(found, advice),
        _ => Finding::ok(format!("no two differ by more than {} ms", apart + 2 * uncertainty)),
    }])
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level;
    use super::super::node::tests::{silent, with_info};
    use super::*;

    fn site(nodes: Vec<Node>) -> Site {
        Site { nodes, silent: Vec::new() }
    }

    /// A node whose module, if any, has this version.
    fn with_module(version: Option<&str>) -> Node {
        let command = version.map(|_| ("bf.add".to_owned(), Some("bf".to_owned())));
        let info = with_info(&format!("bf_version:{}", version.unwrap_or_default())).info;
        Node { info, commands: Ok(command.into_iter().collect()), ..silent() }
    }

    fn levels(findings: Findings<'_>) -> Vec<Level> {
        findings.expect("known").iter().map(|finding| finding.level).collect()
    }

    #[test]
    fn nodes_with_another_version_or_none_are_named() {
        let one = || with_module(Some("0.1.0"));
        assert_eq!(levels(nodes(&site(vec![one()]))), [Level::Ok]);
        assert_eq!(levels(nodes(&site(vec![one(), one()]))), [Level::Ok]);
        let other = with_module(Some("0.2.0"));
        assert_eq!(levels(nodes(&site(vec![one(), other]))), [Level::Advice]);
        // Whichever the URL names.
        assert_eq!(levels(nodes(&site(vec![one(), with_module(None)]))), [Level::Wrong]);
        assert_eq!(levels(nodes(&site(vec![with_module(None), one()]))), [Level::Wrong]);
        assert_eq!(levels(nodes(&site(vec![with_module(None)]))), [Level::Ok]);
    }

    #[test]
    fn lost_nodes_and_links_are_named() {
        let silent_node = ("b:2".to_owned(), "no connection".to_owned());
        let site_of = |node| Site { nodes: vec![node], silent: vec![silent_node.clone()] };
        let site_of_one = site_of(with_info("role:master"));
        let found = nodes(&site_of_one).expect("known");
        assert!(found[0].found.starts_with("b:2 is not known"), "{found:?}");
        assert!(nodes(&site(vec![silent()])).is_err());
        assert!(nodes(&site(vec![with_info("cluster_enabled:1")])).is_err());
        let down = with_info("role:slave\nmaster_link_status:down");
        assert_eq!(levels(nodes(&site(vec![down]))), [Level::Wrong]);
    }

    #[test]
    fn clocks_that_differ_for_certain_are_named() {
        let at = |ahead| Node { clock: Ok(Clock { ahead, uncertainty: 50 }), ..silent() };
        for (ahead, level) in [
            (0, Level::Ok),
            (1_099, Level::Ok),
            (1_100, Level::Advice),
            (-1_100, Level::Advice),
            (120_000, Level::Wrong),
        ] {
            assert_eq!(levels(clocks(&site(vec![at(0), at(ahead)]))), [level], "{ahead}");
        }
        assert_eq!(levels(clocks(&site(vec![at(0)]))), [Level::Ok]);
        assert!(clocks(&site(vec![at(0), silent()])).is_err());
    }
}
