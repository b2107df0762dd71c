//! Numbers about the process, where the system tells.

use std::fs;

use super::{Exposition, Kind};

/// Ticks of a second in `/proc`, which is 100 on every Linux that there is.
const TICKS: f64 = 100.0;

/// Adds what the system says about this process.
pub(crate) fn process(page: &mut Exposition) {
    let Ok(stat) = fs::read_to_string("/proc/self/stat") else { return };
    // The name of the program may hold spaces and brackets.
    let Some((_, rest)) = stat.rsplit_once(')') else { return };
    let fields: Vec<f64> = rest.split_whitespace().map(|f| f.parse().unwrap_or(0.0)).collect();
    let at = |place: usize| fields.get(place - 3).copied().unwrap_or(0.0);
    page.family("process_cpu_seconds_total", Kind::Counter, "Time on processors.")
        .value(&[], (at(14) + at(15)) / TICKS);
    page.family("process_threads", Kind::Gauge, "Threads.").value(&[], at(20));
    if let Some(bytes) = resident() {
        page.family("process_resident_memory_bytes", Kind::Gauge, "Memory in use.")
            .count(&[], bytes);
    }
    if let Ok(files) = fs::read_dir("/proc/self/fd") {
        page.family("process_open_fds", Kind::Gauge, "Open files and connections.")
            .count(&[], files.count() as u64);
    }
    if let Some(booted) = boot_time() {
        page.family("process_start_time_seconds", Kind::Gauge, "When it started.")
            .value(&[], booted + at(22) / TICKS);
    }
}

/// Memory in use, in bytes.
pub(crate) fn resident() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
}

fn boot_time() -> Option<f64> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}
