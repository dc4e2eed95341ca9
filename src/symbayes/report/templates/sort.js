"use strict";
// Makes every column header a button that sorts its table. Without scripts the tables stay as they are.
(() => {
  const words = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

  function compare(a, b, sign) {
    const missing = a.hasAttribute("data-missing") - b.hasAttribute("data-missing");
    if (missing) return missing;
    const numbers = [a, b].map((cell) => cell.hasAttribute("data-number"));
    if (numbers[0] !== numbers[1]) return numbers[0] ? -1 : 1;
    if (!numbers[0]) return sign * words.compare(a.textContent, b.textContent);
    const [x, y] = [Number(a.dataset.number), Number(b.dataset.number)];
    return x === y ? 0 : sign * (x < y ? -1 : 1);
  }

  function sort(table, header) {
    const ascending = header.getAttribute("aria-sort") !== "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", ascending ? "ascending" : "descending");
    const column = header.cellIndex;
    const rows = [...table.tBodies[0].rows];
    rows.sort((a, b) => compare(a.cells[column], b.cells[column], ascending ? 1 : -1));
    table.tBodies[0].append(...rows);
  }

  for (const table of document.querySelectorAll("table")) {
    for (const header of table.tHead.rows[0].cells) {
      const button = document.createElement("button");
      button.type = "button";
      button.title = "Sort by this column";
      button.append(...header.childNodes);
      header.append(button);
      button.addEventListener("click", () => sort(table, header));
    }
  }
})();
