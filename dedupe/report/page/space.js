// Where the space is: a treemap and, with the same contents for keyboard and screen reader, a list of bars.
// What a copy wastes is its group's reclaimable bytes shared equally by the copies.

const BOXES = 40; // children drawn of one folder; the rest is one box that says so
const INNER_BOXES = 12;
const BARS = 200;

function makeSpace(model, { onFolder, onKind }) {
  const map = byId("treemap");
  const bars = byId("bars");
  const folderTree = treeOfFolders(model);
  const kindTree = treeOfKinds(model);
  let tree = folderTree;
  let node = folderTree.start;

  function layout(width, height) {
    const root = d3
      .hierarchy(limited(tree.children(node), BOXES, INNER_BOXES))
      .sum((item) => (item.children ? 0 : item.value));
    return d3
      .treemap()
      .size([width, height])
      .paddingInner(2)
      .paddingTop((at) => (at.depth === 1 && at.children ? 20 : 0))
      .round(true)(root);
  }

  function limited(items, most, inner) {
    const kept = items.slice(0, most).map((item) => {
      const below = inner > 0 && item.node !== null ? tree.children(item.node) : [];
      return below.length > 1 ? { ...item, ...limited(below, inner, 0) } : item;
    });
    const rest = items.slice(most);
    if (rest.length > 0)
      kept.push({
        label: `${COUNT.format(rest.length)} smaller`,
        value: rest.reduce((sum, item) => sum + item.value, 0),
        node: null,
        kind: OTHER,
      });
    return { children: kept };
  }

  function drawMap() {
    const width = map.clientWidth;
    const height = map.clientHeight;
    map.replaceChildren();
    if (width === 0 || tree.total === 0) return;
    for (const at of layout(width, height).descendants().slice(1)) {
      const item = at.data;
      const [w, h] = [at.x1 - at.x0, at.y1 - at.y0];
      if (w < 2 || h < 2) continue;
      const frame = at.depth === 1 && at.children;
      const box = element("div", {
        className: `box kind-${item.kind} ${frame ? "frame" : "leaf"}`,
        title: `${item.label}\n${sizeText(at.value)}`,
      });
      Object.assign(box.style, { left: `${at.x0}px`, top: `${at.y0}px`, width: `${w}px`, height: `${h}px` });
      if (w > 44 && h > 18) box.append(element("bdi", { text: item.label }));
      if (w > 56 && h > 36 && !frame) box.append(element("small", { text: sizeText(at.value) }));
      const target = (at.depth === 1 ? item : at.parent.data).node;
      if (target !== null) box.addEventListener("click", () => go(item.node ?? target));
      map.append(box);
    }
  }

  function drawBars() {
    const items = tree.children(node);
    const whole = tree.value(node);
    bars.replaceChildren(...items.slice(0, BARS).map((item) => barElement(item, whole)));
    const rest = items.length - BARS;
    if (rest > 0)
      bars.append(element("li", { className: "rest", text: `and ${COUNT.format(rest)} smaller, not listed` }));
  }

  function barElement(item, whole) {
    const fill = element("span", { className: `fill kind-${item.kind}` });
    fill.style.width = `${(100 * item.value) / whole}%`;
    const content = [
      fill,
      element("bdi", { className: "bar-name", text: item.label }),
      element("span", { className: "bar-size", text: `${sizeText(item.value)} · ${percentText(item.value, whole)}` }),
    ];
    if (item.node === null) return element("li", {}, element("div", { className: "bar" }, ...content));
    const button = element("button", { type: "button", className: "bar" }, ...content);
    button.addEventListener("click", () => go(item.node));
    return element("li", {}, button);
  }

  function drawTrail() {
    const items = tree.trail(node).map(({ label, node: target }, i, all) => {
      if (i === all.length - 1) return element("li", {}, element("bdi", { text: label, "aria-current": "true" }));
      const button = element("button", { type: "button" }, element("bdi", { text: label }));
      button.addEventListener("click", () => go(target));
      return element("li", {}, button);
    });
    byId("trail").replaceChildren(...items);
  }

  function draw() {
    drawTrail();
    drawBars();
    drawMap();
  }

  // Look into a node; the table follows.
  function go(target) {
    if (tree.children(target).length > 0) node = target;
    draw();
    tree.choose(target);
  }

  folderTree.choose = (target) => onFolder(target === folderTree.start ? -1 : target);
  kindTree.choose = ({ kind, ending }) => onKind(kind, ending);
  for (const button of byId("space-by").querySelectorAll("button")) {
    button.addEventListener("click", () => {
      tree = button.dataset.by === "folder" ? folderTree : kindTree;
      node = tree.start;
      for (const other of byId("space-by").querySelectorAll("button"))
        other.setAttribute("aria-pressed", String(other === button));
      draw();
    });
  }
  byId("legend").replaceChildren(
    ...KINDS.map((kind, i) => element("li", {}, element("span", { className: `swatch kind-${i}` }), kind)),
  );
  new ResizeObserver(drawMap).observe(map);

  // The filter was changed elsewhere: show the whole again.
  function home() {
    node = tree.start;
    draw();
  }

  return { draw, home };
}

