/** How to attach a worker to a study: what to run, with the address of this service. */

import { hasToken } from "./api.js";
import { byId } from "./words.js";

const VARIABLE = "ODDARM_TOKEN"; // where workers find a token, which the page never shows

/** Write the programs for a study. */
export function showAttach(view) {
  const service = new URL(".", location.href).href.replace(/\/$/, "");
  const [low, high] = view.range.map((end) => end ?? "any number");
  const reward = view.zero_one ? "0 or 1" : `a number from ${low} to ${high}`;
  byId("attach-reward").textContent = reward;
  byId("attach-token").hidden = !hasToken();
  byId("attach-python").textContent = python(service, view.name, reward);
  byId("attach-curl").textContent = curl(service, view.name, reward);
}

function python(service, study, reward) {
  const token = hasToken() ? `, token=os.environ["${VARIABLE}"]` : "";
  return `${hasToken() ? "import os\n\n" : ""}from oddarm.service import Client
from my_module import probe  # your own: probe(arm) returns ${reward}

client = Client("${service}"${token})
client.work("${study}", probe, limit=10)  # until the study is done`;
}

function curl(service, study, reward) {
  const token = hasToken() ? ` -H "Authorization: Bearer $${VARIABLE}"` : "";
  const post = `curl -sS${token} -H 'Content-Type: application/json'`;
  return `study=${service}/studies/${study}
# Ask for a pull. The answer has its ID and its arm.
${post} -d '{"limit": 1, "wait_seconds": 20}' "$study/ask"
# Tell its REWARD, ${reward}, by that ID. Go on while the status is "running".
${post} -d '{"tells": [{"pull": "ID", "reward": REWARD}]}' "$study/tell"`;
}

/** Make the buttons that copy work. */
export function prepareCopying() {
  for (const button of document.querySelectorAll("button.copy")) {
    button.addEventListener("click", async () => {
      const source = byId(button.value);
      const copied = await copy(source);
      byId("copied").textContent = copied ? "Copied." : "Selected: copy it with the keyboard.";
    });
  }
}

/** Copy the text of an element. Only pages that come by TLS, or from this machine, have a clipboard. */
async function copy(source) {
  try {
    await navigator.clipboard.writeText(source.textContent);
    return true;
  } catch {
    getSelection().selectAllChildren(source);
    return document.execCommand("copy");
  }
}
