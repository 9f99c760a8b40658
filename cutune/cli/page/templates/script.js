"use strict";
// Without this script the page works: it only adds a button, and opens what a link leads to.
const root = document.documentElement;
const button = document.getElementById("theme");
button.hidden = false;
button.addEventListener("click", () => {
  const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = root.dataset.theme || (isDark ? "dark" : "light");
  root.dataset.theme = now === "dark" ? "light" : "dark";
});
function reveal() {
  const place = document.getElementById(location.hash.slice(1));
  for (let part = place; part; part = part.parentElement) {
    if (part instanceof HTMLDetailsElement) part.open = true;
  }
  if (place) place.scrollIntoView();
}
addEventListener("hashchange", reveal);
if (location.hash) reveal();
