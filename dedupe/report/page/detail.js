// One group: a preview, its copies with what differs in their paths, and which of them stay.

const COPIES_AT_ONCE = 200;
const LARGEST_PREVIEW = 64 * 2 ** 20; // bytes; a larger picture would hold up the page
const PREVIEWS_TRIED = 3;

const OTHER_NAMES = {
  "hard link": "other name (hard link)",
  "symbolic link": "by a symbolic link",
  mounted: "same folder mounted twice",
};

function makeDetail(model, marks, { onChange }) {
  const panel = byId("detail");
  const list = byId("copies");
  let current = -1;
  let listed = 0;

  // How many parts all paths of a group share at their start and at their end.
  function sharedParts(paths) {
    const shortest = Math.min(...paths.map((path) => path.length));
    const same = (at) => paths.every((path) => at(path) === at(paths[0]));
    let start = 0;
    while (start < shortest - 1 && same((path) => path[start][0])) start += 1;
    let end = 0;
    while (end < shortest - start && same((path) => path[path.length - 1 - end][0])) end += 1;
    return { start, end };
  }

  // `differ` marks the parts that tell the copies apart; a break is allowed after each folder.
  function pathElement(path, { start, end }) {
    const line = element("bdi", { className: "path" });
    path.forEach(([text], i) => {
      const differs = i >= start && i < path.length - end;
      line.append(element(differs ? "mark" : "span", { text }), element("wbr"));
    });
    return line;
  }

  function copyElement(file, path, shared) {
    const number = file - model.first[current] + 1;
    const box = element("input", { type: "checkbox", checked: marks.keep[file] === 1, className: "keep" });
    box.dataset.file = String(file);
    box.disabled = marks.wanted[current] === 1 || !isHere(model, file);
    const name = element(
      "label",
      { className: "copy-name" },
      box,
      element("span", { className: "sr", text: `Keep copy ${number}: ` }),
      pathElement(path, shared),
    );
    const facts = element(
      "div",
      { className: "copy-facts" },
      element("span", { text: timeText(model.time[file], true) }),
    );
    const proof = proofText(model, model.proof[file]);
    if (proof !== "") facts.append(element("span", { className: "proof", text: proof }));
    if (model.roots.length > 1 && model.root[file] >= 0)
      facts.append(element("bdi", { className: "root", text: `in ${shownName(model.roots[model.root[file]])}` }));
    const href = address(path);
    if (href !== "") {
      const link = (text, target, label) =>
        element("a", {
          text,
          href: target,
          target: "_blank",
          rel: "noopener noreferrer",
          "aria-label": `${label} copy ${number}`,
        });
      facts.append(
        link("Open", href, "Open"),
        link("Folder", href.slice(0, href.lastIndexOf("/") + 1), "Open the folder of"),
      );
    }
    const item = element("li", { className: "copy" }, name, facts);
    for (const other of model.links.get(file) ?? []) {
      item.append(
        element(
          "div",
          { className: "other-name" },
          element("span", { text: `same file, ${OTHER_NAMES[model.kinds[other[2]]]}: ` }),
          pathElement(linkParts(model, other), { start: Infinity, end: 0 }),
        ),
      );
    }
    return item;
  }

  function listMore() {
    const start = model.first[current];
    const copies = model.copies[current];
    const end = Math.min(copies, listed + COPIES_AT_ONCE);
    const all = Array.from({ length: Math.min(copies, COPIES_AT_ONCE) }, (_, i) => fileParts(model, start + i));
    const shared = sharedParts(all);
    for (let i = listed; i < end; i += 1) list.append(copyElement(start + i, fileParts(model, start + i), shared));
    listed = end;
    byId("more").hidden = end === copies;
    byId("more").textContent =
      `Show ${COUNT.format(Math.min(COPIES_AT_ONCE, copies - end))} more (${COUNT.format(end)} of ${COUNT.format(copies)} listed)`;
  }

  // All copies have the same bytes, so any of them that the browser may read does; if none, there is no picture at all.
  function preview() {
    const frame = byId("preview");
    frame.replaceChildren();
    frame.hidden = true;
    if (!SHOWABLE.has(model.ending[current]) || model.size[current] > LARGEST_PREVIEW) return;
    const start = model.first[current];
    const candidates = Array.from({ length: Math.min(PREVIEWS_TRIED, model.copies[current]) }, (_, i) =>
      address(fileParts(model, start + i)),
    );
    tryPreview(
      frame,
      current,
      candidates.filter((href) => href.startsWith("file:///")),
    ); // a server's name would send a request
  }

  function tryPreview(frame, group, [href, ...others]) {
    if (href === undefined || group !== current) return;
    const image = element("img", {
      alt: `Preview of ${model.name[model.first[group]]}`,
      decoding: "async",
      referrerPolicy: "no-referrer",
    });
    image.addEventListener("error", () => tryPreview(frame, group, others), { once: true });
    image.addEventListener(
      "load",
      () => {
        if (group !== current) return;
        frame.replaceChildren(image);
        frame.hidden = false;
      },
      { once: true },
    );
    image.src = href;
  }

  function summary() {
    const kept = marks.kept[current];
    const copies = model.here[current];
    const gone = copies - kept;
    const wanted = marks.wanted[current] === 1;
    byId("choice").textContent = wanted
      ? "Wanted: all copies stay, and none counts as redundant."
      : kept === 0
        ? "Nothing chosen: all copies stay."
        : `${countText(kept, "copy stays", "copies stay")}; ${countText(gone, "copy is", "copies are")} redundant (${sizeText(gone * model.size[current])}).`;
    panel.classList.toggle("chosen", kept > 0);
    panel.classList.toggle("wanted", wanted);
    byId("wanted").checked = wanted;
    byId("wanted").disabled = !marks.canBeWanted(current);
    byId("wanted-field").title = marks.canBeWanted(current)
      ? ""
      : "This group has no digest, by which a list could know it: scan with --confirm sha256.";
    for (const button of byId("detail-rules").querySelectorAll("button")) button.disabled = wanted;
    for (const box of list.querySelectorAll("input.keep")) {
      const file = Number(box.dataset.file);
      box.checked = marks.keep[file] === 1;
      box.disabled = wanted || !isHere(model, file);
    }
  }

  function show(g) {
    panel.classList.toggle("empty", g < 0);
    if (g < 0) {
      current = -1;
      return;
    }
    if (g !== current) {
      current = g;
      listed = 0;
      list.replaceChildren();
      byId("detail-title").textContent =
        `${countText(model.copies[g], "copy", "copies")} of ${sizeText(model.size[g])}`;
      byId("digest").textContent =
        `Group ${COUNT.format(model.id[g])} · ${COUNT.format(model.size[g])} bytes · ${model.algorithms[model.algorithm[g]]}${model.digest[g] ? ` ${model.digest[g]}` : ""}${groupProofText(model, g) === "" ? "" : ` · ${groupProofText(model, g)}`}`;
      listMore();
      preview();
    }
    summary();
  }

  list.addEventListener("change", (event) => {
    if (!event.target.classList.contains("keep")) return;
    marks.toggle(current, Number(event.target.dataset.file));
    onChange();
  });
  byId("wanted").addEventListener("change", () => {
    marks.want([current], byId("wanted").checked);
    onChange();
  });
  byId("more").addEventListener("click", listMore);
  byId("detail-rules").addEventListener("click", (event) => {
    const rule = event.target.dataset.rule;
    if (rule === undefined || current < 0) return;
    marks.apply([current], rule);
    onChange();
  });

  return { show, current: () => current, focus: () => byId("detail-title").focus() };
}
