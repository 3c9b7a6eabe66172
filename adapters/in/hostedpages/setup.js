// Gives an answer to a form the address of the setup page, unfolds what is folded for a print, and notifies the window that opened
// this page, and the one that frames it, that the setup changed. The message carries no data: its receiver asks the service.
(function () {
  "use strict";
  if (!location.search && document.body.dataset.address) { // browsers do not send a form again on the way back
    history.replaceState(null, "", document.body.dataset.address);
  }

  var unfolded = [];
  window.addEventListener("beforeprint", function () {
    unfolded = Array.from(document.querySelectorAll("details:not([open])"));
    unfolded.forEach(function (part) { part.open = true; });
  });
  window.addEventListener("afterprint", function () {
    unfolded.forEach(function (part) { part.open = false; });
  });

  var message = { source: "provider-checkout", type: "setup_changed" };
  var origins = (document.body.getAttribute("data-notify") || "").split(" ").filter(Boolean);
  var listeners = [];
  if (window.opener) {
    listeners.push(window.opener);
  }
  if (window.parent !== window && window.parent !== window.opener) {
    listeners.push(window.parent);
  }
  listeners.forEach(function (listener) {
    origins.forEach(function (origin) {
      listener.postMessage(message, origin);
    });
  });
})();
