// Which copies stay, as chosen by hand or by a rule.  A group without a choice keeps all; a group with one keeps at least one.
// A wanted group keeps all on purpose: it has no choice, and no rule gives it one.

const MARKS_KEYS = { "hard link": "links", "symbolic link": "symlinks", mounted: "mounted" };
const MARKS_SCHEMA = "dedupe-marks/1";

function makeMarks(model) {
  const marks = {
    keep: new Uint8Array(model.files), // 1: this copy stays
    kept: new Uint32Array(model.groups), // copies that stay; 0: nothing chosen, so all stay
    chosen: 0,
    frees: 0,
    wanted: new Uint8Array(model.groups),
    wantedCount: 0,
    lines: [], // of the loaded lists of wanted duplicates: [line, groups that it names here]; replaced, never changed
    saved: true,
    wantedSaved: true,
    before: null,
  };

  const span = (g) => [model.first[g], model.first[g + 1]];

  function count() {
    marks.chosen = 0;
    marks.frees = 0;
    marks.wantedCount = 0;
    for (let g = 0; g < model.groups; g += 1) {
      marks.wantedCount += marks.wanted[g];
      if (marks.kept[g] === 0) continue;
      marks.chosen += 1;
      marks.frees += model.size[g] * (model.here[g] - marks.kept[g]);
    }
  }

  // Every change runs in here: it can be undone once, and the sums follow.
  function change(action) {
    const { keep, kept, wanted, lines } = marks;
    marks.before = { keep: keep.slice(), kept: kept.slice(), wanted: wanted.slice(), lines };
    marks.saved = false;
    const answer = action();
    count();
    return answer;
  }

  function only(g, file) {
    if (file < 0 || marks.wanted[g] === 1 || !isHere(model, file)) return; // what a catalog tells of can be neither kept nor let go
    const [start, end] = span(g);
    marks.keep.fill(0, start, end);
    marks.keep[file] = 1;
    marks.kept[g] = 1;
  }

  function clearGroup(g) {
    marks.keep.fill(0, ...span(g));
    marks.kept[g] = 0;
  }

  // Only a group with a digest can be wanted: the list has nothing else to know it by.
  const canBeWanted = (g) => Boolean(model.digest[g]);

  function setWanted(groups, wanted) {
    const able = groups.filter(canBeWanted);
    for (const g of able) {
      if (wanted) clearGroup(g);
      marks.wanted[g] = wanted ? 1 : 0;
    }
    return able.length;
  }

  function want(groups, wanted, lines = marks.lines) {
    return change(() => {
      marks.wantedSaved = false;
      marks.lines = lines;
      return setWanted(groups, wanted);
    });
  }

  // Keep or let go one copy.  Letting go the last one leaves the group without a choice: all its copies stay.
  function toggle(g, file) {
    if (marks.wanted[g] === 1 || !isHere(model, file)) return;
    change(() => {
      marks.kept[g] += marks.keep[file] === 1 ? -1 : 1;
      marks.keep[file] = 1 - marks.keep[file];
    });
  }

  const best = (g, better) => {
    const [start, end] = span(g);
    let found = -1;
    for (let file = start; file < end; file += 1)
      if (isHere(model, file) && (found < 0 || better(file, found))) found = file;
    return found;
  };
  const length = (file) => folderText(model, model.folder[file]).length + model.name[file].length;
  const RULES = {
    newest: (a, b) => model.time[a] > model.time[b],
    oldest: (a, b) => model.time[a] < model.time[b],
    shortest: (a, b) => length(a) < length(b),
  };

  // Apply a rule to `groups`; return how many it could decide.  Inside a folder every copy stays, as none is better.
  function apply(groups, rule, folder = -1) {
    if (rule === "wanted" || rule === "unwanted") return want(groups, rule === "wanted");
    const free = groups.filter((g) => marks.wanted[g] === 0);
    return change(() => {
      if (rule === "clear") free.forEach(clearGroup);
      else if (rule === "folder") return decide(free, staysInFolder(below(model, folder)), () => true);
      else if (rule === "outside") return decide(free, staysOutside(below(model, folder)), letsGo);
      else free.forEach((g) => only(g, best(g, RULES[rule])));
      return free.length;
    });
  }

  const isInside = (inside, folder) => folder >= 0 && inside[folder] === 1;
  const otherNames = (file, isMeant) => (model.links.get(file) ?? []).filter(([, , kind]) => isMeant(model.kinds[kind]));

  // A file with one of its real names in the folder is in it.
  const staysInFolder = (inside) => (file) =>
    isInside(inside, model.folder[file]) ||
    otherNames(file, (kind) => kind !== "symbolic link").some(([folder]) => isInside(inside, folder));

  const isWhollyInside = (inside, file) =>
    isInside(inside, model.folder[file]) &&
    otherNames(file, (kind) => kind === "hard link").every(([folder]) => isInside(inside, folder));

  // Only a file with all of its names in the folder goes; what was let go before stays so.
  const staysOutside = (inside) => (file, g) =>
    (marks.kept[g] === 0 || marks.keep[file] === 1) && !isWhollyInside(inside, file);

  const letsGo = (g, kept) => kept < (marks.kept[g] || model.here[g]);

  // Let a rule for each copy decide; where it would keep none, or does not fit, the group stays as it was.
  function decide(groups, stays, fits) {
    let decided = 0;
    for (const g of groups) {
      const [start, end] = span(g);
      const keep = Uint8Array.from({ length: end - start }, (_, i) =>
        isHere(model, start + i) && stays(start + i, g) ? 1 : 0,
      );
      const kept = keep.reduce((sum, each) => sum + each, 0);
      if (kept === 0 || !fits(g, kept)) continue;
      marks.keep.set(keep, start);
      marks.kept[g] = kept;
      decided += 1;
    }
    return decided;
  }

  function undo() {
    if (marks.before === null) return false;
    Object.assign(marks, marks.before, { before: null, saved: false, wantedSaved: false });
    count();
    return true;
  }

  // The marks as pieces of one JSON text.
  function written() {
    const head = {
      schema: MARKS_SCHEMA,
      saved: new Date().toISOString(),
      report: { version: model.version, started: model.started, roots: model.roots.map(rootRecord) },
    };
    const pieces = [`${JSON.stringify(head).slice(0, -1)},"groups":[`];
    let comma = "";
    for (let g = 0; g < model.groups; g += 1) {
      if (marks.kept[g] === 0) continue;
      pieces.push(`${comma}\n${JSON.stringify(groupRecord(g))}`);
      comma = ",";
    }
    pieces.push("\n]}\n");
    return pieces;
  }

  const rootRecord = (name) =>
    pathRecord(parts(model, -1, shownName(name), shownName(name) === name ? undefined : name[1]));

  const isExact = (file) =>
    !model.exactName.has(file) &&
    (model.exactFolder.size === 0 || fileParts(model, file).every(([, exact]) => exact === undefined));

  function groupRecord(g) {
    const record = {
      id: model.id[g],
      size: model.size[g],
      algorithm: model.algorithms[model.algorithm[g]],
      digest: model.digest[g] || null,
      keep: [],
      redundant: [],
    };
    const [start, end] = span(g);
    for (let file = start; file < end; file += 1)
      if (isHere(model, file)) record[marks.keep[file] === 1 ? "keep" : "redundant"].push(fileRecord(file));
    return record;
  }

  function fileRecord(file) {
    const record = isExact(file) ? { path: pathText(model, file) } : pathRecord(fileParts(model, file));
    for (const other of model.links.get(file) ?? []) {
      const key = MARKS_KEYS[model.kinds[other[2]]];
      record[key] = [...(record[key] ?? []), pathRecord(linkParts(model, other))];
    }
    return record;
  }

  // Take in a marks file in place of all marks.  Return how many groups it decided here, how many fit nothing here, and how
  // many stayed whole because they are wanted.
  function read(text) {
    const data = JSON.parse(text);
    if (data?.schema !== MARKS_SCHEMA || !Array.isArray(data.groups)) throw new Error(`no ${MARKS_SCHEMA} file`);
    const places = new Map();
    for (let g = 0; g < model.groups; g += 1) places.set(model.digest[g] || model.id[g], g);
    return change(() => {
      marks.keep.fill(0);
      marks.kept.fill(0);
      const placeOf = (record) => places.get(record?.digest ?? record?.id);
      const free = data.groups.filter((record) => marks.wanted[placeOf(record)] !== 1);
      const decided = free.filter((record) => readGroupMarks(record, placeOf(record))).length;
      return { decided, foreign: free.length - decided, wanted: data.groups.length - free.length };
    });
  }

  function isNamed(record, file) {
    if (isExact(file)) {
      const [folder, name] = [folderText(model, model.folder[file]), model.name[file]]; // not joined: that costs half of the time
      return (
        typeof record?.path === "string" &&
        record.path_base64 === undefined &&
        record.path.length === folder.length + name.length &&
        record.path.endsWith(name) &&
        record.path.startsWith(folder)
      );
    }
    const own = pathRecord(fileParts(model, file));
    return record?.path === own.path && record?.path_base64 === own.path_base64;
  }

  // Answers whether a list names a file.  Lists come in the order of the files, so the search goes on where it was.
  function finder(list) {
    let at = 0;
    return (file) => {
      for (let tried = 0; tried < list.length; tried += 1) {
        const found = isNamed(list[at], file);
        at = at + 1 < list.length ? at + 1 : 0;
        if (found) return true;
      }
      return false;
    };
  }

  // A copy that the file does not name stays: it was never weighed when the marks were made.
  function readGroupMarks(record, g) {
    if (g === undefined || record.size !== model.size[g] || record.algorithm !== model.algorithms[model.algorithm[g]])
      return false;
    if (!Array.isArray(record.keep) || !Array.isArray(record.redundant)) return false;
    const [start, end] = span(g);
    const [stays, goes] = [finder(record.keep), finder(record.redundant)];
    let [named, kept] = [0, 0];
    for (let file = start; file < end; file += 1) {
      if (!isHere(model, file)) continue;
      const keep = stays(file);
      marks.keep[file] = keep || !goes(file) ? 1 : 0;
      named += keep ? 1 : 0;
      kept += marks.keep[file];
    }
    if (named === 0) clearGroup(g);
    else marks.kept[g] = kept;
    return named > 0;
  }

  const onlyOne = (g, file) => change(() => only(g, file));
  return Object.assign(marks, { toggle, only: onlyOne, apply, isWhollyInside, want, canBeWanted, undo, written, read });
}
