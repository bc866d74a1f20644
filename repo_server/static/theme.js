// Runs before the page is drawn, so that neither a theme that was chosen flashes up late nor a button moves anything.
"use strict";
document.documentElement.dataset.scripts = "";
try {
  const theme = localStorage.getItem("theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch { /* nothing may be kept here: the system decides */ }
