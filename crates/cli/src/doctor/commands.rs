//! Who has the commands, and which server it is.

use super::finding::{Finding, Findings, Unknown};
use super::node::Node;
use std::collections::{BTreeMap, BTreeSet};

const FAMILIES: [&str; 5] = ["BF", "CF", "CMS", "TOPK", "TDIGEST"];

/// Whose the commands of a family are.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Owner {
    Splitbloom(String),
    /// RedisBloom or valkey-bloom.
    Bloom(String),
    Server,
    /// Another module, or several.
    Others(String),
    Nobody,
}

/// Who has the commands of each family.
pub fn owners(node: &Node) -> Findings<'_> {
    let mut families: BTreeMap<Owner, Vec<&str>> = BTreeMap::new();
    for family in FAMILIES {
        families.entry(owner(node, family)?).or_default().push(family);
    }
    Ok(families.into_iter().map(|(owner, families)| judge(&owner, &families)).collect())
}

fn owner<'a>(node: &'a Node, family: &str) -> Result<Owner, &'a Unknown> {
    let commands = node.commands.as_ref()?;
    let prefix = format!("{}.", family.to_lowercase());
    let of_family = commands.iter().filter(|(name, _)| name.starts_with(&prefix));
    let owners: BTreeSet<&Option<String>> = of_family.map(|(_, owner)| owner).collect();
    let owner = match Vec::from_iter(owners).as_slice() {
        [] => return Ok(Owner::Nobody),
        [None] => return Ok(Owner::Server),
        [Some(module)] => module,
        [first, second, ..] => {
            let name = |owner: &Option<String>| owner.clone().unwrap_or("the server".into());
            return Ok(Owner::Others(format!("{} and {}", name(first), name(second))));
        }
    };
    let has = |command| commands.get(command).is_some_and(|of| of.as_ref() == Some(owner));
    let version = version(node, owner);
    Ok(match owner.as_str() {
        _ if has("bf.packadd") || has("cms.packincr") => {
            Owner::Splitbloom(format!("splitbloom {version}"))
        }
        "bf" if has("bf.scandump") => Owner::Bloom(format!("RedisBloom {version}")),
        "bf" if has("bf.load") => Owner::Bloom(format!("valkey-bloom {version}")),
        other => Owner::Others(format!("the module {other} {version}")),
    })
}

/// The version of a module: the text that ours have, or the number of another.
pub fn version(node: &Node, module: &str) -> String {
    let Ok(info) = &node.info else {
        return "(version not known)".into();
    };
    match (info.text(&format!("{module}_version")), info.module_version(module)) {
        ("", None) => "(version not known)".into(),
        ("", Some(number)) => {
            format!("{}.{}.{}", number / 10_000, number / 100 % 100, number % 100)
        }
        (version, _) => version.into(),
    }
}

fn judge(owner: &Owner, families: &[&str]) -> Finding {
    let names: Vec<String> = families.iter().map(|family| format!("{family}.*")).collect();
    let names = names.join(", ");
    let found = |owner: &str| format!("{names}: {owner}");
    match owner {
        Owner::Splitbloom(version) => Finding::ok(found(version)),
        Owner::Bloom(version) => Finding::advice(
            found(version),
            "`splitbloom migrate` copies its filters to a server with splitbloom",
        ),
        Owner::Server => Finding::advice(
            found("the server's own"),
            "rename them, so that splitbloom can have them (docs/install.md)",
        ),
        Owner::Others(owners) => Finding::wrong(
            found(owners),
            "splitbloom cannot be loaded beside it: remove its `loadmodule` line",
        ),
        Owner::Nobody if families.contains(&"BF") => Finding::wrong(
            found("no module"),
            "add `loadmodule /usr/lib/splitbloom/libsplitbloom.so`; if it is there, see the log",
        ),
        Owner::Nobody => Finding::ok(found("no module")),
    }
}

