//! The place at which building a box failed: [`FailurePoint`], encoded as one number on the control
//! socket.

use nix::errno::Errno;

use super::layout::{MountSource, MountWork, ViewLayout};

/// Declares the calls once, with their words.
macro_rules! calls {
    ($($name:ident = $words:literal),* $(,)?) => {
        /// The operation that failed.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub(super) enum BuildCall { $($name),* }

        const CALLS: &[(BuildCall, &str)] = &[$((BuildCall::$name, $words)),*];
    };
}

calls! {
    Clone = "clone into new namespaces",
    Descriptors = "closing inherited descriptors",
    Session = "setsid",
    Death = "tying the sandbox to its launcher",
    Maps = "writing the user and group maps",
    Loopback = "raising the loopback interface",
    Door = "listening for what leads out of the network",
    Private = "making the mounts private",
    Scratch = "a tmpfs for the masks",
    Pivot = "pivot_root",
    Detach = "detaching the host's root",
    Privileges = "dropping privileges",
    Source = "opening the source",
    Copy = "open_tree",
    Attributes = "mount_setattr",
    Fresh = "making the file system",
    Target = "opening the place",
    Make = "making the place",
    Attach = "move_mount",
    Serve = "serving the command",
}

/// One call, for one piece of work or for the whole box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FailurePoint {
    /// Number of the work in the layout.
    pub(super) work: Option<u32>,
    /// The operation.
    pub(super) call: BuildCall,
}

/// Bits that hold the call.
const CALL_BITS: u32 = 8;
const NO_WORK: u32 = u32::MAX >> CALL_BITS;

impl FailurePoint {
    /// Returns the place as one number.
    pub(super) fn code(self) -> u32 {
        let work = self.work.unwrap_or(NO_WORK).min(NO_WORK);
        work << CALL_BITS | u32::from(self.call as u8)
    }

    /// Decodes a number; `None` if it names no call.
    pub(super) fn from_code(code: u32) -> Option<Self> {
        let call = CALLS.get((code & 0xff) as usize).map(|(call, _)| *call)?;
        let work = Some(code >> CALL_BITS).filter(|work| *work != NO_WORK);
        Some(Self { work, call })
    }

    /// Returns whether it is the mount of the box's own `/proc`.
    pub(super) fn makes_proc(self, layout: &ViewLayout) -> bool {
        let work = self.work.and_then(|number| layout.works.get(number as usize));
        let proc = matches!(work, Some(MountWork::Attach { source: MountSource::Proc, .. }));
        proc && self.call == BuildCall::Fresh
    }

    /// Describes the place in words, with the errno: "move_mount of the mask over /path: EPERM …".
    pub(super) fn describe(self, layout: &ViewLayout, errno: Errno) -> String {
        let words = CALLS[self.call as usize].1;
        let work = self.work.and_then(|number| layout.works.get(number as usize));
        let error = std::io::Error::from(errno);
        match work {
            None => format!("{words}: {errno:?} ({error})"),
            Some(work) => format!("{words} of {work}: {errno:?} ({error})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_round_trips() {
        for (index, (call, _)) in CALLS.iter().enumerate() {
            assert_eq!(*call as usize, index);
            for work in [None, Some(0), Some(9000)] {
                let place = FailurePoint { work, call: *call };
                assert_eq!(FailurePoint::from_code(place.code()), Some(place));
            }
        }
        assert_eq!(FailurePoint::from_code(CALLS.len() as u32), None);
    }
}
