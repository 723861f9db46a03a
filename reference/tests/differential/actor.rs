//! The command inside: does what it reads on stdin, one deed after the other, and says what each of
//! them gave.

use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

/// Something done to a path below the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deed {
    /// Reads a file, or lists a directory.
    Read,
    /// Opens a file for writing.
    Write,
    /// Makes a file, and removes it.
    Make,
    /// Makes a directory, and removes it.
    MakeDirectory,
    /// Makes a symbolic link, and removes it.
    Link,
}

impl Deed {
    const ALL: [(Self, &str); 5] = [
        (Self::Read, "read"),
        (Self::Write, "write"),
        (Self::Make, "make"),
        (Self::MakeDirectory, "directory"),
        (Self::Link, "link"),
    ];

    /// Its word.
    pub(crate) fn act_name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    fn named(word: &str) -> Self {
        Self::ALL.iter().find(|(_, name)| *name == word).unwrap().0
    }
}

/// The deeds as the actor reads them.
pub(crate) fn spelt(deeds: &[(Deed, String)]) -> String {
    deeds.iter().map(|(deed, path)| format!("{}\0{path}\0", deed.act_name())).collect()
}

/// Does what stdin says; prints `done` or the error's name, one line each.
pub(crate) fn act() {
    let mut text = String::new();
    io::stdin().read_to_string(&mut text).unwrap();
    let mut words = text.split_terminator('\0');
    while let (Some(deed), Some(path)) = (words.next(), words.next()) {
        let path = if path.is_empty() { "." } else { path };
        match done(Deed::named(deed), Path::new(path)) {
            Ok(()) => println!("done"),
            Err(error) => {
                let errno = nix::errno::Errno::from_raw(error.raw_os_error().unwrap_or(0));
                println!("{errno:?}");
            }
        }
    }
}

fn done(deed: Deed, path: &Path) -> io::Result<()> {
    match deed {
        Deed::Read if fs::metadata(path)?.is_dir() => fs::read_dir(path).map(drop),
        Deed::Read => fs::read(path).map(drop),
        Deed::Write => OpenOptions::new().append(true).open(path).map(drop),
        Deed::Make => {
            OpenOptions::new().write(true).create_new(true).open(path)?;
            fs::remove_file(path)
        }
        Deed::MakeDirectory => fs::create_dir(path).and_then(|()| fs::remove_dir(path)),
        Deed::Link => {
            std::os::unix::fs::symlink("nowhere", path).and_then(|()| fs::remove_file(path))
        }
    }
}
