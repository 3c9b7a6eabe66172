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
    return input.value.replace(/\D/g, "");
  }

  // nameBank names the bank once its number is there.
  function nameBank() {
    var name = names[digits().slice(0, 2)];
    var text = name ? "The bank is " + name + "." : "";
    if (bank.textContent !== text) {
      bank.textContent = text; // said aloud only when it changes
    }
  }

  // write puts a whole number into the form 12-3140-0171323-50 and leaves any other as it is.
  function write() {
    var d = digits();
    if (/^[\d\s.\/\u2010-\u2015\u2212-]*$/.test(input.value) && (d.length === 15 || d.length === 16)) {
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
      shown.textContent = text;
      input.before(shown);
      input.setAttribute("aria-invalid", "true");
      input.setAttribute("aria-describedby", "account_number-hint account_number-error");
    }
  }

  input.addEventListener("input", function (event) {
    if (event.inputType === "insertFromPaste" || event.inputType === "insertFromDrop") {
      write();
    }
    nameBank();
  });
  input.addEventListener("change", function () {
    write();
    nameBank();
    explain(mistake());
  });
  nameBank();
})();
