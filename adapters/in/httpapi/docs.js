// The page is whole without this script: it adds buttons that copy, and has one choice of a language stand for all.
"use strict";

const said = document.createElement("p");
said.className = "said";
said.setAttribute("role", "status");
document.body.append(said);

// A browser gives the clipboard only to pages that came safely.
if (navigator.clipboard) {
  for (const shown of document.querySelectorAll("pre")) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.setAttribute("aria-label", `Copy: ${shown.getAttribute("aria-label")}`);
    button.addEventListener("click", async () => {
      let outcome = "Copied";
      try {
        await navigator.clipboard.writeText(shown.innerText);
      } catch {
        outcome = "Not copied";
      }
      button.textContent = outcome;
      said.textContent = outcome;
      setTimeout(() => { button.textContent = "Copy"; said.textContent = ""; }, 2000);
    });
    const frame = document.createElement("div");
    frame.className = "copied";
    shown.replaceWith(frame);
    frame.append(shown, button);
  }
}

const choices = [...document.querySelectorAll(".code > input")];
const languageOf = (input) => input.labels[0].textContent;
for (const input of choices) {
  input.addEventListener("change", () => {
    const before = input.getBoundingClientRect().top;
    for (const other of choices) {
      if (languageOf(other) === languageOf(input)) other.checked = true;
    }
    // What is above may have another height now: the choice stays where it was pressed.
    scrollBy({ top: input.getBoundingClientRect().top - before, behavior: "instant" });
  });
}
