// The groups as columns: read once from the page, never changed.  `dedupe/report/html.py` tells their shape.

async function readData(base64) {
  const stream = new Blob([bytesOf(base64)]).stream().pipeThrough(new DecompressionStream("deflate"));
  return columns(JSON.parse(await new Response(stream).text()));
}

function bytesOf(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i += 1) bytes[i] = text.charCodeAt(i);
  return bytes;
}

const FILE_VALUES = 5; // folder, name, time, root, proof

function columns(data) {
  const groups = data.groups.length;
  const first = new Uint32Array(groups + 1);
  data.groups.forEach((row, g) => {
    first[g + 1] = first[g] + (row.length - 4) / FILE_VALUES;
  });
  const files = first[groups];
  const model = {
    ...data,
    groups,
    files,
    first,
    folders: data.folders.length,
    id: new Float64Array(groups),
    size: new Float64Array(groups),
    digest: new Array(groups),
    algorithm: new Uint8Array(groups),
    frees: new Float64Array(groups),
    copies: new Uint32Array(groups),
    here: new Uint32Array(groups), // of the copies, those that are no catalog's
    newest: new Float64Array(groups),
    kind: new Uint8Array(groups),
    ending: new Array(groups),
    folder: new Int32Array(files),
    time: new Float64Array(files),
    group: new Uint32Array(files),
    root: new Int32Array(files),
    proof: new Int8Array(files),
    name: new Array(files),
    exactName: new Map(),
    parent: new Int32Array(data.folders.length),
    folderName: [],
    folderPath: [],
    exactFolder: new Map(),
    links: new Map(),
  };
  readFolders(model, data.folders);
  data.groups.forEach((row, g) => readGroup(model, row, g));
  for (const [g, number, kind, folder, name] of data.links) {
    const file = first[g] + number;
    if (!model.links.has(file)) model.links.set(file, []);
    model.links.get(file).push([folder, name, kind]);
  }
  return model;
}

function readFolders(model, rows) {
  rows.forEach(([parent, name], i) => {
    const shown = shownName(name);
    if (shown !== name) model.exactFolder.set(i, name[1]);
    model.parent[i] = parent;
    model.folderName.push(shown);
    model.folderPath.push(parent < 0 ? shown : model.folderPath[parent] + shown);
  });
}

function readGroup(model, row, g) {
  const start = model.first[g];
  const copies = model.first[g + 1] - start;
  let name = "";
  let newest = -Infinity;
  for (let i = 0; i < copies; i += 1) {
    const file = start + i;
    const [folder, ownName, time, root, proof] = row.slice(4 + FILE_VALUES * i, 4 + FILE_VALUES * (i + 1));
    name = ownName === 0 ? name : ownName;
    const shown = shownName(name);
    if (shown !== name) model.exactName.set(file, name[1]);
    model.name[file] = shown;
    model.folder[file] = folder;
    model.time[file] = time;
    model.root[file] = root;
    model.proof[file] = proof;
    model.group[file] = g;
    newest = Math.max(newest, time);
  }
  [model.id[g], model.size[g], model.algorithm[g], model.digest[g]] = row;
  model.copies[g] = copies;
  let here = 0;
  for (let file = start; file < start + copies; file += 1) here += isHere(model, file);
  model.here[g] = here;
  model.frees[g] = model.size[g] * Math.max(here - 1, 0);
  model.newest[g] = newest;
  model.ending[g] = endingOf(model.name[start]);
  model.kind[g] = kindOf(model.ending[g]);
}

function shownName(name) {
  return typeof name === "string" ? name : name[0];
}

const folderText = (model, folder) => (folder < 0 ? "" : model.folderPath[folder]);
const pathText = (model, file) => folderText(model, model.folder[file]) + model.name[file];

// How it is known that files are equal: read in the scan itself, or remembered from an earlier one; "" where nobody says.
const PROOF_TEXTS = { remembered: "remembered", offline: "offline" };
const proofText = (model, proof) => (proof < 0 ? "" : PROOF_TEXTS[model.proofs[proof]] ?? "read now");

// Whether a copy is here; a catalog tells of one that is away, which is neither kept nor let go.
const isHere = (model, file) => model.proofs[model.proof[file]] !== "offline";

function groupProofText(model, g) {
  const own = model.proof.subarray(model.first[g], model.first[g + 1]);
  return own.includes(-1) ? "" : proofText(model, own.reduce((weakest, each) => Math.max(weakest, each), -1));
}

// A path as its parts, each `[readable text, base64 of the exact bytes or undefined]`; folders keep their separators.
function parts(model, folder, name, exact) {
  const found = [[name, exact]];
  for (let i = folder; i >= 0; i = model.parent[i]) found.push([model.folderName[i], model.exactFolder.get(i)]);
  return found.reverse();
}

const fileParts = (model, file) => parts(model, model.folder[file], model.name[file], model.exactName.get(file));
const linkParts = (model, [folder, name]) =>
  parts(model, folder, shownName(name), shownName(name) === name ? undefined : name[1]);

// What a marks file says of a path: its text and, where that is no exact name, the base64 of its bytes.
function pathRecord(found) {
  const text = found.map(([shown]) => shown).join("");
  if (found.every(([, exact]) => exact === undefined)) return { path: text };
  const bytes = new Uint8Array(found.flatMap(([shown, exact]) => [...partBytes(shown, exact)]));
  try {
    return { path: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    return { path: text, path_base64: btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join("")) };
  }
}

const partBytes = (shown, exact) => (exact === undefined ? new TextEncoder().encode(shown) : bytesOf(exact));

// The address of a file, or "" where there is none (a relative path).  Empty parts go, so that no path names a host by accident.
function address(found) {
  const top = found[0][0];
  const network = found.length > 3 && top === "\\" && found[1][0] === "\\";
  if (!network && top !== "/" && !/^[A-Za-z]:[\\/]$/.test(top)) return "";
  const separator = top.endsWith("\\") ? 0x5c : 0x2f;
  const encoded = found
    .map(([shown, exact]) => encodedPart(partBytes(shown, exact), separator))
    .filter((part) => part !== "");
  if (!network && top !== "/") encoded[0] = encoded[0].replace("%3A", ":");
  return (network ? "file://" : "file:///") + encoded.join("/");
}

function encodedPart(bytes, separator) {
  const own = bytes.length > 0 && bytes[bytes.length - 1] === separator ? bytes.subarray(0, -1) : bytes;
  return Array.from(own, (byte) => {
    const letter = String.fromCharCode(byte);
    return /[A-Za-z0-9._~-]/.test(letter) ? letter : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }).join("");
}

// 1 for each folder that lies in `folder` or is it; parents come first in the columns.
function below(model, folder) {
  const inside = new Uint8Array(model.folders);
  for (let i = 0; i < model.folders; i += 1)
    inside[i] = i === folder || (model.parent[i] >= 0 && inside[model.parent[i]]) ? 1 : 0;
  return inside;
}

function folderNamed(model, text) {
  const bare = (path) => path.replace(/(?<=.)[\\/]+$/, "");
  const wanted = bare(text.trim());
  return wanted === "" ? -1 : model.folderPath.findIndex((path) => bare(path) === wanted);
}
