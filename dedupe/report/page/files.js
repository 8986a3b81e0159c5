// What is saved from the page and loaded into it: marks, and the list of wanted duplicates.

function makeFiles(model, marks, { say, changed }) {
  const accepted = makeAccepted(model, marks);

  // Paths of Windows: nothing acts on files there yet.
  const onWindows = [...model.roots.map(shownName), ...model.folderPath.slice(0, 1)].some((path) =>
    /^([A-Za-z]:|\\\\)/.test(path),
  );

  function give(pieces, type, name) {
    const href = URL.createObjectURL(new Blob(pieces, { type }));
    element("a", { href, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(href), 60_000); // the browser may still be reading it
  }

  function saveMarks() {
    // A name of its own for each: where one is taken browsers add a number, and the command would act on the older file.
    const name = `dedupe-marks-${new Date().toISOString().replace(/\D/g, "")}.json`;
    give(marks.written(), "application/json", name);
    marks.saved = true;
    say(`Marks of ${countText(marks.chosen, "group", "groups")} given to the browser to save.`);
    byId("command").textContent = `dedupe apply ${name} --trash`; // one click selects it whole
    byId(onWindows ? "elsewhere" : "next").hidden = false;
  }

  function saveAccepted() {
    give(accepted.written(), "text/plain", "accepted.txt");
    marks.wantedSaved = true;
    say(
      `List with ${countText(marks.wantedCount, "wanted group", "wanted groups")} of this page given to the browser to save: dedupe scan --accept FILE leaves them out.`,
    );
  }

  async function load(input, what, take) {
    const [file] = input.files;
    if (file === undefined) return;
    try {
      const text = take(await file.text());
      changed();
      say(text);
    } catch (error) {
      say(`That file holds no ${what}: ${error.message}`);
    }
    input.value = "";
  }

  const foreignText = (count, what) =>
    count > 0 ? `; ${COUNT.format(count)} fit no group of this page and ${what}` : "";

  function takeMarks(text) {
    const { decided, foreign, wanted } = marks.read(text);
    marks.saved = wanted === 0;
    const left = wanted > 0 ? `; ${countText(wanted, "group is", "groups are")} wanted and stayed whole` : "";
    return `Marks loaded for ${countText(decided, "group", "groups")}${foreignText(foreign, "were left out")}${left}.`;
  }

  function takeAccepted(text) {
    const { named, foreign } = accepted.read(text);
    return `${countText(named, "group", "groups")} of the list marked as wanted${foreignText(foreign, "stay in the list")}.`;
  }

  byId("save").addEventListener("click", saveMarks);
  byId("load").addEventListener("change", () => load(byId("load"), "marks of dedupe", takeMarks));
  byId("save-accepted").addEventListener("click", saveAccepted);
  byId("load-accepted").addEventListener("change", () =>
    load(byId("load-accepted"), "list of wanted duplicates", takeAccepted),
  );
}
