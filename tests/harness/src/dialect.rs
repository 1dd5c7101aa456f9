//! Which server this is, and what it supports.

use crate::Connection;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dialect {
    Redis { major: u32, minor: u32 },
    Valkey { major: u32, minor: u32 },
}

impl Dialect {
    pub fn of(db: &mut Connection) -> Dialect {
        let info = db.run("INFO server").text();
        let version = |field: &str| {
            info.lines().find_map(|line| line.strip_prefix(field)).map(major_and_minor)
        };
        match (version("valkey_version:"), version("redis_version:")) {
            (Some((major, minor)), _) => Dialect::Valkey { major, minor },
            (None, Some((major, minor))) => Dialect::Redis { major, minor },
            (None, None) => panic!("neither Redis nor Valkey:\n{info}"),
        }
    }

    /// Modules can add their commands to the server's ACL categories.
    pub fn has_module_acl_categories(self) -> bool {
        self.is_valkey() || self >= Dialect::Redis { major: 7, minor: 2 }
    }

    /// Modules can create ACL categories.
    pub fn has_own_acl_category(self) -> bool {
        match self {
            Dialect::Redis { .. } => self >= Dialect::Redis { major: 7, minor: 4 },
            Dialect::Valkey { major, .. } => major >= 8,
        }
    }

    /// Modules can register settings without their name as a prefix.
    pub fn has_unprefixed_settings(self) -> bool {
        !self.is_valkey() && self >= Dialect::Redis { major: 8, minor: 0 }
    }

    /// The name by which CONFIG knows a setting of ours.
    pub fn spelled(self, name: &str) -> String {
        match name.split_once('.') {
            Some(("cf", own)) if !self.has_unprefixed_settings() => format!("bf.cf-{own}"),
            Some(("cms", own)) if !self.has_unprefixed_settings() => format!("sketch.cms-{own}"),
            _ => name.to_owned(),
        }
    }

    fn is_valkey(self) -> bool {
        matches!(self, Dialect::Valkey { .. })
    }
}

fn major_and_minor(version: &str) -> (u32, u32) {
    let mut numbers =
        version.split('.').map(|number| number.parse().expect("a version of numbers and dots"));
    (numbers.next().expect("a major version"), numbers.next().expect("a minor version"))
}