const mostFirst = (items) => items.filter((item) => item.value > 0).sort((a, b) => b.value - a.value);

function treeOfFolders(model) {
  const count = model.folders;
  const value = new Float64Array(count);
  const own = new Float64Array(count);
  const byKind = new Float64Array(count * KINDS.length);
  const below = Array.from({ length: count }, () => []);
  for (let file = 0; file < model.files; file += 1) {
    const [g, i] = [model.group[file], model.folder[file]];
    if (i < 0) continue;
    own[i] += model.frees[g] / model.copies[g];
    byKind[i * KINDS.length + model.kind[g]] += model.frees[g] / model.copies[g];
  }
  value.set(own);
  for (let i = count - 1; i >= 0; i -= 1) {
    const parent = model.parent[i];
    if (parent < 0) continue;
    value[parent] += value[i];
    below[parent].push(i);
    for (let kind = 0; kind < KINDS.length; kind += 1)
      byKind[parent * KINDS.length + kind] += byKind[i * KINDS.length + kind];
  }
  const tops = Array.from(model.parent.keys()).filter((i) => model.parent[i] < 0);
  const inside = (i) => (i < 0 ? tops : below[i]);
  const mainKind = (i) => {
    const values = byKind.subarray(i * KINDS.length, (i + 1) * KINDS.length);
    return values.indexOf(Math.max(...values));
  };
  const label = (i) => model.folderName[i].replace(/(?<=.)[\\/]$/, "");
  const children = (i) => {
    const items = inside(i).map((child) => ({
      label: label(child),
      value: value[child],
      node: child,
      kind: mainKind(child),
    }));
    if (i >= 0 && own[i] > 0 && items.length > 0)
      items.push({ label: "files here", value: own[i], node: null, kind: mainKind(i) });
    return mostFirst(items);
  };
  let start = -1; // the deepest folder that holds everything
  while (inside(start).length === 1 && (start < 0 || own[start] === 0) && inside(inside(start)[0]).length > 0)
    start = inside(start)[0];
  const trail = (i) => {
    const found = [];
    for (let at = i; at !== start && at >= 0; at = model.parent[at]) found.push({ label: label(at), node: at });
    return [...found, { label: start < 0 ? "All folders" : model.folderPath[start], node: start }].reverse();
  };
  const total = tops.reduce((sum, i) => sum + value[i], 0);
  return { start, total, children, trail, value: (i) => (i < 0 ? total : value[i]) };
}

function treeOfKinds(model) {
  const kinds = KINDS.map(() => ({ value: 0, endings: new Map() }));
  for (let g = 0; g < model.groups; g += 1) {
    const kind = kinds[model.kind[g]];
    kind.value += model.frees[g];
    kind.endings.set(model.ending[g], (kind.endings.get(model.ending[g]) ?? 0) + model.frees[g]);
  }
  const start = { kind: -1, ending: null };
  const total = kinds.reduce((sum, kind) => sum + kind.value, 0);
  const children = ({ kind, ending }) => {
    if (ending !== null) return [];
    if (kind < 0)
      return mostFirst(
        kinds.map(({ value }, i) => ({ label: KINDS[i], value, node: { kind: i, ending: null }, kind: i })),
      );
    return mostFirst(
      [...kinds[kind].endings].map(([name, value]) => ({
        label: name === "" ? "no ending" : `.${name}`,
        value,
        node: { kind, ending: name },
        kind,
      })),
    );
  };
  const trail = ({ kind }) => [
    { label: "All kinds", node: start },
    ...(kind < 0 ? [] : [{ label: KINDS[kind], node: { kind, ending: null } }]),
  ];
  return { start, total, children, trail, value: ({ kind }) => (kind < 0 ? total : kinds[kind].value) };
}
