// Forms that show their price as epsilon moves. Everything here is a help: forms work without it.
"use strict";

const WAIT = 120; // milliseconds after the last change

function field(form, name) {
  return form.elements.namedItem(name);
}

function showPrice(form, said) {
  const text = form.querySelector("[data-quote-text]");
  text.textContent = said.text;
  text.classList.toggle("refused", !said.granted);
  const meaning = form.querySelector("[data-quote-meaning]");
  if (meaning) meaning.textContent = said.meaning;
  const plan = form.closest("section").querySelector(".gauge-plan");
  if (plan) plan.setAttribute("width", String(100 * said.share));
}

function followPrice(form) {
  let timer = 0;
  let asked = 0;
  const ask = async () => {
    const query = new URLSearchParams();
    for (const name of ["epsilon", "delta", "learner", "batch", "rules"]) {
      if (field(form, name)) query.set(name, field(form, name).value);
    }
    const turn = ++asked;
    const answer = await fetch(`${form.dataset.quote}?${query}`, { redirect: "error" });
    if (answer.ok && turn === asked) showPrice(form, await answer.json());
  };
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(() => ask().catch(() => {}), WAIT);
  };
  form.addEventListener("input", later);
  later();
}

function followSlider(slider) {
  const number = document.getElementById(slider.dataset.for);
  slider.hidden = false;
  slider.addEventListener("input", () => {
    number.value = slider.value;
  });
  number.addEventListener("input", () => {
    slider.value = number.value;
  });
}

function followLearner(select) {
  const show = () => {
    for (const part of document.querySelectorAll("[data-learner]")) {
      part.hidden = part.dataset.learner !== select.value;
    }
  };
  select.addEventListener("change", show);
  show();
}

function offerCopy(button) {
  const shown = document.getElementById(button.dataset.copy);
  button.hidden = false;
  button.addEventListener("click", async () => {
    shown.select();
    await navigator.clipboard.writeText(shown.value);
    button.textContent = "Copied";
  });
}

document.querySelectorAll("input[type=range][data-for]").forEach(followSlider);
document.querySelectorAll("[data-learner-choice]").forEach(followLearner);
document.querySelectorAll("form[data-quote]").forEach(followPrice);
if (navigator.clipboard) document.querySelectorAll("[data-copy]").forEach(offerCopy);
