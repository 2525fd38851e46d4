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
  if (field.checkVisibility() && field.labels.length === 0 && !field.getAttribute("aria-label")) report("label", field);
}
for (const control of document.querySelectorAll("button, a, summary")) {
  if (!name(control)) report("name", control);
}
for (const image of document.querySelectorAll("img:not([alt])")) report("image-alt", image);
for (const cell of document.querySelectorAll("th:not([scope])")) report("scope", cell);
for (const table of document.querySelectorAll("table")) if (!table.querySelector("th")) report("table-headers", table);
for (const graphic of document.querySelectorAll("svg")) {
  const isNamed = graphic.getAttribute("aria-label") || graphic.querySelector("title");
  if (graphic.getAttribute("aria-hidden") !== "true" && !isNamed) report("svg-img-alt", graphic);
}
for (const element of document.querySelectorAll("[tabindex]")) if (element.tabIndex > 0) report("tabindex", element);
for (const element of document.querySelectorAll("[aria-labelledby], [aria-describedby]")) {
  const named = `${element.getAttribute("aria-labelledby") || ""} ${element.getAttribute("aria-describedby") || ""}`;
  const missing = named.split(/\s+/).filter((id) => id && !document.getElementById(id));
  if (missing.length > 0) report("aria-reference", element);
}
for (const label of document.querySelectorAll("label[for]")) if (!label.control) report("label-for", label);
const viewport = document.querySelector("meta[name=viewport]");
if (!viewport || /user-scalable\s*=\s*no|maximum-scale/.test(viewport.content)) report("meta-viewport", document.head);
for (const child of document.body.children) {
  const isLandmark = child.matches("header, main, footer, nav, dialog, a.skip, script");
  if (!isLandmark) report("region", child);
}
for (const landmark of document.querySelectorAll("nav")) if (!landmark.getAttribute("aria-label")) report("landmark-name", landmark);
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

// What edges a field must differ from what is around it, and from its inside or from that edge.
for (const field of document.querySelectorAll("input:not([type=hidden]):not([type=checkbox]):not([type=radio]), textarea, select")) {
  if (!field.checkVisibility()) continue;
  const style = getComputedStyle(field);
  const edge = luminance(rgba(style.borderTopColor));
  const around = luminance(behind(field.parentElement));
  const ratio = (Math.max(edge, around) + 0.05) / (Math.min(edge, around) + 0.05);
  if (parseFloat(style.borderTopWidth) > 0 && ratio < 3) report(`non-text-contrast ${ratio.toFixed(2)}`, field);
}
// Last: it moves the focus. The test has pressed Tab, so the browser shows where the focus is, as it does to those who use the keyboard. A ring of at least two pixels shows where the keyboard is, and differs from what is around.
for (const element of document.querySelectorAll("a[href], button, input:not([type=hidden]), textarea, select, summary, [tabindex='0']")) {
  if (!element.checkVisibility()) continue;
  element.focus();
  const style = getComputedStyle(element);
  const ring = luminance(rgba(style.outlineColor));
  const around = luminance(behind(element.parentElement));
  const ratio = (Math.max(ring, around) + 0.05) / (Math.min(ring, around) + 0.05);
  const isSeen = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2 && ratio >= 3;
  if (!isSeen) report(`focus-visible ${style.outlineStyle} ${style.outlineWidth} ${ratio.toFixed(2)}`, element);
}
return found;
