import { allowAsking } from './calls.mjs';
import { setUpImage } from './image.mjs';
import { startVideo } from './starts.mjs';
import { showError } from './words.mjs';

const form = document.querySelector('#new-video');
const button = document.querySelector('#generate');
const note = document.querySelector('#form-note');

/** The names of the interface, in the order of the page. */
const FIELDS = ['prompt', 'image_url', 'resolution', 'aspect_ratio', 'duration', 'seed'];
const NUMBERS = new Set(['duration', 'seed']);
/** What is wrong with a field, to the person who filled it. What a service refuses besides, the gateway says. */
const MISTAKES = {
  prompt: (value) => value === '' && 'Describe the video.',
  image_url: (value) =>
    value !== '' && !URL.canParse(value) && 'Give a web address, such as https://example.com/fox.png.',
  duration: (value, { maxDurationSeconds: most }) =>
    (form.duration.validity.badInput || Number(value) > most) && `Give the seconds, at most ${most}.`,
  seed: (value) => !/^(-?\d+)?$/.test(value) && 'Give a whole number, or leave it empty.',
};
const LARGEST_RANDOM_SEED = 1_000_000;

let image;
let isSending = false;

/** `onStart` is called with each video that was started. */
export function setUpForm(facts, onStart) {
  addChoices('resolutions', 'resolution', facts.resolutions);
  addChoices('aspect-ratios', 'aspect_ratio', facts.aspectRatios);
  form.duration.max = facts.maxDurationSeconds;
  form.duration.placeholder = `up to ${facts.maxDurationSeconds}`;
  image = setUpImage(facts, (message) => showFieldError('image_url', message));
  document.querySelector('#random-seed').addEventListener('click', () => {
    form.seed.value = Math.floor(Math.random() * LARGEST_RANDOM_SEED);
  });
  form.addEventListener('input', ({ target }) => {
    if (FIELDS.includes(target.name)) showFieldError(target.name, undefined);
  });
  form.prompt.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    allowAsking();
    if (showMistakes(facts)) void send(readForm(), onStart);
  });
}

/** Puts a request into the form, for another video like it. */
export function fillForm(request, words) {
  for (const name of FIELDS) form.elements[name].value = request[name] ?? '';
  image.forget();
  clearErrors();
  note.textContent = words;
  form.prompt.focus();
}

/** Sends a request. Another press of the button waits for the answer to the first. */
export async function send(request, onStart) {
  if (isSending) return;
  clearErrors();
  setSending(true);
  try {
    // A file that was dropped just now may still be on its way.
    const imageUrl = await image.uploaded();
    const sent = imageUrl === undefined ? request : { ...request, image_url: imageUrl };
    const video = await startVideo(sent, () => {
      note.textContent = 'No answer from the gateway. Trying again: the video is started once.';
    });
    note.textContent = '';
    onStart(video);
  } catch (error) {
    note.textContent = '';
    showProblem([error.message, error.advice].filter(Boolean).join(' '), error.param);
  } finally {
    setSending(false);
  }
}

function addChoices(containerId, name, values) {
  const choices = [['', 'Auto'], ...values.map((value) => [value, value])].map(([value, words]) => {
    const label = document.createElement('label');
    const input = Object.assign(document.createElement('input'), { type: 'radio', name, value });
    input.defaultChecked = value === '';
    label.append(input, ...shapeOf(value), words);
    return label;
  });
  document.getElementById(containerId).replaceChildren(...choices);
}

/** A small picture of an aspect ratio. */
function shapeOf(ratio) {
  const [, across, down] = /^(\d+):(\d+)$/.exec(ratio) ?? [];
  if (across === undefined) return [];
  const shape = document.createElement('span');
  shape.className = 'shape';
  shape.style.aspectRatio = `${across} / ${down}`;
  shape.classList.toggle('tall', Number(across) < Number(down));
  return [shape];
}

/** Says at each field what is wrong with it; true if nothing is. */
function showMistakes(facts) {
  clearErrors();
  const wrong = Object.entries(MISTAKES).flatMap(([name, find]) => {
    const message = find(form.elements[name].value.trim(), facts);
    return message ? [{ name, message }] : [];
  });
  for (const { name, message } of wrong.reverse()) showProblem(message, name);
  return wrong.length === 0;
}

/** Fields that are empty are left to the service. */
function readForm() {
  const entries = FIELDS.map((name) => [name, form.elements[name].value.trim()]).filter(
    ([name, value]) => value !== '' || name === 'prompt',
  );
  return Object.fromEntries(
    entries.map(([name, value]) => [name, NUMBERS.has(name) ? Number(value) : value]),
  );
}

function setSending(now) {
  isSending = now;
  // A disabled button would lose the focus.
  button.setAttribute('aria-disabled', String(now));
  button.textContent = now ? 'Sending…' : 'Generate';
}

function showProblem(message, field) {
  if (!FIELDS.includes(field)) return showError(document.querySelector('#form-error'), message);
  showFieldError(field, message);
  const control = form.elements[field];
  (control instanceof RadioNodeList ? control[0] : control).focus();
}

function showFieldError(name, message) {
  const control = form.elements[name];
  const marked = control instanceof RadioNodeList ? control[0].closest('fieldset') : control;
  marked.setAttribute('aria-invalid', String(message !== undefined));
  showError(document.getElementById(`${name}-error`), message);
}

function clearErrors() {
  for (const name of FIELDS) showFieldError(name, undefined);
  showError(document.querySelector('#form-error'), undefined);
}
