// The page that searches. It keeps what is typed and hidden in this tab alone, asks by POST, and
// puts every text on the page as text: nothing that comes back is ever read as markup.

const at = (id) => document.getElementById(id);
const csrf = document.querySelector('meta[name="csrf"]').content;
const share = at("share"); // not there without a profile
const hidden = []; // of the interests that were clicked: {words, terms}

async function ask(path, given) {
  const answer = await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Reticent-CSRF": csrf },
    body: JSON.stringify(given),
  });
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.error);
  return found;
}

function made(tag, text = "", how = "") {
  const one = document.createElement(tag);
  one.textContent = text;
  if (how) one.className = how;
  return one;
}

// Of several requests on their way only the last one counts, and no more than one is on its way.
function lastOf(work, done) {
  let wanted = false, running = false;
  return async function again() {
    wanted = true;
    if (running) return;
    running = true;
    while (wanted) {
      wanted = false;
      try {
        const found = await work();
        if (!wanted) done(found);
      } catch (error) {
        if (!wanted) failed(error);
      }
    }
    running = false;
  };
}

function failed(error) {
  const status = at("status");
  const gone = error instanceof TypeError;
  status.textContent = gone ? "Nobody answers: the command that served this page has ended." : error.message;
  status.className = "failed";
  at("orders").classList.remove("busy");
}

// --- what would be told --------------------------------------------------------------------------

const chosen = () => ({
  share: share ? Number(share.value) : 0,
  hide: hidden.flatMap((one) => one.terms),
});

const preview = lastOf(
  () => ask("preview", chosen()),
  (found) => {
    const [first, ...more] = found.says;
    at("reached").textContent = first;
    at("says").replaceChildren(...(more.length ? more : [first]).concat(found.changes).map((text) => made("p", text)));
    at("told").replaceChildren(
      ...found.told.map((one) => chip(`${one.words} ${one.share}`, "told-title", "", () => {
        if (!hidden.some((other) => other.words === one.words)) hidden.push(one);
        change(at("told"));
      })),
      ...(found.more ? [made("li", `and ${found.more} more`, "quiet")] : []),
    );
    if (!found.told.length) at("told").append(made("li", "Nothing.", "quiet"));
    at("hidden-part").hidden = !hidden.length;
    at("hidden").replaceChildren(
      ...hidden.map((one) => chip(one.words, "hidden-title", "off", () => {
        if (hidden.includes(one)) hidden.splice(hidden.indexOf(one), 1);
        change(at("hidden"));
      })),
    );
    at("leaves").textContent = JSON.stringify(found.leaves, null, 1) + (found.more ? `\n… and ${found.more} more` : "");
    at("command").textContent = found.command;
    refocus();
  },
);

function chip(text, about, how, action) {
  const button = made("button", text, how);
  button.type = "button";
  button.setAttribute("aria-describedby", about); // the heading says what a click does
  button.addEventListener("click", action);
  const item = made("li");
  item.append(button);
  return item;
}

// The button that was pressed is gone once the list is new; the keyboard goes on where it was.
let leftAt = null;

function change(list) {
  leftAt = { list, i: [...list.children].findIndex((item) => item.contains(document.activeElement)) };
  preview();
  if (lastQuery) search();
}

function refocus() {
  if (!leftAt || leftAt.i < 0) return;
  const buttons = leftAt.list.querySelectorAll("button");
  (buttons[Math.min(leftAt.i, buttons.length - 1)] ?? share).focus();
  leftAt = null;
}

// --- results -------------------------------------------------------------------------------------

let lastQuery = null; // the query and the engine that results on the page are of

const search = lastOf(
  () => {
    at("orders").classList.add("busy");
    return ask("search", {
      ...lastQuery,
      ...chosen(),
      alpha: share && at("alpha").value ? Number(at("alpha").value) : null,
      fusion: share ? at("fusion").value : "ranks",
    });
  },
  (found) => {
    const status = at("status");
    status.className = "";
    status.textContent = found.says;
    at("orders").classList.remove("busy");
    at("orders").hidden = !found.results.length;
    const left = found.results.toSorted((a, b) => a.engine_rank - b.engine_rank);
    at("engine-order").replaceChildren(...left.map((one) => result(one, one.engine_rank, [])));
    if (share) at("own-order").replaceChildren(...found.results.map((one) => result(one, one.rank, why(one))));
  },
);

function result(one, place, more) {
  const body = made("div");
  const title = made("p", "", "title");
  if (one.link) {
    const link = made("a", one.title);
    link.href = one.link;
    link.rel = "noopener noreferrer";
    link.target = "_blank";
    title.append(link);
  } else {
    title.textContent = one.title;
  }
  body.append(title, made("p", one.place, "place"), ...more, made("p", one.text));
  const item = made("li");
  item.append(made("span", `${place}.`, "at"), body);
  return item;
}

function why(one) {
  const up = one.engine_rank - one.rank;
  const words = one.because.slice(0, 8).map(([word, count]) => `${word} ${count}×`);
  if (one.because.length > 8) words.push(`${one.because.length - 8} more`);
  const has = words.length ? `has ${words.join(", ")}` : "has none of what you allow";
  if (!up) return words.length ? [made("p", `In its place; ${has}.`)] : [];
  const line = made("p");
  line.append(made("span", `${up > 0 ? "▲" : "▼"} ${up > 0 ? "up" : "down"} from ${one.engine_rank}`, "moved"), `; ${has}.`);
  return [line];
}

// --- what people do ------------------------------------------------------------------------------

at("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  const q = at("q").value.trim();
  if (!q) {
    at("status").textContent = "Type a word or more to look for.";
    at("q").focus();
    return;
  }
  const which = document.querySelector('input[name="engine"]:checked');
  lastQuery = { q, engine: which ? Number(which.value) : 0 };
  search();
});

for (const one of document.querySelectorAll('input[name="engine"]')) {
  one.addEventListener("change", () => {
    document.querySelectorAll(".goes").forEach((text, i) => { text.hidden = i !== Number(one.value); });
  });
}

if (share) {
  share.addEventListener("input", () => {
    at("allowed").textContent = `${share.value} %`;
    change(at("told"));
  });
  for (const id of ["alpha", "fusion"]) at(id).addEventListener("change", () => { if (lastQuery) search(); });
  preview();
}
