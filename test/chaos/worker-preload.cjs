// Loaded with `node --require` into the workers of a chaos run, before anything of the product.
// CHAOS_BREAK switches one protection off: it changes the text of one file of `dist` when that is loaded.
// CHAOS_TROUBLE names a file that says what is wrong with the disk now, and whether to freeze at the next POST.
const fs = require('node:fs');
const Module = require('node:module');
const net = require('node:net');
const { isMainThread } = require('node:worker_threads');

const ATTEMPT = "require('@temporalio/activity').activityInfo().attempt";

/** Each: the file, the place, which occurs once, and what stands there instead. */
const BREAKS = {
  // Nobody knows whose task it is.
  claim: ['src/storage/task-claims.js', /async function claimTask\([^)]*\) \{/, '$&return undefined;'],
  // The note before the POST says that nothing is sent.
  note: [
    'activities/submit/submit-note.js',
    /sending\(id, service\) \{/,
    `$&this.send = { id, attempt: ${ATTEMPT}, service, outcome: 'not-sent' };` +
      `return this.leave({ attemptWithoutTask: ${ATTEMPT} });`,
  ],
  // A cancellation closes a submit without reading what it has noted.
  inspection: [
    'activities/submit/submit-note.js',
    /async function inspectPendingSubmit\(\) \{/,
    '$&return undefined;',
  ],
  // What earlier jobs of the name have sent is not read.
  record: ['src/storage/job-record.js', /return recordedJob\(this\.known\);/, 'return recordedJob([]);'],
  // Nobody knows whether a request has started, and a late one starts.
  watcher: [
    'src/service/call-service.js',
    /onRequestStart\(controller, context\) \{/,
    '$&return this.inner.onRequestStart?.(controller, context);',
  ],
  // The second half of it alone: a worker that wakes up sends what others have given up.
  late: ['src/service/call-service.js', /performance\.now\(\) < this\.startBeforeMs/, 'true'],
};

function breakProtection(name) {
  const [file, place, instead] = BREAKS[name];
  const compile = Module.prototype._compile;
  Module.prototype._compile = function (text, filename) {
    if (!filename.replaceAll('\\', '/').endsWith(`/dist/${file}`)) return compile.call(this, text, filename);
    const found = text.match(new RegExp(place, 'g')) ?? [];
    if (found.length !== 1) {
      process.stderr.write(`--break ${name}: ${place} occurs ${found.length} times in ${file}\n`);
      process.exit(1);
    }
    return compile.call(this, text.replace(place, instead), filename);
  };
}

function troubleNow(file) {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8'));
  } catch {
    return {};
  }
}

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function failing(code) {
  const error = new Error(`${code}: no luck with the disk`);
  return Object.assign(error, { code, errno: -1 });
}

/** What happens before an operation on the disk of the storage. */
async function meetDisk(file, isWrite) {
  const { disk } = troubleNow(file);
  if (disk === undefined || Date.now() > disk.untilMs) return;
  if (disk.kind === 'ENOSPC' && isWrite) throw failing('ENOSPC');
  if (disk.kind === 'EIO') throw failing('EIO');
  if (disk.kind === 'slow') await sleep(150);
  if (disk.kind === 'stall' && isWrite) await sleep(disk.untilMs - Date.now());
}

function troubleDisk(file, storage) {
  const { promises } = fs;
  const ours = (path) => typeof path === 'string' && path.startsWith(storage);
  const wrap = (name, isWrite) => {
    const real = promises[name];
    promises[name] = async (path, ...rest) => {
      if (ours(path)) await meetDisk(file, isWrite(...rest));
      const result = await real(path, ...rest);
      if (name === 'link' && String(rest[0]).includes('/jobs/')) recordedAtMs = Date.now();
      return result;
    };
  };
  for (const name of ['writeFile', 'link', 'rename', 'copyFile', 'truncate']) wrap(name, () => true);
  wrap('open', (flags = 'r') => flags !== 'r');
  void promises.open(__filename).then(async (handle) => {
    const proto = Object.getPrototypeOf(handle);
    await handle.close();
    const real = proto.writeFile;
    proto.writeFile = async function (content, ...rest) {
      const { disk } = troubleNow(file);
      // A full disk takes a part of what is written.
      if (disk?.kind === 'ENOSPC' && Date.now() < disk.untilMs)
        await real.call(this, content.subarray(0, content.length / 2));
      await meetDisk(file, true);
      return real.call(this, content, ...rest);
    };
  });
}

/** When this worker last wrote an entry of a job record: its POST follows. */
let recordedAtMs = 0;
const POST_FOLLOWS_WITHIN_MS = 500;

/** Stops between the connection of a POST and its first byte. */
function freezeAtPosts(file) {
  const { connect } = net;
  let frozen;
  net.connect = (...given) => {
    const socket = connect(...given);
    const { freezeAtPost } = troubleNow(file);
    const isPost = Date.now() - recordedAtMs < POST_FOLLOWS_WITHIN_MS;
    if (freezeAtPost !== undefined && freezeAtPost !== frozen && isPost) {
      frozen = freezeAtPost;
      fs.writeFileSync(`${file}.frozen`, String(frozen));
      process.kill(process.pid, 'SIGSTOP');
    }
    return socket;
  };
}

if (isMainThread && process.send) {
  const { CHAOS_BREAK, CHAOS_TROUBLE, VIDEOGEN_STORAGE } = process.env;
  if (CHAOS_BREAK) breakProtection(CHAOS_BREAK);
  if (CHAOS_TROUBLE) {
    troubleDisk(CHAOS_TROUBLE, VIDEOGEN_STORAGE);
    freezeAtPosts(CHAOS_TROUBLE);
  }
}

module.exports = { BREAKS: Object.keys(BREAKS) };
