//! One arm of a channel case, from the first part's start to the last one's end. Main function:
//! [`attend`].

use std::collections::BTreeMap;
use std::future::pending;
use std::path::Path;
use std::time::{Duration, Instant};

use boxproof_cases::Case;
use boxproof_cases::case::{Channel, Control, ExpectedDecision, ReceiptsExpect};
use tokio::time::timeout;

use super::driver::{LIMIT, RequestTarget, StepDriver};
use super::execd::Execd;
use super::processes::{ChannelSandbox, ChannelStack};
use super::{audit_fakes, quiescence, secret_scan};
use crate::arm_context::ArmContext;
use crate::backend::{Backend, BackendKind, ChannelCommands};
use crate::channel_observation::{ChannelObservation, MarkerAction};
use crate::execution::{ArmKind, ArmRecord};
use crate::removal;
use crate::sweep::{self, Traces};
use crate::sys;

/// The time for which the store must be unchanged before it is read.
const STILL: Duration = Duration::from_millis(40);

/// The time to wait for receipts that must come once the marker's is there.
const LATE: Duration = Duration::from_secs(3);

/// The part of the parts' output that is kept, in bytes.
const KEPT: usize = 8192;

/// The result of one look at a store.
#[derive(Debug, Clone, Copy)]
struct StoreReading {
    /// Nothing has come or passed since the last one.
    still: bool,
    /// A part wants to run.
    at_work: bool,
    /// There is no daemon any more.
    gone: bool,
    /// Every marker has its receipt.
    marked: bool,
    /// All receipts that must come are there.
    enough: bool,
}

impl StoreReading {
    /// Returns whether there is nothing to wait for any more, after `waited`.
    ///
    /// # Errors
    /// Parts that are at work for so long that it is unknown what is still to come.
    fn is_over(self, waited: Duration) -> Result<bool, String> {
        let Self { still, at_work, gone, marked, enough } = self;
        match waited > LIMIT {
            true if at_work => Err(quiescence::still_at_work(LIMIT)),
            true => Ok(true),
            // Silence of parts that wait for a processor means nothing.
            false => Ok(still && !at_work && (gone || marked && (enough || waited > LATE))),
        }
    }
}

/// Plays `case` and says what was seen. Nothing of it is left afterwards.
pub fn attend(
    case: &Case,
    channel: &Channel,
    kind: ArmKind,
    backend: &Backend,
    context: &ArmContext<'_>,
) -> ArmRecord<ChannelObservation> {
    let expect = match &case.expect.decision {
        ExpectedDecision::Receipts(expect) => expect,
        _ => return ArmRecord::Fault("a channel that receipts nothing".to_owned()),
    };
    let ground = match (kind, &backend.kind) {
        (ArmKind::Control, _) => None,
        (_, BackendKind::Bare) => return channel_arm(audit_fakes::garbling(channel)),
        (_, BackendKind::Refuse) if case.control != Control::Host => {
            return channel_arm(audit_fakes::silent(channel, None));
        }
        (_, BackendKind::Refuse) => None,
        _ => match backend.channel() {
            Some(callable) => Some(callable),
            None => return ArmRecord::Inexpressible("it has no receipts channel".to_owned()),
        },
    };
    let limit = Duration::from_millis(case.timeout_ms);
    let root = context.directory.join("arm");
    let attended = nonce(context).and_then(|nonce| {
        std::fs::create_dir_all(&root).map_err(|error| format!("{}: {error}", root.display()))?;
        let act = ChannelAct { channel, expect, root: &root, nonce: &nonce, limit };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| format!("runtime: {error}"))?;
        Ok(runtime.block_on(act.play(ground)))
    });
    let survivors = sweep::survivors(&Traces::default());
    let stays = removal::remove_path(&root);
    let removed = stays.first().map_or(Ok(()), |left| Err(left.to_string()));
    match (attended, removed) {
        (Ok(found), Ok(()))
            if matches!((kind, &backend.kind), (ArmKind::Confined, BackendKind::Refuse)) =>
        {
            channel_arm(audit_fakes::silent(channel, Some(found)))
        }
        (Ok(mut found), Ok(())) => {
            let left = survivors.processes.iter().map(|one| format!("process {one}"));
            found.leaks.extend(left);
            channel_arm(found)
        }
        (Ok(_), Err(left)) => ArmRecord::Fault(format!("left behind: {left}")),
        (Err(why), _) => ArmRecord::Fault(why),
    }
}

