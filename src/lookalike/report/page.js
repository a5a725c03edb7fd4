// Opens and closes all examples, and filters them by text and score. The page is complete without this script.
(() => {
  for (const tools of document.querySelectorAll(".tools")) {
    const examples = [...tools.parentElement.querySelectorAll("details.example")];
    const [search, least] = tools.querySelectorAll("input");
    const [open, close] = tools.querySelectorAll("button");
    tools.hidden = false;
    open.onclick = () => examples.forEach((example) => { example.open = true; });
    close.onclick = () => examples.forEach((example) => { example.open = false; });
    const filter = () => {
      const wanted = search.value.toLocaleLowerCase();
      const lowest = least && least.value !== "" ? Number(least.value) : -Infinity;
      examples.forEach((example) => {
        const score = "score" in example.dataset ? Number(example.dataset.score) : Infinity;
        example.hidden = score < lowest || !example.textContent.toLocaleLowerCase().includes(wanted);
      });
    };
    search.oninput = filter;
    if (least) least.oninput = filter;
  }
  // Nothing can be opened on paper; tables of numbers stay closed.
  window.onbeforeprint = () => document.querySelectorAll("section > details.example").forEach((part) => { part.open = true; });
})();
