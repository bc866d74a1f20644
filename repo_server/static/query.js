// Asking in SQL is handier with it: run by Ctrl and Enter without leaving the page, stop, put a column in by a click.

const form = document.querySelector("[data-ask]");
const query = form.querySelector("[data-query]");
const said = form.querySelector("[data-said]");
const stop = form.querySelector("[data-stop]");
let running = null;

async function pageAt(address, signal) {
  const response = await fetch(address, { headers: { Accept: "text/html" }, signal });
  return new DOMParser().parseFromString(await response.text(), "text/html");
}

function told(page) {
  return page.querySelector("#fault p, #rows")?.textContent ?? "";
}

async function run(address) {
  running?.abort();
  const mine = running = new AbortController();
  stop.hidden = false;
  said.textContent = "Running…";
  try {
    const page = await pageAt(address, mine.signal);
    if (!page.querySelector("[data-answer]")) return location.assign(address);
    history.pushState(null, "", address);
    for (const part of ["[data-answer]", "[data-tables]"]) document.querySelector(part).replaceWith(page.querySelector(part));
    query.setAttribute("aria-invalid", String(document.querySelector("#fault") !== null));
    said.textContent = told(document);
    prepare();
    goToFault(document.querySelector("#fault[data-line]"));
  } catch (error) {
    if (running !== mine) return;
    said.textContent = error.name === "AbortError" ? "Stopped." : "The server does not answer.";
  } finally {
    if (running === mine) stop.hidden = true;
  }
}

function goToFault(fault) {
  if (!fault || document.activeElement !== query) return;
  const before = query.value.split("\n").slice(0, fault.dataset.line - 1).join("\n").length;
  const at = before + (fault.dataset.line > 1 ? 1 : 0) + Number(fault.dataset.column) - 1;
  query.setSelectionRange(at, at);
}

function quoted(name) {
  return /^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
}

function insertButton(column) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "insert";
  button.textContent = column.textContent;
  button.setAttribute("aria-label", `Put ${column.textContent} into the query`);
  button.addEventListener("click", () => {
    query.setRangeText(quoted(column.dataset.insert), query.selectionStart, query.selectionEnd, "end");
    query.focus();
  });
  column.replaceWith(button);
}

function startCheck(check) {
  check.addEventListener("submit", async (event) => {
    event.preventDefault();
    const output = check.querySelector("[data-check-said]");
    output.textContent = "Asking again…";
    try {
      const page = await pageAt(`${check.action}?${new URLSearchParams(new FormData(check))}`);
      output.textContent = page.querySelector("[data-checked] p, #fault p")?.textContent ?? "The server does not answer.";
    } catch {
      output.textContent = "The server does not answer.";
    }
  });
}

function prepare() {
  document.querySelectorAll("code[data-insert]").forEach(insertButton);
  document.querySelectorAll("[data-answer] [data-check]").forEach(startCheck);
  document.dispatchEvent(new Event("page-changed"));
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const fields = [...new FormData(form)].filter(([, value]) => value);
  run(`${form.action}?${new URLSearchParams(fields)}`);
});
query.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
});
stop.addEventListener("click", () => running?.abort());
addEventListener("popstate", () => location.reload());
form.querySelector("[data-keys]").hidden = false;
prepare();
