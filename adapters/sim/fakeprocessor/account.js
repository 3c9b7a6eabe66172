// Helps with the account number while the payer fills in the form: names the bank, writes a pasted
// number the way banks do, and says early what is wrong. The server checks everything again.
(function () {
  "use strict";
  var input = document.getElementById("account_number");
  var bank = document.getElementById("account_number-bank");
  if (!input || !bank) {
    return;
  }
  var names = {};
  input.getAttribute("data-banks").split(";").forEach(function (pair) {
    names[pair.slice(0, 2)] = pair.slice(3);
  });

  function digits() {
    return input.value.normalize("NFKC").replace(/\D/g, "");
  }

  // nameBank names the bank once its number is there.
  function nameBank() {
    var name = names[digits().slice(0, 2)];
    var text = name ? "The bank is " + name + "." : "";
    if (bank.textContent !== text) {
      bank.textContent = text; // said aloud only when it changes
    }
  }

  // write puts a whole number into the form 01-0902-0068389-00 and leaves any other as it is.
  function write() {
    var d = digits();
    if (/^[\d\s.\/\u2010-\u2015\u2212-]*$/.test(input.value.normalize("NFKC")) && (d.length === 15 || d.length === 16)) {
      input.value = [d.slice(0, 2), d.slice(2, 6), d.slice(6, 13), d.slice(13)].join("-");
    }
  }

  // mistake returns what is already sure to be wrong.
  function mistake() {
    var d = digits();
    if (!input.value.trim()) {
      return "";
    }
    if (d.length !== 15 && d.length !== 16) {
      return input.getAttribute("data-format");
    }
    return names[d.slice(0, 2)] ? "" : input.getAttribute("data-unknown");
  }

  // explain shows a mistake beside the field, as the server does, or takes it away.
  function explain(text) {
    var shown = document.getElementById("account_number-error");
    if (shown && shown.textContent === text) {
      return;
    }
    if (shown) {
      shown.remove();
    }
    input.removeAttribute("aria-invalid");
    input.setAttribute("aria-describedby", "account_number-hint");
    if (text) {
      shown = document.createElement("p");
      shown.className = "error";
      shown.id = "account_number-error";
      shown.setAttribute("role", "alert");
      text.split(/(\d\d-\d{4}-\d{7}-\d\d)/).forEach(function (part, i) {
        var piece = document.createElement("span");
        piece.className = i % 2 ? "whole" : ""; // a number is not broken over lines
        piece.textContent = part;
        shown.append(piece);
      });
      input.before(shown);
      input.setAttribute("aria-invalid", "true");
      input.setAttribute("aria-describedby", "account_number-hint account_number-error");
    }
  }

  // A mistake that is shown, or taken away, moves what is below it. While a finger or a button is down that waits, or the
  // press would miss what it began on.
  var pressed = false;
  var waiting = false;
  function explainSoon() {
    waiting = true;
    if (!pressed) {
      waiting = false;
      explain(mistake());
    }
  }
  ["pointerdown", "mousedown"].forEach(function (type) {
    window.addEventListener(type, function () { pressed = true; }, true);
  });
  ["pointerup", "mouseup", "pointercancel"].forEach(function (type) {
    window.addEventListener(type, function () {
      pressed = false;
      if (waiting) {
        setTimeout(explainSoon); // after the click
      }
    }, true);
  });

  input.addEventListener("input", function (event) {
    if (event.inputType === "insertFromPaste" || event.inputType === "insertFromDrop") {
      write();
    }
    nameBank();
  });
  input.addEventListener("change", function () {
    write();
    nameBank();
    explainSoon();
  });
  nameBank();
})();

// Forgets the account number when the payer leaves the page, and shows no page from the browser's memory: the next person at
// the same device may go back to it.
(function () {
  "use strict";
  window.addEventListener("pagehide", function () {
    document.querySelectorAll("[data-private]").forEach(function (part) {
      if (part.value !== undefined) {
        part.value = "";
      } else {
        part.textContent = "";
      }
    });
  });
  if (!document.getElementById("account_number")) {
    history.replaceState(null, "", location.href); // going back to the details asks for the page, and sends no form again
  }
  window.addEventListener("pageshow", function (event) {
    if (event.persisted) {
      location.replace(location.href);
    }
  });
})();
