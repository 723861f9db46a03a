//! Argument lists and what they permit.

use super::*;
use rstest::rstest;

fn read(words: &str) -> Result<Mounts, Flaw> {
    let argv: Vec<String> =
        format!("bwrap {words}").split_whitespace().map(str::to_owned).collect();
    Mounts::read(&argv)
}

const BOX: &str = "--unshare-net --ro-bind / / --dev /dev --tmpfs /tmp --bind /w /w \
    --ro-bind /w/ro /w/ro --perms 0000 --tmpfs /w/mask --remount-ro /w/mask \
    --ro-bind-data 7 /w/file --bind /w/ro/rw /w/ro/rw --bind /o /tmp/o -- sh --bind / /";

#[rstest]
#[case::outside_read(Deed::Read, "/etc/x", true)]
#[case::outside_write(Deed::Write, "/etc/x", false)]
#[case::outside_create(Deed::Create, "/etc/x", false)]
#[case::write(Deed::Write, "/w/a", true)]
#[case::create(Deed::Create, "/w/a", true)]
#[case::remove(Deed::Remove, "/w/a", true)]
#[case::moved(Deed::Move, "/w/a", true)]
#[case::root_moved(Deed::Move, "/w", false)]
#[case::read_only(Deed::Write, "/w/ro/a", false)]
#[case::read_only_read(Deed::Read, "/w/ro/a", true)]
#[case::held(Deed::Remove, "/w/ro", false)]
#[case::held_moved(Deed::Move, "/w/ro", false)]
#[case::held_target(Deed::Create, "/w/file", false)]
#[case::open_again(Deed::Write, "/w/ro/rw/a", true)]
#[case::open_again_itself(Deed::Remove, "/w/ro/rw", false)]
#[case::masked(Deed::Read, "/w/mask/a", false)]
#[case::masked_create(Deed::Create, "/w/mask/a", false)]
#[case::masked_file(Deed::Read, "/w/file", false)]
#[case::masked_file_write(Deed::Write, "/w/file", false)]
#[case::beside_the_mask(Deed::Read, "/w/file2", true)]
#[case::private(Deed::Write, "/tmp/a", false)]
#[case::private_read(Deed::Read, "/tmp/a", false)]
#[case::another_name(Deed::Write, "/o/a", true)]
#[case::another_name_create(Deed::Create, "/o/a", true)]
#[case::run(Deed::Run, "/bin/sh", true)]
#[case::device(Deed::Read, "/dev/sda", false)]
#[case::network(Deed::Connect, "127.0.0.1:80", false)]
#[case::socket(Deed::Connect, "/etc/s", true)]
#[case::masked_socket(Deed::Connect, "/w/file", false)]
fn the_topmost_mount_decides(#[case] deed: Deed, #[case] object: &str, #[case] due: bool) {
    assert_eq!(read(BOX).unwrap().permits(deed, object), Ok(due));
}

#[test]
fn a_later_mount_covers_what_lies_below_it() {
    let mounts = read("--bind /w /w --ro-bind / /").unwrap();
    assert_eq!(mounts.permits(Deed::Write, "/w/a"), Ok(false));
}

#[test]
fn a_mount_holds_its_object_even_where_it_is_covered() {
    let mounts = read("--bind / / --ro-bind /w/a /w/a --bind /w /w").unwrap();
    assert_eq!(mounts.permits(Deed::Write, "/w/a"), Ok(true));
    assert_eq!(mounts.permits(Deed::Remove, "/w/a"), Ok(false));
    assert_eq!(mounts.permits(Deed::Remove, "/w/b"), Ok(true));
}

#[test]
fn a_remount_is_of_the_mount_that_is_there() {
    let mounts = read("--ro-bind / / --bind /w /w --remount-ro /w").unwrap();
    assert_eq!(mounts.permits(Deed::Write, "/w/a"), Ok(false));
    assert!(matches!(read("--ro-bind / / --remount-ro /w"), Err(Flaw::Void(_))));
}

#[rstest]
#[case("", true)]
#[case("--unshare-all", false)]
#[case("--unshare-all --share-net", true)]
fn the_network_is_the_hosts_unless_it_is_not(#[case] words: &str, #[case] due: bool) {
    assert_eq!(read(words).unwrap().permits(Deed::Connect, "127.0.0.1:80"), Ok(due));
}

#[rstest]
#[case("--bnid / /", "--bnid")]
#[case("--overlay-src /a", "--overlay-src")]
#[case("--args 7", "--args")]
#[case("--bind a /a", "\"a\"")]
#[case("--bind /a/../b /b", "/a/../b")]
fn what_the_model_does_not_know_is_no_decision(#[case] words: &str, #[case] what: &str) {
    match read(words) {
        Err(Flaw::Unknown(message)) => assert!(message.contains(what), "{message}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_word_without_its_arguments_is_void() {
    assert!(matches!(read("--bind /a"), Err(Flaw::Void(_))));
    assert!(matches!(read("--setenv A"), Err(Flaw::Void(_))));
    assert!(matches!(Mounts::read(&[]), Err(Flaw::Void(_))));
    assert!(matches!(read("--ro-bind-data -1 /a"), Err(Flaw::Void(_))));
    assert!(matches!(
        read("--bind / /").unwrap().permits(Deed::Lookup, "s"),
        Err(Flaw::Unknown(_))
    ));
}
