// Makes the list of identical and held folders act: a folder is a filter, and one mark lets a whole folder go.
// What goes is decided by the rule "all but those in a folder" of the marks, and by nothing here: this only counts what it left.

const ALONE = "no copy elsewhere in this page"; // not all are in it: --accept, --across and its own limit leave groups out

function makePairs(model, marks, { onFolder, changed, say }) {
  const holdsCopies = foldersWithCopies(model);

  function namesInside(inside, file) {
    const folders = [model.folder[file], ...(model.links.get(file) ?? []).map(([folder]) => folder)];
    return folders.filter((folder) => folder >= 0 && inside[folder] === 1).length;
  }

  // The groups with a name in the folder, each with its files that have one: [group, [file, names inside]...].
  function groupsInside(inside) {
    const found = [];
    for (let g = 0; g < model.groups; g += 1) {
      const files = [];
      for (let file = model.first[g]; file < model.first[g + 1]; file += 1) {
        const names = namesInside(inside, file);
        if (names > 0) files.push([file, names]);
      }
      if (files.length > 0) found.push([g, files]);
    }
    return found;
  }

  // Why a file of the folder stayed.
  function reason(g, file, inside) {
    if (!isHere(model, file)) return "offline";
    if (marks.wanted[g] === 1) return "wanted";
    if (!marks.isWhollyInside(inside, file)) return "another name outside of the folder";
    for (let other = model.first[g]; other < model.first[g + 1]; other += 1)
      if (isHere(model, other) && !marks.isWhollyInside(inside, other)) return "the copies elsewhere are to go";
    return ALONE;
  }

  // The report counts the names below a folder, of files without a copy too; the groups do not know those.
  function outcome(groups, inside, files) {
    const stay = new Map([[ALONE, files]]);
    const add = (why, names) => stay.set(why, (stay.get(why) ?? 0) + names);
    let gone = 0;
    for (const [g, own] of groups) {
      for (const [file, names] of own) {
        add(ALONE, -names);
        if (isHere(model, file) && marks.kept[g] > 0 && marks.keep[file] === 0) gone += names;
        else add(reason(g, file, inside), names);
      }
    }
    return { gone, stay };
  }

  function letGo(folder, path, files, leftOut) {
    const inside = below(model, folder);
    const groups = groupsInside(inside);
    marks.apply(
      groups.map(([g]) => g),
      "outside",
      folder,
    );
    changed();
    const { gone, stay } = outcome(groups, inside, files);
    const of = `of ${countText(files, "file", "files")}`;
    const texts = [`${path}: ${COUNT.format(gone)} ${of} may go`];
    for (const [why, names] of stay)
      if (names > 0) texts.push(`${COUNT.format(names)} ${of} ${names === 1 ? "stays" : "stay"}: ${why}`);
    if (leftOut > 0) texts.push(`${countText(leftOut, "entry", "entries")} there not compared`);
    say(`${texts.join("; ")}.`);
  }

  for (const name of document.querySelectorAll("bdi[data-folder]")) {
    const [folder, path] = [Number(name.dataset.folder), name.textContent];
    const show = element("button", { type: "button", className: "pair", title: "Show its groups" });
    show.addEventListener("click", () => {
      onFolder(folder);
      byId("groups").focus();
    });
    name.replaceWith(show);
    show.append(name);
    if (name.dataset.files === undefined || holdsCopies[folder] === 0) continue;
    const text = "This whole folder may go";
    const goes = element("button", { type: "button", className: "goes", text, "aria-label": `${text}: ${path}` });
    goes.addEventListener("click", () =>
      letGo(folder, path, Number(name.dataset.files), Number(name.dataset.leftOut)),
    );
    show.after(" ", goes);
  }
}

// 1 for each folder with a copy below it that is here: what is away cannot be let go.
function foldersWithCopies(model) {
  const holds = new Uint8Array(model.folders);
  for (let file = 0; file < model.files; file += 1)
    if (model.folder[file] >= 0 && isHere(model, file)) holds[model.folder[file]] = 1;
  for (let i = model.folders - 1; i >= 0; i -= 1) if (holds[i] === 1 && model.parent[i] >= 0) holds[model.parent[i]] = 1;
  return holds;
}
