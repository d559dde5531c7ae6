"use strict";
(() => {
  const { specs, config } = JSON.parse(document.getElementById("figures").textContent);
  const root = document.documentElement;
  const charts = [...document.querySelectorAll(".chart")];
  const views = new Map();
  const hidden = new Set();
  let intervals = true;

  // A text in lines that fit into a width (px), whatever typeface this browser has; a longer word stays whole.
  const pen = document.createElement("canvas").getContext("2d");
  function lines(text, width, font) {
    pen.font = font;
    const broken = [];
    for (const word of text.split(" ")) {
      const longer = `${broken.at(-1)} ${word}`;
      if (broken.length && pen.measureText(longer).width <= width) broken[broken.length - 1] = longer;
      else broken.push(word);
    }
    return broken;
  }

  // What is folded has a width in some browsers, and none in others.
  const unfolded = (chart) => chart.clientWidth > 0 && !chart.closest("details:not([open])");

  // One declaration serves every width: panels keep a legible width, and as many as fit stand in a row.
  function fitted(spec, width) {
    const fit = structuredClone(spec);
    const narrow = width < 600, axis = narrow ? 64 : 58, gap = 16;
    if (fit.spec) {
      const panels = [...new Set(fit.data.values.map((row) => row.panel))];
      const words = Math.max(...panels.map((name) => String(name).length)) * 6.4;
      const least = Math.min(width - axis, Math.max(narrow ? 122 : 190, words));
      const most = Math.max(1, Math.min(panels.length, Math.floor((width - axis + gap) / (least + gap))));
      const columns = Math.ceil(panels.length / Math.ceil(panels.length / most)); // rows of about equal length
      fit.columns = columns;
      fit.spec.width = Math.min(panels.length === 1 ? 700 : 340, Math.floor((width - axis - gap * (columns - 1)) / columns) - 3);
      fit.spec.height = panels.length === 1 ? (narrow ? 200 : 260) : narrow ? 125 : 150;
    } else if (fit.concat) { // panels with an axis each
      const between = 46;
      const most = Math.max(1, Math.min(fit.concat.length, Math.floor((width + between) / ((narrow ? 110 : 150) + between))));
      let columns = fit.columns; // rows keep their meaning: a row is broken into equal parts
      while (columns > most || fit.columns % columns) columns -= 1;
      fit.columns = columns;
      fit.spacing = { ...fit.spacing, column: between };
      for (const panel of fit.concat) {
        panel.width = Math.min(300, Math.floor((width - between * columns) / columns) - 4);
        panel.height = Math.round(panel.height * (narrow ? 0.85 : 1.13));
        if (!panel.title) continue;
        const room = panel.width + between - 10; // headings end before the next panel
        const { subtitle, subtitleFontSize, limit } = panel.title;
        if (typeof subtitle === "string") panel.title.subtitle = lines(subtitle, room, `${subtitleFontSize}px ${config.title.subtitleFont}`);
        if (limit) panel.title.limit = room;
      }
    } else {
      fit.width = Math.min(860, width - axis - 6);
      fit.height = narrow ? 220 : 300;
    }
    return fit;
  }

  // Level 1 is errors only: Vega warns of empty extents while its data are still on the way.
  async function draw(chart) {
    if (!window.vegaEmbed) return;
    const width = chart.clientWidth;
    chart.dataset.width = width;
    const { view } = await vegaEmbed(chart, fitted(specs[chart.dataset.figure], width), { config, renderer: "svg", actions: false, tooltip: { theme: "custom" }, logLevel: 1 });
    views.set(chart, view);
    update(view);
  }

  function update(view) {
    for (const [name, value] of [["hidden", [...hidden]], ["intervals", intervals]]) {
      try { view.signal(name, value); } catch { /* distributions have a panel for everybody, and nothing to switch off */ }
    }
    view.runAsync();
  }

  // Every figure has its legend; who is switched off in one is off in all.
  const buttons = [...document.querySelectorAll("button.who")];
  function press(button, on) {
    const agent = button.dataset.agent;
    for (const one of buttons) if (one.dataset.agent === agent) one.setAttribute("aria-pressed", String(on));
    if (agent === undefined) intervals = on;
    else if (on) hidden.delete(agent);
    else hidden.add(agent);
  }

  for (const button of buttons) if (button.getAttribute("aria-pressed") === "false") hidden.add(button.dataset.agent);
  for (const button of buttons) {
    button.addEventListener("click", () => {
      press(button, button.getAttribute("aria-pressed") !== "true");
      views.forEach(update);
    });
  }

  document.getElementById("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });

  // Contents stand open beside the text where there is room, and folded above it where there is none.
  const contents = document.querySelector(".contents details");
  const wide = matchMedia("(min-width: 1200px)");
  const unfold = () => { contents.open = wide.matches; };
  wide.addEventListener("change", unfold);
  unfold();
  const links = new Map([...contents.querySelectorAll("a")].map((link) => [link.hash.slice(1), link]));
  const places = [...links.keys()].map((id) => document.getElementById(id)).filter(Boolean);
  let current = null;
  function mark() {
    let here = null;
    for (const place of places) if (place.getBoundingClientRect().top < innerHeight * 0.35) here = place;
    const link = here && links.get(here.id);
    if (link === current) return;
    current?.removeAttribute("aria-current");
    link?.setAttribute("aria-current", "true");
    current = link;
    if (link && wide.matches) link.scrollIntoView({ block: "nearest", behavior: "instant" });
  }
  addEventListener("scroll", mark, { passive: true });

  let waiting;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => charts.filter((chart) => unfolded(chart) && chart.clientWidth !== Number(chart.dataset.width)).forEach(draw), 150);
  });

  // What is seen first is drawn first, then what lies below, one after the other, so that the page answers meanwhile; what is folded, when it is opened.
  const pending = () => charts.filter((chart) => unfolded(chart) && chart.dataset.width === undefined);
  let drawing = null;
  async function drawAll() {
    for (let next = pending(); next.length; next = pending()) {
      await draw(next.find((chart) => chart.getBoundingClientRect().bottom > 0) ?? next[0]);
      await new Promise((done) => setTimeout(done, 0));
    }
    drawing = null;
  }
  const drawOpen = () => { drawing ??= drawAll(); return drawing; };
  const folds = document.querySelectorAll(".paradigm > details, details.fold");
  folds.forEach((one) => one.addEventListener("toggle", () => { if (one.open) drawOpen(); }));
  addEventListener("beforeprint", () => folds.forEach((one) => { one.open = true; }));

  // A link into what is folded opens it.
  function reveal() {
    const place = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!place) return;
    const closed = [place.querySelector(":scope > details")];
    for (let around = place.closest("details"); around; around = around.parentElement.closest("details")) closed.push(around);
    const shut = closed.filter((one) => one && !one.open);
    shut.forEach((one) => { one.open = true; });
    if (shut.length) place.scrollIntoView({ behavior: "instant" });
  }
  addEventListener("hashchange", reveal);
  reveal();

  drawOpen().then(
    () => {
      mark();
      root.dataset.ready = "yes";
    },
    (error) => {
      root.dataset.ready = "failed";
      console.error(error);
    },
  );
})();
