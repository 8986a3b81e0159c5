// Brings the parts together: what the reader does changes the filter or the marks, and everything drawn follows.

const PRINTED = 500; // groups on paper; the print says so
const FOLDER_RULES = new Set(["folder", "outside"]);
const RULE_DONE = { clear: "Choice taken back in", wanted: "Marked as wanted:", unwanted: "No longer wanted:" };

function start(model) {
  const marks = makeMarks(model);
  const filterer = makeFilter(model, marks);
  let filter = { ...NO_FILTER };
  let sort = { key: "frees", down: true };
  let shown = new Uint32Array();

  const detail = makeDetail(model, marks, { onChange: marksChanged });
  const table = makeTable(model, marks, {
    onActive: (g) => detail.show(g),
    onOpen: open,
    onKey: keyed,
    onSort: sortBy,
  });
  const space = makeSpace(model, {
    onFolder: (folder) => narrow({ folder }),
    onKind: (kind, ending) => narrow({ kind, ending }),
  });

  function say(text) {
    byId("said").textContent = text;
  }

  // --- filter and order

  function refresh() {
    shown = filterer.shown(filter, sort.key, sort.down);
    table.sortedBy(sort.key, sort.down);
    table.show(shown, { keep: detail.current() });
    drawCount();
    byId("apply").textContent = `Apply to ${countText(shown.length, "shown group", "shown groups")}`;
    byId("apply").disabled = shown.length === 0;
    drawChips();
  }

  function drawCount() {
    const frees = shown.reduce((sum, g) => sum + (marks.wanted[g] === 1 ? 0 : model.frees[g]), 0);
    byId("count").textContent =
      shown.length === model.groups
        ? `All ${countText(model.groups, "group", "groups")}, ${sizeText(frees)} can be freed`
        : `${COUNT.format(shown.length)} of ${countText(model.groups, "group", "groups")}, ${sizeText(frees)} can be freed`;
  }

  function narrow(change) {
    filter = { ...filter, ...change };
    byId("kind").value = String(filter.kind);
    refresh();
  }

  function sortBy(key) {
    sort = { key, down: key === sort.key ? !sort.down : !["name", "kind"].includes(key) };
    refresh();
  }

  function drawChips() {
    const chips = [];
    if (filter.folder >= 0) chips.push([`in ${model.folderPath[filter.folder]}`, { folder: -1 }]);
    if (filter.ending !== null)
      chips.push([filter.ending === "" ? "no ending" : `.${filter.ending}`, { ending: null }]);
    byId("chips").replaceChildren(
      ...chips.map(([text, change]) => {
        const button = element(
          "button",
          { type: "button", className: "chip", "aria-label": `Remove filter: ${text}` },
          element("bdi", { text }),
          element("span", { text: "×", "aria-hidden": "true" }),
        );
        button.addEventListener("click", () => {
          narrow(change);
          space.home();
          byId("search").focus();
        });
        return button;
      }),
    );
  }

  function resetFilter() {
    byId("search").value = "";
    byId("least").value = "0";
    byId("marked").value = "all";
    byId("root").value = "-1";
    byId("away").value = "all";
    space.home();
    narrow(NO_FILTER);
  }

  let waiting = 0;
  byId("search").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => narrow({ text: byId("search").value }), 100); // a word is typed letter by letter
  });
  byId("kind").append(...KINDS.map((text, i) => element("option", { text, value: String(i) })));
  byId("kind").addEventListener("change", () => narrow({ kind: Number(byId("kind").value), ending: null }));
  byId("least").addEventListener("change", () => narrow({ least: Number(byId("least").value) }));
  byId("marked").addEventListener("change", () => narrow({ marks: byId("marked").value }));
  byId("root").append(...model.roots.map((root, i) => element("option", { text: shownName(root), value: String(i) })));
  byId("root").addEventListener("change", () => narrow({ root: Number(byId("root").value) }));
  byId("root-field").hidden = model.roots.length < 2;
  byId("away").addEventListener("change", () => narrow({ away: byId("away").value }));
  byId("away-field").hidden = model.here.every((here, g) => here === model.copies[g]);
  byId("reset").addEventListener("click", resetFilter);

  // --- marks

  function marksChanged() {
    table.draw();
    detail.show(detail.current());
    byId("chosen").textContent =
      marks.chosen === 0
        ? "Nothing chosen yet"
        : `Chosen in ${COUNT.format(marks.chosen)} of ${countText(model.groups, "group", "groups")}`;
    byId("chosen-size").textContent = marks.chosen === 0 ? "all copies stay" : `${sizeText(marks.frees)} redundant`;
    byId("wanted-count").textContent = marks.wantedCount === 0 ? "" : `· ${COUNT.format(marks.wantedCount)} wanted`;
    drawCount();
    byId("save").disabled = marks.chosen === 0;
    byId("save-accepted").disabled = marks.wantedCount === 0 && marks.lines.length === 0;
    byId("undo").disabled = marks.before === null;
  }

  function applyRule() {
    const rule = byId("rule").value;
    const named = FOLDER_RULES.has(rule);
    const folder = named ? folderNamed(model, byId("rule-folder").value) : -1;
    byId("rule-folder").setAttribute("aria-invalid", String(named && folder < 0));
    if (named && folder < 0) {
      say("No copy lies in a folder of that name; write its whole path.");
      byId("rule-folder").focus();
      return;
    }
    const decided = marks.apply(shown, rule, folder);
    marksChanged();
    say(ruleText(rule, decided, shown));
  }

  function ruleText(rule, decided, groups) {
    const done = RULE_DONE[rule] ?? "Chosen in";
    const aside = rule.endsWith("wanted");
    const wanted = aside ? 0 : groups.reduce((sum, g) => sum + marks.wanted[g], 0);
    const left = groups.length - decided - wanted;
    const why = aside ? ["has no digest", "have no digest"] : ["has no copy there", "have no copy there"];
    const whyNot = rule === "outside" ? ["has nothing there that may go", "have nothing there that may go"] : why;
    const reasons = [
      left > 0 ? `${countText(left, ...whyNot.map((text, i) => `${i ? "groups" : "group"} ${text}`))} and stayed as before` : "",
      wanted > 0 ? `${countText(wanted, "group is", "groups are")} wanted and stayed whole` : "",
    ];
    return `${[`${done} ${countText(decided, "group", "groups")}`, ...reasons].filter((text) => text !== "").join("; ")}.`;
  }

  byId("rule").addEventListener("change", () => {
    byId("rule-folder-field").hidden = !FOLDER_RULES.has(byId("rule").value);
    if (filter.folder >= 0 && byId("rule-folder").value === "")
      byId("rule-folder").value = model.folderPath[filter.folder];
  });
  byId("rule-form").addEventListener("submit", (event) => {
    event.preventDefault();
    applyRule();
  });
  makeFiles(model, marks, { say, changed: marksChanged });
  makePairs(model, marks, { say, changed: marksChanged, onFolder: (folder) => narrow({ folder }) });
  byId("undo").addEventListener("click", () => {
    marks.undo();
    marksChanged();
    say("Last change of the marks undone.");
  });
  window.addEventListener("beforeunload", (event) => {
    if ((!marks.saved && marks.chosen > 0) || (!marks.wantedSaved && marks.wantedCount > 0)) event.preventDefault();
  });

  // --- keys

  function open(g, { byPointer = false } = {}) {
    detail.show(g);
    const beside = matchMedia("(min-width: 1000px)").matches;
    if (byPointer && beside) return;
    detail.focus();
    if (!beside) byId("detail").scrollIntoView({ block: "start" });
  }

  function keyed(key, g) {
    const rule = { n: "newest", o: "oldest", s: "shortest", Backspace: "clear", Delete: "clear" }[key];
    if (rule !== undefined) marks.apply([g], rule);
    else if (/^[1-9]$/.test(key) && Number(key) <= model.copies[g]) marks.only(g, model.first[g] + Number(key) - 1);
    else if (key === "w" && marks.canBeWanted(g)) marks.want([g], marks.wanted[g] === 0);
    else if (key === "u") marks.undo();
    else if (key === "/") byId("search").focus();
    else return false;
    if (key !== "/") {
      marksChanged();
      say(byId("choice").textContent);
    }
    return true;
  }

  byId("back").addEventListener("click", () => table.focus());
  byId("detail").addEventListener("keydown", (event) => {
    if (event.key === "Escape") table.focus();
  });

  // --- paper

  window.addEventListener("beforeprint", () => {
    const rows = Array.from(shown.subarray(0, PRINTED), (g) => printedGroup(model, marks, g));
    const note =
      shown.length > PRINTED
        ? `The first ${COUNT.format(PRINTED)} of ${COUNT.format(shown.length)} groups, in the order of the page.`
        : `${countText(shown.length, "group", "groups")}.`;
    byId("paper").replaceChildren(element("p", { text: note }), ...rows);
  });
  window.addEventListener("afterprint", () => byId("paper").replaceChildren());

  byId("folders-known").append(
    ...[...new Set([...model.roots.map(shownName), ...model.folderPath.slice(0, 100)])].map((path) =>
      element("option", { value: path }),
    ),
  );
  if (model.left[0] > 0) {
    byId("limit").textContent =
      `This page holds the ${countText(model.groups, "group", "groups")} that waste most. ${countText(model.left[0], "smaller group", "smaller groups")} with ${sizeText(model.left[1])} are not in it: the JSON report and the database have them all.`;
    byId("limit").hidden = false;
  }
  marksChanged();
  refresh();
  space.draw();
  if (model.groups === 0) byId("nothing").textContent = "No duplicates were found.";
}

