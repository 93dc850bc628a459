import { createTrailerActivities } from './activities';
import { makeOnce } from './make-once';
import { makeTrailer } from './workflows';

makeOnce({
  what: 'trailer',
  workflow: makeTrailer,
  workflowsPath: require.resolve('./workflows'),
  createActivities: createTrailerActivities,
  filesOf: ({ trailer, poster }) => [trailer, poster],
});
