//! The system that this runs on, in the terms of settings.

use boxproof_cases::protocol::SettingsPlatform;

use crate::sys::kernel_file;

/// Returns the system that this runs on.
pub(crate) fn settings_platform() -> SettingsPlatform {
    let release = kernel_file::text("/proc/sys/kernel/osrelease").unwrap_or_default();
    match () {
        () if cfg!(target_os = "macos") => SettingsPlatform::Macos,
        // WSL 2 says `microsoft`, WSL 1 alone has the capital.
        () if release.contains("Microsoft") => SettingsPlatform::Wsl1,
        () => SettingsPlatform::Linux,
    }
}
