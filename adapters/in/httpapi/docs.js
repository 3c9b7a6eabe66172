// The page is whole without this script: it adds a search and buttons that copy, and has one choice of a language stand for all.
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
    button.setAttribute("aria-label", `Copy: ${shown.dataset.label}`);
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

// The search looks through the page's own headings, fields, errors and texts: each has an id, and the text below belongs to it.
const places = [];
let section;
for (const part of document.querySelectorAll("main :is(h2, h3, dt, dd, p, li, tr)")) {
  if (part.localName === "h2") section = part.textContent;
  if (part.id) {
    const name = part.localName === "dt" ? part.firstElementChild.textContent : part.textContent;
    places.push({ id: part.id, name, section, text: part.textContent });
  } else {
    places.at(-1).text += " " + part.textContent;
  }
}

// plain has what counts of a text for the search: mandate_status and "Mandate status" are the same.
const plain = (text) => text.toLowerCase().replace(/[\s_.]+/g, " ").trim();
// stem cuts the ending of a word, so that retry finds retries.
const stem = (word) => word.replace(/(?<=...)(ies|es|s|y)$/, "");

// found returns the places that have every word, the best first: by their name, by their section, then by their text.
function found(query) {
  const words = plain(query).split(" ").map(stem);
  const has = (text) => words.every((word) => plain(text).includes(word));
  const ranks = [({ name }) => name === query.trim(), ({ name }) => plain(name) === plain(query), ({ name }) => has(name),
    ({ name, section }) => has(name + " " + section), ({ text }) => plain(text).includes(plain(query)),
    ({ text, section }) => has(text + " " + section)];
  return places.map((place) => ({ ...place, rank: ranks.findIndex((is) => is(place)) })).filter(({ rank }) => rank >= 0)
    .sort((a, b) => a.rank - b.rank);
}

const nav = document.querySelector("nav");
const search = nav.querySelector("search");
const [input, status, list] = search.querySelectorAll("input, p, ul");
search.hidden = false;
document.querySelector("header .menu a").textContent = "Contents, search";

input.addEventListener("input", () => {
  const all = plain(input.value) ? found(input.value) : [];
  status.textContent = !plain(input.value) ? "Press / to search." : all.length === 1 ? "1 result" : `${all.length || "No"} results`;
  list.replaceChildren(...all.slice(0, 40).map(({ id, name, section }) => {
    const [item, link, where] = ["li", "a", "small"].map((tag) => document.createElement(tag));
    link.href = "#" + id;
    link.textContent = name;
    where.textContent = section === name ? "" : section;
    link.append(where);
    item.append(link);
    return item;
  }));
});
search.addEventListener("keydown", (event) => {
  const stops = [input, ...list.querySelectorAll("a")];
  const to = stops.indexOf(document.activeElement) + { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (event.key === "Escape") {
    input.value = "";
    input.dispatchEvent(new Event("input"));
    input.focus();
  } else if (event.key === "Enter" && document.activeElement === input) {
    stops[1]?.click();
  } else if (stops[to]) {
    event.preventDefault();
    stops[to].focus();
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input[type=search]")) return;
  event.preventDefault();
  if (!nav.checkVisibility()) {
    location.hash = "contents"; // which takes the focus away
    addEventListener("hashchange", () => input.focus(), { once: true });
  }
  input.focus();
  input.select();
});
