import { allowAsking, call, post } from './calls.mjs';
import { hasEnded } from './events.mjs';
import { loadContent } from './stills.mjs';
import { putVideos } from './videos.mjs';
import {
  elapsedSince,
  fact,
  fillIds,
  labelOf,
  STATES,
  showError,
  sizeOf,
  stateOf,
  timeOf,
} from './words.mjs';

/** The video that is shown large: its progress, its failure, its decision or its player. */

const find = (id) => document.getElementById(id);
const stage = document.querySelector('.stage');
const title = find('stage-title');
const player = find('player');
const decision = find('decision');
const isCalm = matchMedia('(prefers-reduced-motion: reduce)');

const EMPTY_WORDS = find('screen-words').textContent;

let shown;
let facts;
/** What the player loads or plays. */
let content = { id: undefined, url: undefined, abort: new AbortController() };

export function setUpStage(given, { onAgain, onSample }) {
  facts = given;
  find('sample').addEventListener('click', onSample);
  find('again').addEventListener('click', () => onAgain(shown));
  find('cancel').addEventListener('click', cancel);
  decision.addEventListener('submit', decide);
  setInterval(showElapsed, 1_000);
}

export const updateFacts = (given) => {
  facts = given;
};

/** Moves to the stage, for who chose a video further down. */
export function focusStage() {
  title.focus({ preventScroll: true });
  revealStage();
}

/** On a phone the stage is below the form. */
export function revealStage() {
  stage.scrollIntoView({ block: 'nearest', behavior: isCalm.matches ? 'auto' : 'smooth' });
}

export function showMessage(words) {
  shown = undefined;
  stage.dataset.state = 'empty';
  document.title = 'Videos';
  title.textContent = 'Your video';
  find('screen-words').textContent = words ?? EMPTY_WORDS;
  find('sample').hidden = words !== undefined;
  find('screen').hidden = false;
  for (const id of ['failure', 'decision', 'about', 'progress', 'elapsed']) find(id).hidden = true;
  unload();
}

export function showVideo(video) {
  const state = stateOf(video);
  find('sample').hidden = true;
  const isOther = shown?.id !== video.id;
  const isNews = isOther || stateOf(shown) !== state;
  shown = video;
  stage.dataset.state = state;
  showScreen(video, state);
  showFailure(video);
  decision.hidden = state !== 'held';
  if (isOther) {
    decision.reset();
    showError(find('decision-error'), undefined);
  }
  showAbout(video);
  if (isNews) announce(video);
}

function showScreen(video, state) {
  const progress = find('progress');
  title.textContent = labelOf(video);
  if (content.id !== video.id) find('screen-words').textContent = STATES[state].sentence;
  find('screen').hidden = state === 'held' || state === 'failed' || state === 'cancelled';
  progress.hidden = state !== 'queued' && state !== 'generating';
  // Without a value it moves to and fro.
  if (video.progress > 0) progress.value = video.progress;
  else progress.removeAttribute('value');
  find('elapsed').hidden = hasEnded(video);
  showElapsed();
  if (state === 'done') void play(video);
  else unload();
}

function showElapsed() {
  if (shown && !hasEnded(shown)) find('elapsed').textContent = elapsedSince(shown.created_at);
}

function showFailure({ error }) {
  find('failure').hidden = error === null;
  if (error === null) return;
  const { meaning } = facts.failures[error.code] ?? { meaning: error.message };
  find('failure-meaning').textContent = meaning;
  find('failure-message').textContent = reasonOf(error.message, meaning);
  find('failure-advice').textContent = error.advice;
}

/** A message is the meaning, the task in brackets and the reason. The page shows the first two elsewhere. */
function reasonOf(message, meaning) {
  const rest = message.startsWith(meaning) ? message.slice(meaning.length) : message;
  return rest.replace(/^ \(task [^)]*\)/, '').replace(/^[\s:.]+/, '');
}

function showAbout(video) {
  find('about').hidden = false;
  find('about-prompt').textContent = video.prompt ?? '';
  find('cancel').hidden = hasEnded(video);
  const { size, seconds } = sizeOf(video);
  const ids = document.createElement('dl');
  fillIds(ids, video, facts);
  find('facts').replaceChildren(
    ...(size ? fact('Size', size.replace('x', ' × ')) : []),
    ...(seconds ? fact('Length', `${seconds} s`) : []),
    ...(video.seed === null ? [] : fact('Seed', String(video.seed))),
    ...fact('Started', timeOf(video.created_at)),
    ...ids.children,
  );
}

function announce(video) {
  const words = video.error ? `${labelOf(video)}. ${video.error.message}` : `${labelOf(video)}.`;
  find('announcements').textContent = words;
  document.title = `${labelOf(video)} · Videos`;
}

async function play(video) {
  if (content.id === video.id) return;
  unload();
  const mine = content;
  const { signal } = mine.abort;
  mine.id = video.id;
  try {
    mine.url = await loadContent(video.id, signal);
    if (signal.aborted) return URL.revokeObjectURL(mine.url);
    player.src = mine.url;
    player.hidden = false;
    player.setAttribute('aria-label', video.prompt ?? 'The video');
    find('screen-words').textContent = '';
    const download = find('download');
    const extension = /^\w+\/(\w+)/.exec(video.video.content_type)?.[1] ?? 'mp4';
    Object.assign(download, { href: mine.url, download: `${video.id}.${extension}`, hidden: false });
    // Who prefers calm presses play.
    if (!isCalm.matches) await player.play().catch(() => undefined);
  } catch (error) {
    if (signal.aborted) return;
    // The next refresh of the list tries again, if that can help.
    if (error.status === 0 || error.status >= 500) mine.id = undefined;
    find('screen-words').textContent = [error.message, error.advice].filter(Boolean).join(' ');
  }
}

function unload() {
  if (content.id === undefined) return;
  content.abort.abort();
  player.hidden = true;
  player.removeAttribute('src');
  player.load();
  find('download').hidden = true;
  if (content.url !== undefined) URL.revokeObjectURL(content.url);
  content = { id: undefined, url: undefined, abort: new AbortController() };
}

async function cancel() {
  const { id } = shown;
  if (!confirm('Cancel this video? The service may still charge for it.')) return;
  allowAsking();
  try {
    await call(`v1/videos/${id}`, { method: 'DELETE' });
    find('announcements').textContent = 'The cancellation was sent.';
  } catch (error) {
    find('announcements').textContent = error.message;
  }
}

async function decide(event) {
  event.preventDefault();
  const { id } = shown;
  const { value } = event.submitter;
  const taskId = decision.taskId.value.trim();
  if (value === 'adopt' && taskId === '') {
    showError(find('decision-error'), 'Give the task id that the service shows.');
    return decision.taskId.focus();
  }
  allowAsking();
  showError(find('decision-error'), undefined);
  decision.inert = true;
  try {
    const body = JSON.stringify(value === 'adopt' ? { decision: value, taskId } : { decision: value });
    putVideos(await post(`v1/videos/${id}/decision`, { body }));
    focusStage();
  } catch (error) {
    showError(find('decision-error'), [error.message, error.advice].filter(Boolean).join(' '));
  } finally {
    decision.inert = false;
  }
}
