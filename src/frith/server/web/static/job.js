// A job that is under way: ask how far it is every second, and go to its result.
"use strict";

const card = document.querySelector("[data-job]");
const passes = document.querySelector("[data-job-passes]");
const state = card.querySelector(".state");

function show(said) {
  if (said.state === "running" && state.classList.contains("state-queued")) {
    state.className = "state state-running";
    state.textContent = "running";
    const cancel = document.querySelector("[data-while-queued]");
    if (cancel) cancel.remove();
  }
  if (said.passes) {
    const doing = said.doing ? `: ${said.doing}` : "";
    passes.textContent = `Pass ${said.passes} over the records${doing}.`;
  }
}

async function look() {
  const answer = await fetch(card.dataset.job, { redirect: "error" });
  if (!answer.ok) return;
  const said = await answer.json();
  if (said.state === "waiting" || said.state === "queued" || said.state === "running") {
    show(said);
    setTimeout(again, 1000);
  } else if (said.result) {
    location.replace(said.result);
  } else {
    location.reload();
  }
}

function again() {
  look().catch(() => setTimeout(again, 5000));
}

setTimeout(again, 500);