/// Which server it is, and whether it can load the module.
pub fn server(node: &Node) -> Findings<'_> {
    let info = node.info.as_ref()?;
    let (name, version, least) = match info.text("valkey_version") {
        "" => ("Redis", info.text("redis_version"), 7),
        version => ("Valkey", version, 8),
    };
    let mode = match (info.text("cluster_enabled"), node.is_replica()) {
        ("1", _) => ", a cluster's node",
        (_, true) => ", a replica",
        _ => "",
    };
    // There is no connection in another protocol.
    let found = format!("{name} {version}, RESP3{mode}");
    let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok());
    Ok(vec![match major {
        Some(major) if major < least => {
            Finding::wrong(found, "splitbloom needs Redis 7.0, Valkey 8 or later")
        }
        _ if info.text("loading") == "1" => {
            Finding::advice(found + ", loading its data", "try again when it has loaded them")
        }
        _ => Finding::ok(found),
    }])
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level;
    use super::super::node::tests::{silent, with_info};
    use super::*;

    const INFO: &str = "bf_version:0.1.0 (abc)\nmodule:name=bf,ver=20816,api=1\n";

    /// Who has the commands: `command module`, or `command` alone for the server's own.
    fn with_commands(info: &str, commands: &[&str]) -> Node {
        let owned = |words: &&str| match words.split_once(' ') {
            Some((command, module)) => (command.to_owned(), Some(module.to_owned())),
            None => (words.to_string(), None),
        };
        Node { commands: Ok(commands.iter().map(owned).collect()), ..with_info(info) }
    }

    fn found(node: &Node) -> Vec<(Level, String)> {
        let findings = owners(node).expect("the commands are known");
        findings.into_iter().map(|finding| (finding.level, finding.found)).collect()
    }

    #[test]
    fn whoever_has_the_commands_is_named() {
        let redis_bloom = INFO.split_once('\n').expect("two lines").1;
        for (info, commands, level, words) in [
            (INFO, &["bf.add bf", "bf.packadd bf"][..], Level::Ok, "BF.*: splitbloom 0.1.0 (abc)"),
            (redis_bloom, &["bf.scandump bf"], Level::Advice, "BF.*: RedisBloom 2.8.16"),
            (redis_bloom, &["bf.load bf"], Level::Advice, "BF.*: valkey-bloom 2.8.16"),
            (INFO, &["bf.madd rival"], Level::Wrong, "BF.*: the module rival"),
            (INFO, &["bf.add bf", "bf.madd rival"], Level::Wrong, "BF.*: bf and rival"),
            (INFO, &["bf.add"], Level::Advice, "BF.*: the server's own"),
        ] {
            let found = found(&with_commands(info, commands));
            let is_there = |(of, text): &(Level, String)| *of == level && text.starts_with(words);
            assert!(found.iter().any(is_there), "{words}: {found:?}");
            assert!(found.iter().any(|(_, text)| text.ends_with("no module")), "{found:?}");
        }
    }

    #[test]
    fn a_server_without_a_module_is_wrong_and_one_without_sketches_is_not() {
        let none = "BF.*, CF.*, CMS.*, TOPK.*, TDIGEST.*: no module";
        assert_eq!(found(&with_commands("", &["bless"])), [(Level::Wrong, none.to_owned())]);
        assert!(owners(&silent()).is_err());
    }

    #[test]
    fn servers_too_old_for_the_module_are_wrong() {
        for (info, level) in [
            ("redis_version:6.2.1", Level::Wrong),
            ("redis_version:7.0.0", Level::Ok),
            ("redis_version:7.2.4\nvalkey_version:7.2.8", Level::Wrong),
            ("redis_version:7.2.4\nvalkey_version:8.0.1", Level::Ok),
            ("redis_version:8.0.0\nloading:1", Level::Advice),
        ] {
            let node = with_info(info);
            assert_eq!(server(&node).expect("INFO is known")[0].level, level, "{info}");
        }
    }
}
