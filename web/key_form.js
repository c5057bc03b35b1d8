// @ts-check
/** The field for a key, where the server wants one. The key stays in this tab. */
import { hasKey, setKey, whenKeyIsWanted } from "./api.js";
import { byId, setText } from "./dom.js";

/** @param {() => void} onKey called with a new key in place */
export function keyForm(onKey) {
  const panel = byId("key-panel");
  const field = /** @type {HTMLInputElement} */ (byId("key"));
  whenKeyIsWanted(() => {
    if (!panel.hidden) return;
    setText(byId("key-message"), hasKey() ? "The server does not know this key." : "");
    panel.hidden = false;
    field.focus();
  });
  byId("key-form").addEventListener("submit", (event) => {
    event.preventDefault();
    if (field.value === "") return;
    setKey(field.value.trim());
    field.value = "";
    panel.hidden = true;
    onKey();
  });
}