function printedGroup(model, marks, g) {
  const list = element("ul");
  for (let file = model.first[g]; file < model.first[g + 1]; file += 1) {
    const state = marks.kept[g] === 0 ? "" : marks.keep[file] === 1 ? "keep: " : "redundant: ";
    list.append(element("li", { text: state + pathText(model, file) }));
  }
  const title = `${countText(model.copies[g], "copy", "copies")} of ${sizeText(model.size[g])}, ${marks.wanted[g] === 1 ? "wanted" : `${sizeText(model.frees[g])} can be freed`}`;
  return element("section", { className: "printed" }, element("h3", { text: title }), list);
}

// --- light and dark: as the system says, until the reader says otherwise

function startTheme() {
  const dark = () =>
    (document.documentElement.dataset.theme ??
      (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const button = byId("theme");
  const draw = () => button.setAttribute("aria-pressed", String(dark()));
  button.hidden = false;
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = dark() ? "light" : "dark";
    draw();
  });
  draw();
}

document.documentElement.classList.add("script");
startTheme();
readData(byId("data").textContent.trim())
  .then(start)
  .then(
    () => document.documentElement.classList.add("ready"),
    (error) => {
      byId("broken").hidden = false;
      byId("broken").textContent =
        `The list of groups could not be read, so only the totals are shown: ${error.message}. Browsers of 2024 and later can.`;
      document.documentElement.classList.add("failed");
    },
  );
