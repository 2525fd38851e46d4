// What axe-core calls serious, as far as it applies to these pages: returns one line for each violation.
const found = [];
const report = (rule, element) => found.push(`${rule}: ${element.outerHTML.slice(0, 120)}`);
const name = (element) =>
  (element.getAttribute("aria-label") || element.textContent || "").trim() ||
  [...element.querySelectorAll("img[alt]")].map((image) => image.alt).join("");

if (!document.documentElement.lang) report("html-has-lang", document.documentElement);
if (!document.title) report("document-title", document.documentElement);
if (document.querySelectorAll("main").length !== 1) report("one-main", document.body);
if (document.querySelectorAll("h1").length !== 1) report("one-h1", document.body);
for (const field of document.querySelectorAll("input:not([type=hidden]), textarea, select")) {
  if (field.labels.length === 0 && !field.getAttribute("aria-label")) report("label", field);
}
for (const control of document.querySelectorAll("button, a, summary")) {
  if (!name(control)) report("name", control);
}
for (const image of document.querySelectorAll("img:not([alt])")) report("image-alt", image);
for (const cell of document.querySelectorAll("th:not([scope])")) report("scope", cell);
const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
ids.filter((id, index) => ids.indexOf(id) !== index).forEach((id) => found.push(`duplicate-id: ${id}`));
for (const region of document.querySelectorAll(".scroll")) {
  if (region.scrollWidth > region.clientWidth && region.tabIndex < 0 && !region.querySelector("a, button, input")) {
    report("scrollable-region-focusable", region);
  }
}

const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
const rgba = (color) => {
  context.clearRect(0, 0, 1, 1);
  context.fillStyle = color;
  context.fillRect(0, 0, 1, 1);
  return [...context.getImageData(0, 0, 1, 1).data];
};
const luminance = (color) => {
  const [red, green, blue] = color.slice(0, 3).map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
};
const behind = (element) => {
  for (let at = element; at; at = at.parentElement) {
    const color = rgba(getComputedStyle(at).backgroundColor);
    if (color[3] > 250) return color;
  }
  return [255, 255, 255, 255];
};
for (const element of document.body.querySelectorAll("*")) {
  const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  if (!hasText || !element.checkVisibility()) continue;
  const style = getComputedStyle(element);
  const [front, back] = [luminance(rgba(style.color)), luminance(behind(element))];
  const ratio = (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05);
  const size = parseFloat(style.fontSize);
  const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
  if (ratio < (isLarge ? 3 : 4.5)) report(`color-contrast ${ratio.toFixed(2)}`, element);
}
return found;
