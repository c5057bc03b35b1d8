// @ts-check
/** The dashboard: its views, the banner about the server, and who tells whom. */
import { getJson, Refusal, sessionPath } from "./api.js";
import { byId, h, replace, setText } from "./dom.js";
import { clock, number, plural } from "./format.js";
import { keyForm } from "./key_form.js";
import { MetricsHistory } from "./metrics_history.js";
import { modelsView } from "./models_view.js";
import { Server } from "./server.js";
import { metricTiles, serverView } from "./server_view.js";
import { SlotsView } from "./slots_view.js";
import { TryIt } from "./try_it.js";
import { Viewer } from "./viewer.js";

const VIEWS = ["live", "models", "server"];
const BACK_MS = 4000;
const COPIED_MS = 1500;

const server = new Server();
const history = new MetricsHistory();
const viewer = new Viewer();
const tryIt = new TryIt(server, viewer);
const slots = new SlotsView(server, (model, session) => void watch(model, session));
modelsView(server);
metricTiles(history);
serverView(history, server);
keyForm(() => server.start());

/** @param {string} modelId @param {string} id */
async function watch(modelId, id) {
  try {
    const session = await getJson(sessionPath(id));
    const model = server.model(modelId);
    const graph = server.graphs.get(modelId);
    if (model === undefined || graph === undefined) return;
    const knowsInput = id === tryIt.session?.id;
    viewer.watch({ session, model, graph, fromStart: false, knowsInput });
  } catch (error) {
    if (error instanceof Refusal) setText(byId("scope-message"), error.message);
  }
}

viewer.addEventListener("watch", () => {
  const { watched } = viewer;
  byId("scope-empty").hidden = watched !== null;
  byId("scope-controls").hidden = watched === null;
  byId("scope").hidden = watched === null;
  slots.watched = watched?.session.id ?? null;
  showWhose();
});

/** Says that the session is somebody else's, and leads back to one's own where there is one. */
function showWhose() {
  const { watched } = viewer;
  byId("scope-whose").hidden = watched === null || watched.knowsInput;
  byId("scope-back").hidden = tryIt.session === null;
  const slot = watched?.session.slot ?? null;
  const place = slot === null ? "a parked session" : `slot ${slot}`;
  setText(byId("scope-whose-text"), `Watching ${place}: another client's, not yours.`);
}
server.addEventListener("slots", showWhose);
byId("scope-back").addEventListener("click", () => {
  const { session } = tryIt;
  if (session !== null) void watch(session.model, session.id);
});
byId("scope-stop").addEventListener("click", () => viewer.stop());
const copy = byId("scope-copy");
// Only where the page may: the whole id stands below the scope in any case.
copy.hidden = navigator.clipboard === undefined;
copy.addEventListener("click", () => {
  const id = viewer.watched?.session.id ?? "";
  navigator.clipboard.writeText(id).then(
    () => setText(copy, "Copied"),
    () => setText(copy, "Not allowed"),
  );
  setTimeout(() => setText(copy, "Copy id"), COPIED_MS);
});
byId("scope-pause").addEventListener("click", () => {
  viewer.scope.isPaused = !viewer.scope.isPaused;
  byId("scope-pause").setAttribute("aria-pressed", String(viewer.scope.isPaused));
});
const windowSelect = /** @type {HTMLSelectElement} */ (byId("scope-window"));
/** A narrow picture has no room for more. */
const NARROW_PX = 600;
if (innerWidth < NARROW_PX) windowSelect.value = "100";
viewer.scope.window = Number(windowSelect.value);
windowSelect.addEventListener("change", () => viewer.scope.window = Number(windowSelect.value));

/** Says that the server is away, and for a moment that it is back. */
let wasLost = false;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let backTimer;
function showStatus() {
  const { status, statusSince, reason } = server;
  const banner = byId("banner");
  clearTimeout(backTimer);
  document.body.dataset["server"] = status;
  const names = { connecting: "connecting", live: "live", lost: "lost", refused: "refused" };
  setText(byId("status"), names[status]);
  if (status === "lost") {
    wasLost = true;
    replace(
      banner,
      h("strong", {}, "Lost the server"),
      ` at ${
        clock(statusSince)
      }. What you see is from before; this page goes on when the server answers. `,
      h("button", { type: "button", onclick: () => server.retryNow() }, "Try now"),
    );
  } else if (status === "refused") {
    replace(banner, h("strong", {}, "The server refuses"), `: ${reason}`);
  } else if (status === "live" && wasLost) {
    wasLost = false;
    replace(banner, h("strong", {}, "Connected again"), ` at ${clock(statusSince)}.`);
    backTimer = setTimeout(() => banner.hidden = true, BACK_MS);
  } else {
    banner.hidden = true;
    return;
  }
  banner.className = `banner ${status}`;
  banner.hidden = false;
}
server.addEventListener("status", showStatus);
server.addEventListener("models", () => {
  const { models } = server;
  const [first] = models;
  setText(
    byId("serving"),
    first === undefined
      ? ""
      : models.length > 1
      ? plural(models.length, "model")
      : `${first.id} on ${first.executor.kind === "webgpu" ? "WebGPU" : "the CPU"}, ${
        number(first.slots)
      } slots`,
  );
});
history.addEventListener("change", () => setText(byId("version"), history.version));

/** Shows the view that the address names. */
function showView() {
  const wanted = location.hash.slice(1);
  const name = VIEWS.includes(wanted) ? wanted : "live";
  for (const view of VIEWS) byId(view).hidden = view !== name;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.getAttribute("href") === `#${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}
addEventListener("hashchange", showView);
showView();
showStatus();
server.start();
history.start();