fn channel_arm(seen: ChannelObservation) -> ArmRecord<ChannelObservation> {
    ArmRecord::Done(Box::new(seen))
}

fn nonce(context: &ArmContext<'_>) -> Result<String, String> {
    let random = sys::random::<8>().map_err(|error| error.to_string())?;
    Ok(format!("{}-{random}", context.run_id))
}

/// The play of one arm.
struct ChannelAct<'a> {
    channel: &'a Channel,
    expect: &'a ReceiptsExpect,
    root: &'a Path,
    nonce: &'a str,
    limit: Duration,
}

impl ChannelAct<'_> {
    async fn play(&self, callable: Option<ChannelCommands>) -> ChannelObservation {
        let started = Instant::now();
        let ground = match self.ground(callable).await {
            Ok(ground) => ground,
            Err(why) => return self.faulty(ChannelObservation::default(), why),
        };
        let mut player = StepDriver::new(ground);
        let over = timeout(self.limit, self.steps(&mut player)).await;
        let over = over.unwrap_or_else(|_| Err(format!("not over within {:?}", self.limit)));
        player.seen.duration_ms = started.elapsed().as_secs_f64() * 1000.0;
        let found = player.sandboxes().values().flat_map(|sandbox| sandbox.execd.recorded());
        let reached: Vec<String> = found.map(|one| self.text_of(&one)).collect();
        let texts = self.expect.reaches_execd.iter();
        player.seen.reached =
            texts.filter(|text| reached.iter().any(|one| one.contains(*text))).cloned().collect();
        self.close(&mut player);
        match over {
            Ok(()) => ChannelObservation { nonce: self.nonce.to_owned(), ..player.seen },
            Err(why) => self.faulty(player.seen, why),
        }
    }

    fn text_of(&self, one: &super::execd::RecordedRequest) -> String {
        format!("{}\n{}\n{}", one.line, one.headers, String::from_utf8_lossy(&one.body))
    }

    fn faulty(&self, seen: ChannelObservation, why: String) -> ChannelObservation {
        ChannelObservation { nonce: self.nonce.to_owned(), fault: Some(why), ..seen }
    }

    async fn ground(&self, callable: Option<ChannelCommands>) -> Result<RequestTarget, String> {
        match callable {
            Some(callable) => {
                let stack =
                    ChannelStack::new(callable, self.channel, self.root, self.nonce).await?;
                Ok(RequestTarget::Channel(Box::new(stack)))
            }
            None => {
                let mut sandboxes = BTreeMap::new();
                for id in self.channel.sandboxes() {
                    let execd = Execd::new(self.channel.execd.clone(), self.channel.token.clone());
                    let execd = execd.await.map_err(|error| error.to_string())?;
                    let address = execd.address;
                    let sandbox = ChannelSandbox::bare(self.root, execd, address);
                    sandboxes.insert(id.to_owned(), sandbox);
                }
                Ok(RequestTarget::Direct(sandboxes))
            }
        }
    }

    async fn steps(&self, player: &mut StepDriver) -> Result<(), String> {
        for (at, step) in self.channel.steps.iter().enumerate() {
            let number = at + 1;
            let done = player.step(number, step).await;
            done.map_err(|why| format!("step {number} ({}): {why}", step.keyword()))?;
        }
        if let RequestTarget::Direct(_) = player.ground {
            return Ok(());
        }
        player.record_end_state(self.expect.keyless);
        if self.channel.stored() {
            let sent = player.mark(self.nonce).await?;
            self.wait(player, sent).await?;
        }
        player.hang_up();
        Ok(())
    }

    /// Waits until every marker has its receipt, every required receipt has come, and no more come.
    async fn wait(
        &self,
        player: &mut StepDriver,
        sent: Vec<(String, String)>,
    ) -> Result<(), String> {
        let since = Instant::now();
        let mut last = Vec::new();
        let mut events = player.stack()?.events();
        loop {
            let lines = player.stack()?.export().await?;
            let arrived = |hash: &str| lines.iter().any(|line| line.contains(hash));
            let stack = player.stack()?;
            let passed = std::mem::replace(&mut events, stack.events()) != events;
            let look = StoreReading {
                still: lines == last && !passed,
                at_work: quiescence::at_work(stack),
                gone: stack.daemon.is_none(),
                marked: sent.iter().all(|(hash, _)| arrived(hash)),
                enough: super::actions(&lines).len() >= self.least(sent.len()),
            };
            if look.is_over(since.elapsed())? {
                let mark = |(hash, by): &(String, String)| MarkerAction {
                    hash: hash.clone(),
                    by: by.clone(),
                    arrived: arrived(hash),
                };
                player.seen.markers = sent.iter().map(mark).collect();
                player.seen.lines = lines;
                return Ok(());
            }
            last = lines;
            let _pause = timeout(STILL, pending::<()>()).await;
        }
    }

    /// Returns the least number of receipts when everything has come.
    fn least(&self, markers: usize) -> usize {
        let listed = self.expect.receipts.as_ref().map(Vec::len);
        markers + listed.or(self.expect.count).unwrap_or_default()
    }

    fn close(&self, player: &mut StepDriver) {
        let RequestTarget::Channel(stack) = &mut player.ground else { return };
        player.seen.unmet.extend(stack.died());
        let key = stack.public.to_bytes();
        player.seen.key = key.iter().map(|byte| format!("{byte:02x}")).collect();
        stack.end();
        player.seen.disclosed =
            secret_scan::disclosed(&self.expect.absent, &stack.host, &stack.logs);
        let exported = player.seen.lines.join("\n");
        let here = self.expect.absent.iter().filter(|text| exported.contains(*text));
        player.seen.disclosed.extend(here.map(|text| format!("`{text}` is in a receipt")));
        let logs = stack.logs.iter().map(|file| {
            let text = std::fs::read(file).unwrap_or_default();
            String::from_utf8_lossy(&text).into_owned()
        });
        let logs: String = logs.collect();
        let told = logs.to_lowercase();
        let texts = self.expect.operator.iter();
        player.seen.operator =
            texts.filter(|text| told.contains(&text.to_lowercase())).cloned().collect();
        player.seen.logs = logs.chars().take(KEPT).collect();
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const SOON: Duration = Duration::from_millis(1);
    const LATER: Duration = LATE.saturating_add(SOON);
    const ENDED: Duration = LIMIT.saturating_add(SOON);
    /// All is there, and no part is at work.
    const ALL: StoreReading =
        StoreReading { still: true, at_work: false, gone: false, marked: true, enough: true };

    #[rstest]
    #[case::all(ALL, SOON, Ok(true))]
    #[case::something_passed(StoreReading { still: false, ..ALL }, LATER, Ok(false))]
    #[case::a_process_is_at_work(StoreReading { at_work: true, ..ALL }, LATER, Ok(false))]
    #[case::a_marker_is_missing(StoreReading { marked: false, ..ALL }, LATER, Ok(false))]
    #[case::others_may_come(StoreReading { enough: false, ..ALL }, LATE, Ok(false))]
    #[case::others_do_not_come(StoreReading { enough: false, ..ALL }, LATER, Ok(true))]
    #[case::no_process_stores(StoreReading { gone: true, marked: false, enough: false, ..ALL }, SOON, Ok(true))]
    #[case::no_process_stores_yet(StoreReading { gone: true, still: false, ..ALL }, SOON, Ok(false))]
    #[case::silence_of_work(StoreReading { gone: true, at_work: true, ..ALL }, SOON, Ok(false))]
    #[case::no_marker_at_the_end(StoreReading { still: false, marked: false, ..ALL }, ENDED, Ok(true))]
    #[case::work_at_the_end(StoreReading { at_work: true, ..ALL }, ENDED, Err("still at work"))]
    fn what_is_waited_for(
        #[case] look: StoreReading,
        #[case] waited: Duration,
        #[case] over: Result<bool, &str>,
    ) {
        match (look.is_over(waited), over) {
            (Err(why), Err(part)) => assert!(why.contains(part), "{why}"),
            (found, wanted) => assert_eq!(found, wanted.map_err(str::to_owned)),
        }
    }
}
