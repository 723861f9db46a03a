//! The reasons a verdict can have, as short stable codes, and a verdict with one: [`Reason`] and
//! [`VerdictFinding`].

use boxproof_reports::Verdict;

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident = $word:literal),+ $(,)?) => {
        /// The reason for a verdict. The words are part of the record's format.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Reason {
            $($(#[$doc])* $name),+
        }

        impl Reason {
            /// Every reason.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// The code in records and in lists of known failures.
            pub fn code(self) -> &'static str {
                match self {
                    $(Self::$name => $word),+
                }
            }
        }
    };
}

reasons! {
    /// The act is not possible without a sandbox either.
    ControlFailed = "control-failed",
    /// An earlier step of the sequence failed in the sandbox.
    StepFailed = "step-failed",
    /// The backend cannot be asked for this policy.
    Inexpressible = "inexpressible",
    /// The harness did not do or see what it should have.
    Harness = "harness",
    /// An effect could not be read.
    Unread = "unread",
    /// The host was short of something that the arm needs.
    Host = "host",
    /// The sandbox could not be built.
    SetupFailed = "setup-failed",
    /// The confined run did not end in time.
    TimedOut = "timed-out",
    /// The backend declined a policy it should take.
    PolicyRefused = "policy-refused",
    /// An allowed act was refused.
    Refused = "refused",
    /// The run ended otherwise than promised.
    Exit = "exit",
    /// A refusal is promised, and there was none.
    NotRefused = "not-refused",
    /// The act failed for a reason that is not the denial meant.
    WrongErrno = "wrong-errno",
    /// The act was killed by a signal that is not the denial meant.
    WrongSignal = "wrong-signal",
    /// The probe said nothing.
    NoRecord = "no-record",
    /// The act left no trace where the case asks for one.
    NoTrace = "no-trace",
    /// The act was under way, and then nothing more was heard of it.
    CutShort = "cut-short",
    /// The run lived through the event that ends it without a sandbox.
    LivedOn = "lived-on",
    /// The terminal stopped the command, which never went on.
    Stopped = "stopped",
    /// The record or answer is not trusted.
    UntrustedRecord = "untrusted-record",
    /// The shell's codes for a program that was never executed.
    NotExecuted = "not-executed",
    /// The act failed without saying why.
    NoReason = "no-reason",
    /// The host saw what should not be, or did not see what should.
    Oracle = "oracle",
    /// Stdout or stderr lacks or holds what it should not.
    Stream = "stream",
    /// The question is answered otherwise.
    Decision = "decision",
    /// The explanation names another rule.
    Rule = "rule",
    /// The native result is missing or contradicts what was seen.
    Result = "result",
    /// A moment came too early, too late, in another order or not at all.
    Timing = "timing",
    /// Stdout differs from the control's.
    Stdout = "stdout",
    /// The end state differs from the control's.
    Tree = "tree",
    /// The act was refused under the wider policy of the twin.
    Twin = "twin",
    /// Under the twin nothing was learnt.
    TwinFailed = "twin-failed",
    /// The twin did not end in time.
    TwinTimedOut = "twin-timed-out",
    /// A process or object outlived the run or crossed into it.
    LeftBehind = "left-behind",
    /// A file is there that the act does not make.
    Residue = "residue",
    /// The marker left no receipt, or a part of the channel did not come up.
    Marker = "marker",
    /// An action left no receipt, or a receipt is there too many.
    Receipts = "receipts",
    /// A receipt says something else than was done.
    Receipt = "receipt",
    /// A chain is broken, or is not broken where it must be.
    Chain = "chain",
    /// An answer is another one than promised.
    Answer = "answer",
    /// An answer is another one than without the channel.
    Altered = "altered",
    /// A text or a key that should be nowhere is somewhere.
    Disclosed = "disclosed",
    /// An event that a step waits for did not come, or a part ended by itself.
    Unmet = "unmet",
    /// Fewer runs took place than the case asks for.
    NothingRan = "nothing-ran",
    /// The outcome differs with ordinary names and programs.
    Blind = "blind",
}

/// A verdict with its reason, on the way to a judgement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct VerdictFinding {
    pub(super) verdict: Verdict,
    pub(super) reason: Reason,
    pub(super) message: String,
}

impl VerdictFinding {
    pub(super) fn new(verdict: Verdict, reason: Reason, message: impl Into<String>) -> Self {
        Self { verdict, reason, message: message.into() }
    }

    pub(super) fn contract(reason: Reason, message: impl Into<String>) -> Self {
        Self::new(Verdict::Contract, reason, message)
    }

    pub(super) fn over_block(reason: Reason, message: impl Into<String>) -> Self {
        Self::new(Verdict::OverBlock, reason, message)
    }

    pub(super) fn error(reason: Reason, message: impl Into<String>) -> Self {
        Self::new(Verdict::Error, reason, message)
    }

    pub(super) fn inconclusive(reason: Reason, message: impl Into<String>) -> Self {
        Self::new(Verdict::Inconclusive, reason, message)
    }

    pub(super) fn unread(message: impl Into<String>) -> Self {
        Self::new(Verdict::ProbeBroken, Reason::Unread, message)
    }

    /// Appends the message of `other`.
    pub(super) fn and(self, other: &Self) -> Self {
        let message = format!("{}; besides, {}", self.message, other.message);
        Self { message, ..self }
    }

    /// Returns whether the finding is a fault of the backend.
    pub(super) fn is_judged(&self) -> bool {
        use Verdict::{Contract, Leak, OverBlock, UnderBlock};
        matches!(self.verdict, UnderBlock | Leak | OverBlock | Contract)
    }

    /// Returns the weight of the finding, heaviest first: an observed effect outweighs a missing
    /// observation.
    fn rank(&self) -> u8 {
        match self.verdict {
            Verdict::UnderBlock => 0,
            Verdict::Leak => 1,
            Verdict::OverBlock | Verdict::Contract => 2,
            Verdict::Error | Verdict::ProbeBroken => 3,
            _ => 4,
        }
    }
}

/// Returns the gravest finding, the first of several alike; `Ok` if there is none.
pub(super) fn gravest(
    looks: impl IntoIterator<Item = Result<(), VerdictFinding>>,
) -> Result<(), VerdictFinding> {
    let found = looks.into_iter().filter_map(Result::err);
    found.min_by_key(VerdictFinding::rank).map_or(Ok(()), Err)
}
