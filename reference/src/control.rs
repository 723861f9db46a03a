//! The packets, the launch description and the process that supervisor and inner stage share.

mod launch;
mod packets;
mod refused_call;
mod running_sandbox;

pub(crate) use launch::{CommandContainment, LaunchSpec, scopes_sockets};
pub(crate) use packets::{
    ControlCommand, ControlEvent, FailedStep, InitReport, UnreachableCounts, hand_over, next_order,
    next_report, pair, post,
};
pub(crate) use refused_call::{
    ObservedChange, ProcessFate, RefusalNotice, RefusedCall, RefusedFate, RefusedObject,
};
pub(crate) use running_sandbox::RunningSandbox;
