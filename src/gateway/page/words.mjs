/** What the page says about a video. */

export const STATES = {
  queued: { label: 'Queued', sentence: 'Submitting to the service…' },
  generating: { label: 'Generating', sentence: 'The service is generating your video…' },
  held: { label: 'Needs a decision', sentence: '' },
  done: { label: 'Done', sentence: 'Loading the video…' },
  failed: { label: 'Failed', sentence: '' },
  cancelled: { label: 'Cancelled', sentence: '' },
};

export function stateOf({ status, error, needs_decision: held }) {
  if (status === 'completed') return 'done';
  if (status === 'failed') return error?.code === 'Cancelled' ? 'cancelled' : 'failed';
  if (held) return 'held';
  return status === 'in_progress' ? 'generating' : 'queued';
}

export function labelOf(video) {
  const state = stateOf(video);
  const percent = state === 'generating' && video.progress > 0 ? ` ${video.progress} %` : '';
  return `${STATES[state].label}${percent}`;
}

export const timeOf = (seconds) =>
  new Date(seconds * 1_000).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' });

export function elapsedSince(seconds) {
  const passed = Math.max(0, Math.round(Date.now() / 1_000 - seconds));
  return passed < 60 ? `${passed} s` : `${Math.floor(passed / 60)} min ${passed % 60} s`;
}

/** Of the video once it is there, and until then as it was asked for. */
export const sizeOf = ({ video, size, seconds }) => ({
  size: video?.size ?? size,
  seconds: video?.seconds ?? seconds,
});

/** Short facts of a video, such as "1280x720 · 5 s · seed 7". */
export function factsLine({ seed, ...video }) {
  const { size, seconds } = sizeOf(video);
  return [size?.replace('x', ' × '), seconds && `${seconds} s`, seed !== null && `seed ${seed}`]
    .filter(Boolean)
    .join(' · ');
}

/** Ids, and a link to the workflow if the gateway knows the Temporal UI. */
export function fillIds(list, video, { workflowUrl }) {
  list.replaceChildren(
    ...fact('Video id', video.id),
    ...(video.service_task_id ? fact('Service task id', video.service_task_id) : []),
    ...(video.cost ? fact('Cost', costText(video.cost)) : []),
    ...(workflowUrl ? fact('Workflow', linkTo(`${workflowUrl}${video.id}`, 'Open in the Temporal UI')) : []),
  );
}

/** What was charged wins; unknown is said. */
export function costText({ estimated, charged, unknown }) {
  if (charged) return `${amountText(charged)}${estimated ? ` (estimated ${amountText(estimated)})` : ''}`;
  return estimated ? `${amountText(estimated)}, estimated` : `unknown: ${unknown}`;
}

/** As the command line writes it: `0.50 USD`, `12 credits`. */
const amountText = ({ amount, currency }) =>
  `${amount.toFixed(6).replace(/^[A-Z]{3}$/.test(currency) ? /0{1,4}$/ : /\.?0+$/, '')} ${currency}`;

export function fact(name, value) {
  const term = document.createElement('dt');
  const definition = document.createElement('dd');
  term.textContent = name;
  definition.append(value);
  return [term, definition];
}

function linkTo(href, words) {
  const link = document.createElement('a');
  Object.assign(link, { href, target: '_blank', rel: 'noreferrer', textContent: words });
  return link;
}

/** Shows or hides the sentence beside a field. */
export function showError(element, message) {
  element.textContent = message ?? '';
  element.hidden = !message;
}
