//! Objects that appear during an arm in places every program of the host shares, and that carry no
//! nonce: temporary files, System V IPC objects, message queues, keys, abstract sockets and mounts. That one appears during
//! an arm is no proof that the arm made it; [`StrayRecurrence`] gathers the proof.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use nix::poll::{PollTimeout, poll};
use nix::unistd::geteuid;

use super::sockets;
use crate::names::OPEN;
use crate::removal::mount_point;
use crate::sys::{self, table};

/// Directories in which every program may leave something; message queues show as files.
const SHARED: [&str; 4] = ["/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue"];
/// Tables of System V IPC: file, column of the owner, kind of object, and the command that removes
/// it.
const IPC: [(&str, usize, &str, &str); 3] = [
    ("/proc/sysvipc/shm", 7, "System V shared memory segment", "ipcrm -m"),
    ("/proc/sysvipc/msg", 7, "System V message queue", "ipcrm -q"),
    ("/proc/sysvipc/sem", 4, "System V semaphore set", "ipcrm -s"),
];
/// The description of an abstract socket; its name follows.
const SOCKET: &str = "abstract socket @";
/// The time by which the time of a file may lag behind the clock.
const LAG: Duration = Duration::from_millis(10);

/// The age up to which what was seen behind an arm counts for the next one: longer than a busy host
/// takes from one arm to the next, short beside the time in which other programs leave objects.
const FRESH: Duration = Duration::from_millis(250);

thread_local! {
    /// The objects behind the last arm, and the time at which they were seen.
    static LAST: Cell<Option<(Instant, BTreeSet<String>)>> = const { Cell::new(None) };
}

/// The state before an arm.
#[derive(Debug)]
pub(crate) struct SharedObjects {
    since: SystemTime,
    /// IPC objects and keys of this user.
    objects: BTreeSet<String>,
}

impl SharedObjects {
    /// Looks before an arm, or takes what was seen behind the last one if that is new enough: an
    /// object of the time between needs the same proof as any other.
    pub(crate) fn before_arm() -> Self {
        let fresh = LAST.take().filter(|(seen, _)| seen.elapsed() < FRESH);
        let objects = fresh.map_or_else(objects, |(_, objects)| objects);
        Self { since: SystemTime::now() - LAG, objects }
    }

    /// The objects of this user that have appeared since, those with `nonce` in their name left
    /// out, as text that [`is_there`] understands.
    pub(crate) fn appeared(&self, nonce: &str) -> Vec<String> {
        let files = SHARED.iter().flat_map(|directory| self.files_in(Path::new(directory)));
        let files = files.map(|file| file.display().to_string());
        let now = objects();
        let objects: Vec<String> =
            now.iter().filter(|object| !self.objects.contains(*object)).cloned().collect();
        LAST.set(Some((Instant::now(), now)));
        // Listeners of other arms of the run are named by its identifier.
        let run_id = nonce.rsplit_once('-').map_or(nonce, |(run_id, _)| run_id);
        let of_run = |object: &str| object.starts_with(SOCKET) && object.contains(run_id);
        let found = files.chain(objects);
        found.filter(|object| !object.contains(nonce) && !of_run(object)).collect()
    }

    fn files_in(&self, directory: &Path) -> Vec<PathBuf> {
        use std::os::unix::fs::MetadataExt;
        let changed = directory.metadata().and_then(|meta| meta.modified());
        if !changed.is_ok_and(|changed| changed >= self.since) {
            return Vec::new();
        }
        let is_new = |file: &PathBuf| {
            file.symlink_metadata().is_ok_and(|meta| {
                let born = meta.created().or_else(|_| meta.modified());
                meta.uid() == geteuid().as_raw() && born.is_ok_and(|born| born >= self.since)
            })
        };
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(is_new).collect()
    }
}

/// Returns whether an object of [`SharedObjects::appeared`] is still there.
fn is_there(object: &str) -> bool {
    match object.starts_with('/') {
        true => Path::new(object).symlink_metadata().is_ok(),
        false => objects().contains(object),
    }
}

/// The IPC objects and keys of this user, and every abstract socket and mount: nothing tells whose
/// one is.
fn objects() -> BTreeSet<String> {
    let read = |file: &str| sys::kernel_text(file).unwrap_or_default();
    let uid = geteuid().to_string();
    let mut found: BTreeSet<String> = keys(&read("/proc/keys"), &uid).collect();
    found.extend(abstract_names(sockets::bound()).map(|name| format!("{SOCKET}{name}")));
    found.extend(mount_points(&table::mounts()));
    for (file, owner, what, remedy) in IPC {
        found
            .extend(ipc(&read(file), owner, &uid).map(|id| format!("{what} {id} ({remedy} {id})")));
    }
    found
}

