"use strict";
(() => {
  const { specs, config } = JSON.parse(document.getElementById("figures").textContent);
  const charts = [...document.querySelectorAll(".chart")];
  const views = new Map();
  const hidden = new Set();
  let intervals = true;

  // One declaration serves every width: panels keep a legible width, and as many as fit stand in a row.
  function fitted(spec, width) {
    const fit = structuredClone(spec);
    const axis = 58, gap = 16, narrow = width < 600;
    if (fit.spec) {
      const panels = new Set(fit.data.values.map((row) => row.panel)).size;
      const columns = Math.max(1, Math.min(panels, Math.floor((width - axis + gap) / ((narrow ? 122 : 190) + gap))));
      fit.columns = columns;
      fit.spec.width = Math.min(340, Math.floor((width - axis - gap * (columns - 1)) / columns) - 3);
      fit.spec.height = narrow ? 125 : 150;
    } else if (fit.concat) { // panels with an axis each
      const between = 46;
      let columns = Math.max(1, Math.min(fit.concat.length, Math.floor((width + between) / ((narrow ? 110 : 150) + between))));
      while (fit.concat.length % columns) columns -= 1;
      fit.columns = columns;
      fit.spacing = { row: 84, column: between };
      for (const panel of fit.concat) {
        panel.width = Math.min(300, Math.floor((width - between * columns) / columns) - 4);
        panel.height = narrow ? 125 : 170;
      }
    } else {
      fit.width = Math.min(860, width - axis - 6);
      fit.height = narrow ? 220 : 300;
    }
    return fit;
  }

  // Level 1 is errors only: Vega warns of empty extents while its data are still on the way.
  async function draw(chart) {
    const width = chart.clientWidth;
    chart.dataset.width = width;
    const { view } = await vegaEmbed(chart, fitted(specs[chart.dataset.figure], width), { config, renderer: "svg", actions: false, tooltip: { theme: "custom" }, logLevel: 1 });
    views.set(chart, view);
    update(view);
  }

  function update(view) {
    view.signal("hidden", [...hidden]).signal("intervals", intervals).runAsync();
  }

  for (const button of document.querySelectorAll("button.who")) {
    button.addEventListener("click", () => {
      const on = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(on));
      if (button.id === "intervals") intervals = on;
      else if (on) hidden.delete(button.dataset.agent);
      else hidden.add(button.dataset.agent);
      views.forEach(update);
    });
  }

  document.getElementById("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });

  let waiting;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => charts.filter((chart) => chart.clientWidth !== Number(chart.dataset.width)).forEach(draw), 150);
  });

  Promise.all(charts.map(draw)).then(
    () => { document.documentElement.dataset.ready = "yes"; },
    (error) => {
      document.documentElement.dataset.ready = "failed";
      console.error(error);
    },
  );
})();
