// Runs before the page is drawn, so that a theme that was chosen does not flash up late.
"use strict";
try {
  const theme = localStorage.getItem("theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch { /* nothing may be kept here: the system decides */ }