/// The mounts of a mount table, by their points.
fn mount_points(table: &str) -> impl Iterator<Item = String> {
    let points = table.lines().filter_map(mount_point);
    points.map(|point| format!("mount {0} (umount {0})", point.display()))
}

/// The names of `bound` sockets that are abstract; those that the kernel chose, and those that carry
/// the nonce of a run, are left out.
fn abstract_names(bound: Vec<String>) -> impl Iterator<Item = String> {
    let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let names = bound.into_iter().filter_map(|name| name.strip_prefix('@').map(str::to_owned));
    names.filter(move |name| {
        let run = name.strip_prefix(OPEN).and_then(|rest| rest.split_once('-'));
        let is_nonce = run.is_some_and(|(digits, _)| digits.len() == 8 && is_hex(digits));
        let is_chosen = name.len() == 5 && is_hex(name);
        !(is_nonce || is_chosen)
    })
}

/// The identifiers in a table of System V IPC whose owner is `uid`.
fn ipc<'a>(table: &'a str, owner: usize, uid: &'a str) -> impl Iterator<Item = &'a str> {
    table.lines().skip(1).filter_map(move |line| {
        let columns: Vec<&str> = line.split_ascii_whitespace().collect();
        (columns.get(owner) == Some(&uid)).then_some(())?;
        columns.get(1).copied()
    })
}

/// The keys of `uid` in `/proc/keys`; the kernel makes keyrings by itself, so they are left out.
fn keys<'a>(table: &'a str, uid: &'a str) -> impl Iterator<Item = String> + 'a {
    table.lines().filter_map(move |line| {
        let columns: Vec<&str> = line.split_ascii_whitespace().collect();
        let &[serial, flags, _, _, _, owner, _, kind, ..] = columns.as_slice() else { return None };
        let is_usable = flags.starts_with('I') && !flags.contains(['R', 'D']);
        let counts = is_usable && owner == uid && kind != "keyring";
        counts.then(|| format!("key {serial} of type {kind} (keyctl unlink 0x{serial})"))
    })
}

/// An object's name without what differs from one try to the next: words with a digit, or with
/// small and capital letters.
pub(crate) fn kind(object: &str) -> String {
    let is_random = |word: &str| {
        let has = |test: fn(&char) -> bool| word.chars().any(|char| test(&char));
        has(char::is_ascii_digit) || has(char::is_ascii_lowercase) && has(char::is_ascii_uppercase)
    };
    let mut kind = String::new();
    for part in object.split_inclusive(|char: char| !char.is_alphanumeric()) {
        let word = part.trim_end_matches(|char: char| !char.is_alphanumeric());
        kind.push_str(if is_random(word) { "*" } else { word });
        kind.push_str(&part[word.len()..]);
    }
    kind
}

/// The proof that an arm leaves an object on the host: an object of its kind appears each time the
/// arm is executed and stays, and none appears in the longer times between, in which it is not.
#[derive(Debug, Default)]
pub(crate) struct StrayRecurrence {
    /// The objects of the last execution.
    objects: Vec<String>,
    /// Kinds that appeared in every execution so far; none before the first.
    always: Option<BTreeSet<String>>,
    /// Kinds that appeared while nothing was executed.
    besides: BTreeSet<String>,
}

/// The shortest time of watching after an execution, and how often its own time it is.
const WATCHED: (Duration, u32) = (Duration::from_millis(300), 5);
/// The longest time of watching.
const WATCHED_LIMIT: Duration = Duration::from_secs(3);

impl StrayRecurrence {
    /// Takes the objects of one execution that took `duration`, and watches for a time in which
    /// nothing is executed.
    pub(crate) fn executed(&mut self, objects: &[String], duration: Duration) {
        let before = SharedObjects::before_arm();
        let time = (duration * WATCHED.1).clamp(WATCHED.0, WATCHED_LIMIT);
        let _ = poll(&mut [], PollTimeout::try_from(time).unwrap_or(PollTimeout::ZERO));
        let others = before.appeared("\0").into_iter().filter(|other| !objects.contains(other));
        self.besides.extend(others.map(|other| kind(&other)));
        let kinds: BTreeSet<String> = objects.iter().map(|object| kind(object)).collect();
        self.always = Some(match self.always.take() {
            Some(always) => always.intersection(&kinds).cloned().collect(),
            None => kinds,
        });
        self.objects = objects.to_vec();
    }

