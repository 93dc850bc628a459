import { allowAsking, CallFailed, getJson, hasKey, onKeyNeeded, sleep } from './calls.mjs';
import { hasEnded, watchVideo } from './events.mjs';
import { fillForm, send, setUpForm } from './form.mjs';
import { askInDialog } from './key-dialog.mjs';
import { focusStage, revealStage, setUpStage, showMessage, showVideo, updateFacts } from './stage.mjs';
import { requestOf, unansweredRequest } from './starts.mjs';
import { allVideos, knownVideo, loadVideo, loadVideos, onChange, putVideos } from './videos.mjs';
import { showWall } from './wall.mjs';

/** Lists are read again for videos that are not shown large, and for those that others started. */
const REFRESH_MS = 5_000;
const REFRESH_QUIET_MS = 30_000;

const connection = document.querySelector('#connection');
const wallNote = document.querySelector('#wall-note');
const more = document.querySelector('#more');
const changeKey = document.querySelector('#change-key');

/** The choices and limits of this gateway. */
let facts;
/** The id in the address: a reload, a bookmark and the back button show the same video. */
const selectedId = () => /^#(video_\w+)$/.exec(location.hash)?.[1];

/** The last video of the list so far, if there are more. */
let listedTo;
let watching = { id: undefined, abort: new AbortController() };

async function main() {
  onKeyNeeded(async (isWrong) => {
    const key = await askInDialog(isWrong);
    showKeyButton(key === undefined);
    return key;
  });
  changeKey.addEventListener('click', () => {
    sessionStorage.clear();
    location.hash = '';
    location.reload();
  });
  facts = await getFacts();
  setUpForm(facts, onStart);
  const sample = { prompt: document.querySelector('#prompt').placeholder };
  setUpStage(facts, { onAgain: again, onSample: () => fillForm(sample, '') });
  showKeyButton(false);
  onChange(render);
  window.addEventListener('hashchange', () => {
    void select();
    if (selectedId() !== undefined) focusStage();
  });
  document.addEventListener('visibilitychange', onVisibility);
  more.addEventListener('click', showMore);

  const unanswered = unansweredRequest();
  if (unanswered !== undefined) void send(unanswered, onStart);
  void select();
  await keepListed();
}

/** The gateway may be restarting while the page loads. */
async function getFacts() {
  for (;;) {
    try {
      const loaded = await getJson('page.json');
      setConnected(true);
      return loaded;
    } catch {
      setConnected(false);
      await sleep(2_000);
    }
  }
}

function onStart(video) {
  putVideos(video);
  if (selectedId() === video.id) return;
  history.pushState(null, '', `#${video.id}`);
  void select();
  revealStage();
}

function again(video) {
  const { request, isCut } = requestOf(video, facts);
  const cut = isCut ? ' The prompt is cut: only its beginning is stored.' : '';
  const words =
    request.seed === undefined
      ? 'The form has the same request.'
      : `The form has the same request and seed ${request.seed}.`;
  fillForm(request, `${words}${cut}`);
}

/** Shows the video in the address and follows it. */
async function select() {
  const id = selectedId();
  watching.abort.abort();
  watching = { id, abort: new AbortController() };
  const { signal } = watching.abort;
  render();
  if (id === undefined) return showMessage();
  try {
    if (!knownVideo(id)) {
      showMessage('Loading…');
      await loadVideo(id);
    }
    if (signal.aborted || hasEnded(knownVideo(id)) || document.hidden) return;
    await watchVideo(id, signal, (video) => putVideos(video), setConnected);
  } catch (error) {
    if (!signal.aborted) showMessage(error.message);
  }
}

/** A browser opens six connections to a gateway, for all its tabs: one that nobody sees needs none. */
function onVisibility() {
  if (document.hidden) watching.abort.abort();
  else void select();
}

function render() {
  const id = selectedId();
  const video = knownVideo(id);
  if (video) showVideo(video);
  const videos = allVideos();
  showWall(videos, facts, { selected: id, onAgain: again });
  if (videos.length > 0) wallNote.hidden = true;
}

async function keepListed() {
  let isFirst = true;
  for (;;) {
    if (isFirst || !document.hidden) await refresh(isFirst);
    isFirst = false;
    await sleep(allVideos().some((video) => !hasEnded(video)) ? REFRESH_MS : REFRESH_QUIET_MS);
  }
}

async function refresh(isFirst) {
  try {
    const lastId = await loadVideos();
    if (isFirst) setListedTo(lastId);
    showKeyButton(false);
    if (allVideos().length === 0) wallNote.textContent = 'There are none yet.';
    setConnected(true);
    await learnWorkflowUrl();
  } catch (error) {
    if (!(error instanceof CallFailed)) throw error;
    if (error.status === 0) setConnected(false);
    wallNote.textContent = error.message;
  }
}

/** The gateway shows the address of workflows only to who has a key. */
async function learnWorkflowUrl() {
  if (!hasKey() || facts.workflowUrl !== undefined || facts.isAskedWithKey) return;
  facts = { ...(await getJson('page.json')), isAskedWithKey: true };
  updateFacts(facts);
  render();
}

async function showMore() {
  allowAsking();
  try {
    setListedTo(await loadVideos(listedTo));
  } catch (error) {
    wallNote.hidden = false;
    wallNote.textContent = error.message;
  }
}

function setListedTo(id) {
  listedTo = id;
  more.hidden = id === undefined;
}

function showKeyButton(isDeclined) {
  changeKey.hidden = !hasKey() && !isDeclined;
  changeKey.textContent = isDeclined ? 'Enter a key' : 'Change key';
}

function setConnected(isConnected) {
  connection.hidden = isConnected;
  connection.textContent = isConnected
    ? ''
    : 'The gateway does not answer. Your jobs continue. This page tries again.';
}

void main();
