//! Alarms on their way to other programs: at least once each, under a key that stays the same.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};
use serde_json::Value;
use taste_monitor::{Alarm, Message, Monitor, message};

use crate::tell;

/// How long a receiver may take.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Between tries, at first and at most.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_mins(5)];
/// Tries at the end of a run; what is not sent then is sent by the next one.
const LAST_TRIES: usize = 3;

enum Hook {
    Plain(String),
    Alertmanager(String),
}

/// Where messages go to.
pub(super) struct Outbound {
    /// What the monitor is called.
    name: String,
    hooks: Vec<Hook>,
    pause: Duration,
    /// Not before this.
    next: Instant,
}

impl Outbound {
    pub(super) fn new(detector: &Path, plain: &[String], alertmanagers: &[String]) -> Result<Self> {
        for (flag, url) in plain
            .iter()
            .map(|u| ("--webhook", u))
            .chain(alertmanagers.iter().map(|u| ("--alertmanager", u)))
        {
            let known = url.starts_with("http://")
                || (cfg!(feature = "tls") && url.starts_with("https://"));
            if !known {
                bail!(
                    "{flag} {url}: an address starts with http:// (https:// needs the feature tls)"
                );
            }
        }
        let alertmanagers = alertmanagers.iter().map(|url| {
            let url = url.trim_end_matches('/');
            let whole = url.ends_with("/alerts");
            Hook::Alertmanager(if whole { url.to_owned() } else { format!("{url}/api/v2/alerts") })
        });
        let hooks = plain.iter().cloned().map(Hook::Plain).chain(alertmanagers).collect();
        let name = detector.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { name, hooks, pause: PAUSES[0], next: Instant::now() })
    }

    /// Sends what waits, unless the last try is too recent.
    pub(super) fn deliver(&mut self, monitor: &mut Monitor) -> Result<()> {
        if self.hooks.is_empty() || Instant::now() < self.next {
            return Ok(());
        }
        for (message, alarm) in monitor.outbox() {
            let detector = monitor.detector().to_owned();
            if let Err(error) = self.send(&detector, &message, &alarm) {
                tell(&format!("warning: {error}; it is tried again in {} s", self.pause.as_secs()));
                self.next = Instant::now() + self.pause;
                self.pause = (2 * self.pause).min(PAUSES[1]);
                return Ok(());
            }
            self.pause = PAUSES[0];
            monitor.delivered(message.alarm, message.event)?;
        }
        Ok(())
    }

    /// Sends what waits at the end of a run, with a few tries.
    pub(super) fn deliver_all(&mut self, monitor: &mut Monitor) -> Result<()> {
        for _ in 0..LAST_TRIES {
            if self.hooks.is_empty() || monitor.outbox().is_empty() {
                return Ok(());
            }
            std::thread::sleep(self.next.saturating_duration_since(Instant::now()).min(TIMEOUT));
            self.next = Instant::now();
            self.deliver(monitor)?;
        }
        if !monitor.outbox().is_empty() {
            tell("warning: messages about alarms wait in the state, and the next run sends them");
        }
        Ok(())
    }

    fn send(&self, detector: &str, message: &Message, alarm: &Alarm) -> Result<()> {
        for hook in &self.hooks {
            match hook {
                Hook::Plain(url) => {
                    post(url, &message::plain(&self.name, detector, message, alarm))?;
                }
                Hook::Alertmanager(url) => {
                    post(url, &message::alertmanager(&self.name, detector, message, alarm))?;
                }
            }
        }
        Ok(())
    }
}

fn post(url: &str, body: &Value) -> Result<()> {
    let agent: ureq::Agent =
        ureq::Agent::config_builder().timeout_global(Some(TIMEOUT)).build().into();
    let sent = agent.post(url).content_type("application/json").send(body.to_string());
    match sent {
        Ok(_) => Ok(()),
        Err(error) => bail!("{url}: an alarm could not be sent: {error}"),
    }
}
