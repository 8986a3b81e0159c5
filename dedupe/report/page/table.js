// The table of groups: only the rows in sight exist.  Draws what it is given, and says what the reader did.

const ROWS_BEYOND = 6; // above and below the rows in sight, so that a slow frame shows no gap

function element(tag, { text, ...properties } = {}, ...children) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  for (const [name, value] of Object.entries(properties)) {
    if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

const byId = (id) => document.getElementById(id);

function makeTable(model, marks, { onActive, onOpen, onKey, onSort }) {
  const grid = byId("grid");
  const body = byId("rows");
  const pool = [];
  let shown = new Uint32Array();
  let active = 0; // place in `shown`
  let height = 0;

  function makeRow() {
    const row = element("div", { className: "row", role: "row" });
    const cell = (name, ...children) => element("span", { className: name, role: "gridcell" }, ...children);
    const name = element("bdi", { className: "file" });
    const folder = element("bdi", { className: "folder" });
    const cells = {
      state: cell("state"),
      name: cell("name", name, folder),
      kind: cell("kind"),
      copies: cell("copies"),
      size: cell("size"),
      frees: cell("frees"),
      newest: cell("newest"),
    };
    row.append(...Object.values(cells));
    body.append(row);
    return { row, cells, name, folder, group: -1 };
  }

  // The copy that stands for a group: the first that stays, else the first.
  function lead(g) {
    const start = model.first[g];
    if (marks.kept[g] === 0) return start;
    const kept = marks.keep.indexOf(1, start);
    return kept < 0 ? start : kept;
  }

  function fill(slot, place) {
    const g = shown[place];
    const file = lead(g);
    const { row, cells } = slot;
    row.style.transform = `translateY(${place * height}px)`;
    row.id = `row-${place}`;
    row.setAttribute("aria-rowindex", String(place + 2));
    row.setAttribute("aria-selected", String(place === active));
    row.dataset.place = String(place);
    const kept = marks.kept[g];
    const wanted = marks.wanted[g] === 1;
    row.classList.toggle("wanted", wanted);
    cells.state.textContent = wanted ? "wanted" : kept === 0 ? "" : `keeps ${kept}`;
    cells.state.className = wanted ? "state" : kept === 0 ? "state open" : "state chosen";
    slot.name.textContent = model.name[file];
    slot.folder.textContent = folderText(model, model.folder[file]);
    cells.kind.textContent = model.ending[g] === "" ? KINDS[model.kind[g]] : model.ending[g];
    cells.copies.textContent = COUNT.format(model.copies[g]);
    cells.size.textContent = sizeText(model.size[g]);
    cells.frees.textContent = wanted ? "–" : sizeText(model.frees[g]);
    cells.newest.textContent = timeText(model.newest[g], false);
  }

  function draw() {
    height = parseFloat(getComputedStyle(grid).getPropertyValue("--row"));
    body.style.height = `${shown.length * height}px`;
    const start = Math.max(0, Math.floor(grid.scrollTop / height) - ROWS_BEYOND);
    const end = Math.min(shown.length, Math.ceil((grid.scrollTop + grid.clientHeight) / height) + ROWS_BEYOND);
    while (pool.length < end - start) pool.push(makeRow());
    pool.forEach((slot, i) => {
      slot.row.hidden = start + i >= end;
      if (slot.row.hidden) slot.row.removeAttribute("id");
      else fill(slot, start + i);
    });
    byId("nothing").hidden = shown.length > 0;
    if (shown.length > 0) grid.setAttribute("aria-activedescendant", `row-${active}`);
    else grid.removeAttribute("aria-activedescendant");
  }

  function inSight(place) {
    const head = byId("head").offsetHeight;
    const top = place * height;
    const room = grid.clientHeight - head;
    if (top < grid.scrollTop) grid.scrollTop = top;
    else if (top + height > grid.scrollTop + room) grid.scrollTop = top + height - room;
  }

  function go(place) {
    if (shown.length === 0) return;
    active = Math.min(shown.length - 1, Math.max(0, place));
    inSight(active);
    draw();
    onActive(shown[active]);
  }

  function show(groups, { keep = -1 } = {}) {
    shown = groups;
    grid.setAttribute("aria-rowcount", String(shown.length + 1));
    active = Math.max(0, keep < 0 ? 0 : shown.indexOf(keep));
    if (active === 0) grid.scrollTop = 0;
    else inSight(active);
    draw();
    onActive(shown.length > 0 ? shown[active] : -1);
  }

  const page = () => Math.max(1, Math.floor((grid.clientHeight - byId("head").offsetHeight) / height) - 1);
  const STEPS = {
    ArrowDown: () => active + 1,
    ArrowUp: () => active - 1,
    PageDown: () => active + page(),
    PageUp: () => active - page(),
    Home: () => 0,
    End: () => shown.length - 1,
  };

  grid.addEventListener("keydown", (event) => {
    if (event.target !== grid || event.ctrlKey || event.metaKey || event.altKey || shown.length === 0) return;
    if (event.key in STEPS) go(STEPS[event.key]());
    else if (event.key === "Enter") onOpen(shown[active]);
    else if (!onKey(event.key, shown[active])) return;
    event.preventDefault();
  });
  grid.addEventListener("scroll", () => requestAnimationFrame(draw), { passive: true });
  new ResizeObserver(draw).observe(grid);
  body.addEventListener("click", (event) => {
    const row = event.target.closest(".row");
    if (row === null) return;
    go(Number(row.dataset.place));
    onOpen(shown[active], { byPointer: true });
  });
  byId("head").addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button !== null) onSort(button.dataset.key);
  });

  function sortedBy(key, down) {
    for (const button of byId("head").querySelectorAll("button")) {
      const here = button.dataset.key === key;
      button.parentElement.setAttribute("aria-sort", here ? (down ? "descending" : "ascending") : "none");
    }
  }

  return { show, draw, sortedBy, focus: () => grid.focus() };
}
