// Opens and closes all examples, and filters them. The page is complete without this script.
(() => {
  for (const tools of document.querySelectorAll(".tools")) {
    const examples = [...tools.parentElement.querySelectorAll("details.example")];
    const [search, open, close] = tools.children;
    tools.hidden = false;
    open.onclick = () => examples.forEach((example) => { example.open = true; });
    close.onclick = () => examples.forEach((example) => { example.open = false; });
    search.oninput = () => {
      const wanted = search.value.toLocaleLowerCase();
      examples.forEach((example) => { example.hidden = !example.textContent.toLocaleLowerCase().includes(wanted); });
    };
  }
  // Nothing can be opened on paper.
  window.onbeforeprint = () => document.querySelectorAll("details").forEach((part) => { part.open = true; });
})();
