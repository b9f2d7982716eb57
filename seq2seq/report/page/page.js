"use strict";
// What the page does when somebody moves on it. All content but the attention maps is there already.
(() => {
  const find = (id) => document.getElementById(id);
  document.documentElement.classList.add("scripted");

  // Light and dark: the reader's system decides until the button does.
  function themes() {
    const button = find("theme");
    const system = window.matchMedia("(prefers-color-scheme: dark)");
    const isDark = () => {
      const chosen = document.documentElement.dataset.theme;
      return chosen ? chosen === "dark" : system.matches;
    };
    const show = () => button.setAttribute("aria-pressed", String(isDark()));
    button.addEventListener("click", () => {
      document.documentElement.dataset.theme = isDark() ? "light" : "dark";
      show();
      find("said").textContent = isDark() ? "The page is dark now." : "The page is light now.";
    });
    system.addEventListener("change", show);
    show();
  }

  // The figure: one mark is in the order of Tab, the arrow keys reach the others.
  function points() {
    const marks = [...document.querySelectorAll("#chart-bleu .mark[data-key]")];
    if (!marks.length) return;
    const articles = [...document.querySelectorAll(".bucket")];
    const place = (mark) => mark.dataset.key.match(/\d+/g).map(Number);
    let kept = null; // by a click, so that the way to its sentences may cross other marks
    find("buckets").open = true;

    function choose(mark, announced) {
      for (const other of marks) {
        other.setAttribute("tabindex", other === mark ? "0" : "-1");
        other.setAttribute("aria-pressed", String(other === mark));
      }
      for (const article of articles) article.hidden = article.id !== `bucket-${mark.dataset.key}`;
      // Focus has said the mark's name already.
      if (announced) find("point-said").textContent = "Best and worst sentences are shown below.";
    }

    // The nearest mark in a direction: of the same system, or of the same length.
    function neighbour(mark, key) {
      const [system, bucket] = place(mark);
      const along = key === "ArrowLeft" || key === "ArrowRight";
      const step = key === "ArrowRight" || key === "ArrowDown" ? 1 : -1;
      const distance = (other) => {
        const [s, b] = place(other);
        if (along ? s !== system : b !== bucket) return 0;
        return step * (along ? b - bucket : s - system);
      };
      const ahead = marks.filter((other) => distance(other) > 0);
      return ahead.sort((a, b) => distance(a) - distance(b))[0];
    }

    for (const mark of marks) {
      mark.setAttribute("role", "button");
      mark.setAttribute("aria-controls", `bucket-${mark.dataset.key}`);
      mark.addEventListener("pointerenter", () => {
        if (!kept) choose(mark, false);
      });
      mark.addEventListener("click", () => {
        kept = kept === mark ? null : mark;
        choose(mark, true);
      });
      mark.addEventListener("focus", () => choose(mark, true));
      mark.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") {
          event.preventDefault();
          find(`bucket-${mark.dataset.key}`).scrollIntoView({ block: "nearest" });
        } else if (event.key.startsWith("Arrow")) {
          event.preventDefault();
          const next = neighbour(mark, event.key);
          if (next) next.focus();
        }
      });
    }
    choose(marks[0], false);
  }

  function made(tag, text, attributes = {}) {
    const element = document.createElement(tag);
    element.textContent = text;
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  }

  // One system's map: a table, so that a screen reader says both words of a weight.
  function drawn(system) {
    const table = made("table", "", { class: "map" });
    table.append(made("caption", `BLEU ${system.bleu.toFixed(1)}`));
    const head = table.createTHead().insertRow();
    head.append(made("td", ""));
    for (const word of system.sourceWords) {
      const cell = made("th", "", { scope: "col", title: word });
      cell.append(made("span", word, { dir: "auto" }));
      head.append(cell);
    }
    const body = table.createTBody();
    system.words.forEach((word, y) => {
      const row = body.insertRow();
      row.append(made("th", word, { scope: "row", dir: "auto", title: word }));
      system.weights[y].forEach((thousandths, x) => {
        const weight = (thousandths / 1000).toFixed(3);
        const cell = made("td", weight, { title: `${word} ← ${system.sourceWords[x]}: ${weight}` });
        const grey = Math.round((255 * Math.min(1000, thousandths)) / 1000);
        cell.style.backgroundColor = `rgb(${grey}, ${grey}, ${grey})`;
        row.append(cell);
      });
    });
    let here = null;
    const cells = [...table.querySelectorAll("tbody td")];
    const width = system.sourceWords.length;

    function read(cell) {
      for (const old of table.querySelectorAll(".here")) old.classList.remove("here");
      here = cell;
      if (!cell) return;
      find("map-weight").textContent = `${system.name}: ${cell.title}`;
      for (const one of [cell, cell.parentElement.cells[0], head.cells[cell.cellIndex]]) one.classList.add("here");
    }

    table.addEventListener("pointerover", (event) => read(event.target.closest("tbody td")));

    // The arrow keys, in the box around the table, which has the focus.
    function move(key) {
      const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -width, ArrowDown: width }[key];
      if (!step || !cells.length) return false;
      const from = cells.indexOf(here);
      const column = from % width;
      const inside = Math.abs(step) === 1
        ? column + step >= 0 && column + step < width
        : from + step >= 0 && from + step < cells.length;
      if (from < 0 || inside) {
        read(cells[from < 0 ? 0 : from + step]);
        here.scrollIntoView({ block: "nearest", inline: "nearest" });
        find("map-said").textContent = find("map-weight").textContent;
      }
      return true;
    }
    return { table, move };
  }

  function maps() {
    const choice = find("map-line");
    if (!choice) return;
    const sentences = JSON.parse(find("map-data").textContent);
    const buttons = { previous: find("map-previous"), next: find("map-next") };

    function show(announced) {
      const index = choice.selectedIndex;
      const sentence = sentences[index];
      // Not ``disabled``, which would take the focus away from who presses it to the end.
      buttons.previous.setAttribute("aria-disabled", String(index === 0));
      buttons.next.setAttribute("aria-disabled", String(index === sentences.length - 1));
      find("map-source").textContent = sentence.source;
      find("map-reference").textContent = sentence.reference;
      find("map-weight").textContent = "Point at a cell to read its weight, or press Tab to a map and then the arrow keys.";
      find("map-systems").replaceChildren(
        ...sentence.systems.map((system) => {
          const part = made("section", "", { "aria-label": system.name });
          part.append(made("h3", system.name, { dir: "auto" }));
          if (system.weights) {
            const named = `Attention map of ${system.name}`;
            const box = made("div", "", { class: "scroll", tabindex: "0", role: "region", "aria-label": named });
            const { table, move } = drawn(system);
            box.append(table);
            box.addEventListener("keydown", (event) => {
              if (move(event.key)) event.preventDefault();
            });
            part.append(box);
          } else {
            part.append(made("p", system.hypothesis || "(nothing)", { dir: "auto" }));
            part.append(made("p", `${system.reason} BLEU ${system.bleu.toFixed(1)}.`, { class: "note" }));
          }
          return part;
        }),
      );
      if (announced) {
        find("map-said").textContent = `Sentence ${index + 1} of ${sentences.length}, line ${sentence.line}.`;
      }
    }

    function step(by) {
      const index = choice.selectedIndex + by;
      if (index < 0 || index >= sentences.length) return;
      choice.selectedIndex = index;
      show(true);
    }

    choice.addEventListener("change", () => show(true));
    buttons.previous.addEventListener("click", () => step(-1));
    buttons.next.addEventListener("click", () => step(1));
    for (const button of Object.values(buttons)) {
      button.addEventListener("keydown", (event) => {
        const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (by) {
          event.preventDefault();
          step(by);
        }
      });
    }
    show(false);
  }

  // What is folded on the screen is open on paper, also where the style cannot open it.
  function paper() {
    let closed = [];
    window.addEventListener("beforeprint", () => {
      closed = [...document.querySelectorAll("details:not([open])")];
      for (const one of closed) one.open = true;
    });
    window.addEventListener("afterprint", () => {
      for (const one of closed) one.open = false;
    });
  }

  function samples() {
    const choice = find("sample-bucket");
    choice.addEventListener("change", () => {
      let shown = 0;
      for (const sample of document.querySelectorAll(".sample")) {
        sample.hidden = choice.value !== "" && sample.dataset.bucket !== choice.value;
        shown += sample.hidden ? 0 : 1;
      }
      find("said").textContent = `${shown} samples are shown.`;
    });
  }

  themes();
  points();
  maps();
  samples();
  paper();
})();
