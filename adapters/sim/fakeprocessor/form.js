// A page from the browser's memory is asked for again: whoever goes back at the same device finds no account number. It is asked for
// by its address, also where it answered a form with mistakes: browsers do not send that form again.
"use strict";
history.replaceState(null, "", location.href);
window.addEventListener("pageshow", function (event) {
  if (event.persisted) {
    location.replace(location.href);
  }
});
