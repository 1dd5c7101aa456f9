//! The documents as packages contain them.

use super::{files_below, root};
use pulldown_cmark::{Event, Parser, Tag};
use splitbloom_harness::Folder;
use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn documents_in_a_package_link_only_to_what_it_contains() {
    let folder = Folder::fresh();
    let folder = folder.path().join("documents");
    let packed = Command::new(root().join("scripts/package-documents")).arg(&folder).status();
    assert!(packed.is_ok_and(|status| status.success()));
    let files = files_below(&folder);
    for name in
        ["README.md", "docs/operate.md", "docs/idea.svg", "examples/monitoring/splitbloom.lua"]
    {
        assert!(files.contains(&folder.join(name)), "{name} in {files:?}");
    }
    let mut links = 0;
    for file in &files {
        if file.extension().is_some_and(|extension| extension == "md") {
            for link in links_of(file) {
                let target = file.parent().expect("a folder").join(&link);
                assert!(target.exists(), "{}: {link}", file.display());
                links += 1;
            }
        }
    }
    assert!(links > 50, "{links}");
}

/// The links of a document to files.
fn links_of(document: &Path) -> Vec<String> {
    let text = fs::read_to_string(document).expect("a document");
    let links = Parser::new(&text).filter_map(|event| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
            Some(dest_url.into_string())
        }
        _ => None,
    });
    let links = links.filter(|link| !link.contains("://") && !link.starts_with("mailto:"));
    let files = links.filter_map(|link| Some(link.split('#').next()?.to_owned()));
    files.filter(|link| !link.is_empty()).collect()
}
