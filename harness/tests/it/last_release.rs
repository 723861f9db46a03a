//! What a release is compared with: the script of the workflows that gets the last one, by plain shell,
//! with a `gh` that knows one release and what is attested of it.

use std::process::{Command, Output};

use rstest::rstest;

use crate::support::{Place, has};

const TARGET: &str = "x86_64-unknown-linux-musl";
const TAG: &str = "v1.2.3";
/// What the release's own workflow signs is verified by these words alone.
const BY_RELEASE: &str = "--repo who/what --source-ref refs/tags/v1.2.3 \
                          --signer-workflow who/what/.github/workflows/release.yml";

/// Serves the files in `assets`; a line of `attested` is a digest and the words that verify it.
const GH: &str = "#!/bin/sh
set -eu
case \"$1 $2\" in
'release view') echo v1.2.3 ;;
'release download')
    found=1
    while [ $# -gt 0 ]; do
        case $1 in
            --dir) to=$2 ;;
            --pattern) if cp \"PLACE/assets/$2\" \"$to\" 2>/dev/null; then found=0; fi ;;
        esac
        shift
    done
    exit $found ;;
'attestation verify')
    digest=$(sha256sum \"$3\" | cut -d ' ' -f 1)
    shift 3
    grep -qxF -- \"$digest $*\" PLACE/attested ;;
*) exit 9 ;;
esac
";

/// A release of an archive and a record, which `by` verifies.
struct LastRelease {
    place: Place,
}

impl LastRelease {
    fn attested(by: &str) -> Self {
        let place = Place::new();
        place.program("tools/gh", &GH.replace("PLACE", &place.arg(".")));
        let (archive, record) = (Self::archive(), Self::record());
        let name = archive.strip_suffix(".tgz").unwrap();
        place.write(&format!("made/{name}/boxproof"), "the program");
        place.write(&format!("assets/{record}"), "the record\n");
        let packed = place.arg(&format!("assets/{archive}"));
        let mut tar = Command::new("tar");
        tar.args(["-C", &place.arg("made"), "-czf", &packed, name]);
        assert!(tar.status().unwrap().success());
        let release = Self { place };
        let lines = [archive, record].map(|name| format!("{} {by}\n", release.digest(&name)));
        release.place.write("attested", &lines.concat());
        release
    }

    fn archive() -> String {
        format!("boxproof-{TARGET}-{TAG}.tgz")
    }

    fn record() -> String {
        format!("reference-{TARGET}-ordinary.ndjson")
    }

    fn digest(&self, name: &str) -> String {
        let bytes = std::fs::read(self.place.path(&format!("assets/{name}"))).unwrap();
        boxproof::attestation::sha256(&bytes)
    }

    fn get(&self) -> Output {
        let tree = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let mut script = Command::new(tree.join(".github/workflows/last-release.sh"));
        let path = format!("{}:{}", self.place.arg("tools"), std::env::var("PATH").unwrap());
        script.args([TARGET, &self.place.arg("last")]);
        script.env("PATH", path).env("GITHUB_REPOSITORY", "who/what").output().unwrap()
    }

    /// The names in the directory that it was put into.
    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.place.path("last")).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

#[test]
fn the_last_release_is_its_program_and_its_record() {
    let release = LastRelease::attested(BY_RELEASE);
    let got = release.get();
    assert!(got.status.success(), "{}", String::from_utf8_lossy(&got.stderr));
    assert_eq!(release.names(), ["boxproof", "reference-ordinary.ndjson"]);
    let record = std::fs::read_to_string(release.place.path("last/reference-ordinary.ndjson"));
    assert_eq!(record.unwrap(), "the record\n");
}

#[rstest]
#[case::changed_record("record", "changed", "reference-TARGET-ordinary.ndjson carries no")]
#[case::changed_archive("archive", "changed", "boxproof-TARGET-v1.2.3.tgz carries no attestation")]
#[case::no_record("record", "removed", "release v1.2.3 has no reference-TARGET-ordinary.ndjson")]
#[case::no_archive("archive", "removed", "release v1.2.3 has no boxproof-TARGET-v1.2.3.tgz")]
#[case::unsigned_record("record", "unsigned", "reference-TARGET-ordinary.ndjson carries no")]
fn a_release_that_is_not_vouched_for_is_refused_whole(
    #[case] asset: &str,
    #[case] how: &str,
    #[case] says: &str,
) {
    let release = LastRelease::attested(BY_RELEASE);
    let name = if asset == "record" { LastRelease::record() } else { LastRelease::archive() };
    match how {
        "changed" => drop(release.place.write(&format!("assets/{name}"), "another\n")),
        "removed" => std::fs::remove_file(release.place.path(&format!("assets/{name}"))).unwrap(),
        _ => {
            let own = release.digest(&name);
            let text = std::fs::read_to_string(release.place.path("attested")).unwrap();
            let others = text.lines().filter(|line| !line.starts_with(&own));
            release.place.write("attested", &(others.collect::<Vec<_>>().join("\n") + "\n"));
        }
    }
    refused(&release, &says.replace("TARGET", TARGET));
}

/// A signature of another workflow, or for another tag, is none.
#[rstest]
#[case(&BY_RELEASE.replace("v1.2.3", "v1.2.2"))]
#[case(&BY_RELEASE.replace("release.yml", "ci.yml"))]
#[case(&BY_RELEASE.replace("--source-ref refs/tags/v1.2.3 ", ""))]
fn what_another_workflow_or_tag_has_signed_is_refused(#[case] by: &str) {
    refused(&LastRelease::attested(by), "carries no attestation of release v1.2.3");
}

/// Nothing of a refused release is left to be executed or compared with.
#[track_caller]
fn refused(release: &LastRelease, says: &str) {
    let got = release.get();
    assert_eq!(got.status.code(), Some(1));
    let said = String::from_utf8_lossy(&got.stdout).into_owned();
    has(&said, "::error title=last release::");
    has(&said, says);
    assert!(release.names().is_empty(), "{:?}", release.names());
}
