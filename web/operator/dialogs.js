// Questions, in the one dialog element of the page.

import { byId, clip, el, toast } from "./dom.js";

// ask shows a question and does what it is about when the answer is yes. fields are inputs; act gets their values, and what it throws is shown.
// warning is what cannot be undone. named are names that somebody chose, shown beside the question.
export function ask({ title, named, warning, fields = [], yes, danger = false, act, done }) {
  const dialog = byId("dialog");
  const error = el("p", { className: "error", role: "alert", id: "dialog-error" });
  const inputs = fields.map((f) => [f, input(f)]);
  const confirm = el("button", { type: "submit", id: "dialog-yes", className: danger ? "danger" : "primary" }, yes);
  const form = el("form", {
    onsubmit: async (e) => {
      e.preventDefault();
      const values = {};
      for (const [f, i] of inputs) values[f.id] = f.kind === "checkbox" ? i.checked : i.value.trim();
      confirm.disabled = true;
      try {
        await act(values);
        dialog.close();
        if (done) toast(done);
      } catch (why) {
        error.textContent = clip(why.message, 300);
        confirm.disabled = false;
      }
    },
  }, el("h2", { id: "dialog-title" }, title));
  if (named !== undefined) form.append(el("p", { className: "named", id: "dialog-named" }, el("bdi", { className: "name" }, clip(named, 128))));
  if (warning) form.append(el("p", { className: danger ? "warning" : "hint", id: "dialog-warning" }, warning));
  for (const [f, i] of inputs) {
    const label = el("label", { for: i.id }, f.label);
    form.append(f.kind === "checkbox" ? el("div", { className: "check" }, i, label) : el("div", { className: "field" }, label, i));
    if (f.hint) form.append(el("p", { className: "hint" }, f.hint));
  }
  form.append(error, el("div", { className: "buttons" },
    el("button", { type: "button", id: "dialog-no", onclick: () => dialog.close() }, "Cancel"), confirm));
  dialog.replaceChildren(form);
  dialog.showModal();
  (inputs.length && !danger ? inputs[0][1] : byId("dialog-no")).focus(); // Enter alone does not do what cannot be undone
}

function input(f) {
  const id = "field-" + f.id;
  if (f.kind === "select") {
    const s = el("select", { id }, ...f.options.map(([value, text]) => el("option", { value }, text)));
    if (f.value !== undefined) s.value = f.value;
    return s;
  }
  if (f.kind === "checkbox") return el("input", { id, type: "checkbox", checked: !!f.value });
  return el("input", {
    id, type: f.kind || "text", value: f.value || "", required: !!f.required, maxLength: f.most || 255,
    autocomplete: "off", spellcheck: false, placeholder: f.placeholder || "",
  });
}
