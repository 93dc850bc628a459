import { spawnSync } from 'node:child_process';
import { makeOnce } from '../make-once';
import { createFilmActivities, NO_FFMPEG } from './activities';
import { makeFilm } from './workflows';

// Before the first shot is paid for.
if (spawnSync('ffmpeg', ['-version']).status === 0) {
  makeOnce({
    what: 'film',
    workflow: makeFilm,
    workflowsPath: require.resolve('./workflows'),
    createActivities: (storage) => createFilmActivities(storage),
    filesOf: (film) => [film],
  });
} else {
  console.error(NO_FFMPEG);
  process.exitCode = 1;
}
