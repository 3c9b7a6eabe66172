// A page from the browser's memory is asked for again: whoever goes back at the same device finds no account number.
"use strict";
window.addEventListener("pageshow", function (event) {
  if (event.persisted) {
    location.replace(location.href);
  }
});
