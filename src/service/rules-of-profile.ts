import { chargedPaths } from './prices';
import { NAMED_STATES, type ServiceProfile } from './profile';
import {
  type AnswerPath,
  type AnswerPaths,
  type ContentRule,
  DEFAULT_RULES,
  normalizeWord,
  type ReadingRules,
} from './reading-rules';

/** The default rules with the profile's own paths and words. */
export function readingRules({ read = {}, states = {}, refusals, prices }: ServiceProfile): ReadingRules {
  const { paths: defaults, stateOf } = DEFAULT_RULES;
  const pathsOr = (given: AnswerPath | AnswerPath[] | undefined, usual: readonly AnswerPath[]) =>
    given === undefined ? usual : [given].flat();
  const { code, message } = read;
  const paths: AnswerPaths = {
    ...defaults,
    within: pathsOr(read.within, defaults.within),
    taskId: pathsOr(read.taskId, defaults.taskId),
    // A path that the profile names is always the task's id.
    ...(read.taskId !== undefined && { vagueIds: [], callIds: [] }),
    state: pathsOr(read.state, defaults.state),
    percent: pathsOr(read.progress, defaults.percent),
    videoUrl: pathsOr(read.video, defaults.videoUrl),
    code: pathsOr(code, defaults.code),
    message: message === undefined ? defaults.message : [message].flat().map((path) => ({ path })),
    charged: chargedPaths(read.charged, prices),
  };
  const ownStates = new Map(
    NAMED_STATES.flatMap((state) =>
      (states[state] ?? []).map((word) => [normalizeWord(String(word)), state] as const),
    ),
  );
  return {
    paths,
    stateOf: (word) => ownStates.get(normalizeWord(word)) ?? stateOf(word),
    isOwnWord: (word) => ownStates.has(normalizeWord(word)),
    content: (refusals?.content ?? []).map(contentRule),
  };
}

type ContentEntry = NonNullable<NonNullable<ServiceProfile['refusals']>['content']>[number];

function contentRule({ codes, states, says, ...refused }: ContentEntry): ContentRule {
  return {
    refused,
    ...(codes && { codes: codes.map(String) }),
    ...(states && { states: states.map((word) => normalizeWord(String(word))) }),
    ...(says !== undefined && { says: says.toLowerCase() }),
  };
}
