// Which groups are shown, and in what order.  Knows the columns and the marks, and nothing of the page.

const NO_FILTER = Object.freeze({ text: "", folder: -1, kind: -1, ending: null, least: 0, marks: "all" });

function makeFilter(model, marks) {
  let lowerPaths = null; // made at the first search: a quarter of a second for a million files
  let nameRank = null; // made at the first sorting by name: from then on names are sorted as fast as numbers

  function paths() {
    if (lowerPaths === null) {
      const folders = model.folderPath.map((path) => path.toLowerCase());
      lowerPaths = model.name.map((name, file) => (folders[model.folder[file]] ?? "") + name.toLowerCase());
    }
    return lowerPaths;
  }

  function matching(filter) {
    const words = filter.text
      .toLowerCase()
      .split(/\s+/)
      .filter((word) => word !== "");
    const lower = words.length > 0 ? paths() : null;
    const inside = filter.folder >= 0 ? below(model, filter.folder) : null;
    const found = new Uint32Array(model.groups);
    let count = 0;
    for (let g = 0; g < model.groups; g += 1) {
      if (model.size[g] < filter.least || !kindFits(filter, g) || !marksFit(filter, g)) continue;
      if (inside !== null || lower !== null) {
        let file = model.first[g];
        const end = model.first[g + 1];
        while (file < end && !fileFits(file, inside, words, lower)) file += 1;
        if (file === end) continue;
      }
      found[count] = g;
      count += 1;
    }
    return found.slice(0, count);
  }

  const kindFits = (filter, g) =>
    (filter.kind < 0 || model.kind[g] === filter.kind) && (filter.ending === null || model.ending[g] === filter.ending);
  const marksFit = (filter, g) => filter.marks === "all" || (filter.marks === "chosen") === marks.kept[g] > 0;
  const fileFits = (file, inside, words, lower) =>
    (inside === null || inside[model.folder[file]] === 1) && words.every((word) => lower[file].includes(word));

  function nameRanks() {
    if (nameRank === null) {
      const names = Array.from({ length: model.groups }, (_, g) => model.name[model.first[g]].toLowerCase());
      const order = Uint32Array.from(names.keys());
      order.sort((a, b) => (names[a] < names[b] ? -1 : names[a] > names[b] ? 1 : a - b));
      nameRank = new Uint32Array(model.groups);
      order.forEach((g, place) => {
        nameRank[g] = place;
      });
    }
    return nameRank;
  }

  function sorted(shown, key, down) {
    const values = key === "name" ? nameRanks() : key === "chosen" ? marks.kept : model[key];
    return shown.sort(down ? (a, b) => values[b] - values[a] || a - b : (a, b) => values[a] - values[b] || a - b);
  }

  return { shown: (filter, key, down) => sorted(matching(filter), key, down) };
}
