"use strict";
// Inside a report, which runs in a sandbox: its marks and its files are opened by the page around it.
(() => {
  const tell = (said) => parent.postMessage(said, "*");
  const itemOf = (shape) => {
    const item = shape.__data__;
    return item?.datum?.mark !== undefined && ["symbol", "rect"].includes(item.mark?.marktype) ? item : null;
  };
  const choose = (shape) => {
    const item = itemOf(shape), chart = shape.closest(".chart");
    if (item && chart) tell({ figure: chart.dataset.figure, mark: item.datum.mark });
    return !!item;
  };
  // A mark that somebody has trials behind is a link, for mouse and keyboard alike.
  function link(chart) {
    let count = 0;
    for (const shape of chart.querySelectorAll("path")) {
      const linked = !!itemOf(shape);
      count += Number(linked);
      if (linked === shape.hasAttribute("tabindex")) continue;
      if (linked) {
        shape.setAttribute("tabindex", "0");
        shape.setAttribute("role", "link");
        shape.style.cursor = "pointer";
      } else {
        shape.removeAttribute("tabindex");
        shape.setAttribute("role", "graphics-symbol");
        shape.style.cursor = "";
      }
    }
    if (count) chart.setAttribute("role", "group"); // a picture would hide its links
  }
  for (const chart of document.querySelectorAll(".chart")) {
    new MutationObserver(() => link(chart)).observe(chart, { childList: true, subtree: true, attributeFilter: ["aria-label"] });
    link(chart);
    chart.addEventListener("click", (event) => { choose(event.target); });
    chart.addEventListener("keydown", (event) => { if (event.key === "Enter" && choose(event.target)) event.preventDefault(); });
  }
  // The first picture is drawn without a chart.
  for (const mark of document.querySelectorAll(".glance [data-mark]")) {
    const open = () => tell({ figure: "overview", mark: Number(mark.dataset.mark) });
    mark.setAttribute("tabindex", "0");
    mark.setAttribute("role", "link");
    mark.setAttribute("aria-label", mark.querySelector("title").textContent);
    mark.addEventListener("click", open);
    mark.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); open(); } });
  }
  document.addEventListener("click", (event) => {
    const address = event.target.closest?.("a[href]")?.getAttribute("href");
    if (!address || address.startsWith("#")) return;
    event.preventDefault();
    tell({ file: address });
  });
  // Charts take their room when they are drawn: whoever comes back to a figure finds it then.
  const root = document.documentElement;
  const comeBack = () => { if (root.dataset.ready && location.hash) document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView({ behavior: "instant" }); };
  root.style.scrollBehavior = "auto"; // a slow way there would go on after this, and end elsewhere
  new MutationObserver(() => { comeBack(); setTimeout(comeBack, 400); }).observe(root, { attributeFilter: ["data-ready"] });
  const style = document.createElement("style");
  style.textContent = ".glance [role=link] { cursor: pointer } .glance [role=link]:is(:hover, :focus-visible) { outline: none } .glance [role=link]:is(:hover, :focus-visible) path { stroke: var(--ink); stroke-width: 4px; paint-order: stroke; } .chart path[role=link]:is(:hover, :focus-visible) { stroke: var(--ink); stroke-width: 5px; paint-order: stroke; outline: none; }";
  document.head.append(style);
})();
