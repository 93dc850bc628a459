// Serves the page, and does for it what needs the gateway's key.
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';

const { GATEWAY = 'http://127.0.0.1:8787', KEY = 'none', PORT = '3000' } = process.env;
const LARGEST_BODY_BYTES = 100_000;

const html = `<!doctype html>
<html lang="en">
  <meta charset="utf-8"><title>A video</title><link rel="icon" href="data:,">
  <style>body { font: 16px system-ui; max-width: 40rem; margin: 2rem auto } video { width: 100% }</style>
  <div id="root" data-gateway="${GATEWAY}"></div>
  <script type="module" src="/page.js"></script>
</html>`;

/** Your service asks here who is calling, and what that person may make or watch. */
async function askGateway(path, body) {
  const answer = await fetch(`${GATEWAY}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, ...(body && { 'content-type': 'application/json' }) },
    body,
  });
  return [answer.status, 'application/json', await answer.text()];
}

const problem = (status, message) => [status, 'application/json', JSON.stringify({ error: { message } })];

async function answerTo(request) {
  const { method, url } = request;
  if (method === 'GET' && url === '/') return [200, 'text/html', html];
  if (method === 'GET' && url === '/page.js')
    return [200, 'text/javascript', await readFile(new URL('dist/page.js', import.meta.url))];
  // A page of another site cannot send this type without asking first.
  if (request.headers['content-type'] !== 'application/json') return problem(404, 'There is nothing here.');
  if (method === 'POST' && url === '/videos') {
    if (!(Number(request.headers['content-length']) <= LARGEST_BODY_BYTES))
      return problem(413, 'The request is too large.');
    return askGateway('/v1/videos/text-to-video', await text(request));
  }
  const [, id] = /^\/videos\/(video_[0-9a-f]{32})\/token$/.exec(url) ?? [];
  if (method === 'POST' && id) return askGateway(`/v1/videos/${id}/token`);
  return problem(404, 'There is nothing here.');
}

const server = createServer(async (request, response) => {
  try {
    const [status, type, body] = await answerTo(request);
    response.writeHead(status, { 'content-type': type }).end(body);
  } catch (error) {
    console.error(error);
    const [status, type, body] = problem(502, 'The gateway does not answer.');
    response.writeHead(status, { 'content-type': type }).end(body);
  }
});
server.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`The page is at http://localhost:${server.address().port}`);
});
