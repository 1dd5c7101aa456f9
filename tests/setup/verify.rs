//! `scripts/verify`, which `make verify` runs in the folder of a release.

use splitbloom_harness::Folder;
use std::fs;
use std::path::Path;
use std::process::Command;

fn run(program: &str, arguments: &[&str], folder: &Path) -> (bool, String) {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).env_remove("KEY");
    let output = command.output().expect("it runs");
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

#[test]
fn a_release_is_unchanged_only_if_each_file_in_it_is_listed_under_its_whole_name() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/verify");
    let folder = Folder::fresh();
    let folder = folder.path();
    for name in ["a.deb", "b.deb"] {
        fs::write(folder.join(name), name).expect("a file");
    }
    let sums = "sha256sum -- *.deb >SHA256SUMS";
    assert!(run("sh", &["-c", sums], folder).0);
    let verify = || run(script, &["."], folder);
    assert!(verify().0, "{}", verify().1);
    for name in ["c.deb", "SHA256SUMS-install.deb", "SHA256SUMS.bak", "a.deb\nb.deb", " a.deb"] {
        let path = folder.join(name);
        fs::write(&path, "other").expect("a file");
        let (is_good, text) = verify();
        assert!(!is_good && text.contains("not in SHA256SUMS"), "{name:?}: {text}");
        fs::remove_file(path).expect("it was there");
    }
    fs::write(folder.join("a.deb"), "other").expect("a file");
    assert!(!verify().0, "a changed file");
}
