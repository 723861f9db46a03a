//! The encoding of [`ForbiddenNames`] as bytes, in which a mechanism that starts a program passes it on.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::forbidden_names::{
    AbsenceReason, AbsentName, ForbiddenNames, FuturePattern, ObservedCalls,
};
use crate::policy::path_glob::PathGlob;

/// The letter of each reason.
const REASONS: [(AbsenceReason, u8); 4] = [
    (AbsenceReason::Hide, b'h'),
    (AbsenceReason::Deny, b'd'),
    (AbsenceReason::Link, b'l'),
    (AbsenceReason::Protect, b'p'),
];
/// The letter of a place that is free, and of a pattern.
const FREE: u8 = b'f';
const PATTERN: u8 = b'g';
/// The letter of a socket that may be reached; with an empty path, that others may not.
const SOCKET: u8 = b's';
/// The letter of the entry that has refused calls looked at.
const OBSERVED: u8 = b'o';
/// The bytes of a flag, cleared and set.
const FLAGS: [u8; 2] = [b'0', b'1'];

impl ForbiddenNames {
    /// Fields that end in a NUL, four of each entry: letter, flags, path, pattern. A profile is not
    /// among them.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut entry = |letter: u8, flags: [bool; 2], path: &Path, pattern: &str| {
            let flags = flags.map(|flag| FLAGS[usize::from(flag)]);
            for field in [&[letter], &flags[..], path.as_os_str().as_bytes(), pattern.as_bytes()] {
                bytes.extend_from_slice(field);
                bytes.push(0);
            }
        };
        for AbsentName { path, folds, by } in &self.names {
            let letter = REASONS.iter().find(|(reason, _)| reason == by).map(|(_, letter)| *letter);
            entry(letter.unwrap_or(b'd'), [*folds, false], path, "");
        }
        if self.observed != ObservedCalls::Nothing {
            entry(OBSERVED, [self.observed == ObservedCalls::All, false], Path::new(""), "");
        }
        self.free.iter().for_each(|path| entry(FREE, [false; 2], path, ""));
        if let Some(sockets) = &self.sockets {
            let all = std::iter::once(Path::new("")).chain(sockets.iter().map(PathBuf::as_path));
            all.for_each(|path| entry(SOCKET, [false; 2], path, ""));
        }
        for FuturePattern { glob, folds, hides } in &self.globs {
            entry(PATTERN, [*folds, *hides], glob.base(), &glob.to_string());
        }
        bytes
    }

    /// Decodes the bytes; `None` if they are not whole.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut held = Self::default();
        let mut fields =
            bytes.split_inclusive(|byte| *byte == 0).map(|field| field.strip_suffix(b"\0"));
        while let Some(letter) = fields.next() {
            let [letter, flags, path, pattern] =
                [letter?, fields.next()??, fields.next()??, fields.next()??];
            let path = PathBuf::from(OsString::from_vec(path.to_vec()));
            let [folds, hides] = [0, 1].map(|at| flags.get(at) == Some(&FLAGS[1]));
            match letter {
                [FREE] => held.free.push(path),
                [OBSERVED] if folds => held.observed = ObservedCalls::All,
                [OBSERVED] => held.observed = ObservedCalls::Seldom,
                [SOCKET] if path.as_os_str().is_empty() => held.sockets = Some(Vec::new()),
                [SOCKET] => held.sockets.as_mut()?.push(path),
                [PATTERN] => {
                    let glob =
                        PathGlob::parse(std::str::from_utf8(pattern).ok()?).ok()?.based(path);
                    held.globs.push(FuturePattern { glob, folds, hides });
                }
                [letter] => {
                    let by = REASONS.iter().find(|(_, known)| known == letter)?.0;
                    held.names.push(AbsentName { path, folds, by });
                }
                _ => return None,
            }
        }
        Some(held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held() -> ForbiddenNames {
        let name = |path: &[u8], folds, by| AbsentName {
            path: PathBuf::from(OsString::from_vec(path.to_vec())),
            folds,
            by,
        };
        let glob = PathGlob::parse("/alias/**/*.env").unwrap().based("/w".into());
        ForbiddenNames {
            names: vec![
                name(b"/w/.git", false, AbsenceReason::Protect),
                name(b"/w/\xff\nx", true, AbsenceReason::Hide),
                name(b"/w/l", false, AbsenceReason::Link),
                name(b"/w/d", false, AbsenceReason::Deny),
            ],
            free: vec!["/w/.inferoa/tmp".into()],
            globs: vec![FuturePattern { glob, folds: true, hides: false }],
            profile: None,
            sockets: Some(vec!["/run/s".into()]),
            observed: ObservedCalls::All,
        }
    }

    #[test]
    fn what_is_handed_over_arrives() {
        assert_eq!(ForbiddenNames::decode(&held().encode()), Some(held()));
        assert_eq!(ForbiddenNames::decode(b""), Some(ForbiddenNames::default()));
    }

    #[test]
    fn what_is_cut_is_nothing() {
        let bytes = held().encode();
        let whole = [0, bytes.len()];
        let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == 0).map(|(at, _)| at + 1);
        let entries: Vec<usize> = ends.skip(3).step_by(4).chain(whole).collect();
        for cut in (0..bytes.len()).filter(|cut| !entries.contains(cut)) {
            assert_eq!(ForbiddenNames::decode(&bytes[..cut]), None, "{cut}");
        }
    }
}
