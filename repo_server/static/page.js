// What makes pages handier: they say everything without it.

const root = document.documentElement;

function startThemeButton(button) {
  const dark = () => (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const tell = () => button.setAttribute("aria-pressed", String(dark()));
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("theme", root.dataset.theme); } catch { /* for this page alone, then */ }
    tell();
  });
  tell();
  button.hidden = false;
}

function startCopyButton(button) {
  const text = button.parentElement.querySelector("code");
  const said = button.textContent;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(text);
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = said; }, 2000);
  });
  button.hidden = false;
}

function startCopyButtons() {
  if (navigator.clipboard) document.querySelectorAll("[data-copy][hidden]").forEach(startCopyButton);
}

document.querySelectorAll("[data-theme-button]").forEach(startThemeButton);
document.addEventListener("page-changed", startCopyButtons);
startCopyButtons();
