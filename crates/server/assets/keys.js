// Keys: "/" finds, "g q" queues, "g s" streams, "g c" caches, "g x" outbox, "g l" locks, "g w" workers, "g t" schedules, "j" and "k" move through rows, "?" shows them all. None changes anything.
"use strict";

(() => {
  const pages = { q: "/", s: "/streams", c: "/caches", x: "/outbox", l: "/locks", w: "/workers", t: "/schedules", o: "/operations" };
  let goes = false;

  const move = (step) => {
    const links = [...document.querySelectorAll(".rows tbody tr a")];
    if (links.length === 0) return;
    const at = links.indexOf(document.activeElement);
    const next = at < 0 ? (step > 0 ? 0 : links.length - 1) : at + step;
    links[Math.min(Math.max(next, 0), links.length - 1)].focus();
  };
  const find = () => {
    const field = document.getElementById("q");
    if (field) field.focus();
  };
  const help = () => {
    const dialog = document.getElementById("keys");
    if (dialog && !dialog.open) dialog.showModal();
  };

  document.addEventListener("keydown", (event) => {
    const typed = event.target.closest("input, textarea, select, dialog");
    if (typed || event.ctrlKey || event.metaKey || event.altKey) return;
    const went = goes;
    goes = event.key === "g" && !went;
    if (went && pages[event.key]) {
      window.location.assign(pages[event.key]);
    } else if (event.key === "/") {
      event.preventDefault();
      find();
    } else if (event.key === "j") {
      move(1);
    } else if (event.key === "k") {
      move(-1);
    } else if (event.key === "?") {
      help();
    }
  });
})();