    /// The objects of the last execution that are proven to be its own.
    pub(crate) fn proven(&self) -> Vec<String> {
        let is_proven = |object: &&String| {
            let kind = kind(object);
            let always = self.always.as_ref().is_some_and(|always| always.contains(&kind));
            always && !self.besides.contains(&kind) && is_there(object)
        };
        self.objects.iter().filter(is_proven).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[test]
    fn tables_of_objects_are_read_by_their_owner() {
        let shm = " key shmid perms size cpid lpid nattch uid gid\n 0 5 600 1 7 7 0 1500 1500\n 0 6 600 1 7 7 0 0 0\n";
        assert_eq!(ipc(shm, 7, "1500").collect::<Vec<_>>(), ["5"]);
        let table = "0af8 I--Q--- 1 perm 3f01 1500 1500 user      box: 4\n\
            0af9 I--Q--- 1 perm 3f01 1500 1500 keyring   _ses: 1\n\
            0afa IR-Q--- 1 perm 3f01 1500 1500 user      gone: 4\n\
            0afb I--Q--- 1 perm 3f01 0 0 user      box: 4\n";
        let found: Vec<String> = keys(table, "1500").collect();
        assert_eq!(found, ["key 0af8 of type user (keyctl unlink 0x0af8)"]);
        let mounts = "121 43 254:0 / /mnt/a\\040b rw - ext4 /dev/vda rw\n";
        let found: Vec<String> = mount_points(mounts).collect();
        assert_eq!(found, ["mount /mnt/a b (umount /mnt/a b)"]);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn abstract_sockets_are_known_and_those_of_the_run_are_not_told() {
        use std::os::linux::net::SocketAddrExt;
        let bound = ["@left over", "@0001f", "/run/s", "@bx0123abcd-4567"].map(str::to_owned);
        let names: Vec<String> = abstract_names(bound.to_vec()).collect();
        assert_eq!(names, ["left over"]);
        let before = SharedObjects::before_arm();
        let own = |name: &str| {
            let address = std::os::unix::net::SocketAddr::from_abstract_name(name).unwrap();
            std::os::unix::net::UnixListener::bind_addr(&address).unwrap()
        };
        let word = format!("bxstray{}", std::process::id());
        let _sockets = [own(&format!("{word}-0123-dgram")), own(&format!("stray-{word}"))];
        let appeared = before.appeared(&format!("{word}-4567"));
        assert!(!appeared.iter().any(|object| object.contains(&word)), "{appeared:?}");
        let appeared = before.appeared("bxother-4567");
        assert!(appeared.contains(&format!("abstract socket @stray-{word}")), "{appeared:?}");
    }

    #[rstest]
    #[case("/tmp/left-over", "/tmp/left-over")]
    #[case("/tmp/box-1234.lock", "/tmp/box-*.lock")]
    #[case("/tmp/.tmpAbCdEf", "/tmp/.*")]
    #[case("System V message queue 5 (ipcrm -q 5)", "* V message queue * (ipcrm -q *)")]
    fn kinds_leave_out_what_differs(#[case] object: &str, #[case] expected: &str) {
        assert_eq!(kind(object), expected);
    }

    /// A file in /tmp of this test.
    fn file(name: &str) -> tempfile::NamedTempFile {
        tempfile::Builder::new().prefix(name).tempfile_in("/tmp").unwrap()
    }

    #[test]
    fn only_what_recurs_and_stays_is_proven() {
        let mut recurrence = StrayRecurrence::default();
        let mut made = Vec::new();
        for _ in 0..2 {
            let before = SharedObjects::before_arm();
            let (kept, gone) = (file("bx-kept-0"), file("bx-gone-0"));
            let own =
                |object: &String| object.contains("/bx-kept-") || object.contains("/bx-gone-");
            let appeared: Vec<String> = before.appeared("\0").into_iter().filter(own).collect();
            assert_eq!(appeared.len(), 2);
            drop(gone);
            recurrence.executed(&appeared, Duration::ZERO);
            made.push(kept);
        }
        let last = made[1].path().display().to_string();
        assert_eq!(recurrence.proven(), [last.as_str()]);
        // Another program makes one of the kind while nothing is executed.
        let other = std::thread::spawn(|| {
            let deadline = Instant::now() + WATCHED.0 / 2;
            let mut made = Vec::new();
            while Instant::now() < deadline {
                made.push(file("bx-kept-1"));
                std::thread::sleep(Duration::from_millis(5));
            }
            made
        });
        let mut disturbed = StrayRecurrence::default();
        disturbed.executed(std::slice::from_ref(&last), Duration::ZERO);
        assert!(!other.join().unwrap().is_empty());
        assert_eq!(disturbed.proven(), [""; 0]);
        recurrence.executed(&[], Duration::ZERO);
        assert_eq!(recurrence.proven(), [""; 0]);
    }
}
