/**
 * What each contestant is given, and what a careful program does around the package that it uses: it notes the task in a
 * file, and moves a video into place when it is whole. Started again, it reads its note.
 */
const { spawn } = require('node:child_process');
const { existsSync, readFileSync, renameSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { freePort } = require('../../../peers/servers.cjs');

const { SERVICE_URL: url, SERVICE_KEY: key, JOB: name, FOLDER: folder } = process.env;
const file = join(folder, 'video.mp4');
const note = join(folder, 'note.json');

/** The careful programs give a call this long. */
const TIMEOUT_MS = 10_000;

function writeWhole(path, content) {
  writeFileSync(`${path}.part`, content);
  renameSync(`${path}.part`, path);
}

const job = { url, key, name, folder, file, prompt: `A red fox, ${name}` };

/** What the program noted before it was killed. */
function readNote() {
  return existsSync(note) ? JSON.parse(readFileSync(note, 'utf8')) : {};
}

function writeNote(content) {
  writeWhole(note, JSON.stringify(content));
}

/** Downloads a link as most programs do. */
async function download(link) {
  const answer = await fetch(link, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (!answer.ok) throw new Error(`The download answered ${answer.status}.`);
  return Buffer.from(await answer.arrayBuffer());
}

function deliver(bytes) {
  writeWhole(file, bytes);
}

/** Asks the person who runs the program, and waits for the answer: the id of the task at the service, if there is one. */
async function askPerson() {
  writeWhole(join(folder, 'question.json'), '{}');
  const answer = join(folder, 'answer.json');
  while (!existsSync(answer)) await sleep(100);
  return JSON.parse(readFileSync(answer, 'utf8'));
}

/** Starts a server that belongs to the program, and resolves once it prints what `ready` matches. */
function startPart(command, args, { ready, env }) {
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  let printed = '';
  return new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        process.stderr.write(text);
        printed += text;
        if (ready.test(printed)) resolve();
      });
    }
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`${command} ended with ${code}.`)));
  });
}

/** Runs a program: it ends well when the video is in place. */
function run(main) {
  if (existsSync(file)) process.exit(0);
  main().then(
    () => process.exit(0),
    (error) => {
      process.stderr.write(`${error?.stack ?? error}\n`);
      process.exit(1);
    },
  );
}

module.exports = {
  TIMEOUT_MS,
  askPerson,
  deliver,
  download,
  freePort,
  job,
  readNote,
  run,
  sleep,
  startPart,
  writeNote,
};
