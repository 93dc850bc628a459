const { spawnSync } = require('node:child_process');
const { existsSync } = require('node:fs');
const { join } = require('node:path');

/**
 * Which histories the recorder may write: those with these names, or without names all that do not exist yet. The problem
 * is a sentence for the one who asked.
 */
function chooseHistories(folder, stories, names) {
  const unknown = names.find((name) => !stories.includes(name));
  if (unknown !== undefined)
    return { problem: `There is no story ${unknown}. There are: ${stories.join(', ')}.` };
  if (names.length === 0) {
    return { chosen: stories.filter((name) => !existsSync(join(folder, `${name}.json`))) };
  }
  for (const name of names) {
    const release = releaseWith(folder, `${name}.json`);
    if (release !== undefined) {
      return {
        problem:
          `${name}.json was released with ${release}, and jobs like it may be running, so it is not recorded again. ` +
          "Put the change behind patched('…'), or release it as a new pinned version, and record its history under another name.",
      };
    }
  }
  return { chosen: names };
}

/** The first release that contains a history. */
function releaseWith(folder, file) {
  if (!existsSync(join(folder, file))) return undefined;
  const tags = git(folder, 'tag', '--list', 'v[0-9]*', '--sort=version:refname');
  if (tags === undefined) return 'a version that git does not know here';
  return tags
    .split('\n')
    .find((tag) => tag !== '' && git(folder, 'cat-file', '-e', `${tag}:./${file}`) !== undefined);
}

/** What git prints, or undefined if it fails. */
function git(folder, ...args) {
  const { status, stdout } = spawnSync('git', args, { cwd: folder, encoding: 'utf8' });
  return status === 0 ? stdout : undefined;
}

module.exports = { chooseHistories };
