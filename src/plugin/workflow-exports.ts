import assert from 'node:assert';
import { AsyncLocalStorage } from 'node:async_hooks';
import { URL, URLSearchParams } from 'node:url';
import { TextDecoder, TextEncoder } from 'node:util';
import { createContext, Script } from 'node:vm';

/** More than any module of workflows takes to load, and less than somebody would wait at a worker's start. */
const LOADING_MAX_MS = 10_000;

/**
 * What a bundle of workflows exports, found by loading it once as the SDK's sandbox would: the code of a bundle does not
 * tell, as a CommonJS module may put its exports together while it runs. Throws what the modules throw.
 */
export function loadWorkflowExports(code: string): Record<string, unknown> {
  const context = createContext({
    assert,
    AbortController,
    AsyncLocalStorage,
    TextDecoder,
    TextEncoder,
    URL,
    URLSearchParams,
    console: SILENT,
    // Where the SDK's bundles keep their modules.
    __webpack_module_cache__: {},
    __TEMPORAL_ACTIVATOR__: ANY_WORKFLOW,
  });
  new Script(code).runInContext(context, { timeout: LOADING_MAX_MS });
  const exported: unknown = new Script('__TEMPORAL__.importWorkflows()').runInContext(context, {
    timeout: LOADING_MAX_MS,
  });
  return Object.fromEntries(Object.entries(Object(exported)));
}

/** What it prints is printed when it runs. */
const SILENT = { log() {}, warn() {}, error() {}, info() {}, debug() {} };

/** For modules that ask for the time, a random number or the running workflow while they are loaded. */
const ANY_WORKFLOW = {
  now: 0,
  random: () => 0,
  currentRandom: () => 0,
  info: { workflowType: '', workflowId: '', runId: '', unsafe: { isReplaying: false } },
  workflowSandboxDestructors: [],
};
