// Keeps a page live: an event says that something is durable, then the page is fetched again and what differs is replaced.
// Everything works without this, but by reloading.

const root = document.documentElement;

// Light or dark, as the reader says; by default as the system does.
const theme = document.getElementById("theme");
const isDark = () =>
  root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
const nameTheme = () => { theme.textContent = isDark() ? "Light" : "Dark"; };
try {
  const kept = localStorage.getItem("taste-theme");
  if (kept) root.dataset.theme = kept;
} catch { /* storage may be off */ }
if (theme) {
  theme.hidden = false;
  nameTheme();
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    nameTheme();
    try { localStorage.setItem("taste-theme", root.dataset.theme); } catch { /* storage may be off */ }
  });
}

// Tables sort by a click or Enter on the name of a column.
const key = (cell) => {
  const text = cell.textContent.replace(/[\u202f\s]/g, "").replace("−", "-");
  const number = parseFloat(text);
  return Number.isNaN(number) ? cell.textContent : number;
};
const makeSortable = (table) => {
  table.querySelectorAll("thead th").forEach((head, column) => {
    if (!head.textContent || head.querySelector("button")) return;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      table.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const body = table.tBodies[0];
      const rows = [...body.rows].sort((a, b) => {
        const [x, y] = [key(a.cells[column]), key(b.cells[column])];
        const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
        return down ? -order : order;
      });
      body.replaceChildren(...rows);
    });
  });
};

// A figure tells its numbers by the arrow keys, and where the pointer is: those of the table beside it.
const makeReadable = (figure) => {
  const table = figure.parentElement.querySelector("details table");
  if (!table || figure.tabIndex === 0) return;
  const heads = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
  const rows = () => [...table.tBodies[0].rows];
  const readout = document.createElement("p");
  readout.className = "readout quiet";
  readout.setAttribute("aria-live", "polite");
  figure.after(readout);
  figure.tabIndex = 0;
  figure.setAttribute("role", "group");
  figure.setAttribute("aria-label", "Figure: arrow keys read its numbers");
  let at = -1;
  const tell = (place) => {
    const all = rows();
    if (!all.length) return;
    at = Math.min(Math.max(place, 0), all.length - 1);
    readout.textContent = [...all[at].cells].map((cell, i) => `${heads[i]} ${cell.textContent}`).join(", ");
  };
  figure.addEventListener("keydown", (event) => {
    const moves = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: rows().length - 1 };
    if (!(event.key in moves)) return;
    event.preventDefault();
    tell(moves[event.key]);
  });
  figure.addEventListener("pointermove", (event) => {
    const box = figure.getBoundingClientRect();
    tell(Math.round(((event.clientX - box.left) / box.width) * (rows().length - 1)));
  });
  figure.addEventListener("pointerleave", () => { readout.textContent = ""; });
};

const enhance = (within) => {
  within.querySelectorAll("table").forEach(makeSortable);
  within.querySelectorAll("figure").forEach(makeReadable);
};

// Forms that say something to a monitor.
document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.dataset.post) return;
  event.preventDefault();
  if (form.dataset.confirm && !confirm(form.dataset.confirm)) return;
  const body = Object.fromEntries(new FormData(form));
  if (body.alarm) body.alarm = Number(body.alarm);
  const answer = await fetch(form.dataset.post, { method: "POST", body: JSON.stringify(body) });
  const said = document.querySelector("#actions .said");
  if (answer.ok) {
    await refresh(true);
  } else if (said) {
    const problem = await answer.json().catch(() => ({ error: answer.statusText }));
    said.textContent = problem.error;
    said.hidden = false;
  }
});

// What someone reads or writes just now is left alone.
const inUse = (element) =>
  element.contains(document.activeElement) && document.activeElement !== document.body;

const replace = (old, fresh) => {
  const open = new Set([...old.querySelectorAll("details[open]")].map((d) => d.closest("section")?.getAttribute("aria-labelledby")));
  old.className = fresh.className;
  old.innerHTML = fresh.innerHTML;
  old.querySelectorAll("details").forEach((details) => {
    if (open.has(details.closest("section")?.getAttribute("aria-labelledby"))) details.open = true;
  });
  enhance(old);
};

let fetching = false;
let last = 0;
const sources = new Map();
async function refresh(always = false) {
  if (fetching || document.hidden) return;
  fetching = true;
  try {
    const answer = await fetch(location.href, { headers: { accept: "text/html" } });
    if (!answer.ok) return;
    const text = await answer.text();
    const page = new DOMParser().parseFromString(text, "text/html");
    for (const fresh of page.querySelectorAll("[data-live][id]")) {
      const old = document.getElementById(fresh.id);
      if (!old || sources.get(fresh.id) === fresh.outerHTML) continue;
      if (inUse(old) && !always) continue;
      sources.set(fresh.id, fresh.outerHTML);
      replace(old, fresh);
    }
    last = Date.now();
  } finally {
    fetching = false;
  }
}

// At most one look every two seconds, and one after the last event.
let waiting = null;
const soon = () => {
  if (waiting) return;
  waiting = setTimeout(() => { waiting = null; refresh(); }, Math.max(0, last + 2000 - Date.now()));
};

const live = document.getElementById("live");
const tellLive = (lost) => {
  live.hidden = false;
  const text = lost ? "not connected" : "live";
  if (live.textContent !== text) live.textContent = text;
  live.classList.toggle("lost", lost);
};
for (const path of document.body.dataset.streams.split(" ").filter(Boolean)) {
  const source = new EventSource(path);
  source.addEventListener("open", () => tellLive(false));
  source.addEventListener("error", () => tellLive(true));
  source.addEventListener("update", soon);
}
document.addEventListener("visibilitychange", () => { if (!document.hidden) soon(); });

enhance(document);
