/** Our service's calls, as a careful engineer writes them: with timeouts, an idempotency key and statuses that are read. */
const { TIMEOUT_MS } = require('./job.cjs');

exports.callService = ({ url, key }) => {
  const ask = async (path, init = {}) => {
    const answer = await fetch(`${url}/v1/videos${path}`, {
      ...init,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...init.headers },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`);
    return answer.json();
  };
  return {
    /** Resolves with the id of the task. */
    async submit(prompt, idempotencyKey) {
      const body = JSON.stringify({ prompt });
      const headers = { 'idempotency-key': idempotencyKey };
      const { task_id: taskId } = await ask('/text-to-video', { method: 'POST', headers, body });
      if (!taskId) throw new Error('The submit answered without a task.');
      return taskId;
    },
    /** Resolves with the link to the video, or undefined while the task is not done. */
    async poll(taskId) {
      const { status, video_url: link, error } = await ask(`/${taskId}`);
      if (status === 'failed' || status === 'cancelled') throw new Error(error?.message ?? status);
      return status === 'succeeded' ? link : undefined;
    },
  };
};
