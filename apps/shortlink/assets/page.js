// Progressive enhancement: the page works without this script.
"use strict";

// Copy buttons are rendered hidden, because they do nothing without this script.
for (const button of document.querySelectorAll("button.copy")) {
  if (!navigator.clipboard) break; // browsers offer it on https:// and localhost only
  button.hidden = false;
  button.addEventListener("click", async () => {
    const label = button.textContent;
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = "Copied";
      button.classList.add("done");
    } catch {
      button.textContent = "Copy failed";
    }
    setTimeout(() => {
      button.textContent = label;
      button.classList.remove("done");
    }, 2000);
  });
}

// Timestamps are rendered in UTC; show them in the browser's time zone.
const pad = (number) => String(number).padStart(2, "0");
const day = (date) => `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
const clock = (date) => `${pad(date.getHours())}:${pad(date.getMinutes())}`;

for (const time of document.querySelectorAll("time[datetime]")) {
  const date = new Date(time.dateTime);
  if (Number.isNaN(date.getTime())) continue;
  time.title = `${day(date)} ${clock(date)} (your time)`;
  time.textContent = time.dataset.form === "day" ? day(date) : `${day(date)} ${clock(date)}`;
}

// An expiry is entered in local time and submitted in UTC.
for (const field of document.querySelectorAll("input[type=datetime-local][data-utc]")) {
  const sent = document.createElement("input");
  sent.type = "hidden";
  sent.name = field.name;
  field.removeAttribute("name");
  field.after(sent);
  const given = field.value ? new Date(`${field.value}Z`) : null;
  if (given && !Number.isNaN(given.getTime())) field.value = `${day(given)}T${clock(given)}`;
  const zone = document.querySelector(`label[for="${field.id}"] [data-zone]`);
  if (zone) zone.textContent = "your time";
  // A local time may stand for two, when clocks are put back, so a value that was not edited is sent as it was given.
  const shown = field.value;
  const update = () => {
    const date = field.value === shown && given ? given : field.value ? new Date(field.value) : null;
    sent.value = date && !Number.isNaN(date.getTime()) ? date.toISOString() : "";
  };
  field.addEventListener("input", update);
  field.form.addEventListener("submit", update);
  update();
}

// "/" moves the focus to the search field.
document.addEventListener("keydown", (event) => {
  const typing = event.target instanceof HTMLInputElement;
  const search = document.getElementById("q");
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey || !search) return;
  event.preventDefault();
  search.focus();
  search.select();
});
