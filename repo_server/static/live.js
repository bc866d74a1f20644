// Pages that follow what happens: what changed is put in its place and told, without loading the page anew. A page that
// nobody sees listens to nothing.

const main = document.querySelector("main[data-live]");
const news = document.querySelector("[data-news]");
const SOON_MS = 300, EVERY_MS = 2000, TOLD_MS = 10000;
const KEPT = { DETAILS: "open", BUTTON: "hidden", TEXTAREA: "aria-invalid" };  // what people or scripts changed here
const WORDS = {
  "dataset-created": () => "a new dataset",
  "head-moved": (data) => `new blocks: ${data.blocks.toLocaleString("en")} blocks with ${data.records.toLocaleString("en")} records now`,
  "dataset-renamed": () => "it has another name",
  "visibility-changed": (data) => `it is ${data.visibility} now`,
  "verdict-changed": (data) => `the verdict on it is ${data.verdict} now`,
  "dataset-gone": () => "it is gone",
};
let source = null, timer = null, refreshed = 0, silence = null;

function listen() {
  source = new EventSource(main.dataset.live);
  for (const type of Object.keys(WORDS)) source.addEventListener(type, hear);
}

function stop() {
  source?.close();
  source = null;
  clearTimeout(timer);
  timer = null;
}

function hear(event) {
  const told = JSON.parse(event.data);
  tell(`${told.subject ?? "A dataset"}: ${WORDS[event.type](told.data)}.`);
  soon();
}

function tell(text) {
  news.textContent = text;
  clearTimeout(silence);
  silence = setTimeout(() => { news.textContent = ""; }, TOLD_MS);
}

function soon() {
  timer ??= setTimeout(refresh, Math.max(SOON_MS, refreshed + EVERY_MS - Date.now()));
}

async function refresh() {
  timer = null;
  refreshed = Date.now();
  try {
    const response = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (!response.ok) return response.status === 404 ? stop() : undefined;
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    morph(main, page.querySelector("main"));
    document.title = page.title;
    document.dispatchEvent(new Event("page-changed"));
  } catch { /* the server is away: the next event, or the next look, asks again */ }
}

function morph(old, fresh) {
  if (old.nodeName !== fresh.nodeName) return old.replaceWith(fresh);
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
    return;
  }
  takeAttributes(old, fresh, KEPT[old.nodeName]);
  const mine = [...old.childNodes], theirs = [...fresh.childNodes];
  theirs.forEach((node, at) => mine[at] ? morph(mine[at], node) : old.append(node));
  mine.slice(theirs.length).forEach((node) => node.remove());
}

function takeAttributes(old, fresh, kept) {
  for (const { name } of [...old.attributes]) if (name !== kept && !fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (name !== kept && old.getAttribute(name) !== value) old.setAttribute(name, value);
}

function start() {
  if (!document.hidden) listen();
  document.addEventListener("visibilitychange", () => {
    stop();
    if (document.hidden) return;
    listen();
    soon();
  });
  addEventListener("pagehide", stop);
  addEventListener("pageshow", (event) => { if (event.persisted && !source) { listen(); soon(); } });
}

if (main) start();
