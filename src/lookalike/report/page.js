// Open and close examples at once, and filter them. The page says all it has to say without this.
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
  // Paper has no triangles to click on.
  window.onbeforeprint = () => document.querySelectorAll("details").forEach((part) => { part.open = true; });
})();
