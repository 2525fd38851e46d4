// Live figures: sets the text of elements and how far progress bars are, hides forms whose operation has ended, and nothing else. A hidden tab
// closes its stream.
"use strict";

(() => {
  const cells = new Map();
  for (const cell of document.querySelectorAll("[data-live]")) cells.set(cell.dataset.live, cell);
  if (cells.size === 0) return;
  let source = null;

  const fill = (bar, text) => {
    const [done, total] = text.split("/").map(Number);
    if (total > 0) [bar.max, bar.value] = [total, done];
  };
  const open = () => {
    source = new EventSource("/live");
    source.onmessage = (message) => {
      for (const [key, text] of Object.entries(JSON.parse(message.data))) {
        const cell = cells.get(key);
        if (cell instanceof HTMLProgressElement) fill(cell, text);
        else if (cell instanceof HTMLFormElement) cell.hidden = text !== "yes";
        else if (cell && cell.textContent !== text) cell.textContent = text;
      }
    };
  };
  const close = () => {
    if (source) source.close();
    source = null;
  };
  const follow = () => {
    close();
    if (document.visibilityState === "visible") open();
  };

  document.addEventListener("visibilitychange", follow);
  window.addEventListener("pagehide", close);
  follow();
})();
