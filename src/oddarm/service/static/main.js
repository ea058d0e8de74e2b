/** The page: which part of it is shown, the token, and whether the service answers. */

import { Refused, json, setToken, hasToken } from "./api.js";
import { prepareCopying } from "./attach.js";
import { prepareForm } from "./form.js";
import { showStudies } from "./list.js";
import { StudyPage } from "./study.js";
import { byId, say } from "./words.js";

const STATES = { live: "live", polling: "live, by polling", away: "disconnected, retrying" };

let shown = new AbortController();
let notice = ""; // what to say on the next part that is shown
const study = new StudyPage(failed, setState, (name) => {
  notice = `The study “${name}” was deleted.`;
  location.hash = "#/";
});

/** Show the part of the page that the address names. */
function route() {
  shown.abort();
  shown = new AbortController();
  const name = /^#\/study\/(.+)$/.exec(location.hash)?.[1];
  byId("studies").hidden = byId("study").hidden = true;
  byId("loading").hidden = false;
  byId("crumb").hidden = name === undefined;
  say(byId("failure"), null);
  byId("notice").textContent = notice;
  notice = "";
  setState(null);
  if (name === undefined) {
    document.title = "oddarm";
    showStudies(failed, setState, shown.signal);
  } else {
    document.title = `${decodeURIComponent(name)} · oddarm`;
    study.show(decodeURIComponent(name), shown.signal);
  }
}

function setState(state) {
  const place = byId("connection");
  const words = STATES[state] ?? "";
  if (place.textContent !== words) place.textContent = words;
  place.dataset.state = state ?? "";
}

/** Learn what the token may do: the style sheet hides what the service would refuse. */
async function learnRole() {
  const { role } = await json("caller").catch(() => ({ role: "" }));
  document.documentElement.dataset.role = role;
}

/** Stop and show the error; if the service refused the token, ask for one. */
function failed(error) {
  shown.abort();
  byId("loading").hidden = true;
  setState(null);
  if (error instanceof Refused && error.status === 401) return askForToken();
  byId("studies").hidden = byId("study").hidden = true;
  say(byId("failure"), error.message);
}

function askForToken() {
  const dialog = byId("token");
  say(byId("token-error"), hasToken() ? "The service refused this token." : null);
  setToken(null);
  if (!dialog.open) dialog.showModal();
}

byId("token").addEventListener("cancel", (event) => event.preventDefault());
byId("token").querySelector("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const field = event.target.elements.token;
  setToken(field.value.trim());
  field.value = "";
  try {
    await json("studies");
    byId("token").close();
    learnRole();
    route();
  } catch (error) {
    if (error instanceof Refused && error.status === 401) askForToken();
    else say(byId("token-error"), error.message);
  }
});

addEventListener("hashchange", () => {
  if (location.hash === "#main") return byId("main").focus();
  route();
  byId("main").focus({ preventScroll: true }); // the focused element is gone
});
prepareCopying();
prepareForm(failed);
learnRole();
route();
