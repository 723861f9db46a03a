//! The names of errnos and signals, of Linux and macOS.

use crate::nearest::suggestion;

const ERRNOS: &str = "\
    E2BIG EACCES EADDRINUSE EADDRNOTAVAIL EADV EAFNOSUPPORT EAGAIN EALREADY EAUTH EBADARCH EBADE \
    EBADEXEC EBADF EBADFD EBADMACHO EBADMSG EBADR EBADRPC EBADRQC EBADSLT EBFONT EBUSY ECANCELED \
    ECHILD ECHRNG ECOMM ECONNABORTED ECONNREFUSED ECONNRESET EDEADLK EDEADLOCK EDESTADDRREQ EDEVERR \
    EDOM EDOTDOT EDQUOT EEXIST EFAULT EFBIG EFTYPE EHOSTDOWN EHOSTUNREACH EHWPOISON EIDRM EILSEQ \
    EINPROGRESS EINTR EINVAL EIO EISCONN EISDIR EISNAM EKEYEXPIRED EKEYREJECTED EKEYREVOKED EL2HLT \
    EL2NSYNC EL3HLT EL3RST ELIBACC ELIBBAD ELIBEXEC ELIBMAX ELIBSCN ELNRNG ELOOP EMEDIUMTYPE EMFILE \
    EMLINK EMSGSIZE EMULTIHOP ENAMETOOLONG ENAVAIL ENEEDAUTH ENETDOWN ENETRESET ENETUNREACH ENFILE \
    ENOANO ENOATTR ENOBUFS ENOCSI ENODATA ENODEV ENOENT ENOEXEC ENOKEY ENOLCK ENOLINK ENOMEDIUM \
    ENOMEM ENOMSG ENONET ENOPKG ENOPOLICY ENOPROTOOPT ENOSPC ENOSR ENOSTR ENOSYS ENOTBLK ENOTCONN \
    ENOTDIR ENOTEMPTY ENOTNAM ENOTRECOVERABLE ENOTSOCK ENOTSUP ENOTTY ENOTUNIQ ENXIO EOPNOTSUPP \
    EOVERFLOW EOWNERDEAD EPERM EPFNOSUPPORT EPIPE EPROCLIM EPROCUNAVAIL EPROGMISMATCH EPROGUNAVAIL \
    EPROTO EPROTONOSUPPORT EPROTOTYPE EPWROFF EQFULL ERANGE EREMCHG EREMOTE EREMOTEIO ERESTART \
    ERFKILL EROFS ERPCMISMATCH ESHLIBVERS ESHUTDOWN ESOCKTNOSUPPORT ESPIPE ESRCH ESRMNT ESTALE \
    ESTRPIPE ETIME ETIMEDOUT ETOOMANYREFS ETXTBSY EUCLEAN EUNATCH EUSERS EWOULDBLOCK EXDEV EXFULL";

const SIGNALS: &str = "HUP INT QUIT ILL TRAP ABRT EMT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM \
                       STKFLT CHLD CONT STOP TSTP TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO \
                       POLL PWR INFO SYS";

/// Returns what is wrong with `name` as the name of an errno, if anything is.
pub(crate) fn errno_fault(name: &str) -> Option<String> {
    let known = || ERRNOS.split_whitespace();
    let fault = || match suggestion(name, known()) {
        near if near.is_empty() => format!("no errno `{name}`: use its name, such as EROFS"),
        near => format!("no errno `{name}`{near}"),
    };
    (!known().any(|known| known == name)).then(fault)
}

/// Returns what is wrong with `name` as the name of a signal, if anything is.
pub(crate) fn signal_fault(name: &str) -> Option<String> {
    let known = || SIGNALS.split_whitespace();
    let short = name.strip_prefix("SIG").unwrap_or(name);
    let fault = || match suggestion(short, known()) {
        near if near.is_empty() => {
            format!("no signal `{name}`: use one of {}", known().collect::<Vec<_>>().join(" "))
        }
        near => format!("no signal `{name}`{near}"),
    };
    (!known().any(|known| known == name)).then(fault)
}
