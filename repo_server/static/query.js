// Asking in SQL is handier with it: run by Ctrl and Enter, put a column into the query by a click.

const query = document.querySelector("[data-query]");

query.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) query.form.requestSubmit();
});

function quoted(name) {
  return /^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
}

for (const column of document.querySelectorAll("[data-insert]")) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = column.textContent;
  button.setAttribute("aria-label", `Put ${column.textContent} into the query`);
  button.addEventListener("click", () => {
    query.setRangeText(quoted(column.dataset.insert), query.selectionStart, query.selectionEnd, "end");
    query.focus();
  });
  column.replaceWith(button);
}
