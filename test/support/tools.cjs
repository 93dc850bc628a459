const { accessSync, constants, readdirSync } = require('node:fs');
const { homedir } = require('node:os');
const { delimiter, join } = require('node:path');

/** The tools of the tests besides Node and npm. A tool is not needed when everything in `makes` is in the cache. */
const TOOLS = [
  {
    name: 'java',
    for: 'the time-skipping server of test/time-skipping',
    get: 'a Java runtime, 11 or newer: apt-get install default-jre-headless, or brew install openjdk',
  },
  {
    name: 'mvn',
    for: "that server's jars, fetched once",
    get: 'Maven: apt-get install maven, or brew install maven',
    makes: ['temporal-test-server-'],
  },
  {
    name: 'go',
    for: 'an S3 server, actionlint, promcheck and kustomize, built once',
    get: 'Go 1.26.4 or newer: https://go.dev/dl, or brew install go',
    makes: ['versitygw-', 'actionlint-', 'promcheck-', 'kustomize-'],
  },
  {
    name: 'python3',
    for: "the test of Temporal's Python SDK",
    get: 'Python 3.10 or newer with venv and pip: apt-get install python3-venv python3-pip, or brew install python',
  },
  {
    name: 'chromium',
    for: "the test of the gateway's page",
    get: 'a Chromium that plays H.264: apt-get install chromium on Debian, or Google Chrome; CHROMIUM names its executable if it is elsewhere',
    setting: 'CHROMIUM',
    // First, because some builds of Chromium lack the codec.
    instead: ['google-chrome'],
  },
  ...['bash', 'curl', 'ps', 'tar', 'mkfifo', 'sleep'].map((name) => ({
    name,
    for: 'several tests',
    get: `${name} of your system: apt-get install bash curl procps tar coreutils`,
  })),
];

/** For people: which tools are missing, which tests fail without them, and how to get them. */
function toolsBlock(env = process.env) {
  const cached = cachedIn(env);
  const missing = TOOLS.filter(
    (tool) => findIn(tool, env) === undefined && !tool.makes?.every((one) => cached.has(one)),
  );
  if (missing.length === 0)
    return `All tools of the tests are installed: ${TOOLS.map(({ name }) => name).join(', ')}.\n`;
  const lines = missing.map(({ name, for: use, get }) => `  ${name}: for ${use}. Get ${get}.\n`);
  return `Missing on PATH; the tests that need them will fail:\n${lines.join('')}`;
}

/** The executable of a tool. Without it, the error says how to get it. */
function findTool(name, env = process.env) {
  const tool = TOOLS.find((one) => one.name === name);
  const { for: use, get } = tool;
  const found = findIn(tool, env);
  if (found) return found;
  throw new Error(`There is no ${name} on PATH, which is for ${use}. Get ${get}.`);
}

function findIn({ name, instead = [], setting }, env) {
  if (setting && env[setting]) return env[setting];
  return [...instead, name].map((one) => onPath(one, env)).find((found) => found !== undefined);
}

function onPath(name, { PATH = '' }) {
  return PATH.split(delimiter)
    .map((folder) => join(folder, name))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

/** The names in the cache folder, without versions. */
function cachedIn({ VIDEOGEN_CACHE, XDG_CACHE_HOME, HOME = homedir() }) {
  const folder = VIDEOGEN_CACHE || join(XDG_CACHE_HOME || join(HOME, '.cache'), 'temporal-videogen');
  try {
    return new Set(readdirSync(folder).map((name) => name.replace(/-\d.*$/, '-')));
  } catch {
    return new Set();
  }
}

module.exports = { findTool, toolsBlock };
