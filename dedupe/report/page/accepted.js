// The list of wanted duplicates, as `dedupe scan --accept` reads it.  Keeps the lines of a loaded list that are not of this page.

const LINE_ENDS = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/; // those that the program splits at
const HEX_BYTES = /^(?:\s*[0-9a-f]{2})*\s*$/i;

const digestKey = (algorithm, digest) => `${algorithm}:${digest}`;

// The algorithm, "" where the line names none, and the digest; null for a line without.
function digestOf(line, number) {
  const words = line.split("#", 1)[0].trim();
  if (words === "") return null;
  const end = words.lastIndexOf(":");
  const digits = words.slice(end + 1);
  if (!HEX_BYTES.test(digits)) throw new Error(`no digest in line ${number}`);
  return [words.slice(0, Math.max(end, 0)).toLowerCase(), digits.replace(/\s/g, "").toLowerCase()];
}

function makeAccepted(model, marks) {
  const algorithmOf = (g) => model.algorithms[model.algorithm[g]];

  function places() {
    const found = new Map();
    for (let g = 0; g < model.groups; g += 1)
      if (model.digest[g]) found.set(digestKey(algorithmOf(g), model.digest[g]), g);
    return found;
  }

  // Mark the groups of a list as wanted; others stay wanted.  Return how many it named here, and how many lines fit nothing.
  function read(text) {
    const known = places();
    const read = text.split(LINE_ENDS).map((line, i) => [line, digestOf(line, i + 1)]);
    if (read.at(-1)[0] === "") read.pop(); // what follows the last line's end
    const named = new Set();
    let foreign = 0;
    const lines = read.map(([line, digest]) => {
      if (digest === null) return [line, []];
      const algorithms = digest[0] === "" ? model.algorithms : [digest[0]];
      const groups = algorithms.map((algorithm) => known.get(digestKey(algorithm, digest[1]))).filter((g) => g >= 0);
      foreign += groups.length === 0;
      for (const g of groups) named.add(g);
      return [line, groups];
    });
    const listed = new Set(marks.lines.map(([line]) => line));
    const added = lines.filter(([line]) => line.trim() === "" || !listed.has(line));
    marks.want([...named], true, [...marks.lines, ...added]);
    return { named: named.size, foreign };
  }

  // The loaded lines as they were, but for groups that are no longer wanted; then a line for each further group.
  function written() {
    const done = new Set();
    const pieces = [];
    for (const [line, groups] of marks.lines) {
      const wanted = groups.filter((g) => marks.wanted[g] === 1);
      if (groups.length > 0 && wanted.length === 0) continue;
      pieces.push(`${line}\n`);
      for (const g of wanted) done.add(g);
    }
    for (let g = 0; g < model.groups; g += 1) {
      if (marks.wanted[g] === 0 || done.has(g)) continue;
      const what = `${countText(model.copies[g], "file", "files")}, ${pathText(model, model.first[g])}`;
      pieces.push(`${digestKey(algorithmOf(g), model.digest[g])}  # ${what}\n`);
    }
    return pieces;
  }

  return { read, written };
}
