//! Argument lists and what they permit.

use super::*;
use rstest::rstest;

fn read(words: &str) -> Result<Mounts, ModelError> {
    let argv: Vec<String> =
        format!("bwrap {words}").split_whitespace().map(str::to_owned).collect();
    Mounts::read(&argv)
}

const BOX: &str = "--unshare-net --ro-bind / / --dev /dev --tmpfs /tmp --bind /w /w \
    --ro-bind /w/ro /w/ro --perms 0000 --tmpfs /w/mask --remount-ro /w/mask \
    --ro-bind-data 7 /w/file --bind /w/ro/rw /w/ro/rw --bind /o /tmp/o -- sh --bind / /";

#[rstest]
#[case::outside_read(ObjectOperation::Read, "/etc/x", true)]
#[case::outside_write(ObjectOperation::Write, "/etc/x", false)]
#[case::outside_create(ObjectOperation::Create, "/etc/x", false)]
#[case::write(ObjectOperation::Write, "/w/a", true)]
#[case::create(ObjectOperation::Create, "/w/a", true)]
#[case::remove(ObjectOperation::Remove, "/w/a", true)]
#[case::moved(ObjectOperation::Move, "/w/a", true)]
#[case::root_moved(ObjectOperation::Move, "/w", false)]
#[case::read_only(ObjectOperation::Write, "/w/ro/a", false)]
#[case::read_only_read(ObjectOperation::Read, "/w/ro/a", true)]
#[case::held(ObjectOperation::Remove, "/w/ro", false)]
#[case::held_moved(ObjectOperation::Move, "/w/ro", false)]
#[case::held_target(ObjectOperation::Create, "/w/file", false)]
#[case::open_again(ObjectOperation::Write, "/w/ro/rw/a", true)]
#[case::open_again_itself(ObjectOperation::Remove, "/w/ro/rw", false)]
#[case::masked(ObjectOperation::Read, "/w/mask/a", false)]
#[case::masked_create(ObjectOperation::Create, "/w/mask/a", false)]
#[case::masked_file(ObjectOperation::Read, "/w/file", false)]
#[case::masked_file_write(ObjectOperation::Write, "/w/file", false)]
#[case::beside_the_mask(ObjectOperation::Read, "/w/file2", true)]
#[case::private(ObjectOperation::Write, "/tmp/a", false)]
#[case::private_read(ObjectOperation::Read, "/tmp/a", false)]
#[case::another_name(ObjectOperation::Write, "/o/a", true)]
#[case::another_name_create(ObjectOperation::Create, "/o/a", true)]
#[case::run(ObjectOperation::Run, "/bin/sh", true)]
#[case::device(ObjectOperation::Read, "/dev/sda", false)]
#[case::network(ObjectOperation::Connect, "127.0.0.1:80", false)]
#[case::socket(ObjectOperation::Connect, "/etc/s", true)]
#[case::masked_socket(ObjectOperation::Connect, "/w/file", false)]
fn the_topmost_mount_decides(
    #[case] deed: ObjectOperation,
    #[case] object: &str,
    #[case] due: bool,
) {
    assert_eq!(read(BOX).unwrap().permits(deed, object), Ok(due));
}

#[test]
fn a_later_mount_covers_what_lies_below_it() {
    let mounts = read("--bind /w /w --ro-bind / /").unwrap();
    assert_eq!(mounts.permits(ObjectOperation::Write, "/w/a"), Ok(false));
}

#[test]
fn a_mount_holds_its_object_even_where_it_is_covered() {
    let mounts = read("--bind / / --ro-bind /w/a /w/a --bind /w /w").unwrap();
    assert_eq!(mounts.permits(ObjectOperation::Write, "/w/a"), Ok(true));
    assert_eq!(mounts.permits(ObjectOperation::Remove, "/w/a"), Ok(false));
    assert_eq!(mounts.permits(ObjectOperation::Remove, "/w/b"), Ok(true));
}

#[test]
fn a_remount_is_of_the_mount_that_is_there() {
    let mounts = read("--ro-bind / / --bind /w /w --remount-ro /w").unwrap();
    assert_eq!(mounts.permits(ObjectOperation::Write, "/w/a"), Ok(false));
    assert!(matches!(read("--ro-bind / / --remount-ro /w"), Err(ModelError::Void(_))));
}

#[rstest]
#[case("", true)]
#[case("--unshare-all", false)]
#[case("--unshare-all --share-net", true)]
fn the_network_is_the_hosts_unless_it_is_not(#[case] words: &str, #[case] due: bool) {
    assert_eq!(read(words).unwrap().permits(ObjectOperation::Connect, "127.0.0.1:80"), Ok(due));
}

#[rstest]
#[case("--bnid / /", "--bnid")]
#[case("--overlay-src /a", "--overlay-src")]
#[case("--args 7", "--args")]
#[case("--bind a /a", "\"a\"")]
#[case("--bind /a/../b /b", "/a/../b")]
fn what_the_model_does_not_know_is_no_decision(#[case] words: &str, #[case] what: &str) {
    match read(words) {
        Err(ModelError::Unknown(message)) => assert!(message.contains(what), "{message}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_word_without_its_arguments_is_void() {
    assert!(matches!(read("--bind /a"), Err(ModelError::Void(_))));
    assert!(matches!(read("--setenv A"), Err(ModelError::Void(_))));
    assert!(matches!(Mounts::read(&[]), Err(ModelError::Void(_))));
    assert!(matches!(read("--ro-bind-data -1 /a"), Err(ModelError::Void(_))));
    assert!(matches!(
        read("--bind / /").unwrap().permits(ObjectOperation::Lookup, "s"),
        Err(ModelError::Unknown(_))
    ));
}
