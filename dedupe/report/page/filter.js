// Which groups are shown, and in what order.  Knows the columns and the marks, and nothing of the page.

const NO_FILTER = Object.freeze({
  text: "",
  folder: -1,
  kind: -1,
  ending: null,
  least: 0,
  marks: "all",
  root: -1,
  away: "all",
});

const MARKS_FIT = {
  all: () => true,
  unwanted: (_, wanted) => !wanted,
  open: (kept, wanted) => kept === 0 && !wanted,
  chosen: (kept) => kept > 0,
  wanted: (_, wanted) => wanted,
};

const AWAY_FITS = {
  all: () => true,
  some: (here, copies) => here < copies,
  only: (here) => here === 0,
  none: (here, copies) => here === copies,
};

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
      if (model.size[g] < filter.least || !kindFits(filter, g) || !marksFit(filter, g) || !awayFits(filter, g)) continue;
      if (inside !== null || lower !== null || filter.root >= 0) {
        let file = model.first[g];
        const end = model.first[g + 1];
        while (file < end && !fileFits(file, filter.root, inside, words, lower)) file += 1;
        if (file === end) continue;
      }
      found[count] = g;
      count += 1;
    }
    return found.slice(0, count);
  }

  const kindFits = (filter, g) =>
    (filter.kind < 0 || model.kind[g] === filter.kind) && (filter.ending === null || model.ending[g] === filter.ending);
  const marksFit = (filter, g) => MARKS_FIT[filter.marks](marks.kept[g], marks.wanted[g] === 1);
  const awayFits = (filter, g) => AWAY_FITS[filter.away](model.here[g], model.copies[g]);
  const isIn = (inside, file) =>
    inside[model.folder[file]] === 1 || (model.links.get(file) ?? []).some(([folder]) => inside[folder] === 1);
  const fileFits = (file, root, inside, words, lower) =>
    (root < 0 || model.root[file] === root) &&
    (inside === null || isIn(inside, file)) && words.every((word) => lower[file].includes(word));

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
